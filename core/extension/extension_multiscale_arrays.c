/* example.multiscale-arrays: the arrays of a group are one at several scales, the finest first. */
#include "core/extension/levels.h"
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
    view->needs_levels = true;
}

static ZD_RESULT multiscale_select(
    const void *state, const struct zd_choice *choice, uint32_t *ret_level, struct zd_error *err)
{
    (void)state;
    return zd_levels_choose(choice, ret_level, err);
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
