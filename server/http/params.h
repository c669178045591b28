/* Query parameters, and one decode of percent-encoding. */
#ifndef ZD_HTTP_PARAMS_H
#define ZD_HTTP_PARAMS_H

#include "core/base/text.h"

#define ZD_PARAMS_MAX 32

/** The parameters of one request; names and values are decoded and ended by NUL, in memory of its
 * own. */
struct zd_params {
    const char *name[ZD_PARAMS_MAX];
    struct zd_span value[ZD_PARAMS_MAX];
    uint32_t n;
    char *memory; /* owned */
};

/**
 * Take a query apart.
 *
 * @param query   after '?', as sent; borrowed
 * @param allowed names ended by NULL: any other, or one that is repeated, is a fault; NULL:
 * everything is accepted
 * @retval ZD_INVALID fact name; the error's text says whether it is unknown, repeated or badly
 * encoded
 */
ZD_RESULT zd_params_parse(struct zd_span query, const char *const *allowed,
    struct zd_params *ret_params, struct zd_error *err);
void zd_params_done(struct zd_params *params);

/** The value of a parameter; false when it is not there. */
bool zd_params_find(const struct zd_params *params, const char *name, struct zd_span *ret_value);

/** Typed readings: the default when absent. @retval ZD_INVALID facts name, expected, found */
ZD_RESULT zd_params_flag(const struct zd_params *params, const char *name, bool initial,
    bool *ret_value, struct zd_error *err);
ZD_RESULT zd_params_u64(const struct zd_params *params, const char *name, uint64_t initial,
    uint64_t least, uint64_t most, uint64_t *ret_value, struct zd_error *err);
/** One of some words; ret_choice is its position. */
ZD_RESULT zd_params_choice(const struct zd_params *params, const char *name,
    const char *const *choices, uint32_t initial, uint32_t *ret_choice, struct zd_error *err);

/**
 * Decode a path or a segment once (RFC 3986, 2.1): to has room for text.len + 1.
 * @retval ZD_INVALID bad percent-encoding, control characters, NUL, %2F, invalid UTF-8, backslash
 */
ZD_RESULT zd_percent_decode(struct zd_span text, char *to, size_t *ret_len, struct zd_error *err);

/** Encode for use in a path: everything but unreserved characters and '/'. */
enum zd_status zd_percent_encode(struct zd_span text, struct zd_text *to);

#endif
