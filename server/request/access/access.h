/* Judge by its head whether a request may be answered: before prepared answers, bodies and the
 * store. Thread: loop. */
#ifndef ZD_REQUEST_ACCESS_ACCESS_H
#define ZD_REQUEST_ACCESS_ACCESS_H

#include <stdbool.h>

#include "server/runtime/wait.h"

struct zd_request;
struct zd_server;

/**
 * Judge a request whose first step is not known: find out who asks, by the credential that it
 * sends, and let the step of one that must not be answered refuse it.
 *
 * @return ZD_WAIT: who asks is not known yet. Once the connection is woken (zd_connection_wake), it
 *         is to be judged again; zd_request_end_waits gives it up
 */
enum zd_next zd_access_judge(struct zd_request *req);

/** Whether any credential can be good here. Where none can, a header with one is meant for somebody
 * else. */
bool zd_access_knows_credentials(const struct zd_server *server);

#endif
