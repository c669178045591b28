/* Where the stored bytes of inner chunks are, by the indexes of their shards.
 *
 * Decoded indexes are entries of the cache of encoded bytes. The index of a whole object (level 0)
 * is found by its key and checked like any object, so it also gives the object's generation. The
 * index of a shard within a shard is found by generation and place as well, and is never checked
 * again. Of a large index whose entries are at fixed places each page is an entry of its own. */
#include "server/data/shard_lookup.h"

#include <assert.h>
#include <string.h>

#include "core/base/num.h"
#include "server/data/range_read.h"
#include "server/runtime/server.h"

#define INDEX_BYTES_PER_NS 1 /* checking the entries of an index and its checksum */

/* The work for one index. */
struct index_load {
    struct zd_flight flight;
    struct zd_object *object; /* the flight's entry */
    struct zd_node *node;     /* a reference */
    char *key;                /* of the stored object; owned */
    uint32_t level;
    const struct zd_level *level_at; /* as the shard has it; of zd_layout_open */
    struct zd_byte_range run;        /* of the shard; of a whole object once it is read */
    struct zd_byte_range piece;      /* of the index */
    struct zd_generation generation; /* of the object, below level 0 */
    enum zd_next (*step)(struct index_load *load);
    struct zd_object_want status_want;
    struct zd_range_want range;
    struct zd_job job;
    struct zd_buf *shard_index; /* owned */
};

/* @return ZD_DONE, for a step */
static enum zd_next fail_of_shard(struct index_load *load)
{
    zd_object_key_in_error(&load->flight.err, "shard", load->key);
    return ZD_DONE;
}

static enum zd_next step_fill(struct index_load *load)
{
    struct zd_object *object = load->object;
    if (load->flight.status != ZD_OK) {
        return ZD_DONE;
    }
    zd_buf_unref(object->bytes);
    object->bytes = ZD_TAKE(load->shard_index);
    object->stat = load->range.stat;
    object->status = ZD_OK;
    object->checked_ms = zd_dataset_checked_ms(load->flight.began_ms, load->range.age_ms);
    return ZD_DONE;
}

static void decode(struct zd_job *job)
{
    struct index_load *load = ZD_CONTAINER(job, struct index_load, job);
    struct zd_error *err = &load->flight.err;
    load->flight.status =
        zd_layout_index_decode(load->level_at, load->range.bytes, &load->shard_index, err);
    if (load->flight.status == ZD_CORRUPT) {
        (void)fail_of_shard(load);
    }
}

static enum zd_next step_decode(struct index_load *load)
{
    struct zd_server *server = load->node->dataset->server;
    const uint64_t bytes = load->level_at->shard->index_bytes;
    if (load->piece.len < bytes) { /* a page is as it is decoded */
        load->shard_index = ZD_TAKE(load->range.bytes);
        return step_fill(load);
    }
    server->metrics.n_decodes++;
    server->metrics.n_decoded_bytes += bytes;
    load->step = step_fill;
    load->job = (struct zd_job){.work = decode, .wait = zd_machine_wait(&load->flight.machine)};
    return zd_workers_run(&server->workers, &load->job, bytes / INDEX_BYTES_PER_NS);
}

/* The bytes of the index are there, or something else is known of the object. */
static enum zd_next step_have(struct index_load *load)
{
    struct zd_object *object = load->object;
    if (load->range.wait.status == ZD_NOT_FOUND && load->level == 0) {
        zd_buf_unref(ZD_TAKE(object->bytes));
        object->stat = (struct zd_stat){0};
        object->status = ZD_NOT_FOUND;
        object->checked_ms = load->flight.began_ms;
        return ZD_DONE;
    }
    if (load->range.wait.status == ZD_NOT_FOUND) {
        load->flight.status =
            zd_fail(&load->flight.err, ZD_PRECONDITION, "%s: the object was erased", load->key);
        return ZD_DONE;
    }
    if (load->range.wait.status != ZD_OK) {
        return zd_flight_fail(&load->flight, &load->range.wait);
    }
    if (load->level == 0) {
        load->run = (struct zd_byte_range){.first = 0, .len = load->range.stat.size};
    }
    struct zd_byte_range found = {0};
    load->flight.status =
        zd_layout_index_range(load->level_at, load->run, &found, &load->flight.err);
    const uint64_t len = zd_min_u64(load->piece.len, found.len); /* less, where one is implied */
    if (load->flight.status == ZD_OK && load->range.bytes->len != len) {
        load->flight.status =
            zd_fail(&load->flight.err, ZD_CORRUPT, "%zu of %llu bytes of its index were read",
                load->range.bytes->len, (unsigned long long)len);
        zd_fact_name(&load->flight.err, "sharding_indexed");
    }
    if (load->flight.status != ZD_OK) {
        return fail_of_shard(load);
    }
    load->step = step_decode;
    return ZD_NEXT;
}

/* The size of a whole object need not be known: stores read suffixes. */
static enum zd_next step_read(struct index_load *load)
{
    const struct zd_shard *shard = load->level_at->shard;
    struct zd_byte_range place = {.first = 0, .len = shard->index_bytes};
    if (load->level > 0) {
        load->flight.status =
            zd_layout_index_range(load->level_at, load->run, &place, &load->flight.err);
    }
    if (load->flight.status != ZD_OK) {
        return fail_of_shard(load);
    }
    const struct zd_byte_range piece = load->piece;
    const bool is_suffix = load->level == 0 && !shard->index_at_start;
    const uint64_t n_behind = shard->index_bytes - piece.first - piece.len;
    load->range = (struct zd_range_want){
        .wait = zd_machine_wait(&load->flight.machine),
        .range = {.kind = is_suffix ? ZD_RANGE_SUFFIX : ZD_RANGE_FROM_TO,
            .first = is_suffix ? n_behind : place.first + piece.first,
            .len = zd_min_u64(piece.len, place.len)},
        .only_generation = load->generation,
        .age_max_ms = zd_dataset_age_max(load->node->dataset, load->flight.began_ms),
    };
    load->step = step_have;
    return zd_range_read_want(load->node->dataset, load->key, &load->range);
}

static enum zd_next step_compare(struct index_load *load)
{
    const struct zd_object_want *found = &load->status_want;
    struct zd_object *object = load->object;
    if (found->wait.status != ZD_OK && found->wait.status != ZD_NOT_FOUND) {
        return zd_flight_fail(&load->flight, &found->wait);
    }
    /* Absence has generation zero. */
    if (zd_generation_equal(found->stat.generation, object->stat.generation)) {
        object->checked_ms = found->checked_ms; /* the store was not asked since */
        return ZD_DONE;
    }
    load->step = step_read;
    return ZD_NEXT;
}

static enum zd_next step_check(struct index_load *load)
{
    load->status_want.wait = zd_machine_wait(&load->flight.machine);
    load->step = step_compare;
    return zd_objects_want(load->node->dataset, load->key, ZD_OBJECT_STATUS, &load->status_want);
}

static struct index_load *load_of(struct zd_flight *flight)
{
    return ZD_CONTAINER(flight, struct index_load, flight);
}

static enum zd_next step(struct zd_flight *flight)
{
    return load_of(flight)->step(load_of(flight));
}

/* ---- entries and their waiters ---- */

static enum zd_next want_index(struct zd_place_want *want, enum zd_freshness freshness);

static enum zd_next ask_again(struct zd_flight *flight, struct zd_wait *wait)
{
    (void)flight;
    return want_index(ZD_CONTAINER(wait, struct zd_place_want, found.wait), ZD_JOINING);
}

static void release_load(struct zd_flight *flight)
{
    struct index_load *load = load_of(flight);
    zd_range_read_release(&load->range);
    zd_buf_unref(load->shard_index);
    zd_layout_close(load->level_at);
    zd_node_unref(load->node);
    zd_free(load->key);
}

static const struct zd_flight_ops ops = {
    .step = step,
    .give = zd_object_give_waiter,
    .settle = zd_object_settle,
    .again = ask_again,
    .done = release_load,
};

/* Whether the store was asked before something was changed. Indexes below level 0 cannot change. */
static bool is_before_change(const struct zd_place_want *want, const struct zd_object *object)
{
    return want->at_level == 0 && object->n_changes != want->node->dataset->n_changes;
}

/* The index of a whole object is named by the key, one within by place and generation too. */
static struct zd_span write_name(const struct zd_place_want *want, uint8_t name[ZD_OBJECT_NAME_MAX])
{
    const uint64_t number[] = {want->node->tag, want->at_level, want->piece.first, want->run.first,
        want->stat.generation.word[0], want->stat.generation.word[1]};
    const size_t n_numbers = want->at_level == 0 ? 3 : ZD_COUNT_OF(number);
    const size_t key_len = strlen(want->key);
    memcpy(name, number, n_numbers * sizeof *number);
    memcpy(name + n_numbers * sizeof *number, want->key, key_len);
    return (struct zd_span){.ptr = name, .len = n_numbers * sizeof *number + key_len};
}

static struct zd_object *claim_named(struct zd_place_want *want, bool *ret_is_new)
{
    uint8_t name[ZD_OBJECT_NAME_MAX];
    return zd_object_claim(want->node->dataset, ZD_KIND_INDEX, write_name(want, name), ret_is_new);
}

/* An entry whose work began before a change is left to its waiters. */
static struct zd_object *claim(struct zd_place_want *want, bool *ret_is_new)
{
    struct zd_object *object = claim_named(want, ret_is_new);
    if (object == NULL || object->entry.flight == NULL || !is_before_change(want, object)) {
        return object;
    }
    zd_cache_drop(&want->node->dataset->server->objects, &object->entry);
    zd_object_unref(object);
    return claim_named(want, ret_is_new);
}

/* The level as the shard at_level has it, in which the chunk is looked for. */
static enum zd_status open_level(
    const struct zd_place_want *want, const struct zd_level **ret_level, struct zd_error *err)
{
    uint64_t index[ZD_RANK_MAX];
    const struct zd_layout *layout = want->node->layout;
    zd_layout_ancestor(layout, want->level, want->at_level, want->index, index);
    return zd_layout_open(layout, want->at_level, index, ret_level, err);
}

/* Takes a reference of the entry, which is idle. */
static enum zd_next start(struct zd_place_want *want, struct zd_object *object, bool is_known)
{
    const struct zd_dataset *dataset = want->node->dataset;
    struct zd_server *server = dataset->server;
    struct index_load *load = zd_flight_new(sizeof *load, &ops, &server->objects, &object->entry,
        uv_now(server->loop), &want->found.wait, "the index of a shard");
    if (load == NULL) {
        return ZD_NEXT;
    }
    object->n_changes = dataset->n_changes;
    load->object = object;
    load->node = zd_node_ref(want->node);
    load->key = zd_strdup(want->key);
    load->level = want->at_level;
    load->run = want->run;
    load->piece = want->piece;
    load->generation = want->at_level == 0 ? (struct zd_generation){0} : want->stat.generation;
    load->step = is_known ? step_check : step_read;
    if (load->key == NULL) {
        load->flight.status =
            zd_fail(&load->flight.err, ZD_NO_MEMORY, "no memory to load the index of a shard");
    } else {
        load->flight.status = open_level(want, &load->level_at, &load->flight.err);
    }
    return zd_flight_begin(&load->flight, &want->found.wait);
}

static enum zd_next want_index(struct zd_place_want *want, enum zd_freshness freshness)
{
    bool is_new = false;
    struct zd_object *object = claim(want, &is_new);
    if (object == NULL) {
        want->found.wait.status =
            zd_fail(&want->found.wait.err, ZD_NO_MEMORY, "%s: no memory", want->key);
        return ZD_NEXT;
    }
    if (is_new) {
        return start(want, object, false);
    }
    if (object->entry.flight != NULL) {
        /* Indexes below level 0 are found by generation, so they are never stale. */
        zd_dataset_join(object->dataset, object->entry.flight,
            want->at_level > 0 ? ZD_JOINING : freshness, &want->found.wait);
        zd_object_unref(object); /* the flight has a reference of its own */
        return ZD_WAIT;
    }
    const bool is_gone = want->at_level == 0 && zd_generation_is_set(want->gone) &&
                         zd_generation_equal(want->gone, object->stat.generation);
    const bool is_kept = object->status == ZD_NOT_FOUND || object->bytes != NULL;
    if (is_gone || !is_kept) {
        return start(want, object, false);
    }
    if (want->at_level == 0 && (is_before_change(want, object) ||
                                   !zd_dataset_trusts(want->node->dataset, object->checked_ms))) {
        return start(want, object, true);
    }
    zd_object_give(object, &want->found);
    zd_object_unref(object);
    return ZD_NEXT;
}

/* ---- the search, level by level ---- */

/* The chunk of the next level, in that level's grid. */
static void next_chunk(const struct zd_place_want *want, uint64_t ret_index[ZD_RANK_MAX])
{
    zd_layout_ancestor(want->node->layout, want->level, want->at_level + 1, want->index, ret_index);
}

/* From the index of one level, which is there, to the run of the next level's chunk. */
static enum zd_status go_down(struct zd_place_want *want)
{
    const struct zd_wait *wait = &want->found.wait;
    ZD_AUTO(zd_buf) shard_index = ZD_TAKE(want->found.bytes);
    if (want->at_level == 0) {
        want->checked_ms = want->found.checked_ms; /* of indexes below nothing can change */
        want->run = (struct zd_byte_range){.first = 0, .len = want->found.stat.size};
    }
    if (wait->status != ZD_OK) {
        zd_wait_answer(&want->wait, wait->status, &wait->err);
        return wait->status;
    }
    want->stat = want->found.stat;
    uint64_t index[ZD_RANK_MAX];
    struct zd_error *err = &want->wait.err;
    next_chunk(want, index);
    want->wait.status =
        zd_layout_find(want->level_at, shard_index, want->run, index, &want->range, err);
    if (want->wait.status == ZD_CORRUPT) {
        zd_object_key_in_error(err, "shard", want->key);
    }
    want->run = want->range;
    want->at_level++;
    return want->wait.status;
}

static void index_arrived(struct zd_wait *wait);

/* @return ZD_WAIT: index_arrived() goes on; ZD_NEXT: the place is found, or not to be found */
static enum zd_next search(struct zd_place_want *want)
{
    while (want->at_level < want->level) {
        uint64_t index[ZD_RANK_MAX];
        next_chunk(want, index);
        zd_layout_close(ZD_TAKE(want->level_at));
        want->wait.status = open_level(want, &want->level_at, &want->wait.err);
        if (want->wait.status != ZD_OK) {
            return ZD_NEXT;
        }
        want->piece = zd_layout_index_piece(want->level_at, index);
        want->found = (struct zd_object_want){.wait.done = index_arrived, .part = ZD_OBJECT_BYTES};
        if (want_index(want, ZD_TRUSTED) == ZD_WAIT) {
            return ZD_WAIT;
        }
        if (go_down(want) != ZD_OK) {
            return ZD_NEXT;
        }
    }
    return ZD_NEXT;
}

static void index_arrived(struct zd_wait *wait)
{
    struct zd_place_want *want = ZD_CONTAINER(wait, struct zd_place_want, found.wait);
    if (go_down(want) != ZD_OK || search(want) == ZD_NEXT) {
        want->wait.done(&want->wait);
    }
}

enum zd_next zd_shards_want(struct zd_node *node, const char *key, struct zd_place_want *want)
{
    assert(want->level >= 1 && want->level < node->layout->n_levels);
    want->node = node;
    want->key = key;
    want->at_level = 0;
    want->run = (struct zd_byte_range){0};
    want->stat = (struct zd_stat){0};
    return search(want);
}

bool zd_shards_retry(struct zd_place_want *want)
{
    want->gone = want->stat.generation;
    if (want->n_retries == ZD_RESTARTS_MAX) {
        want->wait.status = zd_fail(&want->wait.err, ZD_STORE,
            "chunk %s: gave up after %d attempts, because writers replaced the object during each",
            want->key, ZD_RESTARTS_MAX + 1);
        return false;
    }
    want->n_retries++;
    return true;
}

/* By the index of its shard, of which the level is opened. */
static bool find_bytes(const struct zd_place_want *want, const struct zd_level *level,
    struct zd_generation generation, uint64_t *ret_bytes)
{
    uint8_t name[ZD_OBJECT_NAME_MAX];
    const struct zd_object *object =
        zd_object_peek(want->node->dataset, ZD_KIND_INDEX, write_name(want, name));
    if (object == NULL || object->bytes == NULL ||
        !zd_generation_equal(object->stat.generation, generation)) {
        return false;
    }
    const struct zd_byte_range run = {.first = 0, .len = object->stat.size};
    struct zd_byte_range range = {0};
    const enum zd_status status =
        zd_layout_find(level, object->bytes, run, want->index, &range, NULL);
    *ret_bytes = range.len;
    return status == ZD_OK || status == ZD_NOT_FOUND;
}

bool zd_shards_find(const struct zd_node *node, const uint64_t *index,
    struct zd_generation generation, uint64_t *ret_bytes)
{
    char key[ZD_KEY_BYTES_MAX + 1];
    const struct zd_level *level = NULL;
    if (node->layout->n_levels != 2 || zd_object_key_of(node, 1, index, key, NULL) != ZD_OK) {
        return false;
    }
    struct zd_place_want want = {.level = 1, .node = (struct zd_node *)(uintptr_t)node, .key = key};
    memcpy(want.index, index, node->meta->grid.rank * sizeof *index);
    if (open_level(&want, &level, NULL) != ZD_OK) {
        return false;
    }
    want.piece = zd_layout_index_piece(level, want.index);
    const bool is_found = find_bytes(&want, level, generation, ret_bytes);
    zd_layout_close(level);
    return is_found;
}

void zd_shards_release(struct zd_place_want *want)
{
    zd_wait_cancel(&want->found.wait);
    zd_buf_unref(ZD_TAKE(want->found.bytes));
    zd_layout_close(ZD_TAKE(want->level_at));
}
