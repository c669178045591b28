/* JSON documents: a bounded, strict reader and an immutable tree. The only file that knows the JSON
 * library. */
#ifndef ZD_CORE_BASE_JSON_H
#define ZD_CORE_BASE_JSON_H

#include "core/base/buf.h"
#include "core/base/json_token.h"
#include "core/base/pointer.h"
#include "core/base/status.h"

/** A JSON value, counted. Values made by zd_json_parse are never changed afterwards. */
struct zd_json;

enum zd_json_type {
    ZD_JSON_NULL,
    ZD_JSON_BOOL,
    ZD_JSON_INTEGER, /* no fraction, no exponent; any size that fits int64_t or uint64_t */
    ZD_JSON_REAL,    /* with a fraction or an exponent, or an integer beyond 64 bits */
    ZD_JSON_STRING,
    ZD_JSON_ODD_STRING, /* one that says U+0000 or half of a surrogate pair: kept as it is written,
                           and no string to a caller that wants UTF-8 */
    ZD_JSON_ARRAY,
    ZD_JSON_OBJECT,
    ZD_JSON_NONFINITE, /* a bare NaN, Infinity or -Infinity: not JSON, yet some writers write it */
};

/**
 * Parse one document (RFC 8259). Refused: a byte order mark, invalid UTF-8, duplicate members,
 * anything after the value, names with U+0000 or half of a surrogate pair. Reals beyond the range
 * of double become infinities of type ZD_JSON_REAL.
 *
 * @param ret_json owned
 * @retval ZD_INVALID   not JSON; the error names line, column and what was expected
 * @retval ZD_TOO_LARGE past a limit; facts limit and requested
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_json_parse(struct zd_span text, const struct zd_json_limits *limits,
    struct zd_json **ret_json, struct zd_error *err);

struct zd_json *zd_json_ref(const struct zd_json *json);
void zd_json_unref(struct zd_json *json); /* accepts NULL */
ZD_OWN(zd_json, zd_json_unref);

/** Reading. Each accepts NULL (an absent value) and a value of another type, and then finds
 * nothing. Borrowed. */
enum zd_json_type zd_json_type(const struct zd_json *json); /* json != NULL */
bool zd_json_is(const struct zd_json *json, enum zd_json_type type);
bool zd_json_is_true(const struct zd_json *json);
bool zd_json_is_false(const struct zd_json *json);
const char *zd_json_type_name(
    const struct zd_json *json); /* "an integer", "null", "nothing" ... for messages */

/** A member of an object, or NULL. */
const struct zd_json *zd_json_member(const struct zd_json *object, const char *name);

/** An element of an array, or NULL; how many elements or members there are. */
const struct zd_json *zd_json_element(const struct zd_json *array, size_t index);
size_t zd_json_count(const struct zd_json *container);

/** The members of an object in the order of the document. Start with iter = NULL; NULL ends. */
void *zd_json_next(const struct zd_json *object, void *iter);
const char *zd_json_iter_name(const void *iter);
const struct zd_json *zd_json_iter_value(void *iter);

/** A string's bytes (without NUL at the end counted; no NUL is inside), or NULL. */
const char *zd_json_string(const struct zd_json *json);
struct zd_span zd_json_string_span(const struct zd_json *json);

/** True and the value, when it is an integer that fits. */
bool zd_json_u64(const struct zd_json *json, uint64_t *ret_value);
bool zd_json_i64(const struct zd_json *json, int64_t *ret_value);

/** True and the value, when it is an integer or a real (or ZD_JSON_NONFINITE). */
bool zd_json_f64(const struct zd_json *json, double *ret_value);

/** An integer beyond 64 bits or a real beyond double as it is written, which no other function
 * returns exactly; else NULL. */
const char *zd_json_digits(const struct zd_json *json);

/** The text between the quotes of a ZD_JSON_ODD_STRING in the document; else NULL. */
const char *zd_json_odd_string(const struct zd_json *json);

/** The token of a ZD_JSON_NONFINITE; else NULL. */
const char *zd_json_nonfinite(const struct zd_json *json);

/** Equality of values: member order ignored, numbers compared by value (1 equals 1.0). */
bool zd_json_equal(const struct zd_json *a, const struct zd_json *b);

/** Making. NULL when memory is short; a `set` or `append` of NULL fails, so calls can be nested.
 * Owned. */
struct zd_json *zd_json_new_object(void);
struct zd_json *zd_json_new_array(void);
struct zd_json *zd_json_new_text(const char *utf8);
struct zd_json *zd_json_new_u64(uint64_t value);
struct zd_json *zd_json_new_i64(int64_t value);
struct zd_json *zd_json_new_f64(double value); /* finite */
struct zd_json *zd_json_new_bool(bool value);
struct zd_json *zd_json_new_null(void);

/** Put in a value at the end (or in place of the member of that name). Takes over `value`, even on
 * failure. */
ZD_RESULT zd_json_set(struct zd_json *object, const char *name, struct zd_json *value);
ZD_RESULT zd_json_append(struct zd_json *array, struct zd_json *value);
/** An object of one member. Takes over `value`, even on failure. @param ret_json owned */
ZD_RESULT zd_json_wrap(const char *name, struct zd_json *value, struct zd_json **ret_json);
ZD_RESULT zd_json_remove(
    struct zd_json *object, const char *name); /* ZD_NOT_FOUND when it is not there */

/** A shallow copy: members are shared. */
struct zd_json *zd_json_copy(const struct zd_json *json);

#endif
