/* Decoded chunks through the cache.
 *
 *     check -> place -> read -> decode        each step: at once, or when a wait ends
 *       |        |        |
 *       |        |        +- replaced meanwhile: back to place, a few times
 *       |        +- the indexes of shards; not for chunks that are objects of their own
 *       +- only for a chunk that is kept, when it was not checked for too long, or since a change
 *
 * A request for little of a chunk makes an entry for that run of bytes, which lives until it is
 * read and decoded. In a compressed chunk that pays once: the first request leaves a mark, and the
 * second one decodes and keeps the whole chunk. */
#include "server/data/chunks.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/array/chunk.h"
#include "server/data/object_cache.h"
#include "server/data/range_read.h"
#include "server/data/shard_lookup.h"
#include "server/runtime/server.h"

#define KEY_BYTES_MAX ((4 + ZD_RANK_MAX) * sizeof(uint64_t) + ZD_KEY_BYTES_MAX) /* of an entry */

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

/* Set its cost from what it holds now. */
static void chunk_charge(struct chunk *chunk)
{
    const size_t own = sizeof *chunk + chunk->entry.map.key.len;
    zd_cache_charge(
        cache_of(chunk), &chunk->entry, own + (chunk->data == NULL ? 0 : chunk->data->cap));
}

/* The same, and the caller's reference goes. */
static void chunk_keep(struct chunk *chunk)
{
    chunk_charge(chunk);
    zd_cache_unref(cache_of(chunk), &chunk->entry);
}

/* Whether the store was asked before something was changed. */
static bool is_before_change(const struct chunk *chunk)
{
    return chunk->n_changes != chunk->dataset->n_changes;
}

/* The key of an entry: numbers and the path. */
static struct zd_span write_key(uint8_t key[KEY_BYTES_MAX], const struct zd_node *node,
    const uint64_t *index, struct zd_byte_range span)
{
    const uint64_t head[] = {node->dataset->id, node->tag, span.first, span.len};
    const size_t index_len = node->meta->grid.rank * sizeof *index;
    const size_t path_len = strlen(node->path);
    memcpy(key, head, sizeof head);
    memcpy(key + sizeof head, index, index_len);
    memcpy(key + sizeof head + index_len, node->path, path_len);
    return (struct zd_span){.ptr = key, .len = sizeof head + index_len + path_len};
}

/* The entry of a chunk of the last level, or NULL; borrowed. An entry whose work began before a
 * change is left to its waiters and not found.
 * @param span the run of its bytes; len 0: the whole chunk */
static struct chunk *find_chunk(
    const struct zd_node *node, const uint64_t *index, struct zd_byte_range span)
{
    uint8_t memory[KEY_BYTES_MAX];
    struct zd_cache_entry *entry =
        zd_cache_find(&node->dataset->server->chunks, write_key(memory, node, index, span));
    struct chunk *chunk = entry == NULL ? NULL : ZD_CONTAINER(entry, struct chunk, entry);
    if (chunk != NULL && entry->flight != NULL && is_before_change(chunk)) {
        zd_cache_drop(cache_of(chunk), &chunk->entry);
        return NULL;
    }
    return chunk;
}

/* A new entry with the caller's reference, or NULL without memory. */
static struct chunk *new_chunk(
    const struct zd_node *node, const uint64_t *index, struct zd_byte_range span)
{
    uint8_t memory[KEY_BYTES_MAX];
    const struct zd_span key = write_key(memory, node, index, span);
    struct chunk *chunk = zd_alloc_zero(1, sizeof *chunk + key.len);
    if (chunk == NULL) {
        return NULL;
    }
    uint8_t *own_key = (uint8_t *)(chunk + 1);
    memcpy(own_key, key.ptr, key.len);
    chunk->dataset = zd_dataset_ref(node->dataset);
    chunk->entry.owner = node->dataset;
    chunk->is_span = span.len > 0;
    chunk->entry.map.key = (struct zd_span){.ptr = own_key, .len = key.len};
    if (zd_cache_put(&node->dataset->server->chunks, &chunk->entry) != ZD_OK) {
        zd_chunk_free(&chunk->entry);
        return NULL;
    }
    return chunk;
}

/* ---- the steps of a load ---- */

struct chunk_load {
    struct zd_flight flight;
    struct chunk *chunk;  /* the flight's entry */
    struct zd_node *node; /* a reference */
    uint64_t index[ZD_RANK_MAX];
    struct zd_byte_range span; /* when chunk->is_span */
    char key[ZD_KEY_BYTES_MAX + 1];
    uint64_t n_together;
    bool is_decoding; /* a worker has the job */
    enum zd_next (*step)(struct chunk_load *load);
    struct zd_object_want status_want;
    struct zd_place_want place;
    struct zd_range_want range;
    struct zd_job_owner owner; /* of the first request */
    char traceparent[ZD_STORE_TRACE_BYTES];
    struct zd_job job;
    struct zd_buf *data; /* owned: what was decoded */
    struct zd_chunk_times times;
};

static uint32_t leaf_level(const struct chunk_load *load)
{
    return load->node->layout->n_levels - 1;
}

static bool is_object(const struct chunk_load *load)
{
    return leaf_level(load) == 0;
}

static enum zd_next found_corrupt(struct chunk_load *load)
{
    zd_object_key_in_error(&load->flight.err, "chunk", load->key);
    return ZD_DONE;
}

/* Set the found chunk. Takes the data's reference. */
static enum zd_next found(
    struct chunk_load *load, struct zd_buf *data, struct zd_generation generation)
{
    struct chunk *chunk = load->chunk;
    zd_buf_unref(chunk->data);
    chunk->data = data;
    chunk->is_mark = false;
    chunk->generation = generation;
    chunk->checked_ms = zd_dataset_checked_ms(load->flight.began_ms, load->range.age_ms);
    return ZD_DONE;
}

static enum zd_next step_place(struct chunk_load *load);

/* The object is of another generation than the place or the index was found in. */
static enum zd_next restart(struct chunk_load *load)
{
    load->step = step_place;
    return zd_shards_retry(&load->place) ? ZD_NEXT
                                         : zd_flight_fail(&load->flight, &load->place.wait);
}

static enum zd_next step_fill(struct chunk_load *load)
{
    load->is_decoding = false;
    if (load->job.wait.status == ZD_CANCELLED) {
        return zd_flight_fail(&load->flight, &load->job.wait);
    }
    return load->flight.status == ZD_OK
               ? found(load, ZD_TAKE(load->data), load->range.stat.generation)
               : ZD_DONE;
}

/* Decoded. */
static uint64_t chunk_bytes_of(const struct chunk_load *load)
{
    return zd_layout_chunk_bytes(load->node->layout, leaf_level(load), load->index);
}

/* Pure work on what the load owns. */
static void decode(struct zd_job *job)
{
    struct chunk_load *load = ZD_CONTAINER(job, struct chunk_load, job);
    const struct zd_layout *layout = load->node->layout;
    struct zd_buf *stored = load->range.bytes;
    struct zd_error *err = &load->flight.err;
    load->times.decode_began_ns = uv_hrtime();
    load->flight.status =
        load->chunk->is_span
            ? zd_chunk_decode_part(zd_layout_leaf(layout), stored, load->span, &load->data, err)
            : zd_chunk_decode_leaf(layout, load->index, stored, &load->data, err);
    load->times.decode_ns = uv_hrtime() - load->times.decode_began_ns;
    if (load->flight.status == ZD_CORRUPT || load->flight.status == ZD_UNSUPPORTED) {
        zd_object_key_in_error(err, "chunk", load->key);
    }
}

static enum zd_next step_decode(struct chunk_load *load)
{
    struct zd_server *server = load->node->dataset->server;
    const struct zd_level *leaf = zd_layout_leaf(load->node->layout);
    server->metrics.n_decodes++;
    server->metrics.n_decoded_bytes += load->chunk->is_span ? load->span.len : chunk_bytes_of(load);
    load->step = step_fill;
    const uint64_t cost_ns =
        load->chunk->is_span ? zd_chain_part_ns(leaf->chain, load->span) : leaf->decode_ns;
    if (zd_workers_are_cheap(&server->workers, cost_ns, load->n_together)) {
        server->metrics.n_jobs_inline++;
        decode(&load->job);
        return ZD_NEXT;
    }
    load->job = (struct zd_job){
        .work = decode, .wait = zd_machine_wait(&load->flight.machine), .owner = load->owner};
    load->is_decoding = true;
    zd_workers_submit(&server->workers, &load->job, cost_ns);
    return ZD_WAIT;
}

/* Whether only the run is read: of a chunk that is its elements and nothing else. */
static bool reads_span(const struct chunk_load *load)
{
    return load->chunk->is_span && load->node->layout->is_linear;
}

/* The codec that judges how many bytes are stored is the last one. */
static void name_last_codec(struct chunk_load *load)
{
    const struct zd_chain *chain = zd_layout_leaf(load->node->layout)->chain;
    zd_fact_name(&load->flight.err, zd_chain_codec(chain, zd_chain_count(chain) - 1)->name);
}

/* Exactly the bytes asked for, unless the object is shorter than its chunks are. */
static enum zd_next check_span(struct chunk_load *load)
{
    const uint64_t chunk_bytes = chunk_bytes_of(load);
    const uint64_t stored = is_object(load) ? load->range.stat.size : load->place.range.len;
    if (stored != chunk_bytes) {
        load->flight.status = zd_fail(&load->flight.err, ZD_CORRUPT,
            "the stored object has %llu bytes, expected %llu for a chunk",
            (unsigned long long)stored, (unsigned long long)chunk_bytes);
        name_last_codec(load);
        zd_fact_expected(&load->flight.err, "%llu bytes", (unsigned long long)chunk_bytes);
        zd_fact_found(&load->flight.err, "%llu bytes", (unsigned long long)stored);
        return found_corrupt(load);
    }
    return found(load, ZD_TAKE(load->range.bytes), load->range.stat.generation);
}

/* The object is longer than any chunk: it was not read. */
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
        &load->flight.err, ZD_CORRUPT, "the stored object exceeds the %llu bytes of a chunk", most);
    name_last_codec(load);
    zd_fact_expected(&load->flight.err, "at most %llu bytes", most);
    return found_corrupt(load);
}

static enum zd_next step_have(struct chunk_load *load)
{
    const enum zd_status status = load->range.wait.status;
    load->times.read_ns = uv_hrtime() - load->times.read_began_ns;
    if (is_too_long(load)) {
        return found_too_long(load);
    }
    if (status == ZD_NOT_FOUND && is_object(load)) {
        return found(load, NULL, (struct zd_generation){0});
    }
    if (status == ZD_NOT_FOUND || status == ZD_PRECONDITION) {
        return restart(load);
    }
    if (status != ZD_OK) {
        return zd_flight_fail(&load->flight, &load->range.wait);
    }
    if (reads_span(load)) {
        return check_span(load);
    }
    const size_t n_read = load->range.bytes == NULL ? 0 : load->range.bytes->len;
    if (!is_object(load) && n_read != load->place.range.len) {
        load->flight.status = zd_fail(&load->flight.err, ZD_CORRUPT,
            "the store sent %zu bytes of an inner chunk, expected %llu", n_read,
            (unsigned long long)load->place.range.len);
        zd_fact_name(&load->flight.err, "sharding_indexed");
        return found_corrupt(load);
    }
    load->step = step_decode;
    return ZD_NEXT;
}

static enum zd_next step_read(struct chunk_load *load)
{
    struct zd_range range = {.kind = ZD_RANGE_WHOLE};
    if (!is_object(load)) {
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
        .owner = load->owner.name,
        .traceparent = load->traceparent,
    };
    if (is_object(load)) {
        load->range.bytes_max = zd_layout_leaf(load->node->layout)->stored_max;
    } else {
        load->range.only_generation = load->place.stat.generation;
    }
    load->step = step_have;
    load->range.age_max_ms = zd_dataset_age_max(load->node->dataset, load->flight.began_ms);
    return zd_range_read_want(load->node->dataset, load->key, &load->range);
}

static enum zd_next step_placed(struct chunk_load *load)
{
    const struct zd_place_want *place = &load->place;
    if (place->wait.status == ZD_NOT_FOUND) {
        (void)found(load, NULL, place->stat.generation);
        load->chunk->checked_ms = place->checked_ms;
        return ZD_DONE;
    }
    if (place->wait.status == ZD_PRECONDITION) {
        return restart(load);
    }
    if (place->wait.status != ZD_OK) {
        return zd_flight_fail(&load->flight, &place->wait);
    }
    if (reads_span(load) && place->range.len != chunk_bytes_of(load)) {
        return check_span(load);
    }
    load->step = step_read;
    return ZD_NEXT;
}

static enum zd_next step_place(struct chunk_load *load)
{
    zd_range_read_release(&load->range);
    if (load->times.read_began_ns == 0) {
        load->times.read_began_ns = uv_hrtime(); /* indexes included */
    }
    if (is_object(load)) {
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
        return zd_flight_fail(&load->flight, &status->wait);
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

static struct chunk_load *load_of(struct zd_flight *flight)
{
    return ZD_CONTAINER(flight, struct chunk_load, flight);
}

static enum zd_next step(struct zd_flight *flight)
{
    return load_of(flight)->step(load_of(flight));
}

/* ---- entries and their waiters ---- */

/* An absent chunk is remembered, although only some of it was wanted. */
static void remember_absence(const struct chunk_load *load)
{
    const struct zd_node *node = load->node;
    const struct zd_byte_range whole = {0};
    struct chunk *chunk = find_chunk(node, load->index, whole);
    if (chunk != NULL && (!chunk->is_mark || chunk->entry.flight != NULL)) {
        return; /* others know more */
    }
    if (chunk == NULL) {
        chunk = new_chunk(node, load->index, whole);
    } else {
        (void)zd_cache_ref(&chunk->entry);
    }
    if (chunk != NULL) {
        chunk->is_mark = false;
        chunk->generation = load->chunk->generation;
        chunk->checked_ms = load->chunk->checked_ms;
        chunk->n_changes = load->chunk->n_changes;
        chunk_keep(chunk);
    }
}

static void settle(struct zd_flight *flight)
{
    struct chunk_load *load = load_of(flight);
    struct chunk *chunk = load->chunk;
    if (flight->status == ZD_OK && !chunk->is_span && !chunk->dataset->is_retired) {
        chunk_charge(chunk);
        return;
    }
    zd_cache_drop(cache_of(chunk), &chunk->entry);
    if (flight->status == ZD_OK && chunk->data == NULL && !chunk->dataset->is_retired) {
        remember_absence(load);
    }
}

static void give(const struct chunk *chunk, struct zd_chunk_want *want)
{
    want->data = chunk->data == NULL ? NULL : zd_buf_ref(chunk->data);
    want->is_span = chunk->is_span;
    want->generation = chunk->generation;
    want->checked_ms = chunk->checked_ms;
    zd_wait_answer(&want->wait, ZD_OK, NULL);
}

static void give_waiter(struct zd_flight *flight, struct zd_wait *wait)
{
    struct zd_chunk_want *want = ZD_CONTAINER(wait, struct zd_chunk_want, wait);
    want->times = load_of(flight)->times;
    give(load_of(flight)->chunk, want);
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
    zd_workers_cancel(&load->job); /* its wait still ends */
    return ZD_WAIT;
}

static void release_load(struct zd_flight *flight)
{
    struct chunk_load *load = load_of(flight);
    zd_objects_release(&load->status_want);
    zd_shards_release(&load->place);
    zd_range_read_release(&load->range);
    zd_buf_unref(load->data);
    zd_node_unref(load->node);
}

static const struct zd_flight_ops ops = {
    .step = step,
    .give = give_waiter,
    .settle = settle,
    .again = ask_again,
    .cancel = cancel,
    .done = release_load,
};

/* Takes a reference of the entry, which is idle. */
static enum zd_next start(struct chunk *chunk, struct zd_node *node, struct zd_byte_range span,
    bool is_known, struct zd_chunk_want *want)
{
    struct zd_server *server = node->dataset->server;
    struct chunk_load *load = zd_flight_new(sizeof *load, &ops, &server->chunks, &chunk->entry,
        uv_now(server->loop), &want->wait, "a chunk");
    if (load == NULL) {
        return ZD_NEXT;
    }
    struct zd_flight *flight = &load->flight;
    chunk->n_changes = node->dataset->n_changes;
    load->chunk = chunk;
    load->node = zd_node_ref(node);
    memcpy(load->index, want->part.chunk, node->meta->grid.rank * sizeof load->index[0]);
    load->span = span;
    load->n_together = want->n_together;
    load->owner = want->owner;
    if (want->owner.traceparent != NULL) { /* the request may end before the chunk is read */
        (void)snprintf(load->traceparent, sizeof load->traceparent, "%s", want->owner.traceparent);
    }
    load->owner.traceparent = load->traceparent;
    load->step = is_known ? step_check : step_place;
    flight->status = zd_object_key_of(node, leaf_level(load), load->index, load->key, &flight->err);
    want->flight = flight;
    return zd_flight_begin(flight, &want->wait);
}

/* Mark a chunk that the cache could keep: the next request for it is the second one. */
static void mark(const struct zd_node *node, const struct zd_chunk_want *want)
{
    if (zd_layout_leaf(node->layout)->chunk_bytes > node->dataset->server->chunks.entry_bytes_max) {
        return;
    }
    struct chunk *chunk = new_chunk(node, want->part.chunk, (struct zd_byte_range){0});
    if (chunk != NULL) {
        chunk->is_mark = true;
        chunk_keep(chunk);
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
    want->times = (struct zd_chunk_times){0};
}

static enum zd_next want_chunk(
    struct zd_node *node, enum zd_freshness freshness, struct zd_chunk_want *want)
{
    assert(node->layout != NULL);
    const struct zd_layout *layout = node->layout;
    const struct zd_byte_range whole = {0};
    const uint64_t *index = want->part.chunk;
    struct zd_byte_range span = whole;
    want->data = NULL;
    struct chunk *chunk = find_chunk(node, index, whole);
    if (chunk == NULL && (layout->is_linear || layout->has_parts)) {
        span = zd_layout_span(layout, &want->part);
        if (zd_chunk_part_pays(layout, index, span)) {
            chunk = find_chunk(node, index, span);
        } else {
            span = whole;
        }
    }
    if (chunk == NULL) {
        chunk = new_chunk(node, index, span);
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
        give(chunk, want);
        return ZD_NEXT;
    }
    (void)zd_cache_ref(&chunk->entry);
    return start(chunk, node, span, !chunk->is_mark, want);
}

enum zd_next zd_chunks_want(struct zd_node *node, struct zd_chunk_want *want)
{
    return want_chunk(node, ZD_TRUSTED, want);
}

bool zd_chunks_find(const struct zd_node *node, const uint64_t *index,
    struct zd_generation generation, bool *ret_is_absent)
{
    uint8_t memory[KEY_BYTES_MAX];
    const struct zd_byte_range whole = {0};
    const struct zd_map_entry *found =
        zd_map_find(&node->dataset->server->chunks.map, write_key(memory, node, index, whole));
    if (found == NULL) {
        return false;
    }
    const struct chunk *chunk = ZD_CONTAINER(found, const struct chunk, entry.map);
    *ret_is_absent = chunk->data == NULL;
    return chunk->entry.flight == NULL && !chunk->is_mark &&
           zd_generation_equal(chunk->generation, generation);
}

void zd_chunks_release(struct zd_chunk_want *want)
{
    zd_flight_leave(want->flight, &want->wait);
    zd_buf_unref(ZD_TAKE(want->data));
}
