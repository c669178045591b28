/* Responses that requests share. Thread: loop. */
#ifndef ZD_FRONT_RESPONSE_FORM_H
#define ZD_FRONT_RESPONSE_FORM_H

#include "server/front/front.h"

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

#endif
