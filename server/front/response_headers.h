/* Headers of answers. A header that cannot be added (no memory, a line break in its value) is left
 * out. Thread: loop. */
#ifndef ZD_FRONT_RESPONSE_HEADERS_H
#define ZD_FRONT_RESPONSE_HEADERS_H

#include "server/front/front.h"
#include "server/request/respond.h"

/** Whether the header has a row in the table of all headers; names are case-insensitive. */
bool zd_response_has_row(const char *name);

/** Add the names of the headers that scripts of other origins may read, as one list. */
void zd_response_add_exposed(struct zd_text *text);

/** Add a header, which has a row. */
void zd_response_add(struct MHD_Response *response, const char *name, const char *value);

/** Make an X-Request-Id: ZD_FRONT_MADE_ID_LEN characters and NUL. */
void zd_response_make_id(struct zd_front *front, char *to);

/**
 * Give each header of every answer to a function.
 *
 * @param origin pages of this origin may read the answer; NULL: none
 * @param to     for give
 */
void zd_response_give_common(const struct zd_server *server, const char *id, const char *origin,
    void (*give)(void *to, const char *name, const char *value), void *to);

/** Add the headers of every answer. */
void zd_response_add_common(
    const struct zd_request *req, const char *id, struct MHD_Response *response);

/** Add the headers of a representation, whatever its status: headers that describe the body are
 * added by zd_response_add_body. */
void zd_response_add_representation(const struct zd_request *req,
    const struct zd_representation *rep, const char *id, struct MHD_Response *response);

/** Add the headers that describe the body; a 304 has none of them. @param len of a body that is a
 * range; 0: there is none */
void zd_response_add_body(
    const struct zd_representation *rep, uint64_t len, struct MHD_Response *response);

/** Add Content-Range: `len` bytes from `first` on, of `length` in all. */
void zd_response_add_range(
    struct MHD_Response *response, uint64_t first, uint64_t len, uint64_t length);

/** Add the headers of a problem. @param type ZD_PROBLEM_TYPE or ZD_HTML_TYPE */
void zd_response_add_problem(
    const struct zd_request *req, const char *id, const char *type, struct MHD_Response *response);

/* Codings. */

/** Whether such an answer is ever compressed: JSON below /v1 that is made whole. */
bool zd_response_may_code(const struct zd_request *req, const struct zd_representation *rep);

/** The coding of a body of that length for this client. */
enum zd_coding zd_response_coding(
    const struct zd_request *req, const struct zd_representation *rep, uint64_t len);

#endif
