/* Counts connections, of all clients and of each client address. */
#include "server/front/connection_limits.h"

#include "core/base/own.h"
#include "server/request/client.h"

/* An address with connections. */
struct zd_connection_limit {
    struct zd_map_entry entry;
    struct zd_peer peer;
    uint64_t n_connections;
};

void zd_connection_limits_peer(const struct sockaddr *address, struct zd_peer *ret_peer)
{
    const struct zd_networks_ip ip = zd_networks_ip_of(address);
    *ret_peer = zd_client_peer_of(&ip);
}

void zd_connection_limits_read(int fd, struct sockaddr_storage *ret_client)
{
    socklen_t len = sizeof *ret_client;
    *ret_client = (struct sockaddr_storage){0};
    (void)getpeername(fd, (struct sockaddr *)ret_client, &len);
}

static struct zd_connection_limit *find(
    const struct zd_connection_limits *visitors, const struct zd_peer *peer)
{
    struct zd_map_entry *entry =
        zd_map_find(&visitors->by_peer, (struct zd_span){(const uint8_t *)peer, sizeof *peer});
    return entry == NULL ? NULL : ZD_CONTAINER(entry, struct zd_connection_limit, entry);
}

bool zd_connection_limits_is_trusted(
    const struct zd_connection_limits *visitors, const struct sockaddr *address)
{
    const struct zd_networks_ip ip = zd_networks_ip_of(address);
    return visitors->trusted != NULL && zd_networks_have(visitors->trusted, &ip);
}

static const char *problem_of(const struct zd_connection_limits *visitors,
    const struct sockaddr *address, const struct zd_connection_limit *visitor)
{
    const uint64_t n_own = visitor == NULL ? 0 : visitor->n_connections;
    if (visitors->n_each_max > 0 && n_own >= visitors->n_each_max &&
        !zd_connection_limits_is_trusted(visitors, address)) {
        return "rate_limited";
    }
    return visitors->n >= visitors->n_max ? "overloaded" : NULL;
}

bool zd_connection_limits_may_come(
    const struct zd_connection_limits *visitors, const struct sockaddr *address)
{
    struct zd_peer peer;
    zd_connection_limits_peer(address, &peer);
    return visitors->n_surplus < ZD_CONNECTION_LIMITS_SURPLUS_MAX ||
           problem_of(visitors, address, find(visitors, &peer)) == NULL;
}

static struct zd_connection_limit *visitor_new(
    struct zd_connection_limits *visitors, const struct zd_peer *peer)
{
    struct zd_connection_limit *visitor = zd_alloc_zero(1, sizeof *visitor);
    if (visitor == NULL) {
        return NULL;
    }
    visitor->peer = *peer;
    visitor->entry.key = (struct zd_span){(const uint8_t *)&visitor->peer, sizeof visitor->peer};
    if (zd_map_put(&visitors->by_peer, &visitor->entry) != ZD_OK) {
        zd_free(visitor);
        return NULL;
    }
    return visitor;
}

const char *zd_connection_limits_enter(
    struct zd_connection_limits *visitors, const struct sockaddr *address, struct zd_visit *visit)
{
    struct zd_peer peer;
    zd_connection_limits_peer(address, &peer);
    struct zd_connection_limit *visitor = find(visitors, &peer);
    const char *code = problem_of(visitors, address, visitor);
    *visit = (struct zd_visit){.is_surplus = code != NULL};
    if (code != NULL) {
        visitors->n_surplus++;
        return code;
    }
    visitors->n++;
    visit->visitor = visitor == NULL ? visitor_new(visitors, &peer) : visitor;
    if (visit->visitor != NULL) {
        visit->visitor->n_connections++;
    }
    return NULL;
}

void zd_connection_limits_leave(struct zd_connection_limits *visitors, const struct zd_visit *visit)
{
    struct zd_connection_limit *visitor = visit->visitor;
    visitors->n -= visit->is_surplus ? 0 : 1;
    visitors->n_surplus -= visit->is_surplus ? 1 : 0;
    if (visitor != NULL && --visitor->n_connections == 0) {
        zd_map_remove(&visitors->by_peer, &visitor->entry);
        zd_free(visitor);
    }
}
