/* example.offset: the array begins at another element than the first that is stored. */
#include <inttypes.h>

#include "core/extension/extension.h"

#define NAME "example.offset"

static void judge_extent(const struct zd_json *json, const struct zd_pointer *at, uint64_t extent,
    uint64_t *ret_origin, struct zd_faults *faults)
{
    ZD_SCOPED_TEXT(expected, ZD_FACT_TEXT_BYTES);
    ZD_SCOPED_TEXT(found, ZD_FACT_TEXT_BYTES);
    if (zd_json_u64(json, ret_origin) && *ret_origin <= extent) {
        return;
    }
    zd_text_addf(&expected, "an integer from 0 to %" PRIu64, extent);
    zd_text_add_u64(&found, *ret_origin);
    zd_faults_add(faults, ZD_FAULT_INVALID, "out_of_range", NAME, at, expected.at, found.at,
        "an offset must lie within the shape: %s", expected.at);
}

static ZD_RESULT offset_validate(const struct zd_json *configuration, const struct zd_pointer *at,
    const struct zd_subject *subject, void **ret_state, struct zd_faults *faults)
{
    const struct zd_grid *grid = subject->grid;
    const struct zd_json *offset = zd_json_member(configuration, "offset");
    const struct zd_pointer place = zd_pointer_member(at, "offset");
    const size_t n_before = faults->n_invalid;
    if (zd_json_count(offset) != grid->rank) {
        zd_faults_add(faults, ZD_FAULT_INVALID, "rank_mismatch", NAME, &place, NULL, NULL,
            "the offset has %zu entries, the shape has %" PRIu32, zd_json_count(offset),
            grid->rank);
        return ZD_INVALID;
    }
    uint64_t *origin = zd_alloc_zero(grid->rank, sizeof *origin);
    if (origin == NULL) {
        return ZD_NO_MEMORY;
    }
    for (uint32_t d = 0; d < grid->rank; d++) {
        const struct zd_pointer element = zd_pointer_element(&place, d);
        judge_extent(zd_json_element(offset, d), &element, grid->shape[d], &origin[d], faults);
    }
    if (faults->n_invalid > n_before) {
        zd_free(origin);
        return ZD_INVALID;
    }
    *ret_state = origin;
    return ZD_OK;
}

static void offset_view(const void *state, const struct zd_subject *subject, struct zd_view *view)
{
    const uint64_t *origin = state;
    view->has_origin = true;
    for (uint32_t d = 0; d < subject->grid->rank; d++) {
        view->origin[d] = origin[d];
    }
}

const struct zd_extension zd_extension_offset = {
    .name = NAME,
    .on_array = true,
    .must_be_understood = true,
    .schema = "{\"title\":\"Where the array begins\",\"type\":\"object\",\"properties\":{"
              "\"offset\":{\"description\":\"the first element, along each dimension of the "
              "stored array\",\"type\":\"array\",\"items\":{\"type\":\"integer\",\"minimum\":0}}},"
              "\"required\":[\"offset\"],\"additionalProperties\":false}",
    .validate = offset_validate,
    .view = offset_view,
};
