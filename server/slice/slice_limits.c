/* What a slice may have: bytes and chunks. */
#include "server/slice/slice_limits.h"

#include "core/base/num.h"
#include "server/runtime/server.h"

enum zd_status zd_slice_limits_check(
    const struct zd_slice_limits_whole *whole, struct zd_error *err)
{
    const struct zd_settings *settings = &whole->node->dataset->server->config->settings;
    uint64_t n;
    if (zd_selection_overflows(whole->selection, &n) ||
        ckd_mul(&n, n, (uint64_t)whole->node->meta->dtype.bytes)) {
        n = UINT64_MAX;
    }
    if (n > whole->bytes_max) {
        const enum zd_status status =
            zd_fail(err, ZD_TOO_LARGE, "the slice has %llu bytes; %s is %llu",
                (unsigned long long)n, whole->setting, (unsigned long long)whole->bytes_max);
        zd_fact_limit(err, whole->bytes_max, n);
        return status;
    }
    const struct zd_level *leaf = zd_layout_leaf(whole->node->layout);
    if (zd_plan_overflows(&leaf->grid, whole->selection, &n)) {
        n = UINT64_MAX;
    }
    if (n > settings->limits_slice_chunks) {
        const enum zd_status status =
            zd_fail(err, ZD_TOO_LARGE, "the slice covers %llu chunks; limits.slice_chunks is %llu",
                (unsigned long long)n, (unsigned long long)settings->limits_slice_chunks);
        zd_fact_limit(err, settings->limits_slice_chunks, n);
        return status;
    }
    return ZD_OK;
}
