/* An entry of access.tokens_file. */
#include "server/request/access/token_entry.h"

#include <string.h>

#include "core/base/num.h"
#include "core/base/scan.h"
#include "server/request/identity.h"

#define NAME_BYTES_MAX    128
#define PATTERN_BYTES_MAX 1024
#define GRANTS_MAX        1024 /* of one token: its datasets times its paths */
#define TIME_CHARS        20   /* 2027-01-01T00:00:00Z */
#define FIRST_YEAR        1970
#define LAST_YEAR         9999

enum zd_status zd_token_entry_refuse(
    const char *where, const struct zd_pointer *at, const char *expected, struct zd_error *err)
{
    const enum zd_status status =
        zd_fail(err, ZD_INVALID, "%.200s: %s: expected %s", where, at->text, expected);
    zd_fact_pointer(err, at->text);
    zd_fact_expected(err, "%s", expected);
    return status;
}

static const struct {
    const char *name;
    uint32_t bit;
} scopes[] = {
    {"read", ZD_IDENTITY_READ}, {"write", ZD_IDENTITY_WRITE}, {"admin", ZD_IDENTITY_ADMIN}};

static uint32_t scope_of(const char *word)
{
    for (size_t i = 0; word != NULL && i < ZD_COUNT_OF(scopes); i++) {
        if (strcmp(word, scopes[i].name) == 0) {
            return scopes[i].bit;
        }
    }
    return 0;
}

static enum zd_status read_scopes(const char *where, const struct zd_json *json,
    const struct zd_pointer *at, uint32_t *ret_scopes, struct zd_error *err)
{
    uint32_t all = 0;
    for (size_t i = 0; zd_json_is(json, ZD_JSON_ARRAY) && i < zd_json_count(json); i++) {
        const uint32_t bit = scope_of(zd_json_string(zd_json_element(json, i)));
        const struct zd_pointer place = zd_pointer_element(at, i);
        if (bit == 0) {
            return zd_token_entry_refuse(where, &place, "\"read\", \"write\" or \"admin\"", err);
        }
        all |= bit;
    }
    if (all == 0) {
        return zd_token_entry_refuse(where, at, "a list of \"read\", \"write\" and \"admin\"", err);
    }
    *ret_scopes = all;
    return ZD_OK;
}

/* Patterns are strings; an absent list is of everything. An empty one would be of nothing, and is
 * more likely a mistake. */
static enum zd_status judge_patterns(const char *where, const struct zd_json *json,
    const struct zd_pointer *at, struct zd_error *err)
{
    if (json == NULL) {
        return ZD_OK;
    }
    const size_t n = zd_json_is(json, ZD_JSON_ARRAY) ? zd_json_count(json) : 0;
    for (size_t i = 0; i < n; i++) {
        const struct zd_span pattern = zd_json_string_span(zd_json_element(json, i));
        const struct zd_pointer place = zd_pointer_element(at, i);
        const bool is_path = pattern.len > 0 && pattern.len <= PATTERN_BYTES_MAX &&
                             pattern.ptr[0] != '/' && pattern.ptr[pattern.len - 1] != '/';
        if (!is_path) {
            return zd_token_entry_refuse(
                where, &place, "a pattern without slashes at its ends, such as \"lake*\"", err);
        }
    }
    return n > 0 ? ZD_OK : zd_token_entry_refuse(where, at, "a list of at least one pattern", err);
}

/* The days from 1970-01-01 to a date of the Gregorian calendar. */
static uint64_t days_to(uint64_t year, uint64_t month, uint64_t day)
{
    const uint64_t y = month <= 2 ? year - 1 : year;
    const uint64_t m = month <= 2 ? month + 9 : month - 3; /* a year begins in March */
    return y * 365 + y / 4 - y / 100 + y / 400 + (m * 153 + 2) / 5 + day - 1 - 719468;
}

/* Decimal digits at a place, of a text that has them there. */
static bool read_digits(const char *at, size_t n, uint64_t least, uint64_t most, uint64_t *ret_n)
{
    const struct zd_span digits = {.ptr = (const uint8_t *)at, .len = n};
    uint64_t value = 0;
    for (size_t i = 0; i < n; i++) {
        if (digits.ptr[i] < '0' || digits.ptr[i] > '9') {
            return false;
        }
        value = value * 10 + (uint64_t)(digits.ptr[i] - '0');
    }
    *ret_n = value;
    return value >= least && value <= most;
}

/* RFC 3339, 5.6, in UTC and whole seconds. */
static bool read_time(const char *text, uint64_t *ret_ms)
{
    uint64_t year = 0;
    uint64_t month = 0;
    uint64_t day = 0;
    uint64_t hour = 0;
    uint64_t minute = 0;
    uint64_t second = 0;
    const bool is_time =
        text != NULL && strlen(text) == TIME_CHARS && text[4] == '-' && text[7] == '-' &&
        text[10] == 'T' && text[13] == ':' && text[16] == ':' && text[19] == 'Z' &&
        read_digits(text, 4, FIRST_YEAR, LAST_YEAR, &year) &&
        read_digits(text + 5, 2, 1, 12, &month) && read_digits(text + 8, 2, 1, 31, &day) &&
        read_digits(text + 11, 2, 0, 23, &hour) && read_digits(text + 14, 2, 0, 59, &minute) &&
        read_digits(text + 17, 2, 0, 59, &second);
    if (is_time) {
        *ret_ms = (((days_to(year, month, day) * 24 + hour) * 60 + minute) * 60 + second) * 1000;
    }
    return is_time;
}

static enum zd_status read_expiry(const char *where, const struct zd_json *json,
    const struct zd_pointer *at, uint64_t *ret_ms, struct zd_error *err)
{
    *ret_ms = ZD_IDENTITY_NEVER;
    return json == NULL || read_time(zd_json_string(json), ret_ms)
               ? ZD_OK
               : zd_token_entry_refuse(where, at, "a time such as \"2027-01-01T00:00:00Z\"", err);
}

static enum zd_status read_rate(const char *where, const struct zd_json *json,
    const struct zd_pointer *at, uint64_t *ret_rate, struct zd_error *err)
{
    *ret_rate = ZD_IDENTITY_SETTINGS;
    return json == NULL || (zd_json_u64(json, ret_rate) && *ret_rate != ZD_IDENTITY_SETTINGS)
               ? ZD_OK
               : zd_token_entry_refuse(where, at, "a number; 0 = no limit", err);
}

bool zd_token_entry_is_name(struct zd_span name)
{
    for (size_t i = 0; i < name.len; i++) {
        if (name.ptr[i] <= ' ' || name.ptr[i] == 0x7f) {
            return false;
        }
    }
    return name.len > 0 && name.len <= NAME_BYTES_MAX && zd_scan_is_utf8(name);
}

/* A member that is misspelt would allow more than was meant. */
static enum zd_status judge_members(const char *where, const struct zd_json *json,
    const struct zd_pointer *at, struct zd_error *err)
{
    static const char *const known[] = {"name", "sha256", "scopes", "datasets", "paths", "expires",
        "requests_per_s", "bytes_per_s"};
    if (!zd_json_is(json, ZD_JSON_OBJECT)) {
        return zd_token_entry_refuse(where, at, "an object", err);
    }
    for (void *i = zd_json_next(json, NULL); i != NULL; i = zd_json_next(json, i)) {
        const char *name = zd_json_iter_name(i);
        size_t k = 0;
        while (k < ZD_COUNT_OF(known) && strcmp(known[k], name) != 0) {
            k++;
        }
        if (k == ZD_COUNT_OF(known) && !(name[0] == '/' && name[1] == '/')) {
            return zd_token_entry_refuse(where, at,
                "name, sha256, scopes, datasets, paths, expires, requests_per_s and bytes_per_s "
                "only",
                err);
        }
    }
    return ZD_OK;
}

static const char *pattern_at(const struct zd_json *patterns, size_t i)
{
    return zd_json_string(zd_json_element(patterns, i));
}

/* Make a grant for each dataset and path; grants equal to the last ones are shared with them.
 * @param like all but the grants */
static enum zd_status make_identity(const struct zd_json *json, uint32_t its_scopes,
    struct zd_identity *like, struct zd_identity **ret_identity)
{
    const struct zd_json *datasets = zd_json_member(json, "datasets");
    const struct zd_json *paths = zd_json_member(json, "paths");
    const size_t n_paths = (size_t)zd_max_u64(1, zd_json_count(paths));
    const size_t n = (size_t)zd_max_u64(1, zd_json_count(datasets)) * n_paths;
    struct zd_grant one = {.scopes = 0}; /* most have no more */
    struct zd_grant *grant = n == 1 ? &one : zd_alloc_zero(n, sizeof *grant);
    if (grant == NULL) {
        return ZD_NO_MEMORY;
    }
    for (size_t i = 0; i < n; i++) {
        grant[i].scopes = its_scopes;
        grant[i].dataset = pattern_at(datasets, i / n_paths);
        grant[i].path = pattern_at(paths, i % n_paths);
    }
    like->grant = grant;
    like->n_grants = n;
    *ret_identity = zd_identity_new(like);
    like->grant = NULL;
    zd_free(n == 1 ? NULL : grant);
    return *ret_identity == NULL ? ZD_NO_MEMORY : ZD_OK;
}

/* The rest of an entry, whose members are known. */
static enum zd_status read_grants(const char *where, const struct zd_json *json,
    const struct zd_pointer *at, uint32_t *ret_scopes, struct zd_error *err)
{
    const struct zd_json *datasets = zd_json_member(json, "datasets");
    const struct zd_json *paths = zd_json_member(json, "paths");
    const struct zd_pointer scopes_at = zd_pointer_member(at, "scopes");
    const struct zd_pointer datasets_at = zd_pointer_member(at, "datasets");
    const struct zd_pointer paths_at = zd_pointer_member(at, "paths");
    ZD_TRY(read_scopes(where, zd_json_member(json, "scopes"), &scopes_at, ret_scopes, err));
    ZD_TRY(judge_patterns(where, datasets, &datasets_at, err));
    ZD_TRY(judge_patterns(where, paths, &paths_at, err));
    const uint64_t n_datasets = zd_max_u64(1, zd_json_count(datasets));
    const uint64_t n_paths = zd_max_u64(1, zd_json_count(paths));
    return n_datasets <= GRANTS_MAX && n_paths <= GRANTS_MAX / n_datasets
               ? ZD_OK
               : zd_token_entry_refuse(
                     where, at, "at most 1024 pairs of a dataset and a path", err);
}

/* A script with an unset variable makes this digest: an empty credential would be good. */
static bool is_of_nothing(const uint8_t *digest)
{
    static const uint8_t nothing[ZD_DIGEST_BYTES] = {0xe3, 0xb0, 0xc4, 0x42, 0x98, 0xfc, 0x1c, 0x14,
        0x9a, 0xfb, 0xf4, 0xc8, 0x99, 0x6f, 0xb9, 0x24, 0x27, 0xae, 0x41, 0xe4, 0x64, 0x9b, 0x93,
        0x4c, 0xa4, 0x95, 0x99, 0x1b, 0x78, 0x52, 0xb8, 0x55};
    return memcmp(digest, nothing, sizeof nothing) == 0;
}

enum zd_status zd_token_entry_read(const char *where, const struct zd_json *json,
    const struct zd_pointer *at, struct zd_identity *other, struct zd_token_entry *ret_entry,
    struct zd_error *err)
{
    uint32_t its_scopes = 0;
    struct zd_token_entry entry = {.identity = NULL};
    struct zd_identity like = {.from = "token", .keeper = other};
    const struct zd_pointer name_at = zd_pointer_member(at, "name");
    const struct zd_pointer digest_at = zd_pointer_member(at, "sha256");
    const struct zd_pointer expires_at = zd_pointer_member(at, "expires");
    const struct zd_pointer requests_at = zd_pointer_member(at, "requests_per_s");
    const struct zd_pointer bytes_at = zd_pointer_member(at, "bytes_per_s");
    ZD_TRY(judge_members(where, json, at, err));
    if (!zd_token_entry_is_name(zd_json_string_span(zd_json_member(json, "name")))) {
        return zd_token_entry_refuse(where, &name_at, "1 to 128 bytes without spaces", err);
    }
    like.name = zd_json_string(zd_json_member(json, "name"));
    if (!zd_digest_parse(zd_json_string_span(zd_json_member(json, "sha256")), entry.digest) ||
        is_of_nothing(entry.digest)) {
        return zd_token_entry_refuse(
            where, &digest_at, "the SHA-256 of a non-empty token, 64 hexadecimal digits", err);
    }
    ZD_TRY(read_expiry(where, zd_json_member(json, "expires"), &expires_at, &like.expires_ms, err));
    ZD_TRY(read_rate(
        where, zd_json_member(json, "requests_per_s"), &requests_at, &like.requests_per_s, err));
    ZD_TRY(
        read_rate(where, zd_json_member(json, "bytes_per_s"), &bytes_at, &like.bytes_per_s, err));
    ZD_TRY(read_grants(where, json, at, &its_scopes, err));
    if (make_identity(json, its_scopes, &like, &entry.identity) != ZD_OK) {
        return zd_fail(err, ZD_NO_MEMORY, "access.tokens_file: no memory for the tokens");
    }
    *ret_entry = entry;
    return ZD_OK;
}
