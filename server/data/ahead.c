/* How far a walk looks ahead. */
#include "server/data/ahead.h"

#include "core/base/num.h"

#define AHEAD_MAX   64      /* nodes asked or known, and not visited yet */
#define AHEAD_FIRST 2       /* the same while nothing is known of how large nodes are */
#define BYTES_MAX   1048576 /* of the nodes that are known and not visited yet */

void zd_ahead_init(struct zd_ahead *ahead)
{
    *ahead = (struct zd_ahead){.n_max = AHEAD_FIRST};
}

bool zd_ahead_may_ask(const struct zd_ahead *ahead)
{
    return ahead->n_asked + ahead->n_known < ahead->n_max && ahead->n_bytes < BYTES_MAX;
}

void zd_ahead_learn(struct zd_ahead *ahead, uint64_t bytes)
{
    const uint64_t n_alike = BYTES_MAX / zd_max_u64(bytes, 1);
    if (n_alike >= AHEAD_MAX) {
        ahead->n_max = (uint32_t)zd_min_u64(ahead->n_max + 1, AHEAD_MAX);
    } else {
        ahead->n_max = (uint32_t)zd_max_u64(zd_min_u64(ahead->n_max, n_alike), 1);
    }
}

bool zd_ahead_has_room(const struct zd_ahead *ahead, uint64_t bytes)
{
    return ahead->n_bytes == 0 ||
           (ahead->n_bytes <= BYTES_MAX && bytes <= BYTES_MAX - ahead->n_bytes);
}

void zd_ahead_know(struct zd_ahead *ahead, uint64_t bytes)
{
    ahead->n_asked--;
    ahead->n_known++;
    ahead->n_bytes += bytes;
}

void zd_ahead_forget(struct zd_ahead *ahead, uint64_t bytes)
{
    ahead->n_known--;
    ahead->n_bytes -= bytes;
}
