/* The grammar of JSON: it accepts what the parser does, and finds the members that the tree has. */
#include <string.h>

#include "core/base/json.h"
#include "core/base/json_grammar.h"
#include "tests/fuzz/input.h"

#define INPUT_BYTES_MAX (1U << 16)

static const struct zd_json_limits limits = {
    .bytes_max = INPUT_BYTES_MAX, .nodes_max = 5000, .depth_max = 64, .nonfinite = true};

/* Each member of the text is one of the tree, and as often. */
static void check_members(struct zd_span text, const struct zd_json *json)
{
    struct zd_json_extent member;
    size_t n = 0;
    for (size_t at = 0; zd_json_grammar_next(text, &at, &member); n++) {
        ZD_AUTO(zd_json) value = NULL;
        ZD_SCOPED_TEXT(name, INPUT_BYTES_MAX);
        zd_json_grammar_unescape(member.name, &name);
        zd_fuzz_insist(name.status == ZD_OK);
        zd_fuzz_insist(zd_json_parse(member.value, &limits, &value, NULL) == ZD_OK);
        zd_fuzz_insist(zd_json_equal(value, zd_json_member(json, name.at)));
    }
    zd_fuzz_insist(n == zd_json_count(json));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const struct zd_span text = {.ptr = data, .len = len};
    ZD_AUTO(zd_json) json = NULL;
    struct zd_error err = {0};
    bool nonfinite = false;
    if (zd_json_check_limits(text, &limits, NULL) != ZD_OK) {
        return 0;
    }
    const bool is_accepted = zd_json_grammar_check(text, &limits, &nonfinite, NULL) == ZD_OK;
    const bool is_parsed = zd_json_parse(text, &limits, &json, &err) == ZD_OK;
    const bool is_twice = !is_parsed && strstr(err.text, "duplicate object key") != NULL;
    zd_fuzz_insist(is_accepted == is_parsed || is_twice);
    if (is_parsed && zd_json_is(json, ZD_JSON_OBJECT)) {
        check_members(text, json);
    }
    return 0;
}
