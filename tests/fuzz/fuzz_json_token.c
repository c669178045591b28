/* Tokens of JSON: what is told of a text without a tree is what the tree says. */
#include <string.h>

#include "core/base/json.h"
#include "core/base/json_token.h"
#include "tests/fuzz/input.h"

#define NAME            "consolidated_metadata"
#define INPUT_BYTES_MAX (1U << 16)

static const struct zd_json_limits limits = {
    .bytes_max = INPUT_BYTES_MAX, .nodes_max = 5000, .depth_max = 64, .nonfinite = true};

/* Names with escapes are not recognised, and only then the two may differ. */
static void check_member(struct zd_span text, const struct zd_json *json)
{
    const struct zd_json *member = zd_json_member(json, NAME);
    struct zd_span value = {0};
    if (!zd_json_find_value(text, NAME, &value)) {
        zd_fuzz_insist(member == NULL || memchr(text.ptr, '\\', text.len) != NULL);
        return;
    }
    ZD_AUTO(zd_json) again = NULL;
    zd_fuzz_insist(value.ptr >= text.ptr && value.ptr + value.len <= text.ptr + text.len);
    zd_fuzz_insist(member != NULL && zd_json_parse(value, &limits, &again, NULL) == ZD_OK);
    zd_fuzz_insist(zd_json_equal(member, again));
}

/* Tokens are in order, inside the text, and never empty. */
static void walk(struct zd_span text)
{
    size_t at = 0;
    size_t end = 0;
    while (zd_json_next_token(text, &at, &end) != ZD_JSON_TOKEN_END) {
        zd_fuzz_insist(at < end && end <= text.len);
        at = end;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const struct zd_span text = {.ptr = data, .len = len};
    ZD_AUTO(zd_json) json = NULL;
    struct zd_span value = {0};
    walk(text);
    if (zd_json_parse(text, &limits, &json, NULL) == ZD_OK) {
        zd_fuzz_insist(zd_json_check_limits(text, &limits, NULL) == ZD_OK);
        check_member(text, json);
    } else if (zd_json_find_value(text, NAME, &value)) {
        zd_fuzz_insist(value.ptr >= text.ptr && value.ptr + value.len <= text.ptr + text.len);
    }
    return 0;
}
