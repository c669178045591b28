/* Elements reduced to one of each cell: extremes, sums, means, spreads, counts. Floating-point sums
 * are as accurate as pairwise ones: those of float32 are taken in float64, those of float64 with
 * the rest that each addition loses; sums of integers are exact. Thread: any; one thread at a time.
 */
#ifndef ZD_CORE_COMPUTE_REDUCE_H
#define ZD_CORE_COMPUTE_REDUCE_H

#include "core/base/num.h"
#include "core/grid/dtype.h"

enum zd_reduce_op {
    ZD_REDUCE_MEAN,
    ZD_REDUCE_MIN,
    ZD_REDUCE_MAX,
    ZD_REDUCE_SUM,
    ZD_REDUCE_STD, /* of the population */
    ZD_REDUCE_VAR,
    ZD_REDUCE_COUNT, /* of what is not NaN */
};

/** The names of the operations in their order, ended by NULL. */
extern const char *const zd_reduce_names[];

/** How elements are held in cells. */
enum zd_reduce_way {
    ZD_REDUCE_FLOATS,   /* as float64 */
    ZD_REDUCE_SIGNED,   /* as int64 */
    ZD_REDUCE_UNSIGNED, /* as uint64 */
    ZD_REDUCE_TICKS,    /* as int64, of which one is NaT */
};

/** Cells. zd_reduce_plan makes it, zd_reduce_init gives it memory. */
struct zd_reduce {
    enum zd_reduce_op op;
    enum zd_reduce_way way;
    bool skips_nan;
    struct zd_dtype from;  /* of the elements */
    struct zd_dtype usual; /* that they are computed as */
    struct zd_dtype to;    /* of the result */
    bool has_rests;        /* sums need them: of float64 */
    uint64_t n_cells;      /* that memory has room for */
    void *memory;      /* owned, all that follows is in it; NULL: the operation does not need it */
    zd_i128 *whole;    /* sums of integers */
    uint64_t *extreme; /* bits of a number, as `way` has it */
    double *first;     /* of each cell: what spreads are counted from */
    double *sum;       /* of the numbers, or their distances from the first */
    double *sum_rest;
    double *square; /* the same of the squares of the distances */
    double *square_rest;
    uint64_t *n_missing; /* NaN */
};

/** Plan an operation on elements. @retval ZD_UNSUPPORTED it does not apply to such elements */
ZD_RESULT zd_reduce_plan(struct zd_reduce *reduce, enum zd_reduce_op op,
    const struct zd_dtype *from, bool skips_nan, struct zd_error *err);

/** The bytes of a cell. */
uint64_t zd_reduce_cell_bytes(const struct zd_reduce *reduce);

/** Allocate memory for n_cells cells; zd_reduce_clear empties them. @retval ZD_NO_MEMORY */
ZD_RESULT zd_reduce_init(struct zd_reduce *reduce, uint64_t n_cells, struct zd_error *err);
void zd_reduce_done(struct zd_reduce *reduce); /* accepts a zeroed one */

/** Empty the first n_cells cells. */
void zd_reduce_clear(struct zd_reduce *reduce, uint64_t n_cells);

/** Add elements at any address, each to a cell of its own, from `cell` on. */
void zd_reduce_add_each(
    struct zd_reduce *reduce, uint64_t cell, const uint8_t *elements, uint64_t n);

/** Add all of them to one cell. */
void zd_reduce_add_all(
    struct zd_reduce *reduce, uint64_t cell, const uint8_t *elements, uint64_t n);

/**
 * The results of n cells.
 * @param n_added how many elements were added to each of them; n entries
 * @param to      n elements of the result
 * @param ret_place the first cell whose sum does not fit, when there is one
 * @return false when there is one
 */
bool zd_reduce_finish(const struct zd_reduce *reduce, uint64_t first, uint64_t n,
    const uint64_t *n_added, uint8_t *to, uint64_t *ret_place);

/* ---- between its files ---- */

/** Whether it is a standard deviation or a variance. */
bool zd_reduce_is_spread(const struct zd_reduce *reduce);

/** Whether elements may be NaN or NaT. */
bool zd_reduce_has_nan(const struct zd_reduce *reduce);

/** The neutral element of min and max, as the bits of `way`: no element is beyond it. */
uint64_t zd_reduce_neutral(const struct zd_reduce *reduce);

#endif
