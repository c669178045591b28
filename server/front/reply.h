/* Answers as libmicrohttpd wants them. Thread: loop. */
#ifndef ZD_FRONT_REPLY_H
#define ZD_FRONT_REPLY_H

#include "server/front/front.h"

#define ZD_MADE_ID_LEN 16 /* of an X-Request-Id that we make */

/** Sets http->scratch and emergency up. @retval ZD_NO_MEMORY */
ZD_RESULT zd_replies_init(struct zd_front *http, struct zd_error *err);
void zd_replies_done(struct zd_front *http);

/** An answer to what libmicrohttpd never gets to see. Everything borrowed. */
struct zd_refusal {
    const char *code; /* of problem.h */
    const char *detail;
    uint64_t limit; /* that was exceeded; 0: none */
    bool is_head;   /* the answer has no body */
    /* for the log; "-" where it is not known */
    const char *method;
    const char *target; /* as sent, or the beginning of it */
    const char *client;
};

/** The whole answer, status line and all, that ends the connection; counted and logged. */
void zd_reply_refusal(
    struct zd_server *server, const struct zd_refusal *refusal, struct zd_text *to);

/** The problem that the request is answered with as bytes, status line and all; the connection ends
 * with it. */
void zd_reply_last(const struct zd_request *req, struct zd_text *to);

/* ---- for kept.c ---- */

/** Whether such an answer is ever compressed: JSON below /v1, made whole. */
bool zd_reply_may_code(const struct zd_request *req, const struct zd_representation *rep);

/** The coding in which a body of that length is to go out to this client. */
enum zd_coding zd_reply_coding(
    const struct zd_request *req, const struct zd_representation *rep, uint64_t len);

#define ZD_REPLY_ANY_ID "0000000000000000" /* ZD_MADE_ID_LEN bytes, to be overwritten */

/** A response with every header of the 200, of a range, the 206, or without a body, the 304, and
 * ZD_REPLY_ANY_ID; NULL: no memory. */
struct MHD_Response *zd_reply_prepare(
    const struct zd_request *req, const struct zd_representation *rep);

/** The same of a problem with that document. */
struct MHD_Response *zd_reply_prepare_problem(
    const struct zd_request *req, struct zd_buf *document);

/** A window of a shared buffer as a body, without a copy; NULL: no memory. */
struct MHD_Response *zd_reply_window(struct zd_buf *body, uint64_t first, uint64_t len);

/** A header that cannot be added (no memory, a line break in its value) is left out. */
void zd_reply_add_header(struct MHD_Response *response, const char *name, const char *value);

/** Content-Range of `len` bytes from `first` on, of `length` in all. */
void zd_reply_add_range(
    struct MHD_Response *response, uint64_t first, uint64_t len, uint64_t length);

/**
 * Answer with a response of the request's own, which it takes over; NULL: there was no memory.
 * @param body_bytes for the log; a HEAD or 304 counts none
 */
enum zd_next zd_reply_give(struct zd_request *req, unsigned http_status,
    struct MHD_Response *response, uint64_t body_bytes);

/** Answer with a problem document that has the request's id in it. @param kind static */
enum zd_next zd_reply_document(
    struct zd_request *req, const struct zd_problem_kind *kind, const struct zd_text *document);

#endif
