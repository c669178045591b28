/* Conditional requests, ranges and dates (RFC 9110, 13, 14 and 5.6.7): pure functions over header
 * values. */
#include "server/http/conditions.h"

#include <string.h>
#include <strings.h>
#include <time.h>

#include "core/base/num.h"

/* ---- dates ---- */

/* Whole seconds since 1970, rounded down: the precision of Last-Modified. */
static int64_t seconds_of(int64_t time_ms)
{
    return time_ms >= 0 ? time_ms / 1000 : -1 - (-1 - time_ms) / 1000;
}

void zd_conditions_format_date(char to[ZD_DATE_BYTES], int64_t time_ms)
{
    const time_t seconds = (time_t)seconds_of(time_ms);
    struct tm tm = {0};
    if (gmtime_r(&seconds, &tm) == NULL || tm.tm_year < -900 || tm.tm_year > 8099) {
        tm = (struct tm){.tm_mday = 1, .tm_year = 70, .tm_wday = 4};
    }
    (void)strftime(to, ZD_DATE_BYTES, "%a, %d %b %Y %H:%M:%S GMT", &tm); /* in the C locale */
}

/* The three forms, behind the name of the day. Shapes have 0 for a digit, A and a for letters:
 * strptime(3) alone accepts more. */
static const struct form {
    const char *shape;
    const char *format;
} forms[] = {
    {", 00 Aaa 0000 00:00:00 GMT", ", %d %b %Y %H:%M:%S GMT"},
    {", 00-Aaa-00 00:00:00 GMT", ", %d-%b-%y %H:%M:%S GMT"},
    {" Aaa 00 00:00:00 0000", " %b %d %H:%M:%S %Y"},
    {" Aaa  0 00:00:00 0000", " %b %d %H:%M:%S %Y"},
};

static bool has_shape(const char *text, const char *shape)
{
    for (; *shape != '\0'; shape++, text++) {
        const int last = *shape == '0' ? '9' : *shape == 'A' ? 'Z' : *shape == 'a' ? 'z' : *shape;
        if (*text < *shape || *text > last) {
            return false;
        }
    }
    return *text == '\0';
}

static const struct form *find_form(const char *text)
{
    for (size_t i = 0; i < ZD_COUNT_OF(forms); i++) {
        if (has_shape(text, forms[i].shape)) {
            return &forms[i];
        }
    }
    return NULL;
}

/* Whether the month has that day. */
static bool day_exists(const struct tm *tm)
{
    struct tm day = {.tm_year = tm->tm_year, .tm_mon = tm->tm_mon, .tm_mday = tm->tm_mday};
    (void)timegm(&day); /* the 31st of a short month becomes a day of the next one */
    return day.tm_mon == tm->tm_mon;
}

bool zd_conditions_parse_date(const char *text, int64_t *ret_seconds)
{
    const char *comma = strstr(text, ", ");
    const char *after_day = comma != NULL ? comma : strchrnul(text, ' ');
    const struct form *form = find_form(after_day);
    struct tm tm = {0};
    const char *end = form == NULL ? NULL : strptime(after_day, form->format, &tm);
    if (end == NULL || *end != '\0') {
        return false;
    }
    if (form == &forms[1] && tm.tm_year < 70) {
        tm.tm_year += 100; /* years of two digits are those of 1970 to 2069 */
    }
    if (tm.tm_sec > 60 || tm.tm_year <= -1900 || !day_exists(&tm)) {
        return false;
    }
    *ret_seconds = timegm(&tm);
    return true;
}

/* ---- entity tags ---- */

/* An entity tag without its quotes. */
struct tag {
    const char *at;
    size_t len;
    bool is_weak;
    bool is_quoted;
};

/* The next tag of a list; NULL at its end. Unquoted tags are accepted too. */
static const char *next_tag(const char *at, struct tag *ret_tag)
{
    at += strspn(at, " \t,");
    if (*at == '\0') {
        return NULL;
    }
    ret_tag->is_weak = strncmp(at, "W/", 2) == 0;
    at += ret_tag->is_weak ? 2 : 0;
    ret_tag->is_quoted = *at == '"';
    at += ret_tag->is_quoted ? 1 : 0;
    ret_tag->at = at;
    ret_tag->len = strcspn(at, ret_tag->is_quoted ? "\"" : " \t,");
    at += ret_tag->len;
    return ret_tag->is_quoted && *at == '"' ? at + 1 : at;
}

/* The opaque part of our own tag: `"x"` is x. */
static struct tag own_tag(const char *etag)
{
    struct tag tag = {.at = etag, .len = strlen(etag)};
    if (tag.len >= 2 && etag[0] == '"') {
        tag.at++;
        tag.len -= 2;
    }
    return tag;
}

static bool is_same(const struct tag *a, const struct tag *b)
{
    return a->len > 0 && a->len == b->len && memcmp(a->at, b->at, a->len) == 0;
}

static bool is_star(const struct tag *tag)
{
    return tag->len == 1 && tag->at[0] == '*' && !tag->is_quoted && !tag->is_weak;
}

/* RFC 9110, 8.8.3.2: `strong` never matches a weak tag. "*" matches whatever exists, also where it
 * came on a line beside others. */
static bool list_has(const char *list, const char *etag, bool strong)
{
    const struct tag own = own_tag(etag);
    struct tag tag;
    for (list = next_tag(list, &tag); list != NULL; list = next_tag(list, &tag)) {
        if (is_star(&tag) || (is_same(&tag, &own) && !(strong && tag.is_weak))) {
            return true;
        }
    }
    return false;
}

static bool changed_since(const char *date, int64_t mtime_ms)
{
    int64_t seconds = 0;
    return zd_conditions_parse_date(date, &seconds) && seconds_of(mtime_ms) > seconds;
}

static bool unchanged_since(const char *date, int64_t mtime_ms)
{
    int64_t seconds = 0;
    return zd_conditions_parse_date(date, &seconds) && seconds_of(mtime_ms) <= seconds;
}

static bool list_has_any(const char *list, const struct zd_validators *now, bool strong)
{
    bool has = false;
    for (size_t i = 0; i < now->n_etags && !has; i++) {
        has = list_has(list, now->etag[i], strong);
    }
    return has;
}

static bool if_match_holds(const char *list, const struct zd_validators *now)
{
    const bool may_match = now->exists || (now->absent_has_tag && strcmp(list, "*") != 0);
    return may_match && list_has_any(list, now, true);
}

/* The first two steps of RFC 9110, 13.2.2. */
static bool may_go_on(const struct zd_conditions *conditions, const struct zd_validators *now)
{
    if (conditions->if_match != NULL) {
        return if_match_holds(conditions->if_match, now);
    }
    return conditions->if_unmodified_since == NULL || !now->exists || now->mtime_ms == 0 ||
           !changed_since(conditions->if_unmodified_since, now->mtime_ms);
}

enum zd_status zd_conditions_judge(
    const struct zd_conditions *conditions, bool is_reading, const char *etag, int64_t mtime_ms)
{
    const struct zd_validators now = {
        .etag = &etag, .n_etags = 1, .mtime_ms = mtime_ms, .exists = true};
    if (!may_go_on(conditions, &now)) {
        return ZD_PRECONDITION;
    }
    if (conditions->if_none_match != NULL) {
        if (list_has(conditions->if_none_match, etag, false)) {
            return is_reading ? ZD_NOT_MODIFIED : ZD_PRECONDITION;
        }
    } else if (conditions->if_modified_since != NULL && is_reading && mtime_ms != 0 &&
               unchanged_since(conditions->if_modified_since, mtime_ms)) {
        return ZD_NOT_MODIFIED;
    }
    return ZD_OK;
}

enum zd_status zd_conditions_judge_write(
    const struct zd_conditions *conditions, const struct zd_validators *now)
{
    const bool is_excluded = conditions->if_none_match != NULL && now->exists &&
                             list_has_any(conditions->if_none_match, now, false);
    return is_excluded || !may_go_on(conditions, now) ? ZD_PRECONDITION : ZD_OK;
}

bool zd_conditions_bind_writes(const struct zd_conditions *conditions)
{
    return conditions->if_match != NULL || conditions->if_none_match != NULL ||
           conditions->if_unmodified_since != NULL;
}

static bool names_tag(const char *list)
{
    return list != NULL && strcmp(list, "*") != 0;
}

bool zd_conditions_name_state(const struct zd_conditions *conditions)
{
    return names_tag(conditions->if_match) || names_tag(conditions->if_none_match) ||
           conditions->if_unmodified_since != NULL;
}

bool zd_conditions_exist(const struct zd_conditions *conditions)
{
    return zd_conditions_bind_writes(conditions) || conditions->if_modified_since != NULL;
}

/* RFC 9110, 13.1.5: a strong tag. Dates are weak validators here (8.8.2.2): an object can change
 * twice in a second, and in files the time can be set, so that no date matches. */
static bool if_range_holds(const char *value, const char *etag)
{
    const struct tag own = own_tag(etag);
    struct tag tag;
    return next_tag(value, &tag) != NULL && !tag.is_weak && is_same(&tag, &own);
}

/* Any number of digits; a number that does not fit becomes UINT64_MAX. False: no digit. */
static bool scan_digits(const char **at, uint64_t *ret_value)
{
    const char *start = *at;
    uint64_t value = 0;
    for (; **at >= '0' && **at <= '9'; ++*at) {
        if (ckd_mul(&value, value, 10U) || ckd_add(&value, value, (uint64_t)(**at - '0'))) {
            value = UINT64_MAX;
        }
    }
    *ret_value = value;
    return *at > start;
}

static enum zd_range_answer suffix(
    uint64_t length, uint64_t n, uint64_t *ret_first, uint64_t *ret_len)
{
    if (n == 0 || length == 0) {
        return ZD_RANGE_OUTSIDE; /* RFC 9110, 14.1.2 */
    }
    *ret_len = zd_min_u64(n, length);
    *ret_first = length - *ret_len;
    return ZD_RANGE_PART;
}

enum zd_range_answer zd_conditions_range(const struct zd_conditions *conditions, uint64_t length,
    const char *etag, uint64_t *ret_first, uint64_t *ret_len)
{
    const char *at = conditions->range;
    /* Several ranges and other units are answered with the whole (RFC 9110, 14.2). */
    if (at == NULL || strncasecmp(at, "bytes=", 6) != 0 || strchr(at, ',') != NULL) {
        return ZD_RANGE_NONE;
    }
    if (conditions->if_range != NULL && !if_range_holds(conditions->if_range, etag)) {
        return ZD_RANGE_NONE;
    }
    at += 6 + strspn(at + 6, " \t");
    uint64_t first = 0;
    uint64_t last = UINT64_MAX;
    const bool has_first = scan_digits(&at, &first);
    if (*at++ != '-') {
        return ZD_RANGE_NONE;
    }
    const bool has_last = scan_digits(&at, &last);
    if (at[strspn(at, " \t")] != '\0' || !(has_first || has_last)) {
        return ZD_RANGE_NONE;
    }
    if (!has_first) {
        return suffix(length, last, ret_first, ret_len);
    }
    if (has_last && last < first) {
        return ZD_RANGE_NONE; /* RFC 9110, 14.1.1: invalid, so ignored */
    }
    if (first >= length) {
        return ZD_RANGE_OUTSIDE;
    }
    *ret_first = first;
    *ret_len = (has_last ? zd_min_u64(last, length - 1) : length - 1) - first + 1;
    return ZD_RANGE_PART;
}
