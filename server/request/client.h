/* The client of a request, and its view of the server: from its connection, or from a trusted
 * proxy. Thread: loop. */
#ifndef ZD_REQUEST_CLIENT_H
#define ZD_REQUEST_CLIENT_H

#include "core/base/buf.h"
#include "server/config/networks.h"
#include "server/request/admission.h"

struct sockaddr_storage;
struct zd_request;

/** Find the client of a request whose head is there, and whose client.via is set.
 * @retval ZD_NO_MEMORY */
ZD_RESULT zd_client_find(struct zd_request *req);

/** Forget it. */
void zd_client_done(struct zd_request *req);

/** Which client an address belongs to, as far as it counts for fairness. All that are unknown are
 * one, which is no address. */
struct zd_peer zd_client_peer_of(const struct zd_networks_ip *ip);
struct zd_peer zd_client_peer(const struct zd_request *req);

/** Whether a program on this machine has sent the request itself: the address of the connection is
 * a loopback address, is none of a trusted proxy, and no field says that a proxy passed it on. No
 * field of a request makes anybody local. */
bool zd_client_is_local(const struct zd_request *req);

/** Whether every host that the request names is one of ours: those that the client asked for, as a
 * trusted proxy says it in either field, and that of the request itself. A page of a stranger's
 * name can send what a proxy on this machine does.
 * @param ret_host of false: the one that is not */
bool zd_client_asks_us(const struct zd_request *req, struct zd_span *ret_host);

/** The prefix of the path in every link for the client: "/data", or "". */
const char *zd_client_prefix(const struct zd_request *req);

#endif
