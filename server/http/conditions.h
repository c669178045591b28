/* Conditional requests, ranges and dates (RFC 9110, 13, 14 and 5.6.7): pure functions over header
 * values. Thread: any. */
#ifndef ZD_HTTP_CONDITIONS_H
#define ZD_HTTP_CONDITIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/status.h"

/** The conditional headers as sent; NULL = absent. Borrowed from the request. */
struct zd_conditions {
    const char *if_match;      /* all lines joined into one list (RFC 9110, 5.3) */
    const char *if_none_match; /* the same */
    const char *if_modified_since;
    const char *if_unmodified_since;
    const char *if_range;
    const char *range;
};

/** A Range header resolved against a length (RFC 9110, 14.2). */
enum zd_range_answer {
    ZD_RANGE_NONE,    /* answer 200: no header, several ranges, malformed, If-Range differs */
    ZD_RANGE_PART,    /* answer 206 */
    ZD_RANGE_OUTSIDE, /* answer 416 */
};

/**
 * Judge the conditions against a representation, in the order of RFC 9110, 13.2.2.
 *
 * @param is_reading GET or HEAD
 * @param etag       quoted, or "" when there is none
 * @param mtime_ms   0 = unknown: conditions on time are then ignored
 * @return ZD_OK go on; ZD_NOT_MODIFIED; ZD_PRECONDITION
 * Thread: any.
 */
enum zd_status zd_conditions_judge(
    const struct zd_conditions *conditions, bool is_reading, const char *etag, int64_t mtime_ms);

/** The present state of the target of a change. */
struct zd_validators {
    const char *const *etag; /* n_etags of them, quoted: one for each form of the target */
    size_t n_etags;
    int64_t mtime_ms; /* 0 = unknown */
    bool exists;
    bool absent_has_tag; /* readers get a tag although nothing is stored: If-Match may name it */
};

/**
 * Judge the conditions of a change (RFC 9110, 13.1.1, 13.1.2 and 13.1.4), in the order of 13.2.2.
 * No tag matches an absent target (but see absent_has_tag), nor does "*"; conditions on time are
 * ignored there.
 *
 * @return ZD_OK go on; ZD_PRECONDITION
 * Thread: any.
 */
enum zd_status zd_conditions_judge_write(
    const struct zd_conditions *conditions, const struct zd_validators *now);

/** Whether there is any condition on the tag or the time. */
bool zd_conditions_exist(const struct zd_conditions *conditions);

/** Whether any condition applies to changes. */
bool zd_conditions_bind_writes(const struct zd_conditions *conditions);

/** Whether a condition of a change names a tag or a time. Its outcome then tells more than whether
 * the target exists. */
bool zd_conditions_name_state(const struct zd_conditions *conditions);

/** The requested part of `length` bytes; the outputs are set only with ZD_RANGE_PART. */
enum zd_range_answer zd_conditions_range(const struct zd_conditions *conditions, uint64_t length,
    const char *etag, uint64_t *ret_first, uint64_t *ret_len);

#define ZD_DATE_BYTES 64

/** Write a time as IMF-fixdate. */
void zd_conditions_format_date(char to[ZD_DATE_BYTES], int64_t time_ms);

/** Read any of the three forms of a date into seconds since 1970; false: not a date. */
bool zd_conditions_parse_date(const char *text, int64_t *ret_seconds);

#endif
