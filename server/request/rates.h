/* How much a client may ask for: access.requests_per_s and access.bytes_per_s, of a credential or
 * of an anonymous address. Health and OPTIONS cost nothing. Thread: loop. */
#ifndef ZD_REQUEST_RATES_H
#define ZD_REQUEST_RATES_H

#include "server/request/rate_table.h"

struct zd_request;
struct zd_server;

/** What server->rates points to. Apart, so that no flood of addresses touches who has a credential.
 */
struct zd_rates {
    struct zd_rate_table anonymous;
    struct zd_rate_table identified;
    uint64_t seed;
};

/** @param server its rates are zeroed @retval ZD_NO_MEMORY */
ZD_RESULT zd_rates_init(struct zd_server *server, struct zd_error *err);
void zd_rates_done(struct zd_server *server); /* accepts zeroed ones */

/** Take a request whose identity is known and whose steps have not begun: the first step of one
 * that comes too soon refuses it, whatever else there is to say of it. */
void zd_rates_judge(struct zd_request *req);

/** It has ended: what it took is paid by those that follow. @param bytes of its answer, as sent */
void zd_rates_pay(const struct zd_request *req, uint64_t bytes);

#endif
