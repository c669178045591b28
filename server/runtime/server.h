/* The server: everything hangs from here; several can exist in one process. */
#ifndef ZD_RUNTIME_SERVER_H
#define ZD_RUNTIME_SERVER_H

#include <uv.h>

#include "server/request/admit.h"
#include "server/runtime/cache.h"
#include "server/data/catalog.h"
#include "server/config/config.h"
#include "server/data/events.h"
#include "server/write/lock.h"
#include "server/runtime/log.h"
#include "server/runtime/memory.h"
#include "server/runtime/metrics.h"
#include "server/runtime/workers.h"

struct zd_front;
struct zd_root;

#define ZD_SIGNALS 3

struct zd_server {
    const struct zd_config *config; /* borrowed */
    uv_loop_t *loop;                /* owned */
    struct zd_front *http;          /* owned: sockets, connections, requests, prepared answers */
    struct zd_dataset **dataset;    /* n_datasets of them, a reference each; owned */
    size_t n_datasets;
    struct zd_list retired; /* struct zd_dataset: out of the table, but not closed yet */
    uint32_t last_dataset_id;
    struct zd_cache nodes;       /* struct zd_node */
    struct zd_cache objects;     /* struct zd_object */
    struct zd_cache chunks;      /* decoded chunks */
    struct zd_list spare_slices; /* struct zd_slice: to be used again; n_spare_slices of them */
    size_t n_spare_slices;
    struct zd_memory memory; /* what may be held */
    struct zd_admit admit;
    struct zd_workers pool;
    struct zd_locks locks;
    struct zd_events_clock events;
    struct zd_map edits;     /* of server/write/edit.c: stored objects that change */
    struct zd_map widenings; /* of server/write/bounds.c: arrays whose bounds are widened */
    struct zd_log log;
    struct zd_metrics metrics;
    bool is_draining;
    bool has_caches;
    uint64_t started_ms; /* wall clock */
    uint64_t drain_until_ms;
    uv_timer_t drain_timer;
    uv_signal_t signal[ZD_SIGNALS];
    struct zd_root *root; /* n_roots of them: what the start's lines wait for; owned */
    size_t n_roots;
    size_t n_roots_awaited;
};

/**
 * Open the datasets, bind the addresses, print the banner and the port file.
 *
 * @param config borrowed until zd_server_free
 * @param ret_server owned
 */
ZD_RESULT zd_server_new(
    const struct zd_config *config, struct zd_server **ret_server, struct zd_error *err);

/** Serve until a signal stops it. @return the exit status: 0 stopped as asked, 1 a fault */
int zd_server_run(struct zd_server *server);

void zd_server_free(struct zd_server *server); /* accepts NULL */

#endif
