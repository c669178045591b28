/* Appending to an array. */
#include "server/slice/slice_append.h"

#include <string.h>

#include "core/base/num.h"
#include "core/base/scan.h"

static bool find_name(const struct zd_meta *meta, struct zd_span name, uint32_t *ret_dim)
{
    for (uint32_t d = 0; meta->dimension_name != NULL && d < meta->grid.rank; d++) {
        if (meta->dimension_name[d] != NULL && zd_span_is(name, meta->dimension_name[d])) {
            *ret_dim = d;
            return true;
        }
    }
    return false;
}

static enum zd_status find_dimension(
    const struct zd_meta *meta, struct zd_span name, uint32_t *ret_dim, struct zd_error *err)
{
    uint64_t number;
    if (find_name(meta, name, ret_dim)) {
        return ZD_OK;
    }
    if (zd_scan_whole_u64(name, UINT64_MAX, &number) == ZD_OK && number < meta->grid.rank) {
        *ret_dim = (uint32_t)number;
        return ZD_OK;
    }
    const enum zd_status told =
        zd_fail(err, ZD_INVALID, "append=%.*s: the array has no such dimension; its rank is %u",
            (int)zd_min_u64(name.len, ZD_FACT_TEXT_BYTES), (const char *)name.ptr, meta->grid.rank);
    zd_fact_name(err, "append");
    zd_fact_expected(err, "the name of a dimension, or a number below %u", meta->grid.rank);
    zd_fact_found(
        err, "%.*s", (int)zd_min_u64(name.len, ZD_FACT_TEXT_BYTES), (const char *)name.ptr);
    return told;
}

enum zd_status zd_slice_append_begin(struct zd_slice_append *append, struct zd_node *node,
    const struct zd_slice_params *params, struct zd_slice_body *body, const char **ret_code,
    struct zd_error *err)
{
    const struct zd_meta *meta = node->meta;
    uint64_t shape[ZD_RANK_MAX];
    *ret_code = "bad_parameter";
    ZD_TRY(find_dimension(meta, params->append, &append->dim, err));
    zd_meta_shape(meta, shape);
    *ret_code = "shape_mismatch";
    ZD_TRY(zd_slice_params_check_shape(params, "array", shape, meta->grid.rank, err));
    append->from = meta->grid.shape[append->dim];
    append->before = zd_node_ref(node);
    shape[append->dim] = 0;
    zd_slice_body_expect(body, meta->grid.rank, shape, false);
    return ZD_OK;
}

/* Of whatever document is there: others may widen its bounds meanwhile. That its shape is still the
 * one that was read is judged when the elements are committed. */
enum zd_next zd_slice_append_foresee(
    struct zd_slice_append *append, const struct zd_slice_body *body, struct zd_machine *machine)
{
    struct zd_metadata_want *change = &append->change;
    uint64_t shape[ZD_RANK_MAX];
    append->count = body->shape[append->dim];
    *change = (struct zd_metadata_want){.wait = zd_machine_wait(machine)};
    memcpy(shape, append->before->meta->grid.shape, sizeof shape);
    if (ckd_add(&shape[append->dim], append->from, append->count)) {
        change->wait.status =
            zd_fail(&change->wait.err, ZD_TOO_LARGE, "the array would be longer than 2^64");
        return ZD_NEXT;
    }
    return zd_metadata_want_shape(append->before, shape, NULL, change);
}

enum zd_status zd_slice_append_select(const struct zd_slice_append *append,
    struct zd_node **ret_node, struct zd_selection *ret_asked, struct zd_selection *ret_stored,
    struct zd_error *err)
{
    struct zd_node *grown = NULL;
    uint64_t shape[ZD_RANK_MAX];
    ZD_TRY(zd_node_foresee(append->before, append->change.meta, &grown, err));
    zd_meta_shape(grown->meta, shape);
    zd_selection_whole(grown->meta->grid.rank, shape, ret_asked);
    struct zd_axis *axis = &ret_asked->axis[append->dim];
    axis->start = append->count == 0 ? 0 : shape[append->dim] - append->count;
    axis->count = append->count;
    *ret_stored = *ret_asked;
    for (uint32_t d = 0; d < ret_stored->rank; d++) {
        ret_stored->axis[d].start += grown->meta->view.origin[d];
    }
    *ret_node = grown;
    return ZD_OK;
}

void zd_slice_append_release(struct zd_slice_append *append)
{
    zd_metadata_release(&append->change);
    zd_node_unref(append->before);
    *append = (struct zd_slice_append){0};
}
