/* The server: everything hangs from here; several can exist in one process. */
#ifndef ZD_RUNTIME_SERVER_H
#define ZD_RUNTIME_SERVER_H

#include <uv.h>

#include "core/store/remote/remote.h"
#include "server/config/networks.h"
#include "server/config/settings.h"
#include "server/runtime/allowance.h"
#include "server/runtime/audit_file.h"
#include "server/runtime/cache.h"
#include "server/runtime/log.h"
#include "server/runtime/memory.h"
#include "server/runtime/metrics.h"
#include "server/runtime/node_memory.h"
#include "server/runtime/stall.h"
#include "server/runtime/trace.h"
#include "server/runtime/deferred.h"
#include "server/runtime/workers.h"

struct zd_admit;
struct zd_dataset;
struct zd_events_clock;
struct zd_front;
struct zd_jwts;
struct zd_credential_cache;
struct zd_locks;
struct zd_rates;
struct zd_read_ahead;
struct zd_idle_writers;
struct zd_signing_keys;
struct zd_tokens;
struct zd_permission_cache;

struct zd_server {
    const struct zd_config *config; /* borrowed */
    uv_loop_t *loop;                /* owned */
    struct zd_front *front;         /* owned: sockets, connections, requests, prepared answers */
    struct zd_dataset **dataset;    /* n_datasets of them, a reference each; owned */
    size_t n_datasets;
    struct zd_list retired; /* struct zd_dataset: out of the table, but not closed yet */
    uint32_t last_dataset_id;
    struct zd_list caches;       /* struct zd_cache: all, the front's too */
    struct zd_cache nodes;       /* struct zd_node */
    struct zd_cache objects;     /* struct zd_object */
    struct zd_cache chunks;      /* decoded chunks */
    struct zd_cache coordinates; /* of server/data/coordinate_read.c */
    struct zd_cache ranges; /* struct zd_value_ranges_entry: of whole arrays, for their tiles */
    struct zd_list spare_slices; /* struct zd_slice: to be used again; n_spare_slices of them */
    size_t n_spare_slices;
    struct zd_memory memory;       /* shares of the caches and of requests */
    struct zd_allowance documents; /* large ones, while they are read */
    struct zd_allowance changes;   /* of large documents: their texts */
    uint64_t kept_bytes;          /* of server/write/kept.c: what is remembered of erased objects */
    struct zd_node_memory parsed; /* nodes, in the cache and in use */
    struct zd_store_memory in_memory;  /* of datasets in memory that have no bound of their own */
    struct zd_remote remote;           /* what datasets in remote stores share */
    struct zd_admit *admit;            /* borrowed: of server/start.c, as locks, rests, events */
    struct zd_credential_cache *known; /* owned; NULL until a credential is kept */
    struct zd_permission_cache *verdicts; /* owned; NULL until one is kept */
    struct zd_tokens *tokens;             /* owned; NULL: access.tokens_file names none */
    struct zd_list tokens_wanted;         /* struct zd_wait: while tokens_are_coming */
    struct zd_jwts *jwts; /* owned; NULL: access.jwks_file and jwks_url name no keys */
    struct zd_signing_keys *signing_keys; /* owned; NULL: access.signing_keys_file names none */
    struct zd_list signed_urls;           /* link of struct zd_identity: in use */
    struct zd_workers workers;
    struct zd_locks *locks;
    struct zd_idle_writers *rests;
    struct zd_read_ahead *read_ahead; /* owned; NULL: no remote store was read */
    struct zd_events_clock *events;
    struct zd_map edits;  /* of server/write/edit_calls.c: stored objects that change */
    struct zd_map bounds; /* of server/write/bounds.c: arrays whose bounds are widened */
    struct zd_rates *rates;
    struct zd_log log;
    struct zd_audit_file audit_file;
    struct zd_metrics metrics;
    struct zd_tracer tracer;
    struct zd_stall stall;
    struct zd_deferred later;
    uint64_t near_nodes_ms; /* of server/data/suggest_nodes.c: until then its turns are taken; loop
                               time */
    struct zd_networks trusted_proxies;
    bool is_local;          /* it listens on loopback addresses alone */
    bool has_broken_tokens; /* access.tokens_file is, by now: those that were read before count */
    bool has_stale_keys;    /* those of access.jwks_url ended: no fetch succeeded for too long */
    bool tokens_are_coming; /* access.tokens_file is read for the first time: who sends a credential
                               waits */
    bool has_failed;        /* what it was told is no use: it ends */
    bool has_private;       /* some dataset is: who may not read it is not told that */
    bool is_stopping;       /* it was asked to stop: not ready */
    bool is_draining;       /* it takes no new connections, and closes them after their answers */
    uint64_t started_ms;    /* wall clock */
    uint64_t n_openings;    /* how often the table of datasets was made */
    uint64_t n_credential_changes; /* how often tokens and keys were read again */
};

#endif
