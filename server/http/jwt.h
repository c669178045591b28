/* JSON Web Tokens that are signed (RFC 7519, RFC 7515). Pure. Thread: any.
 *
 * The key that the header names says which algorithm there is; what the header says of it must be
 * the same. No other member of the header leads to a key. Only the signature of a token without any
 * other fault is verified. */
#ifndef ZD_HTTP_JWT_H
#define ZD_HTTP_JWT_H

#include "core/base/json.h"
#include "server/http/jwk.h"

#define ZD_JWT_BYTES_MAX  (16U << 10)
#define ZD_JWT_WORDS_MAX  256 /* of "scope" */
#define ZD_JWT_WORD_BYTES 1024

/** The rules for tokens. Borrowed. */
struct zd_jwt_rules {
    const struct zd_jwk_set *keys; /* NULL: there are none yet */
    const char *issuer;
    const char *audience;
    uint64_t leeway_s;    /* by which clocks may differ */
    uint64_t *n_verified; /* goes up with each signature that is verified */
};

enum zd_jwt_answer {
    ZD_JWT_GOOD,
    ZD_JWT_BAD,         /* or there is no memory to judge it */
    ZD_JWT_UNKNOWN_KEY, /* bad, but perhaps there are newer keys */
};

/** The content of a good token. Release with zd_jwt_done; accepts a zeroed one. */
struct zd_jwt {
    struct zd_json *claims;   /* owned */
    const struct zd_jwk *jwk; /* its key; borrowed from the rules' */
    const char *subject;      /* borrowed from the claims; "" = it says none */
    const char *scope;        /* likewise */
    uint64_t over_s;          /* from then on it is bad: since 1970-01-01 UTC, with the leeway */
};

/** Whether a credential has the form of one: three parts between dots. */
bool zd_jwt_is(struct zd_span token);

/** @param now_s since 1970-01-01 UTC @param ret_jwt set with ZD_JWT_GOOD */
enum zd_jwt_answer zd_jwt_judge(
    struct zd_span token, const struct zd_jwt_rules *rules, uint64_t now_s, struct zd_jwt *ret_jwt);
void zd_jwt_done(struct zd_jwt *jwt);

/** A word of a scope. */
struct zd_jwt_word {
    bool is_write;                   /* else it is to read */
    char dataset[ZD_JWT_WORD_BYTES]; /* "" = all */
    char path[ZD_JWT_WORD_BYTES];    /* in it, and what lies below; "" = all */
};

/**
 * The next word of a scope that means something here: `read`, `write`, `read:DATASET`,
 * `write:DATASET/PATH`. Others are skipped: a token may be for other services, too.
 *
 * @param at cursor into the scope; moved
 * @return false: there is none
 */
bool zd_jwt_next_word(const char **at, struct zd_jwt_word *ret_word);

#endif
