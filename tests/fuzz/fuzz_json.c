/* Any bytes: parsed or refused; what was parsed is written, read again and found equal. */
#include "core/base/emit.h"
#include "core/base/json_nonfinite.h"
#include "tests/fuzz/input.h"

#define TEXT_MAX (1U << 22)

static void check_round_trip(const struct zd_json *json, const struct zd_json_limits *limits)
{
    ZD_SCOPED_TEXT(text, TEXT_MAX);
    struct zd_emit emit;
    zd_emit_init(&emit, &text, false);
    ZD_AUTO(zd_json) quoted = zd_json_nonfinite_quote(json);
    zd_emit_json(&emit, quoted);
    zd_fuzz_insist(text.status == ZD_OK);
    const struct zd_json_limits strict = {
        .bytes_max = TEXT_MAX, .nodes_max = limits->nodes_max, .depth_max = limits->depth_max};
    struct zd_json *parsed = NULL;
    zd_fuzz_insist(zd_json_parse(zd_text_span(&text), &strict, &parsed, NULL) == ZD_OK);
    ZD_AUTO(zd_json) again = parsed;
    zd_fuzz_insist(zd_json_equal(quoted, again));
    zd_fuzz_insist(!zd_json_nonfinite_is_in(again));
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t len)
{
    const struct zd_json_limits limits = {.bytes_max = 1 << 16,
        .nodes_max = 5000,
        .depth_max = 64,
        .nonfinite = len > 0 && bytes[0] != ' '};
    struct zd_json *parsed = NULL;
    struct zd_error err = {0};
    const struct zd_span text = {.ptr = bytes, .len = len};
    const enum zd_status status = zd_json_parse(text, &limits, &parsed, &err);
    zd_fuzz_insist(status == ZD_OK || status == ZD_INVALID || status == ZD_TOO_LARGE);
    ZD_AUTO(zd_json) json = parsed;
    if (json != NULL) {
        check_round_trip(json, &limits);
    } else {
        zd_fuzz_insist(err.text[0] != '\0');
    }
    return 0;
}
