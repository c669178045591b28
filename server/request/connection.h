/* The connection's functions for requests. The front defines them in server/front/exchange.c,
 * exchange_head.c and exchange_record.c; tests have a front of their own
 * (tests/support/front_fake.h). Thread: loop. */
#ifndef ZD_REQUEST_CONNECTION_H
#define ZD_REQUEST_CONNECTION_H

#include "core/base/status.h"

struct sockaddr;
struct zd_request;
struct zd_text;

/** A header of the request, or NULL; borrowed. Names are case-insensitive. Of several lines the
 * first: lists have members of their own. */
const char *zd_connection_header(const struct zd_request *req, const char *name);

/** Add all lines of a header, as one list (RFC 9110, 5.3); nothing when there is none.
 * @retval ZD_TOO_LARGE, ZD_NO_MEMORY */
enum zd_status zd_connection_add_list(
    const struct zd_request *req, const char *name, struct zd_text *list);

/** The address at the other end of the connection: of the client, or of a proxy. NULL: unknown. */
const struct sockaddr *zd_connection_address(const struct zd_request *req);

/** The request goes on when the loop has turned: other requests have their turn first. */
void zd_connection_queue_turn(struct zd_request *req);

/** A step has given a piece of the answer, or reads on: a connection that sleeps goes on. */
void zd_connection_wake(struct zd_request *req);

/** The steps have answered: the end of the request's machine. */
void zd_connection_answered(struct zd_request *req);

#endif
