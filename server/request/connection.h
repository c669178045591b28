/* What a request asks of its connection. The front defines it; tests have a front of their own
 * (tests/support/front_fake.h). Thread: loop. */
#ifndef ZD_REQUEST_CONNECTION_H
#define ZD_REQUEST_CONNECTION_H

struct zd_peer;
struct zd_request;

/** A header of the request, or NULL; borrowed. Names are case-insensitive. Of several lines the
 * first: lists have members of their own. */
const char *zd_connection_header(const struct zd_request *req, const char *name);

/** The client's address, as far as it counts for fairness. */
void zd_connection_peer(const struct zd_request *req, struct zd_peer *ret_peer);

/** The request goes on when the loop has turned: other requests have their turn first. */
void zd_connection_queue_turn(struct zd_request *req);

/** A step has given a piece of the answer, or reads on: a connection that sleeps goes on. */
void zd_connection_wake(struct zd_request *req);

/** The steps have answered: the end of the request's machine. */
void zd_connection_answered(struct zd_request *req);

#endif
