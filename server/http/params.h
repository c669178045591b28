/* Query parameters. Thread: any. */
#ifndef ZD_HTTP_PARAMS_H
#define ZD_HTTP_PARAMS_H

#include "core/base/text.h"

#define ZD_PARAMS_MAX 32

/** The parameters of one request: decoded names and values, each ended by NUL. */
struct zd_params {
    const char *name[ZD_PARAMS_MAX];
    struct zd_span value[ZD_PARAMS_MAX];
    uint32_t n;
    char *memory; /* owned */
};

/**
 * Split and decode a query.
 *
 * @param query   after '?', as sent; borrowed
 * @param allowed names ended by NULL: any other name, or a repeated one, is a fault; NULL: every
 *                parameter is accepted, unreadable ones are left out
 * @param repeats names that may be there several times, ended by NULL; NULL: none
 * @retval ZD_INVALID fact name; the text says whether it is unknown, repeated or badly encoded
 */
ZD_RESULT zd_params_parse(struct zd_span query, const char *const *allowed,
    const char *const *repeats, struct zd_params *ret_params, struct zd_error *err);
void zd_params_done(struct zd_params *params);

/** The list of a route that has no parameters. */
extern const char *const zd_params_none[];

/** The value of a parameter, the first one; false when it is absent. */
bool zd_params_find(const struct zd_params *params, const char *name, struct zd_span *ret_value);

/** Which integers a parameter may have. */
struct zd_params_range {
    uint64_t initial; /* the value when the parameter is absent */
    uint64_t least;
    uint64_t most;
};

/** Typed readings: the default when absent. @retval ZD_INVALID facts name, expected, found */
ZD_RESULT zd_params_flag(const struct zd_params *params, const char *name, bool initial,
    bool *ret_value, struct zd_error *err);
ZD_RESULT zd_params_u64(const struct zd_params *params, const char *name,
    struct zd_params_range range, uint64_t *ret_value, struct zd_error *err);
/** Choose among words ended by NULL; ret_choice is the position: 0 when the parameter is absent. */
ZD_RESULT zd_params_choice(const struct zd_params *params, const char *name,
    const char *const *choices, uint32_t *ret_choice, struct zd_error *err);

#endif
