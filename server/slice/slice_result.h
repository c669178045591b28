/* The result of a slice: the selected elements, or an operation on them, band by band.
 * It knows no request: several may be made at once. Thread: loop, but for what a worker does.
 *
 *     chunks -> copied -> decoded ----------------------------------> converted -> elements
 *         \           \ (as they are: at once) ----------------------------------------^
 *          \-> decoded -> added to cells [-> cells into blocks] -> finished --^
 */
#ifndef ZD_SLICE_SLICE_RESULT_H
#define ZD_SLICE_SLICE_RESULT_H

#include "core/compute/cells.h"
#include "core/compute/convert.h"
#include "core/grid/band.h"
#include "server/data/fetch.h"
#include "server/format/format.h"
#include "server/slice/slice_blocks.h"

/** A result. Starts zeroed. */
struct zd_slice_result {
    const struct zd_node *node;    /* the array; borrowed */
    struct zd_selection asked;     /* as the client counts */
    struct zd_slice_blocks blocks; /* its places: where bands are cut */
    struct zd_dtype dtype;         /* of the result */
    uint64_t hash;                 /* of all that is made of elements; 0: they are as they are */
    uint64_t block[ZD_RANK_MAX];   /* of each dimension of the result, for zd_answer */
    bool is_decoded; /* the attributes were heeded, whether or not they say anything */
    bool is_converted;
    bool reduces;
    bool coarsens; /* blocks of several elements, or results of `reduce`, are joined */

    bool is_cleared; /* nothing is in the cells of the band but what was added to them */
    bool is_making;  /* all its chunks were copied */
    bool has_failed;
    bool is_beyond; /* the element that failed is a time that datetime64 does not hold */

    struct zd_cf_decode decode;
    struct zd_convert convert;
    struct zd_reduce reduce;
    struct zd_reduce coarsen;

    /* The band. */
    struct zd_selection source; /* what is read for it */
    struct zd_buf *raw; /* its elements as they were read; NULL: they go where they are made */
    struct zd_block raw_block; /* those */
    struct zd_buf *room;       /* for the elements of a part that are added to cells */
    struct zd_buf *fine;       /* results of `reduce` that `coarsen` joins */
    struct zd_selection band;  /* of the places */
    uint8_t *to;               /* where its elements are made; borrowed */
    uint64_t first;            /* of the band, in the result */
    uint64_t n_elements;       /* of the band */
    uint64_t n_made;
    uint64_t failed_at;     /* in the result: an element that its type does not hold */
    const char *failed_why; /* static */
};

/** The fill value of an array where it says that nothing is there, as that of v2 does; else NULL.
 */
const void *zd_slice_result_missing_fill(const struct zd_meta *meta);

/** The terms of a result; borrowed. */
struct zd_slice_result_terms {
    const struct zd_node *node; /* the array; as long as the result */
    const struct zd_slice_params *ask;
    const struct zd_selection *asked; /* as zd_slice_params_select has both */
    const struct zd_selection *stored;
};

/**
 * The selection is known: plan what becomes of its elements.
 * @param ret_code the problem code of a failure
 * @retval ZD_INVALID, ZD_UNSUPPORTED it cannot be made of such elements
 * @retval ZD_TOO_LARGE max_size cannot be reached
 */
ZD_RESULT zd_slice_result_plan(struct zd_slice_result *result,
    const struct zd_slice_result_terms *terms, const char **ret_code, struct zd_error *err);

void zd_slice_result_done(struct zd_slice_result *result);

/** Whether several elements become one: what is read is no measure of what is answered. */
bool zd_slice_result_joins(const struct zd_slice_result *result);

/** Whether it is another result once an element is read that is a time beyond datetime64. */
bool zd_slice_result_may_leave_times(const struct zd_slice_result *result);

/** The shape of the result. @return its rank */
uint32_t zd_slice_result_shape(
    const struct zd_slice_result *result, uint64_t ret_shape[ZD_RANK_MAX]);

/** The bytes that it has as elements; UINT64_MAX when they do not fit 64 bits. */
uint64_t zd_slice_result_bytes(const struct zd_slice_result *result);

/** The answer of the result; borrowed from it. Its element count fits 64 bits. */
void zd_slice_result_answer(struct zd_slice_result *result, struct zd_answer *ret_answer);

/** The bytes that bands of so many elements take, besides where their elements are made. */
uint64_t zd_slice_result_held_bytes(const struct zd_slice_result *result, uint64_t n_band);

/** Begin (again), with bands of at most so many elements. @retval ZD_NO_MEMORY */
ZD_RESULT zd_slice_result_begin(
    struct zd_slice_result *result, uint64_t n_band, struct zd_error *err);

/**
 * The next band: `source` is to be fetched.
 * @param band a band of `places`; copied
 * @param to   where its elements are made; borrowed until they are
 */
void zd_slice_result_band(struct zd_slice_result *result, const struct zd_band *band, uint8_t *to);

/** The parts of the fetch that have arrived; after the last ones the elements are made. A piece of
 * work. @return whether there is more. Thread: any; nothing else happens to both meanwhile. */
bool zd_slice_result_work(struct zd_slice_result *result, struct zd_fetch *fetch);

/** The cost of that for the parts that have arrived. */
uint64_t zd_slice_result_cost_ns(
    const struct zd_slice_result *result, const struct zd_fetch *fetch);

/** {"index": [..]} of the element that the type of the result does not hold, owned; NULL without
 * memory. @param err its story */
struct zd_json *zd_slice_result_failure(const struct zd_slice_result *result, struct zd_error *err);

#endif
