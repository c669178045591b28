/* The cost of a request in advance (plan=1 of slices, statistics and images). Only the state of the
 * stored objects is looked up; no chunk is read.
 *
 *     want -> [admission] -> objects -> parts -> answer
 *
 * Thread: loop. */
#ifndef ZD_SLICE_SLICE_ESTIMATE_H
#define ZD_SLICE_SLICE_ESTIMATE_H

#include "server/slice/slice_read.h"

#define ZD_SLICE_ESTIMATE_UNKNOWN UINT64_MAX

/** Facts of the answer that only the resource knows. */
struct zd_slice_estimate_terms {
    const char *resource;  /* in URLs: "slices" */
    const char *format;    /* or NULL: it has one */
    const uint64_t *shape; /* of the answer, `rank` lengths; NULL: that of the selection */
    uint32_t rank;
    uint64_t memory_bytes; /* that the request would be admitted for */
    uint64_t answer_bytes; /* or ZD_SLICE_ESTIMATE_UNKNOWN */
    uint64_t encode_ns;    /* estimate of the time that encoding its elements takes */
    bool reads_nothing;    /* the document answers */
    bool is_cut;           /* the selection is cut by other parameters than its own: the canonical
                              URL has all as they were sent */
};

/**
 * Once the selection is known and judged: go on to the answer, which is the plan.
 * @param terms copied
 * @return what the step returns
 */
enum zd_next zd_slice_estimate_want(
    struct zd_slice_read *read, const struct zd_slice_estimate_terms *terms);

/**
 * Count the chunks of a slice, and those of them that are absent, where that needs no read: the
 * state of all its objects is known, and chunks of shards are at hand.
 *
 * @return false: it needs one, or there are too many to count at once
 */
bool zd_slice_estimate_count(
    const struct zd_slice_read *read, uint64_t *ret_n_chunks, uint64_t *ret_n_absent);

#endif
