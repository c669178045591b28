/* Answers that libmicrohttpd never sees, as bytes: to requests that the guard refuses, and to
 * requests whose body is not read. Thread: loop. */
#ifndef ZD_FRONT_RESPONSE_BYTES_H
#define ZD_FRONT_RESPONSE_BYTES_H

#include "server/front/front.h"

struct zd_guard;

/**
 * Add the whole answer to a request that the guard refuses, from its status line on. Count the
 * answer and log it. The connection ends with it.
 *
 * @param request method, target, client and duration
 */
void zd_response_refuse(struct zd_server *server, const struct zd_guard *guard,
    const struct zd_access *request, struct zd_text *to);

/** Add the whole answer of an exchange, which is a problem. The connection ends with it. */
void zd_response_add_last(const struct zd_exchange *exchange, struct zd_text *to);

#endif
