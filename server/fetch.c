/* The chunks of a selection, some at a time, and their elements into one block. */
#include "server/fetch.h"

#include "core/base/num.h"

#define IN_FLIGHT_MAX       128
#define IN_FLIGHT_BYTES_MAX (UINT64_C(64) << 20) /* decoded chunks held at once */
#define PART_COST_NS        200
#define BYTES_PER_NS        2

struct zd_fetch_part {
    struct zd_chunk_want want;
    struct zd_fetch *fetch;
};

enum zd_status zd_fetch_init(struct zd_fetch *fetch, struct zd_request *req, struct zd_node *node,
    uint64_t n_parts_max, struct zd_error *err)
{
    const uint64_t chunk_bytes = zd_max_u64(zd_layout_leaf(node->layout)->chunk_bytes, 1);
    const uint64_t n_held = zd_max_u64(IN_FLIGHT_BYTES_MAX / chunk_bytes, 1);
    *fetch = (struct zd_fetch){.req = req, .node = node};
    fetch->n_part = (uint32_t)zd_min_u64(n_parts_max, zd_min_u64(n_held, IN_FLIGHT_MAX));
    fetch->part = zd_alloc_zero(fetch->n_part, sizeof *fetch->part);
    if (fetch->part == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory to want %u chunks", fetch->n_part);
    }
    return ZD_OK;
}

void zd_fetch_done(struct zd_fetch *fetch)
{
    zd_fetch_release(fetch);
    zd_free(fetch->part);
    fetch->part = NULL;
    fetch->n_part = 0;
}

void zd_fetch_begin(struct zd_fetch *fetch, const struct zd_selection *selection)
{
    zd_plan_init(&fetch->plan, &zd_layout_leaf(fetch->node->layout)->grid, selection);
    fetch->is_last = false;
}

static void chunk_arrived(struct zd_wait *wait)
{
    struct zd_fetch_part *part = ZD_CONTAINER(wait, struct zd_fetch_part, want.wait);
    zd_request_arrived(part->fetch->req);
}

static uint64_t part_bytes(const struct zd_fetch *fetch, const struct zd_part *part)
{
    uint64_t n = fetch->node->meta->dtype.bytes;
    for (uint32_t d = 0; d < fetch->node->meta->grid.rank; d++) {
        n *= part->count[d]; /* at most the bytes of a chunk, which were counted */
    }
    return n;
}

enum zd_next zd_fetch_ask(struct zd_fetch *fetch)
{
    assert(fetch->n_asked == 0);
    fetch->n_bytes = 0;
    while (fetch->n_asked < fetch->n_part && !fetch->is_last) {
        struct zd_fetch_part *part = &fetch->part[fetch->n_asked];
        *part = (struct zd_fetch_part){.fetch = fetch};
        part->want.wait.done = chunk_arrived;
        if (!zd_plan_next(&fetch->plan, &part->want.part)) {
            fetch->is_last = true;
            break;
        }
        fetch->n_asked++;
        fetch->n_bytes += part_bytes(fetch, &part->want.part);
        if (zd_chunks_want(fetch->node, &part->want) == ZD_WAIT) {
            fetch->req->n_waits++;
        }
    }
    fetch->is_last = fetch->is_last || fetch->plan.done;
    return zd_request_wait(fetch->req);
}

enum zd_status zd_fetch_collect(struct zd_fetch *fetch, bool *ret_is_stale, struct zd_error *err)
{
    bool is_stale = false;
    for (uint32_t i = 0; i < fetch->n_asked; i++) {
        const struct zd_chunk_want *want = &fetch->part[i].want;
        if (want->wait.status != ZD_OK) {
            *err = want->wait.err;
            return want->wait.status;
        }
        if (fetch->touched != NULL) {
            const uint64_t number = zd_touched_number(fetch->touched, want->part.chunk);
            is_stale = !zd_touched_see(fetch->touched, number, want->generation) || is_stale;
        }
        fetch->n_parts++;
        fetch->n_absent += want->data == NULL;
    }
    *ret_is_stale = is_stale;
    return ZD_OK;
}

void zd_fetch_copy(const struct zd_fetch *fetch, const struct zd_block *block)
{
    const struct zd_layout *layout = fetch->node->layout;
    for (uint32_t i = 0; i < fetch->n_asked; i++) {
        const struct zd_chunk_want *want = &fetch->part[i].want;
        if (want->data == NULL) {
            zd_block_fill(block, &want->part, layout->meta->fill);
        } else if (want->is_span) {
            zd_block_gather(block, &want->part, layout, zd_buf_span(want->data));
        } else {
            zd_block_copy(block, &want->part, &zd_layout_leaf(layout)->grid, want->data);
        }
    }
}

uint64_t zd_fetch_cost_ns(const struct zd_fetch *fetch)
{
    return fetch->n_asked * (uint64_t)PART_COST_NS + fetch->n_bytes / BYTES_PER_NS;
}

void zd_fetch_release(struct zd_fetch *fetch)
{
    for (uint32_t i = 0; i < fetch->n_asked; i++) {
        zd_chunks_release(&fetch->part[i].want);
    }
    fetch->n_asked = 0;
}
