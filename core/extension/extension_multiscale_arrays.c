/* example.multiscale-arrays: the arrays of a group are one at several scales, the finest first. */
#include <inttypes.h>

#include "core/base/num.h"
#include "core/extension/extension.h"
#include "core/extension/relative.h"

#define NAME "example.multiscale-arrays"

static ZD_RESULT multiscale_validate(const struct zd_json *configuration,
    const struct zd_pointer *at, const struct zd_subject *subject, void **ret_state,
    struct zd_faults *faults)
{
    struct zd_relative *levels = NULL;
    (void)subject;
    const struct zd_json *multiscale = zd_json_member(configuration, "multiscale");
    const struct zd_pointer place = zd_pointer_member(at, "multiscale");
    const struct zd_pointer list = zd_pointer_member(&place, "datasets");
    ZD_TRY(zd_relative_parse(zd_json_member(multiscale, "datasets"), &list, NAME, &levels, faults));
    *ret_state = levels;
    return ZD_OK;
}

static void multiscale_close(void *state)
{
    zd_relative_free(state);
}

static void multiscale_view(
    const void *state, const struct zd_subject *subject, struct zd_view *view)
{
    const struct zd_relative *levels = state;
    (void)subject;
    view->level = levels->path;
    view->n_levels = levels->n;
    view->level_at = &levels->at;
}

static enum zd_status select_number(
    const struct zd_choice *choice, uint32_t *ret_level, struct zd_error *err)
{
    if (choice->number < choice->n_levels) {
        *ret_level = (uint32_t)choice->number;
        return ZD_OK;
    }
    const enum zd_status status = zd_fail(err, ZD_OUT_OF_BOUNDS,
        "level %" PRIu64 " does not exist; the group has %" PRIu32 " levels", choice->number,
        choice->n_levels);
    zd_fact_index(err, (int64_t)zd_min_u64(choice->number, INT64_MAX));
    zd_fact_size(err, choice->n_levels);
    return status;
}

static ZD_RESULT multiscale_select(
    const void *state, const struct zd_choice *choice, uint32_t *ret_level, struct zd_error *err)
{
    (void)state;
    if (choice->has_number) {
        return select_number(choice, ret_level, err);
    }
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < choice->n_levels; i++) {
        const struct zd_choice_level *level = &choice->level[i];
        if (!level->is_array || !level->is_counted) {
            continue;
        }
        if (level->n_elements <= choice->n_elements_max) {
            *ret_level = i;
            return ZD_OK;
        }
        least = zd_min_u64(least, level->n_elements);
    }
    const enum zd_status status = zd_fail(err, ZD_TOO_LARGE,
        "at every level the answer has more than %" PRIu64 " elements", choice->n_elements_max);
    zd_fact_limit(err, choice->n_elements_max, least);
    return status;
}

const struct zd_extension zd_extension_multiscale_arrays = {
    .name = NAME,
    .on_group = true,
    .schema = "{\"title\":\"One array at several scales\",\"type\":\"object\",\"properties\":{"
              "\"multiscale\":{\"type\":\"object\",\"properties\":{\"datasets\":{"
              "\"description\":\"paths of the arrays relative to the group, the finest first\","
              "\"type\":\"array\",\"items\":{\"type\":\"string\",\"minLength\":1},\"minItems\":1}},"
              "\"required\":[\"datasets\"],\"additionalProperties\":false}},"
              "\"required\":[\"multiscale\"],\"additionalProperties\":false}",
    .validate = multiscale_validate,
    .close = multiscale_close,
    .view = multiscale_view,
    .select = multiscale_select,
};
