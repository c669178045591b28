/* OME-NGFF multiscales, as the attributes of a group list them. */
#include "core/extension/ome_levels.h"

#include <stdio.h>

#include "core/base/own.h"

#define NAME        "multiscales"
#define COUNT_BYTES 24

/* Where the datasets of the first image are listed. @return NULL: nowhere */
static const struct zd_json *find_datasets(
    const struct zd_json *attributes, struct zd_pointer *ret_at)
{
    const struct zd_pointer root = {.text = "/attributes"};
    const struct zd_pointer inner = zd_pointer_member(&root, "ome");
    const struct zd_json *ome = zd_json_member(zd_json_member(attributes, "ome"), NAME);
    const struct zd_json *images = ome == NULL ? zd_json_member(attributes, NAME) : ome;
    const struct zd_pointer list = zd_pointer_member(ome == NULL ? &root : &inner, NAME);
    const struct zd_pointer first = zd_pointer_element(&list, 0);
    const struct zd_json *datasets = zd_json_member(zd_json_element(images, 0), "datasets");
    *ret_at = zd_pointer_member(&first, "datasets");
    return zd_json_is(datasets, ZD_JSON_ARRAY) && zd_json_count(datasets) > 0 ? datasets : NULL;
}

static void warn(struct zd_faults *faults, const char *code, const struct zd_pointer *at,
    const char *expected, const char *found)
{
    zd_faults_add(faults, ZD_FAULT_WARNING, code, NAME, at, expected, found,
        "the scales listed in these attributes are ignored: expected %s", expected);
}

/* The paths as a list of strings. @param ret_paths owned; NULL: a warning says which is none */
static enum zd_status list_paths(const struct zd_json *datasets, const struct zd_pointer *at,
    struct zd_json **ret_paths, struct zd_faults *faults)
{
    ZD_AUTO(zd_json) paths = zd_json_new_array();
    if (paths == NULL) {
        return ZD_NO_MEMORY;
    }
    for (size_t i = 0; i < zd_json_count(datasets); i++) {
        const struct zd_json *path = zd_json_member(zd_json_element(datasets, i), "path");
        if (zd_json_string(path) == NULL) {
            const struct zd_pointer place = zd_pointer_element(at, i);
            warn(faults, "wrong_type", &place, "an object with the path of an array",
                zd_json_type_name(path));
            *ret_paths = NULL;
            return ZD_OK;
        }
        ZD_TRY(zd_json_append(paths, zd_json_ref(path)));
    }
    *ret_paths = ZD_TAKE(paths);
    return ZD_OK;
}

/* Paths that do not lead below the group are warnings here. */
static enum zd_status parse_paths(const struct zd_json *paths, const struct zd_pointer *at,
    struct zd_relative **ret_levels, struct zd_faults *faults)
{
    struct zd_faults found = {0};
    const enum zd_status status = zd_relative_parse(paths, at, NAME, ret_levels, &found);
    for (size_t i = 0; i < found.n_items; i++) {
        const struct zd_fault *fault = &found.item[i];
        struct zd_pointer place;
        snprintf(place.text, sizeof place.text, "%s", fault->pointer);
        warn(faults, fault->code, &place, fault->expected, fault->found);
    }
    const bool is_lost = found.out_of_memory;
    zd_faults_done(&found);
    return status == ZD_NO_MEMORY || is_lost ? ZD_NO_MEMORY : ZD_OK;
}

enum zd_status zd_ome_levels_find(
    const struct zd_json *attributes, struct zd_relative **ret_levels, struct zd_faults *faults)
{
    struct zd_pointer at;
    const struct zd_json *datasets = find_datasets(attributes, &at);
    *ret_levels = NULL;
    if (datasets == NULL) {
        return ZD_OK;
    }
    if (zd_json_count(datasets) > ZD_OME_LEVELS_MAX) {
        char found[COUNT_BYTES];
        snprintf(found, sizeof found, "%zu", zd_json_count(datasets));
        warn(faults, "too_large", &at, "at most 64 scales", found);
        return ZD_OK;
    }
    ZD_AUTO(zd_json) paths = NULL;
    ZD_TRY(list_paths(datasets, &at, &paths, faults));
    return paths == NULL ? ZD_OK : parse_paths(paths, &at, ret_levels, faults);
}
