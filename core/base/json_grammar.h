/* The grammar of JSON (RFC 8259): a text is judged, and its members are found, without a tree. */
#ifndef ZD_CORE_BASE_JSON_GRAMMAR_H
#define ZD_CORE_BASE_JSON_GRAMMAR_H

#include "core/base/json_token.h"
#include "core/base/text.h"

#define ZD_JSON_GRAMMAR_DEPTH_MAX 256 /* of nesting, whatever the limits say */

/**
 * Whether a text is one JSON value as zd_json_parse reads it, but for names that an object has
 * twice. Of the limits, bytes and values are not looked at: zd_json_check_limits does that.
 *
 * @param ret_nonfinite whether a bare NaN, Infinity or -Infinity is in it
 * @retval ZD_INVALID   it is none; the error names line, column and what was expected
 * @retval ZD_TOO_LARGE it is deeper than the limits, or ZD_JSON_GRAMMAR_DEPTH_MAX
 * Thread: any.
 */
ZD_RESULT zd_json_grammar_check(struct zd_span text, const struct zd_json_limits *limits,
    bool *ret_nonfinite, struct zd_error *err);

/** A member of an object, in its text. */
struct zd_json_extent {
    struct zd_span name;  /* between its quotes, as it is written */
    struct zd_span value; /* without spaces around it */
};

/**
 * The next member of an object in the order of its text.
 *
 * @param object text that zd_json_grammar_check accepts, and an object
 * @param at     where to go on; 0 at first
 * @return false after the last one
 * Thread: any.
 */
bool zd_json_grammar_next(struct zd_span object, size_t *at, struct zd_json_extent *ret_member);

/**
 * The member of that name, however it is spelled; of several, the first.
 *
 * @param object text that zd_json_grammar_check accepts; one of another type has no members
 * @return false: there is none
 * Thread: any.
 */
bool zd_json_grammar_find(struct zd_span object, const char *name, struct zd_span *ret_value);

/** Whether a value is an object. Thread: any. */
bool zd_json_grammar_is_object(struct zd_span value);

/** Whether a value is a string that says that, however it is written. Thread: any. */
bool zd_json_grammar_says(struct zd_span value, const char *utf8);

/** Add a string in UTF-8. @param written between its quotes, and not odd. Failures stick in the
 * text. Thread: any. */
void zd_json_grammar_unescape(struct zd_span written, struct zd_text *out);

#endif
