/* The tokens of a JSON text, without a look at the grammar: what would its tree cost? */
#ifndef ZD_CORE_BASE_JSON_TOKEN_H
#define ZD_CORE_BASE_JSON_TOKEN_H

#include "core/base/buf.h"
#include "core/base/status.h"

/** The limits of a document. */
struct zd_json_limits {
    size_t bytes_max;
    size_t nodes_max; /* values: every scalar, array and object counts one */
    size_t depth_max; /* of nesting; a scalar document has depth 0 */
    bool nonfinite;   /* accept bare NaN, Infinity, -Infinity as ZD_JSON_NONFINITE */
};

enum zd_json_token {
    ZD_JSON_TOKEN_END,
    ZD_JSON_TOKEN_OPEN,  /* '[' or '{' */
    ZD_JSON_TOKEN_CLOSE, /* ']' or '}' */
    ZD_JSON_TOKEN_COLON,
    ZD_JSON_TOKEN_STRING, /* with its quotes; one that is not closed ends with the text */
    ZD_JSON_TOKEN_WORD,   /* anything else: a number, true, NaN, nonsense */
};

/**
 * The next token; spaces and commas before it are skipped.
 *
 * @param text    borrowed
 * @param at      where to begin; becomes the token's first byte
 * @param ret_end one past its last byte
 * Thread: any.
 */
enum zd_json_token zd_json_next_token(struct zd_span text, size_t *at, size_t *ret_end);

/** The position one past the value whose first token comes next; the end of the text when it is not
 * closed. Thread: any. */
size_t zd_json_value_end(struct zd_span text, size_t at);

/**
 * The value of a member of the object that a text holds, found without a tree: a name spelled with
 * escapes is not recognised.
 *
 * @param name      without characters that JSON escapes
 * @param ret_value with the spaces before it; of a malformed text it may be any part of it
 * @return whether there is such a member
 * Thread: any.
 */
bool zd_json_find_value(struct zd_span text, const char *name, struct zd_span *ret_value);

/**
 * Whether a text keeps the limits of bytes, values and depth. Nothing is built, so that a reader
 * behind it never sees more.
 *
 * @retval ZD_TOO_LARGE facts limit and requested
 * Thread: any.
 */
ZD_RESULT zd_json_check_limits(
    struct zd_span text, const struct zd_json_limits *limits, struct zd_error *err);

/** The most memory that the tree of a text takes, its strings included; the text itself is not
 * counted. Thread: any. */
uint64_t zd_json_tree_bytes(struct zd_span text);

/**
 * Tell a fault of a text with its line and column, both from 1; fact position.
 *
 * @param position bytes before the fault
 * @param what     what was expected
 * @return status
 * Thread: any.
 */
ZD_RESULT zd_json_fail_at(struct zd_error *err, struct zd_span text, size_t position,
    enum zd_status status, const char *what);

/** How many spaces, as JSON has them, a text begins with. Thread: any. */
size_t zd_json_space_len(struct zd_span text);

/** Read \u and four hexadecimal digits at the beginning of a text. @return false: there are none.
 * Thread: any. */
bool zd_json_read_unit(struct zd_span text, uint32_t *ret_unit);

/** Whether a token is a string with its quotes, and every escape in it is one. Thread: any. */
bool zd_json_string_is_well_formed(struct zd_span token);

/** Whether a token is a well-formed string that says U+0000 or one half of a surrogate pair, which
 * no UTF-8 text of C can hold (RFC 8259, 8.2). Its bytes above 0x7F are not looked at. Thread: any.
 */
bool zd_json_string_is_odd(struct zd_span token);

/** Whether the whole word is NaN, Infinity or -Infinity; digits and a sign; a number (RFC 8259, 6)
 * of any range. Thread: any. */
bool zd_json_word_is_nonfinite(struct zd_span word);
bool zd_json_word_is_integer(struct zd_span word);
bool zd_json_word_is_number(struct zd_span word);

#endif
