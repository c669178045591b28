/* The use of rates by each client, in bounded memory and at a constant cost. The caller
 * gives the time, of a clock that never goes back. rates.h calls this module. Thread: loop.
 *
 * A token bucket, kept as the time at which it will be full again: a client may use at once what
 * ZD_RATE_TABLE_WINDOW_S seconds give it, and then as much as comes in. A client whose buckets are
 * full is the same as one that never came, so that its place may be given away; one that has used
 * something is never forgotten. Where all places are in use, newcomers share one: who floods the
 * table with addresses lets strangers pay for each other, but gets nothing back. */
#ifndef ZD_REQUEST_RATE_TABLE_H
#define ZD_REQUEST_RATE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/status.h"

#define ZD_RATE_TABLE_WINDOW_S 10
#define ZD_RATE_TABLE_SETS     4096
#define ZD_RATE_TABLE_PLACES   8 /* of a set, the last one for all who find none */

/** The rates of a client; 0: no limit. */
struct zd_rate_limits {
    uint64_t requests;
    uint64_t bytes; /* at most 2^33 */
};

/** A client, or several that share a place. Zeroed: free. */
struct zd_rate_place {
    uint64_t client;
    uint64_t requests_ns; /* when the bucket is full again */
    uint64_t bytes_ns;
};

struct zd_rate_table {
    struct zd_rate_place *place; /* owned */
};

/** The rest of a client's rates. */
struct zd_rate_left {
    uint64_t requests;
    uint64_t bytes;
    uint64_t requests_wait_ns; /* until it may ask again; 0: now */
    uint64_t bytes_wait_ns;
};

/** @param table zeroed @retval ZD_NO_MEMORY */
ZD_RESULT zd_rate_table_init(struct zd_rate_table *table, struct zd_error *err);
void zd_rate_table_done(struct zd_rate_table *table); /* accepts a zeroed one */

/** Look at what a client has left. @param client a hash with a seed that no stranger knows */
struct zd_rate_left zd_rate_table_look(const struct zd_rate_table *table, uint64_t client,
    const struct zd_rate_limits *limits, uint64_t now_ns);

/** Take one request of a client's. @return false: it must wait, and nothing was taken */
bool zd_rate_table_take(struct zd_rate_table *table, uint64_t client,
    const struct zd_rate_limits *limits, uint64_t now_ns);

/** Take bytes that have been sent: its later requests wait for them. */
void zd_rate_table_pay(struct zd_rate_table *table, uint64_t client,
    const struct zd_rate_limits *limits, uint64_t bytes, uint64_t now_ns);

#endif
