/* Chunks of remote stores that are read before they are asked for. */
#include "server/slice/read_ahead.h"

#include <string.h>

#include "core/base/num.h"
#include "core/store/remote/remote_plan.h"
#include "server/data/chunks.h"
#include "server/request/admit.h"
#include "server/runtime/server.h"

#define TRACKS     64
#define BYTES_MAX  (UINT64_C(32) << 20) /* decoded, that one client has read ahead */
#define CACHE_PART 8 /* of the cache of decoded chunks: no more than one part for one client */
#define HELD_TIMES 2 /* a chunk is held as it is stored and decoded */
#define SHORT_PART 2 /* of a lane's bytes: when more than one part is held, memory is short */

/* The chunks of the last level that a selection touches: a box. */
struct box {
    uint32_t rank;
    uint64_t first[ZD_RANK_MAX];
    uint64_t last[ZD_RANK_MAX];
};

/* From one box to the next: along one dimension. */
struct stride {
    uint32_t dim;
    uint64_t by; /* chunks; 0 = none */
    bool is_back;
};

/* The chunks read ahead for a track. */
struct batch {
    struct zd_server *server;
    struct batch **owner; /* of the track: NULL there when all has been read */
    struct zd_node *node; /* a reference */
    struct zd_ticket ticket;
    uint32_t n_pending;
    uint32_t n;
    struct zd_chunk_want want[];
};

/* A client in an array. */
struct track {
    uint64_t key; /* a hash of both; 0 = free */
    uint64_t used;
    struct box box; /* the last one */
    struct stride stride;
    struct batch *batch; /* under way, or NULL */
};

struct zd_read_ahead {
    uint64_t n_used;
    struct track track[TRACKS];
};

/* ---- boxes ---- */

/* @return false: it touches nothing */
static bool find_box(
    const struct zd_grid *grid, const struct zd_selection *selection, struct box *ret_box)
{
    ret_box->rank = grid->rank;
    for (uint32_t d = 0; d < grid->rank; d++) {
        const struct zd_axis *axis = &selection->axis[d];
        if (axis->count == 0) {
            return false;
        }
        const uint64_t one = zd_grid_cell_at(grid, d, axis->start).index;
        const uint64_t other = zd_grid_cell_at(grid, d, zd_axis_at(axis, axis->count - 1)).index;
        ret_box->first[d] = zd_min_u64(one, other);
        ret_box->last[d] = zd_max_u64(one, other);
    }
    return grid->rank > 0;
}

static bool boxes_equal(const struct box *a, const struct box *b)
{
    const size_t len = a->rank * sizeof a->first[0];
    return a->rank == b->rank && memcmp(a->first, b->first, len) == 0 &&
           memcmp(a->last, b->last, len) == 0;
}

/* The way from one box to another one: by 0 where it is none along one dimension. */
static struct stride stride_of(const struct box *from, const struct box *to)
{
    struct stride stride = {.by = 0};
    for (uint32_t d = 0; d < to->rank; d++) {
        if (to->last[d] - to->first[d] != from->last[d] - from->first[d] ||
            (stride.by > 0 && to->first[d] != from->first[d])) {
            return (struct stride){.by = 0};
        }
        if (to->first[d] != from->first[d]) {
            stride.dim = d;
            stride.is_back = to->first[d] < from->first[d];
            stride.by =
                stride.is_back ? from->first[d] - to->first[d] : to->first[d] - from->first[d];
        }
    }
    return stride;
}

static bool strides_equal(const struct stride *a, const struct stride *b)
{
    return a->by > 0 && a->by == b->by && a->dim == b->dim && a->is_back == b->is_back;
}

/* The next box. @return false: it is not all inside */
static bool move(const struct zd_grid *grid, const struct stride *stride, struct box *box)
{
    uint64_t *first = &box->first[stride->dim];
    uint64_t *last = &box->last[stride->dim];
    if (stride->is_back) {
        if (*first < stride->by) {
            return false;
        }
        *first -= stride->by;
        *last -= stride->by;
        return true;
    }
    if (stride->by >= zd_grid_count(grid, stride->dim) - *last) {
        return false;
    }
    *first += stride->by;
    *last += stride->by;
    return true;
}

/* Its chunks; more than `most` are UINT64_MAX. */
static uint64_t count_chunks(const struct box *box, uint64_t most)
{
    uint64_t n = 1;
    for (uint32_t d = 0; d < box->rank; d++) {
        if (ckd_mul(&n, n, box->last[d] - box->first[d] + 1) || n > most) {
            return UINT64_MAX;
        }
    }
    return n;
}

/* All elements of the chunks of a box that are inside the array. */
static void select_box(
    const struct zd_grid *grid, const struct box *box, struct zd_selection *ret_selection)
{
    *ret_selection = (struct zd_selection){.rank = box->rank};
    for (uint32_t d = 0; d < box->rank; d++) {
        const struct zd_cell last = zd_grid_cell_of(grid, d, box->last[d]);
        const uint64_t start = zd_grid_cell_of(grid, d, box->first[d]).origin;
        const uint64_t end = zd_min_u64(last.origin + last.edge, grid->shape[d]);
        ret_selection->axis[d] = (struct zd_axis){.start = start, .count = end - start, .step = 1};
    }
}

/* ---- what is under way ---- */

static void end_batch(struct batch *batch)
{
    *batch->owner = NULL;
    for (uint32_t i = 0; i < batch->n; i++) {
        zd_chunks_release(&batch->want[i]);
    }
    zd_admission_release(
        &batch->server->admit->admission, &batch->ticket, uv_now(batch->server->loop));
    zd_node_unref(batch->node);
    zd_free(batch);
}

static void cancel(struct track *track)
{
    if (track->batch != NULL) {
        track->batch->server->metrics.n_ahead_cancelled += track->batch->n_pending;
        end_batch(track->batch);
    }
}

/* A failed read is repeated by the request that wants the chunk. */
static void chunk_done(struct zd_wait *wait)
{
    struct batch *batch = wait->context;
    if (--batch->n_pending == 0) {
        end_batch(batch);
    }
}

static bool is_short(const struct zd_server *server)
{
    for (size_t i = 0; i < ZD_LANES; i++) {
        const struct zd_lane *lane = &server->admit->admission.lane[i];
        if (lane->n_waiting > 0 || lane->bytes > lane->bytes_max / SHORT_PART) {
            return true;
        }
    }
    return false;
}

static bool admit(struct batch *batch, uint64_t bytes)
{
    struct zd_admission *admission = &batch->server->admit->admission;
    const struct zd_peer nobody = {0};
    const uint64_t now_ms = uv_now(batch->server->loop);
    const uint64_t endpoint = batch->node->dataset->store->endpoint;
    struct zd_wait unused = {0};
    batch->ticket.wait = &unused;
    const enum zd_verdict verdict =
        zd_admission_ask(admission, &batch->ticket, &nobody, endpoint, bytes, now_ms);
    if (verdict == ZD_ADMISSION_WAITS) {
        zd_admission_release(admission, &batch->ticket, now_ms);
    }
    batch->ticket.wait = NULL;
    return verdict == ZD_ADMISSION_YES;
}

/* The chunks of a box are asked for, as far as they are not kept. */
static void ask_box(struct batch *batch, const struct box *box)
{
    const struct zd_grid *grid = &zd_layout_leaf(batch->node->layout)->grid;
    struct zd_selection selection;
    struct zd_plan plan;
    select_box(grid, box, &selection);
    zd_plan_init(&plan, grid, &selection);
    for (;;) {
        struct zd_chunk_want *want = &batch->want[batch->n];
        zd_chunks_want_init(want, chunk_done, batch);
        want->n_together = 1;
        want->owner = (struct zd_job_owner){.name = batch, .is_large = true};
        if (!zd_plan_next(&plan, &want->part)) {
            return;
        }
        batch->n++;
        if (zd_chunks_want(batch->node, want) == ZD_WAIT) {
            batch->n_pending++;
            batch->server->metrics.n_ahead++;
        }
    }
}

/* How many boxes of n chunks may be read ahead. */
static uint64_t count_boxes(const struct zd_node *node, uint64_t n)
{
    const struct zd_server *server = node->dataset->server;
    const uint64_t chunk_bytes = zd_max_u64(zd_layout_leaf(node->layout)->chunk_bytes, 1);
    const uint64_t bytes_max = zd_min_u64(BYTES_MAX, server->memory.decoded_bytes / CACHE_PART);
    const uint64_t most = server->config->settings.remote_read_ahead;
    return zd_min_u64(most, bytes_max / chunk_bytes) / n;
}

static void read_ahead(struct track *track, struct zd_node *node)
{
    struct zd_server *server = node->dataset->server;
    const struct zd_grid *grid = &zd_layout_leaf(node->layout)->grid;
    const uint64_t n = count_chunks(&track->box, server->config->settings.remote_read_ahead);
    const uint64_t n_boxes = n == UINT64_MAX ? 0 : count_boxes(node, n);
    if (n_boxes == 0 || is_short(server) || zd_remote_plan_is_busy(node->dataset->store)) {
        return;
    }
    /* An extra want, in which the end of a plan is found. */
    struct batch *batch = zd_alloc_zero(1, sizeof *batch + (n_boxes * n + 1) * sizeof *batch->want);
    if (batch == NULL) {
        return;
    }
    batch->server = server;
    batch->owner = &track->batch;
    batch->node = zd_node_ref(node);
    track->batch = batch;
    const uint64_t bytes = n_boxes * n * zd_layout_leaf(node->layout)->chunk_bytes * HELD_TIMES;
    struct box box = track->box;
    if (admit(batch, bytes)) {
        for (uint64_t i = 0; i < n_boxes && move(grid, &track->stride, &box); i++) {
            ask_box(batch, &box);
        }
    }
    if (batch->n_pending == 0) {
        end_batch(batch);
    }
}

/* ---- tracks ---- */

static uint64_t key_of(struct zd_request *req, const struct zd_node *node)
{
    struct zd_hash hash = {0};
    zd_hash_add_u64(&hash, zd_request_client(req));
    zd_hash_add_u64(&hash, node->dataset->id);
    zd_hash_add(&hash, zd_span_of(node->path));
    return zd_max_u64(hash.value, 1);
}

/* The track of that key, or the one that was used longest ago, made new. */
static struct track *track_of(struct zd_read_ahead *ahead, uint64_t key)
{
    struct track *oldest = &ahead->track[0];
    for (size_t i = 0; i < TRACKS; i++) {
        struct track *track = &ahead->track[i];
        if (track->key == key) {
            return track;
        }
        oldest = track->used < oldest->used ? track : oldest;
    }
    cancel(oldest);
    *oldest = (struct track){.key = key};
    return oldest;
}

static void note(struct track *track, struct zd_node *node, const struct box *box)
{
    if (boxes_equal(&track->box, box)) {
        return;
    }
    const bool is_first = track->box.rank != box->rank;
    const struct stride stride = is_first ? (struct stride){.by = 0} : stride_of(&track->box, box);
    const bool goes_on = strides_equal(&track->stride, &stride);
    track->box = *box;
    track->stride = stride;
    if (!goes_on) {
        cancel(track);
    } else if (track->batch == NULL) {
        read_ahead(track, node);
    }
}

static bool is_watched(const struct zd_request *req, const struct zd_node *node)
{
    return node->dataset->store != NULL && node->dataset->store->endpoint != 0 &&
           req->server->config->settings.remote_read_ahead > 0 &&
           zd_request_listing(req).tier == NULL;
}

void zd_read_ahead_note(
    struct zd_request *req, struct zd_node *node, const struct zd_selection *selection)
{
    struct zd_server *server = req->server;
    struct box box;
    if (!is_watched(req, node) || zd_selection_has_list(selection) ||
        !find_box(&zd_layout_leaf(node->layout)->grid, selection, &box)) {
        return;
    }
    if (server->read_ahead == NULL) {
        server->read_ahead = zd_alloc_zero(1, sizeof *server->read_ahead);
    }
    if (server->read_ahead != NULL) {
        struct track *track = track_of(server->read_ahead, key_of(req, node));
        track->used = ++server->read_ahead->n_used;
        note(track, node, &box);
    }
}

void zd_read_ahead_close(struct zd_server *server)
{
    for (size_t i = 0; server->read_ahead != NULL && i < TRACKS; i++) {
        cancel(&server->read_ahead->track[i]);
    }
    zd_free(ZD_TAKE(server->read_ahead));
}
