/* Conditional headers: lines If-Match, If-None-Match, If-Modified-Since, If-Unmodified-Since and
 * ETag, then eight bytes of time. A list that names the tag matches, whatever else it holds; a date
 * that was understood is the same when it is written again. */
#include <string.h>

#include "core/base/text.h"
#include "server/http/conditions.h"
#include "tests/fuzz/input.h"

#define LIST_BYTES_MAX (1U << 16)
#define TAG            "\"0123456789abcdef-7\""

/* The years that have four digits. */
#define FIRST_SECOND INT64_C(-30610224000)
#define LAST_SECOND  INT64_C(253402300799)

static const char *or_absent(const char *line)
{
    return line[0] == '\0' ? NULL : line;
}

static void check_date(const char *text)
{
    int64_t seconds = 0;
    int64_t again = 0;
    char date[ZD_DATE_BYTES];
    if (zd_conditions_parse_date(text, &seconds) && seconds >= FIRST_SECOND &&
        seconds <= LAST_SECOND) {
        zd_conditions_format_date(date, seconds * 1000);
        zd_fuzz_insist(zd_conditions_parse_date(date, &again) && again == seconds);
    }
}

static void check_verdicts(
    const struct zd_conditions *conditions, const char *etag, int64_t mtime_ms)
{
    const enum zd_status read = zd_conditions_judge(conditions, true, etag, mtime_ms);
    const enum zd_status write = zd_conditions_judge(conditions, false, etag, mtime_ms);
    zd_fuzz_insist(read == ZD_OK || read == ZD_NOT_MODIFIED || read == ZD_PRECONDITION);
    zd_fuzz_insist(write == ZD_OK || write == ZD_PRECONDITION);
    zd_fuzz_insist(read != ZD_PRECONDITION || write == ZD_PRECONDITION);
    zd_fuzz_insist(write == ZD_OK || read != ZD_OK);
}

/* The list with the tag in front of it, and what that must mean. */
static void check_named(const char *list)
{
    ZD_SCOPED_TEXT(named, LIST_BYTES_MAX);
    if (zd_text_addf(&named, "%s, %s", TAG, list) != ZD_OK) {
        return;
    }
    const struct zd_conditions none = {.if_none_match = named.at};
    const struct zd_conditions match = {.if_match = named.at};
    zd_fuzz_insist(zd_conditions_judge(&none, true, TAG, 0) == ZD_NOT_MODIFIED);
    zd_fuzz_insist(zd_conditions_judge(&none, false, TAG, 0) == ZD_PRECONDITION);
    zd_fuzz_insist(zd_conditions_judge(&match, true, TAG, 0) == ZD_OK);
}

/* A list in which the tag's text does not stand at all, and no star, names nothing. */
static void check_unnamed(const char *list)
{
    if (strstr(list, "0123456789abcdef-7") == NULL && strchr(list, '*') == NULL) {
        const struct zd_conditions match = {.if_match = list};
        zd_fuzz_insist(zd_conditions_judge(&match, true, TAG, 0) == ZD_PRECONDITION);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct zd_span input = {.ptr = data, .len = len};
    ZD_AUTO_TEXT match = zd_fuzz_line(&input);
    ZD_AUTO_TEXT none_match = zd_fuzz_line(&input);
    ZD_AUTO_TEXT modified = zd_fuzz_line(&input);
    ZD_AUTO_TEXT unmodified = zd_fuzz_line(&input);
    ZD_AUTO_TEXT etag = zd_fuzz_line(&input);
    const struct zd_conditions conditions = {
        .if_match = or_absent(match),
        .if_none_match = or_absent(none_match),
        .if_modified_since = or_absent(modified),
        .if_unmodified_since = or_absent(unmodified),
    };
    check_verdicts(&conditions, etag, (int64_t)zd_fuzz_u64(&input));
    check_named(none_match);
    check_unnamed(match);
    check_date(modified);
    check_date(unmodified);
    return 0;
}
