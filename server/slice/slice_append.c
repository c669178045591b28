/* Appending to an array. */
#include "server/slice/slice_append.h"

#include <string.h>

#include "core/base/num.h"
#include "core/base/scan.h"
#include "server/runtime/server.h"

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

enum zd_status zd_slice_append_begin(
    struct zd_slice_write *write, struct zd_span name, const char **ret_code, struct zd_error *err)
{
    struct zd_slice_append *append = &write->append;
    const struct zd_meta *meta = write->node->meta;
    uint64_t shape[ZD_RANK_MAX];
    *ret_code = "bad_parameter";
    ZD_TRY(find_dimension(meta, name, &append->dim, err));
    zd_meta_shape(meta, shape);
    *ret_code = "shape_mismatch";
    ZD_TRY(zd_slice_params_check_shape(&write->ask, "array", shape, meta->grid.rank, err));
    append->from = meta->grid.shape[append->dim];
    append->node = zd_node_ref(write->node);
    shape[append->dim] = 0;
    zd_slice_body_expect(&write->body, meta->grid.rank, shape, false);
    return ZD_OK;
}

enum zd_next zd_slice_append_ask(
    struct zd_slice_write *write, struct zd_metadata_want *want, struct zd_error *err)
{
    struct zd_slice_append *append = &write->append;
    const struct zd_grid *grid = &write->node->meta->grid;
    append->count = write->body.shape[append->dim];
    ZD_AUTO(zd_json) document = zd_json_new_object();
    struct zd_json *shape = zd_json_new_array();
    uint64_t length;
    if (ckd_add(&length, append->from, append->count)) {
        want->wait.status = zd_fail(err, ZD_TOO_LARGE, "the array would be longer than 2^64");
        return ZD_DONE;
    }
    bool has_memory = document != NULL && shape != NULL;
    for (uint32_t d = 0; has_memory && d < grid->rank; d++) {
        const uint64_t n = d == append->dim ? length : grid->shape[d];
        has_memory = zd_json_append(shape, zd_json_new_u64(n)) == ZD_OK;
    }
    if (!has_memory || zd_json_set(document, "shape", zd_json_ref(shape)) != ZD_OK) {
        zd_json_unref(shape);
        want->wait.status = zd_fail(err, ZD_NO_MEMORY, "no memory for the array's new shape");
        return ZD_DONE;
    }
    zd_json_unref(shape);
    /* Of whatever document is there: others may widen its bounds meanwhile. That its shape is still
     * the one that was read is judged when the elements are committed. */
    const struct zd_metadata_ask ask = {
        .kind = ZD_METADATA_PATCH,
        .place = write->node->path,
        .json = document,
        .is_dry = true,
        .has_lock = true,
    };
    return zd_metadata_want(write->node->dataset, &ask, want);
}

enum zd_status zd_slice_append_select(
    struct zd_slice_write *write, struct zd_meta *meta, struct zd_error *err)
{
    const struct zd_slice_append *append = &write->append;
    struct zd_node *grown = NULL;
    uint64_t shape[ZD_RANK_MAX];
    ZD_TRY(zd_catalog_foresee(append->node, meta, &grown, err));
    zd_node_unref(write->node);
    write->node = grown;
    write->body.dtype = &grown->meta->dtype;
    zd_meta_shape(grown->meta, shape);
    zd_selection_whole(grown->meta->grid.rank, shape, &write->asked);
    struct zd_axis *axis = &write->asked.axis[append->dim];
    axis->start = append->count == 0 ? 0 : shape[append->dim] - append->count;
    axis->count = append->count;
    write->selection = write->asked;
    for (uint32_t d = 0; d < write->selection.rank; d++) {
        write->selection.axis[d].start += grown->meta->view.origin[d];
    }
    return ZD_OK;
}
