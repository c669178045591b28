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

/* A decoded chunk, or its absence, or (is_span) a run of its bytes, or (is_mark) nothing yet. */
struct chunk {
    struct zd_cache_entry entry; /* first; key: dataset, tag, index, span, path */
    struct zd_dataset *dataset;
    bool is_span;
    bool is_mark;                    /* a run of the chunk was wanted before */
    struct zd_buf *data;             /* owned; NULL = absent, unless it is a mark */
    struct zd_generation generation; /* of the stored object; zero = absent */
    uint64_t checked_ms;
    uint64_t n_changes; /* of the dataset, when the store was asked */
};

struct chunk_load {
    struct zd_flight flight;
    struct chunk *chunk;  /* the flight's entry */
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
    /* what the chunk was when the work ended */
    struct zd_buf *found_data; /* a reference, or NULL */
    struct zd_generation found_generation;
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
    if (chunk != NULL && entry->flight != NULL && is_before_change(chunk)) {
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

static enum zd_next fail(struct chunk_load *load, const struct zd_wait *wait)
{
    load->flight.status = wait->status;
    load->flight.err = wait->err;
    return ZD_DONE;
}

static enum zd_next found_corrupt(struct chunk_load *load)
{
    zd_error_name_key(&load->flight.err, "chunk", load->key);
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
    chunk->checked_ms = load->flight.began_ms;
    return ZD_DONE;
}

static enum zd_next step_place(struct chunk_load *load);

/* The object is of another generation than the place or the index was found in. */
static enum zd_next restart(struct chunk_load *load)
{
    if (load->n_restarts == RESTARTS_MAX) {
        load->flight.status = zd_fail(&load->flight.err, ZD_STORE,
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
    return load->flight.status == ZD_OK
               ? found(load, ZD_TAKE(load->data), load->range.stat.generation)
               : ZD_DONE;
}

/* Pure work on what the load owns. */
static void decode(struct chunk_load *load)
{
    const struct zd_level *leaf = zd_layout_leaf(load->node->layout);
    struct zd_buf *stored = load->range.bytes;
    load->flight.status =
        load->chunk->is_span
            ? zd_chunk_decode_part(leaf, stored, load->span, &load->data, &load->flight.err)
            : zd_chunk_decode(leaf, stored, &load->data, &load->flight.err);
    if (load->flight.status == ZD_CORRUPT) {
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
        load->flight.status =
            zd_fail(&load->flight.err, ZD_CANCELLED, "chunk %s: nobody waits", load->key);
    }
    zd_machine_go_on(&load->flight.machine);
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
        load->flight.status =
            zd_fail(&load->flight.err, ZD_CORRUPT, "%llu bytes are stored, a chunk has %llu",
                (unsigned long long)stored, (unsigned long long)chunk_bytes);
        zd_fact_expected(&load->flight.err, "%llu bytes", (unsigned long long)chunk_bytes);
        zd_fact_found(&load->flight.err, "%llu bytes", (unsigned long long)stored);
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
    load->flight.status = zd_fail(
        &load->flight.err, ZD_CORRUPT, "more bytes are stored than the %llu of a chunk", most);
    zd_fact_expected(&load->flight.err, "at most %llu bytes", most);
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
        load->flight.status =
            zd_fail(&load->flight.err, ZD_CORRUPT, "%zu bytes of an inner chunk, %llu expected",
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
    load->range = (struct zd_range_want){
        .wait = zd_machine_wait(&load->flight.machine),
        .range = range,
    };
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
    load->place.wait = zd_machine_wait(&load->flight.machine);
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
    load->status_want.wait = zd_machine_wait(&load->flight.machine);
    load->step = step_compare;
    return zd_objects_want(load->node->dataset, load->key, ZD_OBJECT_STATUS, &load->status_want);
}

static enum zd_next run_step(struct zd_machine *machine)
{
    struct chunk_load *load = ZD_CONTAINER(machine, struct chunk_load, flight.machine);
    return load->step(load);
}

/* ---- entries and their waiters ---- */

/* An absent chunk is remembered, although only some of it was wanted. */
static void remember_absence(const struct chunk_load *load)
{
    struct key memory;
    const struct zd_node *node = load->node;
    const struct zd_span key = write_key(&memory, node, load->index, (struct zd_byte_range){0});
    struct chunk *chunk = find_chunk(node, key);
    if (chunk != NULL && (!chunk->is_mark || chunk->entry.flight != NULL)) {
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

static struct chunk_load *load_of(struct zd_flight *flight)
{
    return ZD_CONTAINER(flight, struct chunk_load, flight);
}

static void settle(struct zd_flight *flight)
{
    struct chunk_load *load = load_of(flight);
    struct chunk *chunk = load->chunk;
    load->found_data = chunk->data == NULL ? NULL : zd_buf_ref(chunk->data);
    load->found_generation = chunk->generation;
    if (flight->status == ZD_OK && !chunk->is_span && !chunk->dataset->is_retired) {
        zd_cache_charge(cache_of(chunk), &chunk->entry, cost_of(chunk));
        return;
    }
    zd_cache_drop(cache_of(chunk), &chunk->entry);
    if (flight->status == ZD_OK && chunk->data == NULL && !chunk->dataset->is_retired) {
        remember_absence(load);
    }
}

static void give(
    struct zd_chunk_want *want, struct zd_buf *data, bool is_span, struct zd_generation generation)
{
    want->data = data == NULL ? NULL : zd_buf_ref(data);
    want->is_span = is_span;
    want->generation = generation;
    zd_wait_answer(&want->wait, ZD_OK, NULL);
}

static void give_waiter(struct zd_flight *flight, struct zd_wait *wait)
{
    const struct chunk_load *load = load_of(flight);
    give(ZD_CONTAINER(wait, struct zd_chunk_want, wait), load->found_data, load->chunk->is_span,
        load->found_generation);
}

static enum zd_next want_chunk(
    struct zd_node *node, enum zd_freshness freshness, struct zd_chunk_want *want);

static enum zd_next ask_again(struct zd_flight *flight, struct zd_wait *wait)
{
    return want_chunk(
        load_of(flight)->node, ZD_JOINING, ZD_CONTAINER(wait, struct zd_chunk_want, wait));
}

static enum zd_next cancel(struct zd_flight *flight)
{
    struct chunk_load *load = load_of(flight);
    if (!load->is_decoding) {
        return ZD_DONE;
    }
    zd_workers_cancel(&load->job); /* decoded() still runs */
    return ZD_WAIT;
}

static void free_load(struct zd_flight *flight)
{
    struct chunk_load *load = load_of(flight);
    zd_objects_release(&load->status_want);
    zd_shards_release(&load->place);
    zd_objects_release_range(&load->range);
    zd_buf_unref(load->data);
    zd_buf_unref(load->found_data);
    zd_node_unref(load->node);
    zd_free(load);
}

static const struct zd_flight_ops ops = {
    .settle = settle,
    .give = give_waiter,
    .again = ask_again,
    .cancel = cancel,
    .free = free_load,
};

/* Takes a reference of the entry, which is idle. */
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
    struct zd_flight *flight = &load->flight;
    *flight = (struct zd_flight){
        .machine.step = run_step,
        .ops = &ops,
        .cache = cache_of(chunk),
        .entry = &chunk->entry,
        .began_ms = uv_now(node->dataset->server->loop),
    };
    chunk->n_changes = node->dataset->n_changes;
    load->chunk = chunk;
    load->node = zd_node_ref(node);
    memcpy(load->index, want->part.chunk, node->meta->grid.rank * sizeof load->index[0]);
    load->span = span;
    load->n_together = want->n_together;
    load->owner = want->owner;
    load->step = is_known ? step_check : step_place;
    flight->status = zd_shards_key(node, leaf_level(load), load->index, load->key, &flight->err);
    want->flight = flight;
    return zd_flight_begin(flight, &want->wait);
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

void zd_chunks_want_init(
    struct zd_chunk_want *want, void (*done)(struct zd_wait *wait), void *context)
{
    want->wait.link = (struct zd_list){0};
    want->wait.done = done;
    want->wait.context = context;
    want->n_together = 1;
    want->owner = (struct zd_job_owner){0};
    want->data = NULL;
}

static enum zd_next want_chunk(
    struct zd_node *node, enum zd_freshness freshness, struct zd_chunk_want *want)
{
    assert(node->layout != NULL);
    const struct zd_layout *layout = node->layout;
    const struct zd_byte_range whole = {0};
    struct key memory;
    struct zd_span key = write_key(&memory, node, want->part.chunk, whole);
    struct zd_byte_range span = whole;
    want->data = NULL;
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
    if (chunk->entry.flight != NULL) {
        want->flight = chunk->entry.flight;
        zd_dataset_join(node->dataset, want->flight, freshness, &want->wait);
        return ZD_WAIT;
    }
    if (!chunk->is_mark && !is_before_change(chunk) &&
        zd_dataset_trusts(node->dataset, chunk->checked_ms)) {
        give(want, chunk->data, chunk->is_span, chunk->generation);
        return ZD_NEXT;
    }
    (void)zd_cache_ref(&chunk->entry);
    return start(chunk, node, span, !chunk->is_mark, want);
}

enum zd_next zd_chunks_want(struct zd_node *node, struct zd_chunk_want *want)
{
    return want_chunk(node, ZD_TRUSTED, want);
}

void zd_chunks_release(struct zd_chunk_want *want)
{
    zd_flight_leave(want->flight, &want->wait);
    zd_buf_unref(ZD_TAKE(want->data));
}
