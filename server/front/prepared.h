/* Prepared answers: what they hold, and which requests share one. Thread: loop.
 *
 *     target -> answer --+-- plain: response, body, tag
 *                        +-- gzip:  made from it when the first client asks, by one job
 *                        +-- zstd:  likewise
 *
 * A part of a large object is kept by itself, under its target and the Range header that asked for
 * it. Of an object whose body no request has asked for, the head alone is kept, for 304s. Where the
 * route depends on who asks, so does the key. An answer that is not put under its target lives as
 * long as the request that it is for. */
#ifndef ZD_FRONT_PREPARED_H
#define ZD_FRONT_PREPARED_H

#include "server/front/front.h"
#include "server/request/respond.h"

/** A representation in one coding. */
struct zd_prepared_form {
    struct MHD_Response *response; /* shared by all requests; NULL: not made */
    char *id;                      /* its X-Request-Id, ZD_FRONT_MADE_ID_LEN bytes in its memory */
    struct zd_buf *body;           /* NULL: only its head is known */
    char etag[ZD_TAG_BYTES];
    struct zd_list waiters; /* struct zd_wait: while it is made */
    bool is_busy;
};

/** A prepared answer: a representation or a problem. */
struct zd_prepared {
    struct zd_cache_entry entry; /* first; key: target, of a part also its Range */
    char *key;                   /* NULL: never put in the table */
    uint64_t keep_until_ms;      /* after it the handler must say that the tag is the same */
    uint64_t n_changes;          /* of the owner, before it was made: after another one likewise */
    const struct zd_route *route;
    uint32_t route_number;
    /* a representation */
    struct zd_prepared_form form[ZD_CODINGS]; /* the plain one is always made */
    const char *media_type;                   /* in the plain response, or NULL */
    bool accepts_ranges;
    bool is_part; /* of status 206 */
    bool may_be_coded;
    int64_t mtime_ms;
    /* a problem: its document is the plain body */
    const struct zd_problem_kind *problem; /* NULL: a representation */
    size_t instance_at;                    /* where the id stands in the document */
    char *reason;                          /* for the log; owned, or NULL */
};

/** A new one for a request, not in the table. @return a reference; NULL: no memory */
struct zd_prepared *zd_prepared_new(const struct zd_request *req);
void zd_prepared_unref(struct zd_front *front, struct zd_prepared *prepared); /* accepts NULL */

/** For zd_cache_init. */
void zd_prepared_free(struct zd_cache_entry *entry);

/** Its bytes have changed: charge the cache for them. */
void zd_prepared_charge(struct zd_front *front, struct zd_prepared *prepared);

/** What is in the table for a request, or for the part it asks for; NULL: nothing. Borrowed. */
struct zd_prepared *zd_prepared_find(const struct zd_request *req, bool is_part);

/** Put it into the table in place of an older one; without memory it stays outside. */
void zd_prepared_put(const struct zd_request *req, struct zd_prepared *prepared);

/** Make a form of a response, which is taken over. @param response NULL: no memory for it */
ZD_RESULT zd_prepared_begin_form(
    struct zd_prepared_form *form, struct zd_buf *body, struct MHD_Response *response);

/** Make a form of a compressed body: with the plain form's headers, and a tag of its own. */
ZD_RESULT zd_prepared_finish_form(
    struct zd_prepared *prepared, enum zd_coding coding, struct zd_buf *body);

/** A response of the request's own with the form's headers; NULL: no memory. */
struct MHD_Response *zd_prepared_copy(const struct zd_request *req,
    const struct zd_prepared_form *form, uint64_t first, uint64_t len);

#endif
