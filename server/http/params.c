/* Query parameters. */
#include "server/http/params.h"

#include <stdio.h>
#include <string.h>

#include "core/base/scan.h"
#include "server/http/escape.h"

const char *const zd_params_none[] = {NULL};

/* In a query '+' is a space (the form encoding, which every client library writes). */
static enum zd_status decode_part(
    struct zd_span part, char **to, struct zd_span *ret_part, struct zd_error *err)
{
    uint8_t *start = (uint8_t *)*to;
    size_t at = 0;
    size_t len = 0;
    while (at < part.len) {
        const bool is_plus = part.ptr[at] == '+';
        const int byte = zd_escape_percent_next(part.ptr, part.len, &at);
        if (byte <= 0) {
            return zd_fail(err, ZD_INVALID, "parameter '%.*s' is not valid percent-encoding",
                (int)part.len, (const char *)part.ptr);
        }
        start[len++] = is_plus ? ' ' : (uint8_t)byte;
    }
    start[len] = '\0';
    *ret_part = (struct zd_span){.ptr = start, .len = len};
    if (!zd_scan_is_utf8(*ret_part)) {
        return zd_fail(err, ZD_INVALID, "a percent-decoded parameter is not UTF-8");
    }
    *to += len + 1;
    return ZD_OK;
}

/* Which names a query may have. */
struct names {
    const char *const *allowed; /* NULL: any */
    const char *const *repeats; /* NULL: none */
};

static bool is_among(const char *const *names, const char *name)
{
    while (names != NULL && *names != NULL && strcmp(*names, name) != 0) {
        names++;
    }
    return names != NULL && *names != NULL;
}

static enum zd_status judge_name(const struct zd_params *params, const struct names *names,
    const char *name, struct zd_error *err)
{
    struct zd_span earlier;
    const bool is_known = is_among(names->allowed, name);
    if (is_known && (!zd_params_find(params, name, &earlier) || is_among(names->repeats, name))) {
        return ZD_OK;
    }
    return zd_fail_name(
        err, name, "parameter '%.100s' %s", name, is_known ? "is repeated" : "is unknown");
}

/* Add a `name=value`; without '=' the value is empty. */
static enum zd_status add_pair(struct zd_params *params, struct zd_span pair, char **to,
    const struct names *names, struct zd_error *err)
{
    const uint8_t *equals = memchr(pair.ptr, '=', pair.len);
    const size_t name_len = equals == NULL ? pair.len : (size_t)(equals - pair.ptr);
    const size_t value_at = equals == NULL ? pair.len : name_len + 1;
    struct zd_span name = {0};
    struct zd_span value = {0};
    ZD_TRY(decode_part((struct zd_span){pair.ptr, name_len}, to, &name, err));
    ZD_TRY(
        decode_part((struct zd_span){pair.ptr + value_at, pair.len - value_at}, to, &value, err));
    if (names->allowed != NULL) {
        ZD_TRY(judge_name(params, names, (const char *)name.ptr, err));
    }
    if (params->n == ZD_PARAMS_MAX) {
        return zd_fail(err, ZD_INVALID, "the query has more than %d parameters", ZD_PARAMS_MAX);
    }
    params->name[params->n] = (const char *)name.ptr;
    params->value[params->n] = value;
    params->n++;
    return ZD_OK;
}

static enum zd_status add_pairs(
    struct zd_params *params, struct zd_span query, const struct names *names, struct zd_error *err)
{
    char *to = params->memory;
    size_t at = 0;
    while (at < query.len) {
        const uint8_t *end = memchr(query.ptr + at, '&', query.len - at);
        const size_t len = end == NULL ? query.len - at : (size_t)(end - query.ptr) - at;
        const struct zd_span pair = {query.ptr + at, len};
        char *const mark = to;
        const enum zd_status status = len == 0 ? ZD_OK : add_pair(params, pair, &to, names, err);
        if (status != ZD_OK && names->allowed != NULL) {
            return status;
        }
        to = status == ZD_OK ? to : mark; /* where all are accepted, unreadable ones are left out */
        at += len + 1;
    }
    return ZD_OK;
}

enum zd_status zd_params_parse(struct zd_span query, const char *const *allowed,
    const char *const *repeats, struct zd_params *ret_params, struct zd_error *err)
{
    const struct names names = {.allowed = allowed, .repeats = repeats};
    struct zd_params params;
    params.n = 0;
    params.memory = NULL;
    if (query.len == 0) {
        *ret_params = params;
        return ZD_OK;
    }
    /* Each pair takes two NULs. It gives back its '&', unless it is the last, but its '=' only when
     * it has one; the pair that is one too many is decoded before it is refused. */
    params.memory = zd_alloc(query.len + ZD_PARAMS_MAX + 2);
    if (params.memory == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for %zu bytes of query", query.len);
    }
    const enum zd_status status = add_pairs(&params, query, &names, allowed == NULL ? NULL : err);
    if (status != ZD_OK) {
        zd_params_done(&params);
        return status;
    }
    *ret_params = params;
    return ZD_OK;
}

void zd_params_done(struct zd_params *params)
{
    zd_free(params->memory);
    params->memory = NULL;
    params->n = 0;
}

bool zd_params_find(const struct zd_params *params, const char *name, struct zd_span *ret_value)
{
    for (uint32_t i = 0; i < params->n; i++) {
        if (strcmp(params->name[i], name) == 0) {
            *ret_value = params->value[i];
            return true;
        }
    }
    return false;
}

static enum zd_status bad_value(
    const char *name, struct zd_span value, const char *expected, struct zd_error *err)
{
    const enum zd_status status = zd_fail_name(err, name, "parameter '%s' is '%.100s': expected %s",
        name, (const char *)value.ptr, expected);
    zd_fact_expected(err, "%s", expected);
    zd_fact_found(err, "%s", (const char *)value.ptr);
    return status;
}

enum zd_status zd_params_flag(const struct zd_params *params, const char *name, bool initial,
    bool *ret_value, struct zd_error *err)
{
    struct zd_span value;
    if (!zd_params_find(params, name, &value)) {
        *ret_value = initial;
        return ZD_OK;
    }
    /* A name alone switches on: `?pretty`. */
    const bool is_on = value.len == 0 || zd_span_is(value, "1") || zd_span_is(value, "true");
    if (!is_on && !zd_span_is(value, "0") && !zd_span_is(value, "false")) {
        return bad_value(name, value, "0 or 1", err);
    }
    *ret_value = is_on;
    return ZD_OK;
}

enum zd_status zd_params_u64(const struct zd_params *params, const char *name,
    struct zd_params_range range, uint64_t *ret_value, struct zd_error *err)
{
    struct zd_span text;
    if (!zd_params_find(params, name, &text)) {
        *ret_value = range.initial;
        return ZD_OK;
    }
    uint64_t value = 0;
    if (zd_scan_whole_u64(text, range.most, &value) != ZD_OK || value < range.least) {
        char expected[80];
        snprintf(expected, sizeof expected, "an integer from %llu to %llu",
            (unsigned long long)range.least, (unsigned long long)range.most);
        return bad_value(name, text, expected, err);
    }
    *ret_value = value;
    return ZD_OK;
}

enum zd_status zd_params_choice(const struct zd_params *params, const char *name,
    const char *const *choices, uint32_t *ret_choice, struct zd_error *err)
{
    struct zd_span value;
    if (!zd_params_find(params, name, &value)) {
        *ret_choice = 0;
        return ZD_OK;
    }
    ZD_SCOPED_TEXT(expected, ZD_FACT_TEXT_BYTES);
    for (uint32_t i = 0; choices[i] != NULL; i++) {
        if (zd_span_is(value, choices[i])) {
            *ret_choice = i;
            return ZD_OK;
        }
        zd_text_addf(&expected, "%s%s", i == 0 ? "" : " or ", choices[i]);
    }
    return bad_value(name, value, expected.at, err);
}
