/* The parameters of a slice, in the query or in a POST body. One row of the table in
 * slice_params_table.c is all that a parameter takes: its name, its parser and the requests it is
 * of. */
#ifndef ZD_SLICE_SLICE_PARAMS_H
#define ZD_SLICE_SLICE_PARAMS_H

#include "core/compute/reduce.h"
#include "core/dialect/meta.h"
#include "core/grid/scalar.h"
#include "core/grid/selection.h"
#include "server/request/request.h"
#include "server/slice/slice_lists.h"
#include "server/slice/selectors.h"

#define ZD_SLICE_AGG_NEAREST ZD_REDUCE_STD /* of a block its first element */

struct zd_slice_params {
    /* The selection. */
    struct zd_text slice;        /* as it stands in `slice=`; empty when it is absent: all */
    struct zd_slice_lists lists; /* of a body */
    struct zd_selectors picks;   /* isel and sel */
    struct zd_text arrays;       /* of a group: the names of n_arrays below it, each ended by NUL */
    struct zd_span append; /* of writes: a dimension, name or number; borrowed from the query */
    uint64_t level;        /* of a multiscale group */
    uint64_t max_size;     /* or its finest level whose answer has no more elements; of an
                              array: blocks are joined until it has no more */
    uint64_t shape[ZD_RANK_MAX]; /* expected_shape, */
    uint32_t rank;               /* so many lengths */
    uint32_t n_arrays;
    bool has_slice;
    bool has_points;
    bool has_picks;
    bool has_arrays;
    bool has_coords; /* coordinates of the dimensions were asked for, or none: */
    bool coords;
    bool has_level;
    bool has_max_size;
    bool is_of_level; /* max_size has chosen a level */
    bool has_shape;
    bool is_of_stored; /* origin=stored: the slice counts from the first stored element, as if the
                          array had no origin of its own */
    bool has_append;
    /* Operations on the selected elements. */
    bool decodes;      /* decode=cf */
    bool leaves_times; /* some are beyond datetime64: they stay numbers */
    bool has_reduce;
    bool has_over;
    bool has_skipna; /* NaN is skipped, or counts: */
    bool skipna;
    bool has_coarsen;
    bool has_agg;
    bool has_dtype;
    bool drops_fill;     /* of statistics, fill=drop: the fill value is left out, like NaN */
    uint32_t reduce;     /* enum zd_reduce_op */
    uint32_t agg;        /* enum zd_reduce_op as far as blocks have it, or ZD_SLICE_AGG_NEAREST */
    struct zd_text over; /* dimensions, each ended by NUL; meaningless unless has_over */
    struct zd_text coarsen; /* DIM:N, each ended by NUL; meaningless unless has_coarsen */
    struct zd_text dtype;   /* a NumPy name, or "safe"; meaningless unless has_dtype */
    /* How it is answered. */
    struct zd_text format; /* a name; meaningless unless has_format */
    struct zd_span fields; /* of statistics, as sent; borrowed from the query */
    struct zd_scalar_style style;
    bool has_format;
    bool has_fields;
    bool wants_plan; /* plan=1: what the answer would cost, instead of it */
    bool is_table;   /* layout=table */
    bool has_header; /* one was asked for, or none: */
    bool header;
    /* For writes. */
    bool is_broadcast; /* the body is one element, for all of the slice */
    bool is_dry;
};

/** The names of the parameters of slices, statistics and slice writes, ended by NULL: the `params`
 * of their routes. */
extern const char *const zd_slice_params_of_slices[];
extern const char *const zd_slice_params_of_stats[];
extern const char *const zd_slice_params_of_writes[];

/** All values of a parameter that has a list of them, ended by NULL; else NULL. */
const char *const *zd_slice_params_allowed(const char *name);

/** Parameters that a query may repeat: the `repeats` of their routes. */
extern const char *const zd_slice_params_repeated[];

void zd_slice_params_init(struct zd_slice_params *ask, const struct zd_server *server);
void zd_slice_params_done(struct zd_slice_params *ask);

/**
 * Read all parameters of a query; the route has refused names that are not of its list.
 * @param ret_code the problem code of a failure
 * @retval ZD_INVALID
 */
ZD_RESULT zd_slice_params_query(struct zd_slice_params *ask, const struct zd_params *params,
    const char **ret_code, struct zd_error *err);

/** Read slice parameters from the members of a body. `slice` and `expected_shape` may be lists
 * there. As zd_slice_params_query. */
ZD_RESULT zd_slice_params_body(struct zd_slice_params *ask, const struct zd_json *body,
    const char **ret_code, struct zd_error *err);

/**
 * Compare a shape with expected_shape, if that was given.
 * @param what has the shape: "slice" or "array"
 * @retval ZD_PRECONDITION facts expected, found
 */
ZD_RESULT zd_slice_params_check_shape(const struct zd_slice_params *ask, const char *what,
    const uint64_t *shape, uint32_t rank, struct zd_error *err);

/**
 * The elements of an array that the parameters select by index. Dimensions that `sel` names stay
 * whole: server/slice/slice_select.h finds all of the selection.
 *
 * @param ret_asked  as the client counts, from the array's origin: for answers and messages. Lists
 * of both are borrowed from the parameters until the next call
 * @param ret_stored the same elements in the stored array: for everything that touches chunks
 * @retval ZD_INVALID, ZD_OUT_OF_BOUNDS as zd_selection_parse; zd_slice_params_code has their codes
 */
ZD_RESULT zd_slice_params_select(const struct zd_slice_params *ask, const struct zd_meta *meta,
    struct zd_selection *ret_asked, struct zd_selection *ret_stored, struct zd_error *err);

/** The dimension that `append=` names, by its name or number.
 * @retval ZD_INVALID there is no such dimension; facts name, expected, found */
ZD_RESULT zd_slice_params_find_append(const struct zd_slice_params *ask, const struct zd_meta *meta,
    uint32_t *ret_dim, struct zd_error *err);

/** The problem code of a failed selection. */
static inline const char *zd_slice_params_code(enum zd_status status)
{
    return status == ZD_OUT_OF_BOUNDS ? "out_of_bounds" : "bad_slice";
}

#endif
