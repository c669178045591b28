/* A slice that is appended. */
#include "server/slice/slice_append.h"

#include <string.h>

#include "core/base/num.h"

enum zd_status zd_slice_append_begin(struct zd_slice_append *append,
    const struct zd_slice_params *ask, struct zd_node *node, uint64_t *ret_shape,
    const char **ret_code, struct zd_error *err)
{
    *ret_code = "bad_parameter";
    ZD_TRY(zd_slice_params_find_append(ask, node->meta, &append->dim, err));
    zd_meta_shape(node->meta, ret_shape);
    *ret_code = "shape_mismatch";
    ZD_TRY(zd_slice_params_check_shape(ask, "array", ret_shape, node->meta->grid.rank, err));
    *ret_code = NULL;
    append->before = zd_node_ref(node);
    ret_shape[append->dim] = 0;
    return ZD_OK;
}

enum zd_next zd_slice_append_foresee(
    struct zd_slice_append *append, uint64_t count, struct zd_machine *machine)
{
    struct zd_metadata_want *change = &append->change;
    uint64_t shape[ZD_RANK_MAX];
    append->count = count;
    *change = (struct zd_metadata_want){.wait = zd_machine_wait(machine)};
    memcpy(shape, append->before->meta->grid.shape, sizeof shape);
    if (ckd_add(&shape[append->dim], shape[append->dim], count)) {
        change->wait.status = zd_fail(
            &change->wait.err, ZD_TOO_LARGE, "the appended array would exceed a length of 2^64");
        return ZD_NEXT;
    }
    return zd_metadata_want_shape(append->before, shape, NULL, change);
}

enum zd_status zd_slice_append_take(struct zd_slice_append *append, struct zd_node **ret_node,
    const char **ret_code, struct zd_error *err)
{
    const struct zd_metadata_want *change = &append->change;
    const enum zd_status status = change->wait.status;
    if (status != ZD_OK) {
        *ret_code = status == ZD_PRECONDITION ? "shape_mismatch" : change->code;
        *err = change->wait.err;
        err->status = status;
        return status;
    }
    return zd_node_foresee(append->before, change->meta, ret_node, err);
}

void zd_slice_append_select(const struct zd_slice_append *append, const struct zd_meta *meta,
    struct zd_selection *ret_asked, struct zd_selection *ret_stored)
{
    uint64_t shape[ZD_RANK_MAX];
    zd_meta_shape(meta, shape);
    zd_selection_whole(meta->grid.rank, shape, ret_asked);
    struct zd_axis *axis = &ret_asked->axis[append->dim];
    axis->start = append->count == 0 ? 0 : shape[append->dim] - append->count;
    axis->count = append->count;
    *ret_stored = *ret_asked;
    for (uint32_t d = 0; d < meta->grid.rank; d++) {
        ret_stored->axis[d].start += meta->view.origin[d];
    }
}

void zd_slice_append_release(struct zd_slice_append *append)
{
    zd_metadata_release(&append->change);
    zd_node_unref(append->before);
    *append = (struct zd_slice_append){0};
}
