/* How many connections there are, and how many each client address has. */
#include "server/front/visitors.h"

#include <netinet/in.h>

#include "core/base/num.h"
#include "core/base/own.h"

/* An address with connections. */
struct zd_visitor {
    struct zd_map_entry entry;
    struct zd_peer peer;
    uint64_t n_connections;
};

void zd_visitors_peer(const struct sockaddr *address, struct zd_peer *ret_peer)
{
    *ret_peer = (struct zd_peer){0};
    if (address == NULL) {
        return;
    }
    ret_peer->family = address->sa_family;
    if (ret_peer->family == AF_INET) {
        const struct sockaddr_in *v4 = (const void *)address;
        ret_peer->prefix = v4->sin_addr.s_addr;
    } else if (ret_peer->family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const void *)address;
        const bool is_v4 = IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr) != 0;
        ret_peer->family = is_v4 ? AF_INET : AF_INET6;
        ret_peer->prefix =
            is_v4 ? zd_load_u32(&v6->sin6_addr.s6_addr[12]) : zd_load_u64(&v6->sin6_addr);
    }
}

static struct zd_visitor *find(const struct zd_visitors *visitors, const struct zd_peer *peer)
{
    struct zd_map_entry *entry =
        zd_map_find(&visitors->by_peer, (struct zd_span){(const uint8_t *)peer, sizeof *peer});
    return entry == NULL ? NULL : ZD_CONTAINER(entry, struct zd_visitor, entry);
}

static const char *problem_of(const struct zd_visitors *visitors, const struct zd_visitor *visitor)
{
    const uint64_t n_own = visitor == NULL ? 0 : visitor->n_connections;
    if (visitors->n_each_max > 0 && n_own >= visitors->n_each_max) {
        return "rate_limited";
    }
    return visitors->n >= visitors->n_max ? "overloaded" : NULL;
}

bool zd_visitors_may_come(const struct zd_visitors *visitors, const struct sockaddr *address)
{
    struct zd_peer peer;
    zd_visitors_peer(address, &peer);
    return visitors->n_surplus < ZD_VISITORS_SURPLUS_MAX ||
           problem_of(visitors, find(visitors, &peer)) == NULL;
}

static struct zd_visitor *visitor_new(struct zd_visitors *visitors, const struct zd_peer *peer)
{
    struct zd_visitor *visitor = zd_alloc_zero(1, sizeof *visitor);
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

const char *zd_visitors_enter(
    struct zd_visitors *visitors, const struct sockaddr *address, struct zd_visit *visit)
{
    struct zd_peer peer;
    zd_visitors_peer(address, &peer);
    struct zd_visitor *visitor = find(visitors, &peer);
    const char *code = problem_of(visitors, visitor);
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

void zd_visitors_leave(struct zd_visitors *visitors, const struct zd_visit *visit)
{
    struct zd_visitor *visitor = visit->visitor;
    visitors->n -= visit->is_surplus ? 0 : 1;
    visitors->n_surplus -= visit->is_surplus ? 1 : 0;
    if (visitor != NULL && --visitor->n_connections == 0) {
        zd_map_remove(&visitors->by_peer, &visitor->entry);
        zd_free(visitor);
    }
}
