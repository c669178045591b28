/* Decoded chunks through the cache.
 *
 *     check -> place -> read -> decode        each step: at once, or when somebody calls
 *       |        |        |
 *       |        |        +- replaced meanwhile: back to place, a few times
 *       |        +- the indexes of shards; not for chunks that are objects of their own
 *       +- only for a chunk that is kept, when it was not checked for too long, or since a change
 *
 * The work belongs to the entry, at which all who want it wait. A run of a chunk of which little is
 * wanted has an entry too, for as long as it is read and decoded. Of a compressed chunk that pays
 * once: it has a mark then, and who wants the chunk again has all of it decoded and kept. */
#include "server/data/chunks.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/array/chunk.h"
#include "core/base/num.h"
#include "server/data/datasets.h"
#include "server/runtime/workers.h"
#include "server/runtime/server.h"
#include "server/data/shards.h"

#define RESTARTS_MAX   4          /* for an object that is replaced again and again */
#define SPAN_CHUNK_MIN (16 << 10) /* smaller chunks are read whole: that costs no more */
#define SPAN_SHARE     2 /* a span is read alone when it is no more than 1/2 of its chunk */

#define LOT_SHARE 2 /* chunks wanted together hold the loop for no more than 2 pieces of work */

struct chunk_load;

/* A decoded chunk, or its absence, or (is_span) a run of its bytes, or (is_mark) nothing yet. */
struct chunk {
    struct zd_cache_entry entry; /* first; key: dataset, tag, index, span, path */
    struct zd_dataset *dataset;
    bool is_span;
    bool is_mark;                    /* a run of the chunk was wanted before */
    struct zd_buf *data;             /* owned; NULL = absent, unless it is a mark */
    struct zd_generation generation; /* of the stored object; zero = absent */
    uint64_t checked_ms;
    uint64_t n_changes;      /* of the dataset, when the store was asked */
    struct chunk_load *load; /* while it is busy */
};

struct chunk_load {
    struct chunk *chunk;  /* a reference */
    struct zd_node *node; /* a reference */
    uint64_t index[ZD_RANK_MAX];
    struct zd_byte_range span; /* when chunk->is_span */
    char key[ZD_KEY_BYTES_MAX + 1];
    uint64_t n_together;
    uint32_t n_restarts;
    bool is_decoding; /* a worker has the job */
    enum zd_next (*step)(struct chunk_load *load);
    struct zd_object_want status_want;
    struct zd_place_want place;
    struct zd_range_want range;
    struct zd_job_owner owner; /* of who asked first */
    struct zd_job job;
    struct zd_buf *data; /* owned: what was decoded */
    enum zd_status status;
    struct zd_error err;
};

void zd_chunk_free(struct zd_cache_entry *entry)
{
    struct chunk *chunk = ZD_CONTAINER(entry, struct chunk, entry);
    zd_buf_unref(chunk->data);
    zd_dataset_unref(chunk->dataset);
    zd_free(chunk);
}

static struct zd_cache *cache_of(const struct chunk *chunk)
{
    return &chunk->dataset->server->chunks;
}

static void unref_chunk(struct chunk *chunk)
{
    zd_cache_unref(cache_of(chunk), &chunk->entry);
}

/* Key of an entry: numbers and the path. */
struct key {
    uint8_t byte[(4 + ZD_RANK_MAX) * sizeof(uint64_t) + ZD_KEY_BYTES_MAX];
    size_t len;
};

static void add(struct key *key, const void *bytes, size_t len)
{
    memcpy(key->byte + key->len, bytes, len);
    key->len += len;
}

static struct zd_span write_key(
    struct key *key, const struct zd_node *node, const uint64_t *index, struct zd_byte_range span)
{
    const uint64_t head[] = {node->dataset->id, node->tag, span.first, span.len};
    key->len = 0;
    add(key, head, sizeof head);
    add(key, index, node->meta->grid.rank * sizeof *index);
    add(key, node->path, strlen(node->path));
    return (struct zd_span){.ptr = key->byte, .len = key->len};
}

/* Whether the store was asked before something was changed. */
static bool is_before_change(const struct chunk *chunk)
{
    return chunk->n_changes != chunk->dataset->n_changes;
}

/* One that is being read since before a change is left to those who wait for it. */
static struct chunk *find_chunk(const struct zd_node *node, struct zd_span key)
{
    struct zd_cache_entry *entry = zd_cache_find(&node->dataset->server->chunks, key);
    struct chunk *chunk = entry == NULL ? NULL : ZD_CONTAINER(entry, struct chunk, entry);
    if (chunk != NULL && entry->is_busy && is_before_change(chunk)) {
        zd_cache_drop(cache_of(chunk), entry);
        return NULL;
    }
    return chunk;
}

/* A new entry with the caller's reference, or NULL. */
static struct chunk *new_chunk(const struct zd_node *node, struct zd_span key, bool is_span)
{
    struct chunk *chunk = zd_alloc_zero(1, sizeof *chunk + key.len);
    if (chunk == NULL) {
        return NULL;
    }
    uint8_t *own_key = (uint8_t *)(chunk + 1);
    memcpy(own_key, key.ptr, key.len);
    chunk->dataset = zd_dataset_ref(node->dataset);
    chunk->entry.owner = node->dataset;
    chunk->is_span = is_span;
    chunk->entry.map.key = (struct zd_span){.ptr = own_key, .len = key.len};
    if (zd_cache_put(&node->dataset->server->chunks, &chunk->entry) != ZD_OK) {
        zd_chunk_free(&chunk->entry);
        return NULL;
    }
    return chunk;
}

static size_t cost_of(const struct chunk *chunk)
{
    const size_t own = sizeof *chunk + chunk->entry.map.key.len;
    return own + (chunk->data == NULL ? 0 : chunk->data->cap);
}

enum zd_status zd_chunks_object_key(
    const struct zd_node *node, const uint64_t *leaf_index, struct zd_text *key)
{
    uint64_t index[ZD_RANK_MAX];
    zd_layout_ancestor(node->layout, node->layout->n_levels - 1, 0, leaf_index, index);
    return node->meta->dialect->chunk_key(node->meta, node->path, index, key);
}

static uint32_t leaf_level(const struct chunk_load *load)
{
    return load->node->layout->n_levels - 1;
}

/* ---- the steps of a load ---- */

static void end(struct chunk_load *load);
static enum zd_next want_chunk(struct zd_node *node, bool is_late, struct zd_chunk_want *want);

static bool is_over(struct chunk_load *load)
{
    enum zd_next next = ZD_NEXT;
    while (next == ZD_NEXT) {
        next = load->step(load);
    }
    return next == ZD_DONE;
}

static void run(struct chunk_load *load)
{
    if (is_over(load)) {
        end(load);
    }
}

static void status_arrived(struct zd_wait *wait)
{
    run(ZD_CONTAINER(wait, struct chunk_load, status_want.wait));
}

static void place_arrived(struct zd_wait *wait)
{
    run(ZD_CONTAINER(wait, struct chunk_load, place.wait));
}

static void range_arrived(struct zd_wait *wait)
{
    run(ZD_CONTAINER(wait, struct chunk_load, range.wait));
}

static enum zd_next fail(struct chunk_load *load, const struct zd_wait *wait)
{
    load->status = wait->status;
    load->err = wait->err;
    return ZD_DONE;
}

static enum zd_next found_corrupt(struct chunk_load *load)
{
    zd_error_name_key(&load->err, "chunk", load->key);
    return ZD_DONE;
}

/* What is known now. Takes the data's reference. */
static enum zd_next found(
    struct chunk_load *load, struct zd_buf *data, struct zd_generation generation)
{
    struct chunk *chunk = load->chunk;
    zd_buf_unref(chunk->data);
    chunk->data = data;
    chunk->is_mark = false;
    chunk->generation = generation;
    chunk->checked_ms = chunk->entry.began_ms;
    return ZD_DONE;
}

static enum zd_next step_place(struct chunk_load *load);

/* The object is of another generation than the place or the index was found in. */
static enum zd_next restart(struct chunk_load *load)
{
    if (load->n_restarts == RESTARTS_MAX) {
        load->status = zd_fail(&load->err, ZD_STORE,
            "chunk %s: the object was replaced while it was read, %d times in a row", load->key,
            RESTARTS_MAX + 1);
        return ZD_DONE;
    }
    load->n_restarts++;
    load->step = step_place;
    return ZD_NEXT;
}

static enum zd_next step_fill(struct chunk_load *load)
{
    load->is_decoding = false;
    return load->status == ZD_OK ? found(load, ZD_TAKE(load->data), load->range.stat.generation)
                                 : ZD_DONE;
}

/* Pure work on what the load owns. */
static void decode(struct chunk_load *load)
{
    const struct zd_level *leaf = zd_layout_leaf(load->node->layout);
    struct zd_buf *stored = load->range.bytes;
    load->status = load->chunk->is_span
                       ? zd_chunk_decode_part(leaf, stored, load->span, &load->data, &load->err)
                       : zd_chunk_decode(leaf, stored, &load->data, &load->err);
    if (load->status == ZD_CORRUPT) {
        (void)found_corrupt(load);
    }
}

static void decode_on_worker(struct zd_job *job)
{
    decode(ZD_CONTAINER(job, struct chunk_load, job));
}

static void decoded(struct zd_job *job, bool cancelled)
{
    struct chunk_load *load = ZD_CONTAINER(job, struct chunk_load, job);
    if (cancelled) {
        load->status = zd_fail(&load->err, ZD_CANCELLED, "chunk %s: nobody waits", load->key);
    }
    run(load);
}

/* On the loop thread, unless this or all that is wanted with it would hold it for too long. */
static bool is_cheap(const struct chunk_load *load, uint64_t cost_ns)
{
    const struct zd_server *server = load->node->dataset->server;
    const uint64_t n_shares = zd_div_up(load->n_together, LOT_SHARE);
    uint64_t share_ns;
    return zd_workers_is_cheap(server, cost_ns) && !ckd_mul(&share_ns, cost_ns, n_shares) &&
           zd_workers_is_cheap(server, share_ns);
}

static uint64_t decode_ns(const struct chunk_load *load)
{
    const struct zd_level *leaf = zd_layout_leaf(load->node->layout);
    return load->chunk->is_span ? zd_chain_part_ns(leaf->chain, load->span) : leaf->decode_ns;
}

static enum zd_next step_decode(struct chunk_load *load)
{
    struct zd_server *server = load->node->dataset->server;
    const struct zd_level *leaf = zd_layout_leaf(load->node->layout);
    server->metrics.n_decodes++;
    server->metrics.n_decoded_bytes += load->chunk->is_span ? load->span.len : leaf->chunk_bytes;
    load->step = step_fill;
    const uint64_t cost_ns = decode_ns(load);
    if (is_cheap(load, cost_ns)) {
        server->metrics.n_jobs_inline++;
        decode(load);
        return ZD_NEXT;
    }
    load->job = (struct zd_job){.work = decode_on_worker, .done = decoded, .owner = load->owner};
    load->is_decoding = true;
    zd_workers_submit(server, &load->job, cost_ns);
    return ZD_WAIT;
}

/* Whether only the run is read: of a chunk that is its elements and nothing else. */
static bool reads_span(const struct chunk_load *load)
{
    return load->chunk->is_span && load->node->layout->is_linear;
}

/* Exactly the bytes asked for, unless the object is shorter than its chunks are. */
static enum zd_next check_span(struct chunk_load *load)
{
    const uint64_t chunk_bytes = zd_layout_leaf(load->node->layout)->chunk_bytes;
    const bool is_object = leaf_level(load) == 0;
    const uint64_t stored = is_object ? load->range.stat.size : load->place.range.len;
    if (stored != chunk_bytes) {
        load->status = zd_fail(&load->err, ZD_CORRUPT, "%llu bytes are stored, a chunk has %llu",
            (unsigned long long)stored, (unsigned long long)chunk_bytes);
        zd_fact_expected(&load->err, "%llu bytes", (unsigned long long)chunk_bytes);
        zd_fact_found(&load->err, "%llu bytes", (unsigned long long)stored);
        return found_corrupt(load);
    }
    return found(load, ZD_TAKE(load->range.bytes), load->range.stat.generation);
}

/* It was not read: no memory is taken for what cannot be a chunk. */
static bool is_too_long(const struct chunk_load *load)
{
    const struct zd_settings *settings = &load->node->dataset->server->config->settings;
    return load->range.wait.status == ZD_TOO_LARGE && load->range.bytes_max > 0 &&
           load->range.bytes_max <= settings->limits_object_bytes;
}

static enum zd_next found_too_long(struct chunk_load *load)
{
    const unsigned long long most = load->range.bytes_max;
    load->status =
        zd_fail(&load->err, ZD_CORRUPT, "more bytes are stored than the %llu of a chunk", most);
    zd_fact_expected(&load->err, "at most %llu bytes", most);
    return found_corrupt(load);
}

static enum zd_next step_have(struct chunk_load *load)
{
    const bool is_object = leaf_level(load) == 0;
    const enum zd_status status = load->range.wait.status;
    if (is_too_long(load)) {
        return found_too_long(load);
    }
    if (status == ZD_NOT_FOUND && is_object) {
        return found(load, NULL, (struct zd_generation){0});
    }
    if (status == ZD_NOT_FOUND || status == ZD_PRECONDITION) {
        load->place.gone = load->place.stat.generation;
        return restart(load);
    }
    if (status != ZD_OK) {
        return fail(load, &load->range.wait);
    }
    if (reads_span(load)) {
        return check_span(load);
    }
    const size_t n_read = load->range.bytes == NULL ? 0 : load->range.bytes->len;
    if (!is_object && n_read != load->place.range.len) {
        load->status = zd_fail(&load->err, ZD_CORRUPT, "%zu bytes of an inner chunk, %llu expected",
            n_read, (unsigned long long)load->place.range.len);
        return found_corrupt(load);
    }
    load->step = step_decode;
    return ZD_NEXT;
}

static enum zd_next step_read(struct chunk_load *load)
{
    const bool is_object = leaf_level(load) == 0;
    struct zd_range range = {.kind = ZD_RANGE_WHOLE};
    if (!is_object) {
        range = (struct zd_range){.kind = ZD_RANGE_FROM_TO,
            .first = load->place.range.first,
            .len = load->place.range.len};
    }
    if (reads_span(load)) {
        range.kind = ZD_RANGE_FROM_TO;
        range.first += load->span.first; /* no more than the chunk's end, which was checked */
        range.len = load->span.len;
    }
    load->range = (struct zd_range_want){.wait.done = range_arrived, .range = range};
    if (is_object) {
        load->range.bytes_max = zd_layout_leaf(load->node->layout)->stored_max;
    } else {
        load->range.only_generation = load->place.stat.generation;
    }
    load->step = step_have;
    return zd_objects_want_range(load->node->dataset, load->key, &load->range);
}

static enum zd_next step_placed(struct chunk_load *load)
{
    const struct zd_place_want *place = &load->place;
    const uint64_t chunk_bytes = zd_layout_leaf(load->node->layout)->chunk_bytes;
    if (place->wait.status == ZD_NOT_FOUND) {
        (void)found(load, NULL, place->stat.generation);
        load->chunk->checked_ms = place->checked_ms;
        return ZD_DONE;
    }
    if (place->wait.status == ZD_PRECONDITION) {
        load->place.gone = place->stat.generation;
        return restart(load);
    }
    if (place->wait.status != ZD_OK) {
        return fail(load, &place->wait);
    }
    if (reads_span(load) && place->range.len != chunk_bytes) {
        return check_span(load);
    }
    load->step = step_read;
    return ZD_NEXT;
}

static enum zd_next step_place(struct chunk_load *load)
{
    zd_objects_release_range(&load->range);
    if (leaf_level(load) == 0) {
        load->step = step_read;
        return ZD_NEXT;
    }
    load->place.wait.done = place_arrived;
    load->place.level = leaf_level(load);
    memcpy(load->place.index, load->index, sizeof load->index);
    load->step = step_placed;
    return zd_shards_want(load->node, load->key, &load->place);
}

static enum zd_next step_compare(struct chunk_load *load)
{
    const struct zd_object_want *status = &load->status_want;
    if (status->wait.status != ZD_OK && status->wait.status != ZD_NOT_FOUND) {
        return fail(load, &status->wait);
    }
    /* Absence has generation zero. */
    if (zd_generation_equal(status->stat.generation, load->chunk->generation)) {
        load->chunk->checked_ms = status->checked_ms; /* the store was not asked since */
        return ZD_DONE;
    }
    load->place.gone = load->chunk->generation;
    load->step = step_place;
    return ZD_NEXT;
}

static enum zd_next step_check(struct chunk_load *load)
{
    load->status_want.wait.done = status_arrived;
    load->step = step_compare;
    return zd_objects_want(load->node->dataset, load->key, ZD_OBJECT_STATUS, &load->status_want);
}

/* ---- entries and those who wait ---- */

static void give(const struct chunk *chunk, struct zd_chunk_want *want)
{
    want->load = NULL;
    want->data = chunk->data == NULL ? NULL : zd_buf_ref(chunk->data);
    want->is_span = chunk->is_span;
    want->generation = chunk->generation;
    zd_wait_answer(&want->wait, ZD_OK, NULL);
}

static void give_failure(const struct chunk_load *load, struct zd_chunk_want *want)
{
    want->load = NULL;
    zd_wait_answer(&want->wait, load->status, &load->err);
}

static void free_load(struct chunk_load *load)
{
    zd_objects_release(&load->status_want);
    zd_shards_release(&load->place);
    zd_objects_release_range(&load->range);
    zd_buf_unref(load->data);
    unref_chunk(load->chunk);
    zd_node_unref(load->node);
    zd_free(load);
}

/* An absent chunk is remembered, although only some of it was wanted. */
static void remember_absence(const struct chunk_load *load)
{
    struct key memory;
    const struct zd_node *node = load->node;
    const struct zd_span key = write_key(&memory, node, load->index, (struct zd_byte_range){0});
    struct chunk *chunk = find_chunk(node, key);
    if (chunk != NULL && (!chunk->is_mark || chunk->entry.is_busy)) {
        return; /* others know more */
    }
    if (chunk == NULL) {
        chunk = new_chunk(node, key, false);
    } else {
        (void)zd_cache_ref(&chunk->entry);
    }
    if (chunk != NULL) {
        chunk->is_mark = false;
        chunk->generation = load->chunk->generation;
        chunk->checked_ms = load->chunk->checked_ms;
        chunk->n_changes = load->chunk->n_changes;
        zd_cache_charge(cache_of(chunk), &chunk->entry, cost_of(chunk));
        unref_chunk(chunk);
    }
}

static void settle(struct chunk_load *load)
{
    struct chunk *chunk = load->chunk;
    chunk->load = NULL;
    chunk->entry.is_busy = false;
    if (load->status == ZD_OK && !chunk->is_span && !chunk->dataset->is_retired) {
        zd_cache_charge(cache_of(chunk), &chunk->entry, cost_of(chunk));
        return;
    }
    zd_cache_drop(cache_of(chunk), &chunk->entry);
    if (load->status == ZD_OK && chunk->data == NULL && !chunk->dataset->is_retired) {
        remember_absence(load);
    }
}

/* The entry is idle from here on: one who is told may want it again, and waits for new work then.
 * What it holds now is what all of these are told. */
static void end(struct chunk_load *load)
{
    struct zd_list waiters;
    struct zd_list late;
    const struct chunk told = {
        .is_span = load->chunk->is_span,
        .data = load->chunk->data == NULL ? NULL : zd_buf_ref(load->chunk->data),
        .generation = load->chunk->generation,
    };
    zd_list_take_all(&load->chunk->entry.waiters, &waiters);
    zd_list_take_all(&load->chunk->entry.late, &late);
    settle(load);
    for (struct zd_list *link; (link = zd_list_pop_front(&waiters)) != NULL;) {
        struct zd_chunk_want *want = ZD_CONTAINER(link, struct zd_chunk_want, wait.link);
        if (load->status == ZD_OK) {
            give(&told, want);
        } else {
            give_failure(load, want);
        }
        want->wait.done(&want->wait);
    }
    for (struct zd_list *link; (link = zd_list_pop_front(&late)) != NULL;) {
        struct zd_chunk_want *want = ZD_CONTAINER(link, struct zd_chunk_want, wait.link);
        if (want_chunk(load->node, true, want) == ZD_NEXT) {
            want->wait.done(&want->wait);
        }
    }
    zd_buf_unref(told.data);
    free_load(load);
}

/* Nobody waits any more. Who wants the chunk from now on begins anew. */
static void abandon(struct chunk_load *load)
{
    zd_cache_drop(cache_of(load->chunk), &load->chunk->entry);
    if (load->is_decoding) {
        zd_workers_cancel(&load->job); /* decoded() ends the load */
        return;
    }
    load->status = ZD_CANCELLED;
    settle(load);
    free_load(load);
}

static void wait_for(struct chunk *chunk, struct zd_chunk_want *want)
{
    want->load = chunk;
    zd_list_push_back(&chunk->entry.waiters, &want->wait.link);
}

/* Takes a reference of the entry, which is idle. The want is not among the waiters yet. */
static enum zd_next start(struct chunk *chunk, struct zd_node *node, struct zd_byte_range span,
    bool is_known, struct zd_chunk_want *want)
{
    struct chunk_load *load = zd_alloc_zero(1, sizeof *load);
    if (load == NULL) {
        zd_cache_drop(cache_of(chunk), &chunk->entry);
        unref_chunk(chunk);
        want->wait.status = zd_fail(&want->wait.err, ZD_NO_MEMORY, "no memory to load a chunk");
        return ZD_NEXT;
    }
    chunk->load = load;
    chunk->entry.is_busy = true;
    chunk->n_changes = node->dataset->n_changes;
    load->chunk = chunk;
    load->node = zd_node_ref(node);
    memcpy(load->index, want->part.chunk, node->meta->grid.rank * sizeof load->index[0]);
    load->span = span;
    load->n_together = want->n_together;
    load->owner = want->owner;
    chunk->entry.began_ms = uv_now(node->dataset->server->loop);
    load->step = is_known ? step_check : step_place;
    load->status = zd_shards_key(node, leaf_level(load), load->index, load->key, &load->err);
    if (load->status == ZD_OK && !is_over(load)) {
        wait_for(chunk, want);
        return ZD_WAIT;
    }
    if (load->status == ZD_OK) {
        give(chunk, want);
    } else {
        give_failure(load, want);
    }
    end(load);
    return ZD_NEXT;
}

/* Whether little of a chunk is wanted, and having that alone is cheaper. */
static bool is_worth_a_span(const struct zd_layout *layout, struct zd_byte_range span)
{
    const struct zd_level *leaf = zd_layout_leaf(layout);
    return leaf->chunk_bytes > SPAN_CHUNK_MIN && span.len <= leaf->chunk_bytes / SPAN_SHARE &&
           (layout->is_linear || zd_chunk_part_pays(leaf, span));
}

/* Who wants the chunk from now on wants it for the second time, if it can be kept at all. */
static void mark(const struct zd_node *node, const struct zd_chunk_want *want)
{
    if (zd_layout_leaf(node->layout)->chunk_bytes > node->dataset->server->chunks.entry_bytes_max) {
        return;
    }
    struct key memory;
    const struct zd_span key =
        write_key(&memory, node, want->part.chunk, (struct zd_byte_range){0});
    struct chunk *chunk = new_chunk(node, key, false);
    if (chunk != NULL) {
        chunk->is_mark = true;
        zd_cache_charge(cache_of(chunk), &chunk->entry, cost_of(chunk));
        unref_chunk(chunk);
    }
}

void zd_chunks_want_init(struct zd_chunk_want *want, void (*done)(struct zd_wait *wait))
{
    want->wait.link = (struct zd_list){0};
    want->wait.done = done;
    want->n_together = 1;
    want->owner = (struct zd_job_owner){0};
    want->data = NULL;
    want->load = NULL;
}

/* @param is_late it may be told whatever the work under way finds: that began later */
static enum zd_next want_chunk(struct zd_node *node, bool is_late, struct zd_chunk_want *want)
{
    assert(node->layout != NULL);
    const struct zd_layout *layout = node->layout;
    const struct zd_byte_range whole = {0};
    struct key memory;
    struct zd_span key = write_key(&memory, node, want->part.chunk, whole);
    struct zd_byte_range span = whole;
    want->data = NULL;
    want->load = NULL;
    struct chunk *chunk = find_chunk(node, key);
    if (chunk == NULL && (layout->is_linear || layout->has_parts)) {
        span = zd_layout_span(layout, &want->part);
        if (is_worth_a_span(layout, span)) {
            key = write_key(&memory, node, want->part.chunk, span);
            chunk = find_chunk(node, key);
        } else {
            span = whole;
        }
    }
    if (chunk == NULL) {
        chunk = new_chunk(node, key, span.len > 0);
        if (chunk == NULL) {
            want->wait.status = zd_fail(&want->wait.err, ZD_NO_MEMORY, "no memory for a chunk");
            return ZD_NEXT;
        }
        if (span.len > 0 && layout->has_parts) {
            mark(node, want);
        }
        return start(chunk, node, span, false, want);
    }
    if (chunk->entry.is_busy) {
        if (is_late) {
            wait_for(chunk, want);
        } else {
            want->load = chunk;
            zd_dataset_join(node->dataset, &chunk->entry, &want->wait);
        }
        return ZD_WAIT;
    }
    if (!chunk->is_mark && !is_before_change(chunk) &&
        zd_dataset_trusts(node->dataset, chunk->checked_ms)) {
        give(chunk, want);
        return ZD_NEXT;
    }
    (void)zd_cache_ref(&chunk->entry);
    return start(chunk, node, span, !chunk->is_mark, want);
}

enum zd_next zd_chunks_want(struct zd_node *node, struct zd_chunk_want *want)
{
    return want_chunk(node, false, want);
}

void zd_chunks_release(struct zd_chunk_want *want)
{
    struct chunk *chunk = want->load;
    zd_wait_cancel(&want->wait);
    want->load = NULL;
    zd_buf_unref(ZD_TAKE(want->data));
    if (chunk != NULL && chunk->load != NULL && zd_list_is_empty(&chunk->entry.waiters) &&
        zd_list_is_empty(&chunk->entry.late)) {
        abandon(chunk->load);
    }
}
