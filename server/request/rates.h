/* How much a client may ask for: access.requests_per_s and access.bytes_per_s, of a credential or
 * of an anonymous address. Health and OPTIONS cost nothing, but the address of a client pays for
 * a credential that nobody has, on any route. This module knows requests; rate_table.h counts.
 * Thread: loop. */
#ifndef ZD_REQUEST_RATES_H
#define ZD_REQUEST_RATES_H

#include "server/request/rate_table.h"
#include "server/request/request.h"

struct zd_server;

/** The rates of a server; server->rates points to them. Two tables, so that a flood of addresses
 * does not affect clients with a credential.
 */
struct zd_rates {
    struct zd_rate_table anonymous;
    struct zd_rate_table identified;
    uint64_t seed;
};

/** @param server its rates are zeroed @retval ZD_NO_MEMORY */
ZD_RESULT zd_rates_init(struct zd_server *server, struct zd_error *err);
void zd_rates_done(struct zd_server *server); /* accepts zeroed ones */

/** Whether the client has used up what it may, as the one that the request's identity says: without
 * one, its address. Then nobody looks for a credential that is not known: a look costs digests and
 * signatures. */
bool zd_rates_are_spent(const struct zd_request *req);

/** The step of a request that comes too soon: 429. */
zd_step zd_rates_refuse;

/** Take a request whose identity is known and whose steps have not begun: the first step of one
 * that comes too soon refuses it, whatever else there is to say of it. */
void zd_rates_judge(struct zd_request *req);

/** It has ended: what it took is paid by those that follow. @param bytes of its answer, as sent */
void zd_rates_pay(const struct zd_request *req, uint64_t bytes);

#endif
