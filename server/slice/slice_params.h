/* What a client asks of a slice, from the query or from a POST body (api.md 3.5). */
#ifndef ZD_SLICE_SLICE_PARAMS_H
#define ZD_SLICE_SLICE_PARAMS_H

#include "core/dialect/meta.h"
#include "core/grid/scalar.h"
#include "core/grid/selection.h"
#include "server/request/request.h"

struct zd_slice_params {
    struct zd_text slice;  /* as it stands in `slice=` */
    struct zd_text format; /* a name; meaningless unless has_format */
    bool has_format;
    bool is_of_stored; /* origin=stored: the slice counts from the first stored element, as if the
                          array had no origin of its own */
    bool has_level;    /* of a group with several levels: which of them */
    uint64_t level;
    bool has_max_size; /* or the finest whose answer has no more elements */
    uint64_t max_size;
    bool has_shape; /* expected_shape */
    uint32_t rank;
    uint64_t shape[ZD_RANK_MAX];
    struct zd_scalar_style style;
};

/** The query parameters of such a request, ended by NULL. */
extern const char *const zd_slice_params[];

void zd_slice_params_init(struct zd_slice_params *ask, const struct zd_server *server);
void zd_slice_params_done(struct zd_slice_params *ask);

/**
 * Read it from the query.
 * @param ret_code the problem code of a failure
 * @retval ZD_INVALID
 */
ZD_RESULT zd_slice_params_query(struct zd_slice_params *ask, const struct zd_params *params,
    const char **ret_code, struct zd_error *err);

/** Read it from a body: {"slice": "..." | ["..", ..], "format", "nan", "ints", "expected_shape"}.
 */
ZD_RESULT zd_slice_params_body(struct zd_slice_params *ask, const struct zd_json *body,
    const char **ret_code, struct zd_error *err);

/**
 * What its slice means for an array.
 *
 * @param ret_asked  as the client counts, from the array's origin: for answers and messages
 * @param ret_stored the same elements in the stored array: for everything that touches chunks
 * @param ret_code   the problem code of a failure
 * @retval ZD_INVALID, ZD_OUT_OF_BOUNDS as zd_selection_parse
 */
ZD_RESULT zd_slice_params_select(const struct zd_slice_params *ask, const struct zd_meta *meta,
    struct zd_selection *ret_asked, struct zd_selection *ret_stored, const char **ret_code,
    struct zd_error *err);

#endif
