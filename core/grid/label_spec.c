/* The syntax of SPEC in `sel=DIM=SPEC`. */
#include "core/grid/label_spec.h"

#include <string.h>

#include "core/base/num.h"
#include "core/base/scan.h"

#define SHOWN_BYTES_MAX 60 /* of a text, in messages */

static const char open_end[] = "..";

enum zd_status zd_label_spec_fail(struct zd_error *err, const char *expected, struct zd_span found)
{
    const int shown = (int)zd_min_u64(found.len, SHOWN_BYTES_MAX);
    const char *text = found.len == 0 ? "" : (const char *)found.ptr;
    const enum zd_status status =
        zd_fail_name(err, "sel", "expected %s, found '%.*s'", expected, shown, text);
    zd_fact_expected(err, "%s", expected);
    zd_fact_found(err, "%.*s", shown, text);
    return status;
}

/* The text before a byte. @param ret_rest the text after it @return false: there is no such byte */
static bool cut(struct zd_span text, char at, struct zd_span *ret_first, struct zd_span *ret_rest)
{
    const uint8_t *found = text.len == 0 ? NULL : memchr(text.ptr, at, text.len);
    if (found == NULL) {
        return false;
    }
    const size_t len = (size_t)(found - text.ptr);
    *ret_first = zd_span_trim((struct zd_span){.ptr = text.ptr, .len = len});
    *ret_rest = zd_span_trim((struct zd_span){.ptr = found + 1, .len = text.len - len - 1});
    return true;
}

/* A word and a colon that stand before a value. */
struct prefix {
    const char *word;
    enum zd_label_method method;
};

static bool find_method(struct zd_span word, enum zd_label_method *ret_method)
{
    static const struct prefix prefixes[] = {
        {"nearest", ZD_LABEL_NEAREST},
        {"ffill", ZD_LABEL_FFILL},
        {"bfill", ZD_LABEL_BFILL},
    };
    for (size_t i = 0; i < ZD_COUNT_OF(prefixes); i++) {
        if (zd_span_is(word, prefixes[i].word)) {
            *ret_method = prefixes[i].method;
            return true;
        }
    }
    return false;
}

/* Parse the text after "METHOD:". */
static enum zd_status parse_method(
    struct zd_span text, struct zd_span rest, struct zd_label_spec *spec, struct zd_error *err)
{
    struct zd_span tolerance;
    if (!cut(rest, ':', &tolerance, &spec->first)) {
        return zd_label_spec_fail(
            err, "nearest::VALUE, nearest:TOLERANCE:VALUE, ffill::VALUE or bfill::VALUE", text);
    }
    if (tolerance.len > 0 && spec->method != ZD_LABEL_NEAREST) {
        return zd_label_spec_fail(
            err, "ffill::VALUE or bfill::VALUE: only nearest has a tolerance", text);
    }
    spec->tolerance = tolerance.len > 0 ? tolerance : (struct zd_span){0};
    return ZD_OK;
}

static enum zd_status parse_end(
    struct zd_span text, struct zd_span end, struct zd_span *ret_end, struct zd_error *err)
{
    if (end.len == 0) {
        return zd_label_spec_fail(err, "A/B or A/B/STEP, with .. for an open end", text);
    }
    *ret_end = zd_span_is(end, open_end) ? (struct zd_span){0} : end;
    return ZD_OK;
}

/* Parse the text after "A/". */
static enum zd_status parse_interval(struct zd_span text, struct zd_span first, struct zd_span rest,
    struct zd_label_spec *spec, struct zd_error *err)
{
    struct zd_span last = rest;
    struct zd_span step;
    spec->method = ZD_LABEL_INTERVAL;
    if (cut(rest, '/', &last, &step) &&
        (zd_scan_whole_u64(step, INT64_MAX, &spec->step) != ZD_OK || spec->step == 0)) {
        return zd_label_spec_fail(err, "a step of 1 or more after A/B/", step);
    }
    ZD_TRY(parse_end(text, first, &spec->first, err));
    return parse_end(text, last, &spec->last, err);
}

enum zd_status zd_label_spec_parse(
    struct zd_span text, struct zd_label_spec *ret_spec, struct zd_error *err)
{
    struct zd_label_spec spec = {.method = ZD_LABEL_EXACT, .step = 1};
    struct zd_span word;
    struct zd_span rest;
    text = zd_span_trim(text);
    if (cut(text, ':', &word, &rest) && find_method(word, &spec.method)) {
        ZD_TRY(parse_method(text, rest, &spec, err));
    } else if (cut(text, '/', &word, &rest)) {
        ZD_TRY(parse_interval(text, word, rest, &spec, err));
    } else {
        spec.first = text;
    }
    *ret_spec = spec;
    return ZD_OK;
}
