/* Responses of libmicrohttpd, and answers that it never sees: to what the guard refuses, and before
 * a body is read. Thread: loop. */
#ifndef ZD_FRONT_RESPONSE_H
#define ZD_FRONT_RESPONSE_H

#include "server/front/front.h"
#include "server/request/respond.h"

struct zd_guard;

#define ZD_RESPONSE_ANY_ID "0000000000000000" /* ZD_FRONT_MADE_ID_LEN bytes, to be overwritten */

/** Set front->scratch, exposed and emergency up, once it is known where the server listens.
 * @retval ZD_NO_MEMORY */
ZD_RESULT zd_response_init(struct zd_front *front, struct zd_error *err);
void zd_response_done(struct zd_front *front); /* accepts a zeroed one */

/* Responses with a body; NULL: no memory. */

/** A window of a shared buffer, without a copy. */
struct MHD_Response *zd_response_of_window(struct zd_buf *body, uint64_t first, uint64_t len);

/** A copy of a text. */
struct MHD_Response *zd_response_of_text(struct zd_span text);

/** No body, but the Content-Length of one: for HEAD and 304. */
struct MHD_Response *zd_response_of_length(uint64_t length);

/* Headers. One that cannot be added (no memory, a line break in its value) is left out. */

/** Whether the header has a row in the table of all headers; names are case-insensitive. */
bool zd_response_has_row(const char *name);

/** Add the names of the headers that scripts of other origins may read, as one list. */
void zd_response_add_exposed(struct zd_text *text);

/** Add a header, which has a row. */
void zd_response_add(struct MHD_Response *response, const char *name, const char *value);

/** Add the headers of every answer. */
void zd_response_add_common(
    const struct zd_request *req, const char *id, struct MHD_Response *response);

/** Add the headers of a representation, whatever its status: headers that describe the body are
 * added by zd_response_add_body. */
void zd_response_add_representation(const struct zd_request *req,
    const struct zd_representation *rep, const char *id, struct MHD_Response *response);

/** Add what describes the body; a 304 has none of it. @param len of a body that is a range;
 * 0: there is none */
void zd_response_add_body(
    const struct zd_representation *rep, uint64_t len, struct MHD_Response *response);

/** Add Content-Range: `len` bytes from `first` on, of `length` in all. */
void zd_response_add_range(
    struct MHD_Response *response, uint64_t first, uint64_t len, uint64_t length);

/* Codings. */

/** Whether such an answer is ever compressed: JSON below /v1 that is made whole. */
bool zd_response_may_code(const struct zd_request *req, const struct zd_representation *rep);

/** The coding of a body of that length for this client. */
enum zd_coding zd_response_coding(
    const struct zd_request *req, const struct zd_representation *rep, uint64_t len);

/* Answers. */

/** A response with every header of the 200, of a range, the 206, or without a body, the 304, and
 * ZD_RESPONSE_ANY_ID; NULL: no memory. */
struct MHD_Response *zd_response_prepare(
    const struct zd_request *req, const struct zd_representation *rep);

/** The same of a problem with that document, which is for programs. */
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

/* Responses that requests share. */

/** A response that requests share: a representation in one coding, or a problem. libmicrohttpd
 * renders the head when the response is queued, on this thread: the id that it stores can be
 * overwritten for each request just before, so that a hot answer builds nothing. */
struct zd_form {
    struct MHD_Response *response; /* shared by all requests; NULL: not made */
    char *id;                      /* its X-Request-Id, ZD_FRONT_MADE_ID_LEN bytes in its memory */
    struct zd_buf *body;           /* NULL: only its head is known */
    char etag[ZD_TAG_BYTES];
    struct zd_list waiters; /* struct zd_wait: while it is made */
    bool is_busy;
};

/** Make a form of a response, which is taken over. @param response NULL: no memory for it */
ZD_RESULT zd_response_begin_form(
    struct zd_form *form, struct zd_buf *body, struct MHD_Response *response);

/** Make a form of a compressed body: with the plain form's headers, and a tag of its own. */
ZD_RESULT zd_response_code_form(
    const struct zd_form *plain, enum zd_coding coding, struct zd_buf *body, struct zd_form *form);

/** Answer with a form, or with a part of its body. */
enum zd_next zd_response_give_form(
    struct zd_request *req, const struct zd_form *form, unsigned http_status);
enum zd_next zd_response_give_part(
    struct zd_request *req, const struct zd_form *form, uint64_t first, uint64_t len);

/** Make an X-Request-Id: ZD_FRONT_MADE_ID_LEN characters and NUL. */
void zd_response_make_id(struct zd_front *front, char *to);

/* Answers that libmicrohttpd never sees, as bytes. */

/**
 * Add the whole answer to what the guard refuses, from its status line on, and count and log it.
 * The connection ends with it.
 *
 * @param request method, target, client and duration
 */
void zd_response_refuse(struct zd_server *server, const struct zd_guard *guard,
    const struct zd_access *request, struct zd_text *to);

/** Add the whole answer of an exchange, which is a problem. The connection ends with it. */
void zd_response_add_last(const struct zd_exchange *exchange, struct zd_text *to);

#endif
