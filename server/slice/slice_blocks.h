/* Which elements become one: the dimensions that reduce= takes away, and the blocks of coarsen= and
 * max_size=. Thread: any. */
#ifndef ZD_SLICE_SLICE_BLOCKS_H
#define ZD_SLICE_SLICE_BLOCKS_H

#include "server/slice/slice_params.h"

struct zd_slice_blocks {
    bool is_over[ZD_RANK_MAX];    /* of the array's dimensions: it is taken away */
    uint64_t block[ZD_RANK_MAX];  /* so many elements of it that are selected become one; >= 1 */
    uint64_t joined[ZD_RANK_MAX]; /* the same without nearest, which leaves others unread */
    bool joins;                   /* some are above 1 */
    struct zd_selection stored;   /* what is read */
    struct zd_selection places; /* of what is read the first element of each of the result; dropped
                                   dimensions are not in the result */
};

/**
 * Read over, coarsen and max_size.
 *
 * @param stored   the elements that are selected
 * @param ret_code the problem code of a failure
 * @retval ZD_INVALID facts name
 * @retval ZD_TOO_LARGE max_size cannot be reached; facts limit, requested
 */
ZD_RESULT zd_slice_blocks_plan(struct zd_slice_blocks *blocks, const struct zd_meta *meta,
    const struct zd_slice_params *ask, const struct zd_selection *stored, const char **ret_code,
    struct zd_error *err);

/**
 * How many elements the answer has of a level of a multiscale group, for max_size, which chooses
 * among levels instead of making blocks. Parameters that it cannot follow count for nothing: they
 * are refused once the level is chosen.
 * @return UINT64_MAX when they do not fit 64 bits
 */
uint64_t zd_slice_blocks_count(const struct zd_meta *meta, const struct zd_slice_params *ask,
    const struct zd_selection *stored);

/** The dimensions of a selection by their names, or their numbers, ended by NULL: what is allowed.
 */
void zd_slice_blocks_dimensions(const struct zd_meta *meta, const struct zd_selection *selection,
    const char *ret_name[ZD_RANK_MAX + 1]);

/** The elements to read for a band of the places. */
void zd_slice_blocks_source(const struct zd_slice_blocks *blocks, const struct zd_selection *band,
    struct zd_selection *ret_source);

#endif
