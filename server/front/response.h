/* Responses of libmicrohttpd, and the answers of requests: reply.c makes answers of them, and
 * reply_cache.c keeps answers. response_headers.h has their headers,
 * response_form.h has responses that requests share, and response_bytes.h has answers that
 * libmicrohttpd never sees. Thread: loop. */
#ifndef ZD_FRONT_RESPONSE_H
#define ZD_FRONT_RESPONSE_H

#include "server/front/front.h"
#include "server/request/respond.h"

#define ZD_RESPONSE_ANY_ID "0000000000000000" /* ZD_FRONT_MADE_ID_LEN bytes, to be overwritten */

/** The document of an answer when there is no memory for another one. */
extern const char zd_response_emergency[];

/** Set front->scratch, exposed and emergency up, once it is known where the server listens.
 * @retval ZD_NO_MEMORY */
ZD_RESULT zd_response_init(struct zd_front *front, struct zd_error *err);
void zd_response_done(struct zd_front *front); /* accepts a zeroed one */

/* Bodies; NULL: no memory. */

/** A window of a shared buffer, without a copy. */
struct MHD_Response *zd_response_of_window(struct zd_buf *body, uint64_t first, uint64_t len);

/** A copy of a text. */
struct MHD_Response *zd_response_of_text(struct zd_span text);

/** No body, but the Content-Length of one: for HEAD and 304. */
struct MHD_Response *zd_response_of_length(uint64_t length);

/* Answers. */

/** Make a response with every header of the 200 (of a range: of the 206; without a body: of the
 * 304) and with ZD_RESPONSE_ANY_ID; NULL: no memory. */
struct MHD_Response *zd_response_prepare(
    const struct zd_request *req, const struct zd_representation *rep);

/** Make a response of a problem with that document, which is for programs. */
struct MHD_Response *zd_response_prepare_problem(
    const struct zd_request *req, struct zd_buf *document);

/**
 * Answer with a response of the request's own, which it takes over; NULL: no memory for one.
 * @param body_bytes for the log; a HEAD or 304 counts none
 */
enum zd_next zd_response_give(struct zd_request *req, unsigned http_status,
    struct MHD_Response *response, uint64_t body_bytes);

/** Answer with a problem document that has the request's id in it, or its page.
 * @param kind static
 * @param type ZD_PROBLEM_TYPE or ZD_HTML_TYPE */
enum zd_next zd_response_give_document(struct zd_request *req, const struct zd_problem_kind *kind,
    const char *type, const struct zd_text *document);

/** Keep a problem's detail for the log. @param reason copied, and cut when it is long */
void zd_response_keep_reason(struct zd_request *req, const char *reason);

#endif
