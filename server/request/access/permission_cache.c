/* Permissions that were judged lately. */
#include "server/request/access/permission_cache.h"

#include <string.h>

#include "core/base/hash.h"
#include "server/request/identity.h"
#include "server/request/route.h"
#include "server/runtime/server.h"

#define SLOTS_N    512 /* a power of two; each path of an identity has one, which others may take */
#define PATH_BYTES 224 /* a longer path is judged each time */

struct slot {
    uint64_t identity;   /* its number; 0: nobody's */
    uint64_t n_openings; /* of the server's datasets; 0: the slot is empty */
    uint32_t len;
    bool is_limited;
    char path[PATH_BYTES];
};

struct zd_permission_cache {
    struct slot slot[SLOTS_N];
};

static uint64_t number_of(const struct zd_request *req)
{
    return req->identity == NULL ? 0 : req->identity->number;
}

/* If two paths collide, both are judged each time, as without a cache. */
static size_t place_of(uint64_t number, struct zd_span path)
{
    return zd_hash_of(path, number) % SLOTS_N;
}

bool zd_permission_cache_find(const struct zd_permission_cache *verdicts, struct zd_request *req)
{
    struct zd_span query;
    const struct zd_span path = zd_route_path(req->target, &query);
    if (verdicts == NULL || path.len > PATH_BYTES) {
        return false;
    }
    const struct slot *slot = &verdicts->slot[place_of(number_of(req), path)];
    if (slot->n_openings != req->server->n_openings || slot->identity != number_of(req) ||
        slot->len != path.len || memcmp(slot->path, path.ptr, path.len) != 0) {
        return false;
    }
    req->is_limited = slot->is_limited;
    return true;
}

void zd_permission_cache_put(struct zd_permission_cache **place, const struct zd_request *req)
{
    struct zd_span query;
    const struct zd_span path = zd_route_path(req->target, &query);
    if (path.len > PATH_BYTES) {
        return;
    }
    if (*place == NULL && (*place = zd_alloc_zero(1, sizeof **place)) == NULL) {
        return;
    }
    struct slot *slot = &(*place)->slot[place_of(number_of(req), path)];
    slot->identity = number_of(req);
    slot->n_openings = req->server->n_openings;
    slot->len = (uint32_t)path.len;
    slot->is_limited = req->is_limited;
    memcpy(slot->path, path.ptr, path.len);
}

void zd_permission_cache_free(struct zd_permission_cache *verdicts)
{
    zd_free(verdicts);
}
