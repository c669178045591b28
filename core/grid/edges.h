/* The edges of chunks that are not all of one length: runs of equal ones, along each dimension. */
#ifndef ZD_CORE_GRID_EDGES_H
#define ZD_CORE_GRID_EDGES_H

#include "core/base/own.h"
#include "core/grid/selection.h"

#define ZD_EDGE_RUNS_MAX (1U << 20) /* along one dimension */

/** Equal chunks side by side. How many there are, the next run says, or the end. */
struct zd_edge_run {
    uint64_t edge;   /* elements of each; >= 1 */
    uint64_t first;  /* the number of the first one */
    uint64_t origin; /* where that one begins, elements */
};

/** The edges of a dimension. */
struct zd_edge_axis {
    struct zd_edge_run *run; /* n_runs, neighbours differ in their edge; owned */
    size_t n_runs;
    uint64_t n_chunks;
    uint64_t extent;   /* of all of them, elements */
    uint64_t longest;  /* edge; 0 without chunks */
    uint64_t shortest; /* 0 without chunks */
    bool is_irregular; /* false: nothing of this is used, the grid has one length for all */
};

/** All dimensions: counted, immutable once it is shared. */
struct zd_edges {
    _Atomic uint32_t refs;
    struct zd_edge_axis axis[ZD_RANK_MAX];
};

/** Chunks that all dimensions have of one length. Owned; NULL without memory. */
struct zd_edges *zd_edges_new(void);
struct zd_edges *zd_edges_ref(struct zd_edges *edges); /* accepts NULL */
void zd_edges_unref(struct zd_edges *edges);           /* accepts NULL */
ZD_OWN(zd_edges, zd_edges_unref);

/**
 * Add chunks at the end of a dimension, which is irregular from now on: `count` of that length.
 * What is held does not grow with count.
 *
 * @param edge elements; >= 1
 * @retval ZD_TOO_LARGE  all chunks together would have 2^64 elements or more
 * @retval ZD_UNSUPPORTED the dimension has ZD_EDGE_RUNS_MAX runs
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_edges_add(struct zd_edges *edges, uint32_t dim, uint64_t edge, uint64_t count);

/** The run that has coordinate x < axis->extent, or chunk number index < axis->n_chunks. O(log
 * n_runs). */
const struct zd_edge_run *zd_edges_run_at(const struct zd_edge_axis *axis, uint64_t x);
const struct zd_edge_run *zd_edges_run_of(const struct zd_edge_axis *axis, uint64_t index);

/** Along one dimension, a chunk. */
struct zd_cell {
    uint64_t index;
    uint64_t origin; /* its first element */
    uint64_t edge;   /* elements */
};

/** The chunk that holds coordinate x. @param axis NULL: all chunks are of that length */
static inline struct zd_cell zd_edges_cell_at(
    const struct zd_edge_axis *axis, uint64_t chunk, uint64_t x)
{
    if (axis == NULL) {
        const uint64_t index = x / chunk;
        return (struct zd_cell){.index = index, .origin = index * chunk, .edge = chunk};
    }
    const struct zd_edge_run *run = zd_edges_run_at(axis, x);
    const uint64_t n = (x - run->origin) / run->edge;
    return (struct zd_cell){
        .index = run->first + n, .origin = run->origin + n * run->edge, .edge = run->edge};
}

/** The chunk of that number. */
static inline struct zd_cell zd_edges_cell_of(
    const struct zd_edge_axis *axis, uint64_t chunk, uint64_t index)
{
    if (axis == NULL) {
        return (struct zd_cell){.index = index, .origin = index * chunk, .edge = chunk};
    }
    const struct zd_edge_run *run = zd_edges_run_of(axis, index);
    return (struct zd_cell){
        .index = index,
        .origin = run->origin + (index - run->first) * run->edge,
        .edge = run->edge,
    };
}

/** How many chunks a run has. */
uint64_t zd_edges_count(const struct zd_edge_axis *axis, const struct zd_edge_run *run);

/** A length that divides all edges, the largest; 0 without chunks. */
uint64_t zd_edges_common(const struct zd_edge_axis *axis);

/** Whether two dimensions have the same chunks as far as both have any. */
bool zd_edges_agree(const struct zd_edge_axis *a, const struct zd_edge_axis *b);

/** Whether all chunks have that length. */
bool zd_edges_are(const struct zd_edge_axis *axis, uint64_t edge);

#endif
