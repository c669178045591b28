/* The life of an exchange: from the target of a request to the line in the log. Thread: loop. */
#ifndef ZD_FRONT_EXCHANGE_H
#define ZD_FRONT_EXCHANGE_H

#include "server/front/front.h"

/** Begin with a target. @return NULL: no memory */
struct zd_exchange *zd_exchange_begin(
    struct zd_front *front, const char *target, struct MHD_Connection *connection);

/** The head is there: set method, conditions, what is accepted, and id. @retval ZD_NO_MEMORY */
ZD_RESULT zd_exchange_read_head(struct zd_exchange *exchange, const char *method);

/** The connection is done with it: count and log the request, and keep the memory for another.
 * @param was_sent the answer was sent whole */
void zd_exchange_end(struct zd_exchange *exchange, bool was_sent);

/** Run the request's steps for the first time. */
void zd_exchange_start(struct zd_exchange *exchange);

/** End what the request waits for and holds, all but its answer. */
void zd_exchange_release(struct zd_exchange *exchange);

/** Forget the response: the connection has a reference of its own. */
void zd_exchange_drop_response(struct zd_exchange *exchange);

/** Forget what has come of a body that was to come whole. */
void zd_exchange_drop_body(struct zd_exchange *exchange);

/** The step of a request that meets the end of the server. */
zd_step zd_exchange_step_draining;

/** Free the spare exchanges. */
void zd_exchange_free_spare(struct zd_front *front);

#endif
