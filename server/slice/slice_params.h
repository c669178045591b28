/* The parameters of a slice, in the query or in a POST body. One row of the table in
 * slice_params.c is all that a parameter takes: its name, its parser and the requests it is of. */
#ifndef ZD_SLICE_SLICE_PARAMS_H
#define ZD_SLICE_SLICE_PARAMS_H

#include "core/dialect/meta.h"
#include "core/grid/scalar.h"
#include "core/grid/selection.h"
#include "server/request/request.h"

struct zd_slice_params {
    struct zd_text slice; /* as it stands in `slice=`; empty when it is absent: all elements */
    bool has_slice;
    struct zd_text format; /* a name; meaningless unless has_format */
    bool has_format;
    bool is_of_stored; /* origin=stored: the slice counts from the first stored element, as if the
                          array had no origin of its own */
    bool has_level;    /* of a multiscale group: this level */
    uint64_t level;
    bool has_max_size; /* or the finest level whose answer has no more elements */
    uint64_t max_size;
    bool has_shape; /* expected_shape */
    uint32_t rank;
    uint64_t shape[ZD_RANK_MAX];
    struct zd_scalar_style style;
    /* of statistics */
    bool has_fields;
    bool drops_fill;       /* fill=drop: the fill value is left out, like NaN */
    struct zd_span fields; /* as sent; borrowed from the query */
    /* of writes */
    bool is_broadcast; /* the body is one element, for all of the slice */
    bool is_dry;
    bool has_append;
    struct zd_span append; /* a dimension: name or number; borrowed from the query */
};

/** The names of the parameters of slices, statistics and slice writes, ended by NULL: the `params`
 * of their routes. */
extern const char *const zd_slice_params_of_slices[];
extern const char *const zd_slice_params_of_stats[];
extern const char *const zd_slice_params_of_writes[];

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
 * The elements of an array that the parameters select.
 *
 * @param ret_asked  as the client counts, from the array's origin: for answers and messages
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
