/* The stored bytes of chunks, whole objects and parts of shards. */
#include "server/data/stored_chunk.h"

#include <assert.h>
#include <string.h>

#include "server/data/object_cache.h"
#include "server/data/object_key.h"
#include "server/data/range_read.h"
#include "server/data/shard_lookup.h"

struct load {
    struct zd_machine machine;
    struct zd_stored_chunk_want *want;
    struct zd_node *node; /* a reference */
    char key[ZD_KEY_BYTES_MAX + 1];
    uint32_t n_restarts;
    enum zd_next (*step)(struct load *load);
    struct zd_object_want object;
    struct zd_place_want place;
    struct zd_range_want range;
};

static void free_load(struct load *load)
{
    zd_objects_release(&load->object);
    zd_shards_release(&load->place);
    zd_range_read_release(&load->range);
    zd_node_unref(load->node);
    zd_free(load);
}

static enum zd_next run_step(struct zd_machine *machine)
{
    struct load *load = ZD_CONTAINER(machine, struct load, machine);
    return load->step(load);
}

static void end(struct zd_machine *machine)
{
    struct load *load = ZD_CONTAINER(machine, struct load, machine);
    struct zd_stored_chunk_want *want = load->want;
    want->load = NULL;
    free_load(load);
    want->wait.done(&want->wait);
}

static enum zd_next answer(struct load *load, const struct zd_wait *wait, struct zd_buf **bytes,
    const struct zd_stat *stat)
{
    struct zd_stored_chunk_want *want = load->want;
    zd_wait_answer(&want->wait, wait->status, wait->status == ZD_OK ? NULL : &wait->err);
    want->stat = *stat;
    if (wait->status == ZD_OK) {
        want->bytes = ZD_TAKE(*bytes);
    }
    return ZD_DONE;
}

static enum zd_next step_object_have(struct load *load)
{
    return answer(load, &load->object.wait, &load->object.bytes, &load->object.stat);
}

static enum zd_next step_object(struct load *load)
{
    load->object.wait = zd_machine_wait(&load->machine);
    load->step = step_object_have;
    return zd_objects_want(load->node->dataset, load->key, ZD_OBJECT_BYTES, &load->object);
}

static enum zd_next step_inner(struct load *load);

static enum zd_next step_inner_again(struct load *load, struct zd_wait *wait)
{
    load->place.gone = load->place.stat.generation;
    load->step = step_inner;
    if (load->n_restarts == ZD_RESTARTS_MAX) {
        wait->status = zd_fail(&wait->err, ZD_STORE,
            "chunk %s: the object was replaced while it was read, %d times in a row", load->key,
            ZD_RESTARTS_MAX + 1);
        return answer(load, wait, &load->range.bytes, &load->place.stat);
    }
    load->n_restarts++;
    return ZD_NEXT;
}

static enum zd_next step_inner_have(struct load *load)
{
    struct zd_range_want *range = &load->range;
    if (range->wait.status == ZD_NOT_FOUND || range->wait.status == ZD_PRECONDITION) {
        return step_inner_again(load, &range->wait);
    }
    return answer(load, &range->wait, &range->bytes, &range->stat);
}

static enum zd_next step_inner_placed(struct load *load)
{
    struct zd_place_want *place = &load->place;
    if (place->wait.status == ZD_PRECONDITION) {
        return step_inner_again(load, &place->wait);
    }
    if (place->wait.status != ZD_OK) {
        return answer(load, &place->wait, &load->range.bytes, &place->stat);
    }
    load->range = (struct zd_range_want){
        .wait = zd_machine_wait(&load->machine),
        .range = {.kind = ZD_RANGE_FROM_TO, .first = place->range.first, .len = place->range.len},
        .only_generation = place->stat.generation,
    };
    load->step = step_inner_have;
    return zd_range_read_want(load->node->dataset, load->key, &load->range);
}

static enum zd_next step_inner(struct load *load)
{
    load->place.wait = zd_machine_wait(&load->machine);
    load->place.level = load->want->level;
    memcpy(load->place.index, load->want->index, sizeof load->place.index);
    load->step = step_inner_placed;
    return zd_shards_want(load->node, load->key, &load->place);
}

enum zd_next zd_stored_chunk_want(struct zd_node *node, struct zd_stored_chunk_want *want)
{
    assert(node->layout != NULL && want->level < node->layout->n_levels);
    want->bytes = NULL;
    want->load = NULL;
    want->stat = (struct zd_stat){0};
    struct load *load = zd_alloc_zero(1, sizeof *load);
    if (load == NULL) {
        want->wait.status = zd_fail(&want->wait.err, ZD_NO_MEMORY, "no memory to read a chunk");
        return ZD_NEXT;
    }
    load->machine = (struct zd_machine){.step = run_step, .end = end};
    load->want = want;
    load->node = zd_node_ref(node);
    load->step = want->level == 0 ? step_object : step_inner;
    want->wait.status =
        zd_object_key_of(node, want->level, want->index, load->key, &want->wait.err);
    if (want->wait.status == ZD_OK && zd_machine_begin(&load->machine) == ZD_WAIT) {
        want->load = load;
        return ZD_WAIT;
    }
    free_load(load);
    return ZD_NEXT;
}

void zd_stored_chunk_release(struct zd_stored_chunk_want *want)
{
    struct load *load = want->load;
    want->load = NULL;
    if (load != NULL) {
        free_load(load);
    }
    zd_buf_unref(ZD_TAKE(want->bytes));
}
