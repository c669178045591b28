/* Paths in configurations: relative to the group that has the extension. */
#include "core/extension/relative.h"

#include <string.h>

static bool is_below(const char *path)
{
    const char *name = path;
    for (;;) {
        const size_t len = strcspn(name, "/");
        if (strspn(name, ".") >= len) {
            return false;
        }
        if (name[len] == '\0') {
            return true;
        }
        name += len + 1;
    }
}

static void judge_path(
    const char *path, const struct zd_pointer *at, const char *name, struct zd_faults *faults)
{
    if (!is_below(path)) {
        zd_faults_add(faults, ZD_FAULT_INVALID, "bad_path", name, at,
            "a path below the group, such as a/b", path,
            "\"%s\" does not name a node below the group", path);
    }
}

enum zd_status zd_relative_parse(const struct zd_json *list, const struct zd_pointer *at,
    const char *name, struct zd_relative **ret_relative, struct zd_faults *faults)
{
    const size_t n = zd_json_count(list);
    const size_t n_before = faults->n_invalid;
    ZD_AUTO(zd_relative)
    relative = zd_alloc_zero(1, sizeof *relative + n * sizeof *relative->path);
    if (relative == NULL) {
        return ZD_NO_MEMORY;
    }
    relative->at = *at;
    for (size_t i = 0; i < n; i++) {
        const struct zd_pointer place = zd_pointer_element(at, i);
        const char *path = zd_json_string(zd_json_element(list, i));
        judge_path(path, &place, name, faults);
        relative->path[i] = zd_strdup(path);
        if (relative->path[i] == NULL) {
            return ZD_NO_MEMORY;
        }
        relative->n++;
    }
    if (faults->n_invalid > n_before) {
        return ZD_INVALID;
    }
    *ret_relative = ZD_TAKE(relative);
    return ZD_OK;
}

void zd_relative_free(struct zd_relative *relative)
{
    for (uint32_t i = 0; relative != NULL && i < relative->n; i++) {
        zd_free((void *)relative->path[i]);
    }
    zd_free(relative);
}
