/* An HTTP exchange with a remote store: libcurl on the loop that the store runs on. Thread: loop,
 * for all of it.
 *
 * Transfers to one endpoint (scheme, host and port) take turns when more than remote.connections of
 * them want to run. A connection is kept for the next transfer. TLS is verified; http_proxy,
 * https_proxy and no_proxy of the environment hold, but near hosts
 * (core/store/transfer/transfer_host.h) are asked without a proxy. */
#ifndef ZD_CORE_STORE_TRANSFER_TRANSFER_H
#define ZD_CORE_STORE_TRANSFER_TRANSFER_H

#include <uv.h>

#include "core/store/transfer/transfer_exchange.h"

/**
 * Take part in the connections of a loop; the first one makes them.
 *
 * @param shared the place of the pool, NULL = there is none yet; one place a loop
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_transfer_pool_take(
    struct zd_transfer_pool **shared, uv_loop_t *loop, struct zd_error *err);

/** Leave; none of the caller's transfers runs. After the last one the loop must turn once more
 * before it is closed. */
void zd_transfer_pool_leave(struct zd_transfer_pool **shared);

/** The process ends: all transfers are cancelled, and so is each that is started from now on. */
void zd_transfer_pool_stop(struct zd_transfer_pool *pool);

#define ZD_TRANSFER_TIMES 13

/** Upper bounds of the times that are counted, in seconds. */
extern const double zd_transfer_bounds[ZD_TRANSFER_TIMES];

/** How long transfers took that had their turn, until their last byte or their failure. */
struct zd_transfer_times {
    uint64_t n;
    double seconds;
    uint64_t
        within[ZD_TRANSFER_TIMES]; /* how many took at most so long; each has the ones before */
};

/** Counts of a pool, for tests and /metrics. */
struct zd_transfer_counts {
    struct zd_transfer_times times[ZD_TRANSFER_METHODS];
    uint64_t n_started[ZD_TRANSFER_METHODS]; /* transfers that had their turn */
    uint64_t n_connected; /* connections that were made for them; the others used one again */
    uint64_t n_bytes;     /* of bodies that came, those that nobody wanted included */
};
struct zd_transfer_counts zd_transfer_pool_counts(const struct zd_transfer_pool *pool);

/** Start: sets the outputs, and waits for its turn. */
void zd_transfer_start(struct zd_transfer_pool *pool, struct zd_transfer *transfer);

/** Ask for an early end: `done` still runs, with ZD_CANCELLED unless the transfer was over before.
 */
void zd_transfer_cancel(struct zd_transfer *transfer);

#endif
