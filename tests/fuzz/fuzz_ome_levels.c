/* Attributes of groups: levels lead below the group and are few, and whatever is wrong is a
 * warning. */
#include <string.h>

#include "core/extension/ome_levels.h"
#include "tests/fuzz/input.h"

#define INPUT_BYTES_MAX (1U << 16)

static void check(const struct zd_relative *levels)
{
    zd_fuzz_insist(levels->n > 0 && levels->n <= ZD_OME_LEVELS_MAX);
    for (uint32_t i = 0; i < levels->n; i++) {
        const char *path = levels->path[i];
        zd_fuzz_insist(path[0] != '\0' && path[0] != '/' && strstr(path, "//") == NULL);
        zd_fuzz_insist(strcmp(path, "..") != 0 && strncmp(path, "../", 3) != 0);
        zd_fuzz_insist(strstr(path, "/../") == NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const struct zd_json_limits limits = {
        .bytes_max = INPUT_BYTES_MAX, .nodes_max = INPUT_BYTES_MAX, .depth_max = 16};
    const struct zd_span text = {.ptr = data, .len = len};
    ZD_AUTO(zd_json) attributes = NULL;
    struct zd_relative *levels = NULL;
    struct zd_faults faults = {0};
    if (zd_json_parse(text, &limits, &attributes, NULL) != ZD_OK) {
        return 0;
    }
    zd_fuzz_insist(zd_ome_levels_find(attributes, &levels, &faults) == ZD_OK);
    zd_fuzz_insist(!zd_faults_refuse(&faults) && (levels == NULL || faults.n_items == 0));
    if (levels != NULL) {
        check(levels);
    }
    zd_faults_done(&faults);
    zd_relative_free(levels);
    return 0;
}
