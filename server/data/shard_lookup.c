/* Where the stored bytes of inner chunks are, by the indexes of their shards.
 *
 * Decoded indexes are entries of the cache of encoded bytes. The index of a whole object (level 0)
 * is found by its key and checked like any object, so it also gives the object's generation. The
 * index of a shard within a shard is found by generation and place as well, and is never checked
 * again. */
#include "server/data/shard_lookup.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/base/num.h"
#include "server/data/object_cache.h"
#include "server/data/object_key.h"
#include "server/data/range_read.h"
#include "server/runtime/workers.h"
#include "server/runtime/server.h"

/* Checking the entries of an index and its checksum. */
#define INDEX_BYTES_PER_NS 1

/* What an entry held when the work on it ended. */
struct answer {
    enum zd_status status;
    struct zd_stat stat;
    uint64_t checked_ms;
    struct zd_buf *shard_index; /* a reference, or NULL */
};

/* The work for one index. */
struct index_load {
    struct zd_flight flight;
    struct zd_object *object; /* the flight's entry */
    struct zd_node *node;     /* a reference */
    char *key;                /* of the stored object; owned */
    uint32_t level;
    struct zd_byte_range run;        /* of the shard; of a whole object once it is read */
    struct zd_generation generation; /* of the object, below level 0 */
    enum zd_next (*step)(struct index_load *load);
    struct zd_object_want status_want;
    struct zd_range_want range;
    struct zd_job job;
    struct zd_buf *shard_index; /* owned */
    struct answer answer;       /* once it has ended */
};

static const struct zd_level *level_of(const struct index_load *load)
{
    return &load->node->layout->level[load->level];
}

static enum zd_next fail(struct index_load *load, enum zd_status status, const struct zd_error *err)
{
    load->flight.status = status;
    load->flight.err = *err;
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
    object->checked_ms = load->flight.began_ms;
    return ZD_DONE;
}

static void decode(struct zd_job *job)
{
    struct index_load *load = ZD_CONTAINER(job, struct index_load, job);
    struct zd_error *err = &load->flight.err;
    load->flight.status = zd_layout_index_decode(
        level_of(load), load->range.bytes, load->run, &load->shard_index, err);
    if (load->flight.status == ZD_CORRUPT) {
        zd_object_key_in_error(err, "shard", load->key);
    }
}

static enum zd_next step_decode(struct index_load *load)
{
    struct zd_server *server = load->node->dataset->server;
    const struct zd_shard *shard = level_of(load)->shard;
    const uint64_t bytes = shard->n_chunks * 2 * sizeof(uint64_t);
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
            zd_fail(&load->flight.err, ZD_PRECONDITION, "%s: it was erased", load->key);
        return ZD_DONE;
    }
    if (load->range.wait.status != ZD_OK) {
        return fail(load, load->range.wait.status, &load->range.wait.err);
    }
    if (load->level == 0) {
        load->run = (struct zd_byte_range){.first = 0, .len = load->range.stat.size};
    }
    struct zd_byte_range found;
    load->flight.status =
        zd_layout_index_range(level_of(load), load->run, &found, &load->flight.err);
    if (load->flight.status == ZD_OK && load->range.bytes->len != found.len) {
        load->flight.status =
            zd_fail(&load->flight.err, ZD_CORRUPT, "its index has %llu bytes, %zu were read",
                (unsigned long long)found.len, load->range.bytes->len);
    }
    if (load->flight.status != ZD_OK) {
        zd_object_key_in_error(&load->flight.err, "shard", load->key);
        return ZD_DONE;
    }
    load->step = step_decode;
    return ZD_NEXT;
}

/* The size of a whole object need not be known: stores read suffixes. */
static enum zd_next step_read(struct index_load *load)
{
    const struct zd_shard *shard = level_of(load)->shard;
    struct zd_byte_range place = {.first = 0, .len = shard->index_bytes};
    if (load->level > 0) {
        load->flight.status =
            zd_layout_index_range(level_of(load), load->run, &place, &load->flight.err);
    }
    if (load->flight.status != ZD_OK) {
        zd_object_key_in_error(&load->flight.err, "shard", load->key);
        return ZD_DONE;
    }
    const bool is_suffix = load->level == 0 && !shard->index_at_start;
    load->range = (struct zd_range_want){
        .wait = zd_machine_wait(&load->flight.machine),
        .range = {.kind = is_suffix ? ZD_RANGE_SUFFIX : ZD_RANGE_FROM_TO,
            .first = place.first,
            .len = place.len},
        .only_generation = load->generation,
    };
    load->step = step_have;
    return zd_range_read_want(load->node->dataset, load->key, &load->range);
}

static enum zd_next step_compare(struct index_load *load)
{
    const struct zd_object_want *found = &load->status_want;
    struct zd_object *object = load->object;
    if (found->wait.status != ZD_OK && found->wait.status != ZD_NOT_FOUND) {
        return fail(load, found->wait.status, &found->wait.err);
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

static enum zd_next run_step(struct zd_machine *machine)
{
    struct index_load *load = ZD_CONTAINER(machine, struct index_load, flight.machine);
    return load->step(load);
}

/* ---- entries and their waiters ---- */

static struct answer answer_of(const struct zd_object *object)
{
    return (struct answer){
        .status = object->status,
        .stat = object->stat,
        .checked_ms = object->checked_ms,
        .shard_index = object->bytes == NULL ? NULL : zd_buf_ref(object->bytes),
    };
}

static void give(const struct answer *answer, struct zd_wait *wait)
{
    struct zd_place_want *want = ZD_CONTAINER(wait, struct zd_place_want, index_wait);
    zd_wait_answer(wait, answer->status, NULL);
    want->stat = answer->stat;
    if (want->at_level == 0) {
        want->checked_ms = answer->checked_ms; /* of indexes below nothing can change */
    }
    want->shard_index = answer->status == ZD_OK ? zd_buf_ref(answer->shard_index) : NULL;
}

static void give_now(const struct zd_object *object, struct zd_place_want *want)
{
    const struct answer answer = answer_of(object);
    give(&answer, &want->index_wait);
    zd_buf_unref(answer.shard_index);
}

static struct index_load *load_of(struct zd_flight *flight)
{
    return ZD_CONTAINER(flight, struct index_load, flight);
}

static void settle(struct zd_flight *flight)
{
    struct index_load *load = load_of(flight);
    load->answer = answer_of(load->object);
    zd_object_settle(load->object, flight->status);
}

static void give_waiter(struct zd_flight *flight, struct zd_wait *wait)
{
    give(&load_of(flight)->answer, wait);
}

static enum zd_next want_index(struct zd_place_want *want, enum zd_freshness freshness);

static enum zd_next ask_again(struct zd_flight *flight, struct zd_wait *wait)
{
    (void)flight;
    return want_index(ZD_CONTAINER(wait, struct zd_place_want, index_wait), ZD_JOINING);
}

static void free_load(struct zd_flight *flight)
{
    struct index_load *load = load_of(flight);
    zd_range_read_release(&load->range);
    zd_buf_unref(load->shard_index);
    zd_buf_unref(load->answer.shard_index);
    zd_node_unref(load->node);
    zd_free(load->key);
    zd_free(load);
}

static const struct zd_flight_ops ops = {
    .settle = settle,
    .give = give_waiter,
    .again = ask_again,
    .free = free_load,
};

/* Whether the store was asked before something was changed. Indexes below level 0 cannot change. */
static bool is_before_change(const struct zd_place_want *want, const struct zd_object *object)
{
    return want->at_level == 0 && object->n_changes != want->node->dataset->n_changes;
}

/* The index of a whole object is named by the key, one within by place and generation too. */
static struct zd_object *claim_named(struct zd_place_want *want, bool *ret_is_new)
{
    uint8_t name[ZD_OBJECT_NAME_MAX];
    const uint64_t number[] = {want->node->tag, want->at_level, want->run.first,
        want->stat.generation.word[0], want->stat.generation.word[1]};
    const size_t n_numbers = want->at_level == 0 ? 2 : ZD_COUNT_OF(number);
    const size_t key_len = strlen(want->key);
    memcpy(name, number, n_numbers * sizeof *number);
    memcpy(name + n_numbers * sizeof *number, want->key, key_len);
    const struct zd_span span = {.ptr = name, .len = n_numbers * sizeof *number + key_len};
    return zd_object_claim(want->node->dataset, ZD_KIND_INDEX, span, ret_is_new);
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

static struct index_load *new_load(const struct zd_place_want *want, struct zd_object *object)
{
    struct index_load *load = zd_alloc_zero(1, sizeof *load);
    char *key = zd_strdup(want->key);
    if (load == NULL || key == NULL) {
        zd_free(load);
        zd_free(key);
        return NULL;
    }
    struct zd_server *server = want->node->dataset->server;
    load->flight = (struct zd_flight){
        .machine.step = run_step,
        .ops = &ops,
        .cache = &server->objects,
        .entry = &object->entry,
        .began_ms = uv_now(server->loop),
    };
    object->n_changes = want->node->dataset->n_changes;
    load->object = object;
    load->node = zd_node_ref(want->node);
    load->key = key;
    load->level = want->at_level;
    load->run = want->run;
    load->generation = want->at_level == 0 ? (struct zd_generation){0} : want->stat.generation;
    return load;
}

/* Takes a reference of the entry, which is idle. */
static enum zd_next start(struct zd_place_want *want, struct zd_object *object, bool is_known)
{
    struct index_load *load = new_load(want, object);
    if (load == NULL) {
        zd_object_settle(object, ZD_NO_MEMORY);
        zd_object_unref(object);
        want->index_wait.status =
            zd_fail(&want->index_wait.err, ZD_NO_MEMORY, "%s: no memory", want->key);
        return ZD_NEXT;
    }
    load->step = is_known ? step_check : step_read;
    return zd_flight_begin(&load->flight, &want->index_wait);
}

static enum zd_next want_index(struct zd_place_want *want, enum zd_freshness freshness)
{
    bool is_new = false;
    struct zd_object *object = claim(want, &is_new);
    if (object == NULL) {
        want->index_wait.status =
            zd_fail(&want->index_wait.err, ZD_NO_MEMORY, "%s: no memory", want->key);
        return ZD_NEXT;
    }
    if (is_new) {
        return start(want, object, false);
    }
    if (object->entry.flight != NULL) {
        /* Indexes below level 0 are found by generation, so they are never stale. */
        zd_dataset_join(object->dataset, object->entry.flight,
            want->at_level > 0 ? ZD_JOINING : freshness, &want->index_wait);
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
    give_now(object, want);
    zd_object_unref(object);
    return ZD_NEXT;
}

/* ---- the search, level by level ---- */

static struct zd_place_want *want_of(struct zd_machine *machine)
{
    return ZD_CONTAINER(machine, struct zd_place_want, machine);
}

static enum zd_next step_index(struct zd_machine *machine);

/* From the index of one level to the run of the next level's chunk. */
static enum zd_next step_down(struct zd_machine *machine)
{
    struct zd_place_want *want = want_of(machine);
    const struct zd_layout *layout = want->node->layout;
    ZD_AUTO(zd_buf) shard_index = ZD_TAKE(want->shard_index);
    if (want->index_wait.status != ZD_OK) {
        zd_wait_answer(&want->wait, want->index_wait.status, &want->index_wait.err);
        return ZD_DONE;
    }
    if (want->at_level == 0) {
        want->run = (struct zd_byte_range){.first = 0, .len = want->stat.size};
    }
    uint64_t index[ZD_RANK_MAX];
    struct zd_error *err = &want->wait.err;
    zd_layout_ancestor(layout, want->level, want->at_level + 1, want->index, index);
    want->wait.status = zd_layout_find(
        &layout->level[want->at_level], shard_index, want->run, index, &want->range, err);
    if (want->wait.status == ZD_CORRUPT) {
        zd_object_key_in_error(err, "shard", want->key);
    }
    want->run = want->range;
    want->at_level++;
    machine->step = step_index;
    return want->wait.status == ZD_OK && want->at_level < want->level ? ZD_NEXT : ZD_DONE;
}

static enum zd_next step_index(struct zd_machine *machine)
{
    machine->step = step_down;
    return want_index(want_of(machine), ZD_TRUSTED);
}

static void end(struct zd_machine *machine)
{
    struct zd_wait *wait = &want_of(machine)->wait;
    wait->done(wait);
}

enum zd_next zd_shards_want(struct zd_node *node, const char *key, struct zd_place_want *want)
{
    assert(want->level >= 1 && want->level < node->layout->n_levels);
    want->node = node;
    want->key = key;
    want->at_level = 0;
    want->run = (struct zd_byte_range){0};
    want->stat = (struct zd_stat){0};
    want->machine = (struct zd_machine){.step = step_index, .end = end};
    want->index_wait = zd_machine_wait(&want->machine);
    return zd_machine_call(&want->machine);
}

void zd_shards_release(struct zd_place_want *want)
{
    zd_wait_cancel(&want->index_wait);
    zd_buf_unref(ZD_TAKE(want->shard_index));
}
