/* Stores that are asked over a network: what all of them share, and what stands over each. */
#ifndef ZD_CORE_STORE_REMOTE_REMOTE_H
#define ZD_CORE_STORE_REMOTE_REMOTE_H

#include "core/store/contract/store.h"

#define ZD_REMOTE_REVALIDATE_MS 5000 /* default_revalidate_ms of all remote stores */

struct zd_disk_tier;
struct zd_store_ops;
struct zd_transfer_pool;

/** Stores that stand over others, and have no locations. */
extern const struct zd_store_ops zd_store_ops_plan;
extern const struct zd_store_ops zd_store_ops_disk; /* core/store/disk/disk_store.c */

/** The settings remote.*, and what else bounds an operation. */
struct zd_remote_settings {
    uint32_t connections;   /* to one endpoint at the same time; >= 1 */
    uint32_t connect_ms;    /* to get one, TLS included; >= 1 */
    uint32_t silence_ms;    /* without a byte from the store; >= 1 */
    uint32_t retries;       /* of one operation, after the first attempt */
    uint32_t hedge_percent; /* second requests for slow reads, per 100 reads; 0 = none */
    uint32_t breaker_ms;    /* how long an endpoint that fails is left alone; >= 1 */
    uint64_t request_ms;    /* of one operation with all its attempts; 0 = no bound */
    const char *ca_file;    /* certificates to trust; "" = those of the system */
};

/** State shared by all remote stores of a loop. It is their owner's memory, zeroed but for the
 * settings and the bound of listings, as long as a store is open. Thread: loop. */
struct zd_remote {
    struct zd_remote_settings settings;
    struct zd_list endpoints;        /* of plan_store.c; zeroed = none yet */
    struct zd_store_memory listings; /* what they hold: core/store/contract/listing_room.h */
    uint64_t merged_bytes;           /* of reads for several, under way: of remote_plan_read.c */
    struct zd_transfer_pool *pool;   /* of core/store/transfer/transfer.c: connections; made by the
                                        first store   that needs it, freed by the last; NULL = none */
    struct zd_disk_tier *disk; /* what is kept of them on the local disk: borrowed; NULL = none */
};

/**
 * Open a location as zd_store_open does, and over a remote store (is_remote) what makes it quick
 * and patient: plan_store.c, and over that disk_store.c where there is a disk tier. Where
 * config->remote is NULL nothing is put over it. Thread: loop.
 */
ZD_RESULT zd_remote_open(
    const struct zd_store_config *config, struct zd_store **ret_store, struct zd_error *err);

#endif
