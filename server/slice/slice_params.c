/* The parameters of a slice, and what they select of an array. */
#include "server/slice/slice_params.h"

#include <string.h>

#include "core/base/num.h"
#include "server/format/format.h"
#include "server/runtime/server.h"

#define FORMAT_BYTES_MAX 256
#define LIST_BYTES_MAX   16384 /* of all entries of a list */
#define SHAPE_BYTES_MAX  1024  /* 32 numbers of 20 digits */

void zd_slice_params_init(struct zd_slice_params *ask, const struct zd_server *server)
{
    *ask = (struct zd_slice_params){.max_size = UINT64_MAX};
    zd_text_init(&ask->slice, server->config->settings.limits_body_bytes);
    zd_text_init(&ask->format, FORMAT_BYTES_MAX);
    zd_text_init(&ask->dtype, FORMAT_BYTES_MAX);
    zd_selectors_init(&ask->picks, server->config->settings.limits_body_bytes);
    zd_text_init(&ask->over, LIST_BYTES_MAX);
    zd_text_init(&ask->coarsen, LIST_BYTES_MAX);
    zd_text_init(&ask->arrays, server->config->settings.limits_body_bytes);
}

void zd_slice_params_done(struct zd_slice_params *ask)
{
    zd_text_done(&ask->slice);
    zd_text_done(&ask->format);
    zd_text_done(&ask->dtype);
    zd_selectors_done(&ask->picks);
    zd_text_done(&ask->over);
    zd_text_done(&ask->coarsen);
    zd_slice_lists_done(&ask->lists);
    zd_text_done(&ask->arrays);
}

enum zd_status zd_slice_params_check_shape(const struct zd_slice_params *ask, const char *what,
    const uint64_t *shape, uint32_t rank, struct zd_error *err)
{
    if (!ask->has_shape ||
        (ask->rank == rank && memcmp(shape, ask->shape, rank * sizeof *shape) == 0)) {
        return ZD_OK;
    }
    ZD_SCOPED_TEXT(expected, SHAPE_BYTES_MAX);
    ZD_SCOPED_TEXT(found, SHAPE_BYTES_MAX);
    zd_format_add_lengths(&expected, ask->shape, ask->rank);
    zd_format_add_lengths(&found, shape, rank);
    return zd_fail_expected(err, ZD_PRECONDITION, expected.at, found.at,
        "the %s has shape (%s), expected (%s)", what, found.at, expected.at);
}

enum zd_status zd_slice_params_select(const struct zd_slice_params *ask, const struct zd_meta *meta,
    struct zd_selection *ret_asked, struct zd_selection *ret_stored, struct zd_error *err)
{
    const uint32_t rank = meta->grid.rank;
    uint64_t shape[ZD_RANK_MAX];
    zd_meta_shape(meta, shape);
    const uint64_t *counted = ask->is_of_stored ? meta->grid.shape : shape;
    const struct zd_slice_lists_array array = {
        .rank = rank, .shape = counted, .origin = ask->is_of_stored ? NULL : meta->view.origin};
    const struct zd_span slice = zd_text_span(&ask->slice);
    struct zd_selection asked;
    ZD_TRY(zd_selection_parse(slice, rank, counted, &asked, err));
    if (zd_slice_lists_exist(&ask->lists)) {
        ZD_TRY(zd_slice_lists_apply(&ask->lists, slice, &array, &asked, err));
    }
    ZD_TRY(zd_selectors_apply(&ask->picks, meta, counted, &asked, err));
    *ret_asked = asked;
    *ret_stored = asked;
    for (uint32_t d = 0; !ask->is_of_stored && d < rank; d++) {
        /* An empty selection starts at 0. */
        ret_stored->axis[d].start += ret_asked->axis[d].count == 0 ? 0 : meta->view.origin[d];
    }
    zd_slice_lists_store(&ask->lists, ret_stored);
    return ZD_OK;
}

enum zd_status zd_slice_params_find_append(const struct zd_slice_params *ask,
    const struct zd_meta *meta, uint32_t *ret_dim, struct zd_error *err)
{
    const struct zd_span name = ask->append;
    const int shown = (int)zd_min_u64(name.len, ZD_FACT_TEXT_BYTES);
    if (zd_selectors_find_dim(meta, name, ret_dim)) {
        return ZD_OK;
    }
    const enum zd_status failed =
        zd_fail_name(err, "append", "append=%.*s: the array has no such dimension; its rank is %u",
            shown, (const char *)name.ptr, meta->grid.rank);
    zd_fact_expected(err, "the name of a dimension, or a number below %u", meta->grid.rank);
    zd_fact_found(err, "%.*s", shown, (const char *)name.ptr);
    return failed;
}
