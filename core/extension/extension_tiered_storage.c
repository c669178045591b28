/* example.tiered-storage: which arrays of a group are slow to read. */
#include <string.h>

#include "core/extension/extension.h"
#include "core/extension/relative.h"

#define NAME "example.tiered-storage"

static ZD_RESULT tiered_validate(const struct zd_json *configuration, const struct zd_pointer *at,
    const struct zd_subject *subject, void **ret_state, struct zd_faults *faults)
{
    struct zd_relative *slow = NULL;
    (void)subject;
    const struct zd_pointer place = zd_pointer_member(at, "slow-arrays");
    ZD_TRY(zd_relative_parse(
        zd_json_member(configuration, "slow-arrays"), &place, NAME, &slow, faults));
    *ret_state = slow;
    return ZD_OK;
}

static void tiered_close(void *state)
{
    zd_relative_free(state);
}

static void tiered_listing(const void *state, const char *path, struct zd_listing *listing)
{
    const struct zd_relative *slow = state;
    for (uint32_t i = 0; i < slow->n; i++) {
        if (strcmp(slow->path[i], path) == 0) {
            listing->tier = "slow";
        }
    }
}

const struct zd_extension zd_extension_tiered_storage = {
    .name = NAME,
    .on_group = true,
    .may_repeat = true,
    .schema = "{\"title\":\"Arrays that are slow to read\",\"type\":\"object\",\"properties\":{"
              "\"slow-arrays\":{\"description\":\"paths relative to the group\","
              "\"type\":\"array\",\"items\":{\"type\":\"string\",\"minLength\":1}}},"
              "\"required\":[\"slow-arrays\"],\"additionalProperties\":false}",
    .validate = tiered_validate,
    .close = tiered_close,
    .listing = tiered_listing,
};
