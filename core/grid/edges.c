/* The edges of chunks that are not all of one length: runs of equal ones, along each dimension. */
#include "core/grid/edges.h"

#include <stdatomic.h>

#include "core/base/num.h"

#define RUNS_FIRST 4 /* room; it doubles */

struct zd_edges *zd_edges_new(void)
{
    struct zd_edges *edges = zd_alloc_zero(1, sizeof *edges);
    if (edges != NULL) {
        atomic_init(&edges->refs, 1);
    }
    return edges;
}

struct zd_edges *zd_edges_ref(struct zd_edges *edges)
{
    if (edges != NULL) {
        atomic_fetch_add_explicit(&edges->refs, 1, memory_order_relaxed);
    }
    return edges;
}

void zd_edges_unref(struct zd_edges *edges)
{
    if (edges == NULL || atomic_fetch_sub_explicit(&edges->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    for (uint32_t d = 0; d < ZD_RANK_MAX; d++) {
        zd_free(edges->axis[d].run);
    }
    zd_free(edges);
}

/* Room for one more; it is full when the number of runs is a power of two. */
static enum zd_status make_room(struct zd_edge_axis *axis)
{
    const bool is_full = axis->n_runs == 0 ||
                         (axis->n_runs >= RUNS_FIRST && (axis->n_runs & (axis->n_runs - 1)) == 0);
    if (axis->n_runs == ZD_EDGE_RUNS_MAX) {
        return ZD_UNSUPPORTED;
    }
    if (!is_full) {
        return ZD_OK;
    }
    const size_t n = axis->n_runs == 0 ? RUNS_FIRST : 2 * axis->n_runs;
    struct zd_edge_run *run = zd_realloc(axis->run, n * sizeof *run);
    if (run == NULL) {
        return ZD_NO_MEMORY;
    }
    axis->run = run;
    return ZD_OK;
}

enum zd_status zd_edges_add(struct zd_edges *edges, uint32_t dim, uint64_t edge, uint64_t count)
{
    struct zd_edge_axis *axis = &edges->axis[dim];
    uint64_t extent;
    uint64_t n_chunks;
    assert(dim < ZD_RANK_MAX && edge >= 1);
    axis->is_irregular = true;
    if (count == 0) {
        return ZD_OK;
    }
    if (ckd_mul(&extent, edge, count) || ckd_add(&extent, axis->extent, extent) ||
        ckd_add(&n_chunks, axis->n_chunks, count)) {
        return ZD_TOO_LARGE;
    }
    const bool goes_on = axis->n_runs > 0 && axis->run[axis->n_runs - 1].edge == edge;
    if (!goes_on) {
        ZD_TRY(make_room(axis));
        axis->run[axis->n_runs++] =
            (struct zd_edge_run){.edge = edge, .first = axis->n_chunks, .origin = axis->extent};
    }
    axis->longest = zd_max_u64(axis->longest, edge);
    axis->shortest = axis->shortest == 0 ? edge : zd_min_u64(axis->shortest, edge);
    axis->extent = extent;
    axis->n_chunks = n_chunks;
    return ZD_OK;
}

const struct zd_edge_run *zd_edges_run_at(const struct zd_edge_axis *axis, uint64_t x)
{
    size_t low = 0;
    size_t high = axis->n_runs; /* that one and all behind it begin after x */
    assert(x < axis->extent);
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (axis->run[middle].origin <= x) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return &axis->run[low];
}

const struct zd_edge_run *zd_edges_run_of(const struct zd_edge_axis *axis, uint64_t index)
{
    size_t low = 0;
    size_t high = axis->n_runs;
    assert(index < axis->n_chunks);
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (axis->run[middle].first <= index) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return &axis->run[low];
}

uint64_t zd_edges_count(const struct zd_edge_axis *axis, const struct zd_edge_run *run)
{
    const bool is_last = run == &axis->run[axis->n_runs - 1];
    return (is_last ? axis->n_chunks : run[1].first) - run->first;
}

uint64_t zd_edges_common(const struct zd_edge_axis *axis)
{
    uint64_t common = 0;
    for (size_t i = 0; i < axis->n_runs && common != 1; i++) {
        uint64_t rest = axis->run[i].edge;
        while (rest != 0) { /* Euclid */
            const uint64_t next = common % rest;
            common = rest;
            rest = next;
        }
    }
    return common;
}

bool zd_edges_agree(const struct zd_edge_axis *a, const struct zd_edge_axis *b)
{
    const size_t n = a->n_runs < b->n_runs ? a->n_runs : b->n_runs;
    const uint64_t n_chunks = zd_min_u64(a->n_chunks, b->n_chunks);
    for (size_t i = 0; i < n; i++) {
        const bool is_same = a->run[i].edge == b->run[i].edge && a->run[i].first == b->run[i].first;
        if (!is_same && zd_min_u64(a->run[i].first, b->run[i].first) < n_chunks) {
            return false;
        }
    }
    /* The one with fewer runs may go on longer in its last one than the other does. */
    const struct zd_edge_axis *more = a->n_runs > n ? a : b;
    return more->n_runs == n || more->run[n].first >= n_chunks;
}

bool zd_edges_are(const struct zd_edge_axis *axis, uint64_t edge)
{
    return axis->n_runs == 0 || (axis->n_runs == 1 && axis->run[0].edge == edge);
}
