/* Datasets, and their nodes as parsed models. Thread: loop. */
#ifndef ZD_DATA_CATALOG_H
#define ZD_DATA_CATALOG_H

#include "core/array/layout.h"
#include "core/dialect/dialect.h"
#include "core/store/store.h"
#include "server/config/settings.h"
#include "server/runtime/flight.h"

struct zd_events;
struct zd_server;

/** A dataset being served, or one that left the table and is still read: requests, nodes, cache
 * entries and what is asked of its store hold references (server/data/datasets.h). */
struct zd_dataset {
    struct zd_server *server;
    struct zd_dataset_config config; /* owned */
    struct zd_store *store;          /* owned */
    uint64_t revalidate_ms;          /* effective */
    uint32_t id;                     /* unique in this process: part of cache keys */
    uint32_t refs;
    uint64_t n_changes;       /* of stored keys, through this server (server/write/invalidate.h) */
    struct zd_events *events; /* owned; NULL: nothing has happened (server/data/events.h) */
    bool is_retired;     /* out of the table: what is cached of it goes when its work is over */
    struct zd_list link; /* then: in server->retired */
};

/** A node as it was found: immutable, kept in the metadata cache. */
struct zd_node {
    struct zd_cache_entry entry; /* first; key: dataset id, path */
    struct zd_dataset *dataset;
    char *path;                            /* "" is the root */
    enum zd_status status;                 /* ZD_OK, or ZD_NOT_FOUND: absence is kept too */
    struct zd_meta *meta;                  /* shared; NULL unless ZD_OK */
    struct zd_layout *layout;              /* owned; NULL unless an array that is not refused */
    struct zd_stat stat[ZD_DOCUMENTS_MAX]; /* of its documents; generation zero = absent */
    uint64_t tag;        /* hash of the documents' generations: the node's part of entity tags */
    int64_t mtime_ms;    /* newest of its documents; 0 = unknown */
    uint64_t checked_ms; /* loop time when the store was asked last */
    /* Why there is no layout although the array is not refused, or NULL; owned. */
    struct zd_error *fault;
    /* What is compared when the store is asked again: the generation of every document that any
     * dialect would read, zero for absent ones, n_seen of them; owned. */
    struct zd_generation *seen;
    uint32_t n_seen;
};

struct zd_node *zd_node_ref(struct zd_node *node);
void zd_node_unref(struct zd_node *node); /* accepts NULL */
ZD_OWN(zd_node, zd_node_unref);

struct zd_node_want {
    struct zd_wait wait;
    struct zd_node *node; /* out, with ZD_OK: a reference for the caller */
};

/**
 * The node at a path, fresh enough for its dataset (revalidate_ms).
 *
 * wait.status: ZD_OK (also for a refused node), ZD_NOT_FOUND when there is no node, ZD_STORE ...
 * when that cannot be known.
 * @param path decoded, no slash at either end; "" is the root
 * @return ZD_NEXT or ZD_WAIT
 */
enum zd_next zd_catalog_want(
    struct zd_dataset *dataset, const char *path, struct zd_node_want *want);

/** The same, but the store is asked now: for writers, who must not go by what was there a moment
 * ago. */
enum zd_next zd_catalog_want_fresh(
    struct zd_dataset *dataset, const char *path, struct zd_node_want *want);

/** The dataset of that name, or NULL. */
struct zd_dataset *zd_catalog_find(struct zd_server *server, struct zd_span name);

/** Whether what the store said at that loop time still holds. */
bool zd_dataset_trusts(const struct zd_dataset *dataset, uint64_t checked_ms);

/** Wait for the work under way if what it finds will be fresh enough, else for newer work. */
void zd_dataset_join(const struct zd_dataset *dataset, struct zd_flight *flight,
    enum zd_freshness freshness, struct zd_wait *wait);

/** Until when (loop time) that holds; UINT64_MAX: for ever. */
uint64_t zd_dataset_trusts_until(const struct zd_dataset *dataset, uint64_t checked_ms);

/** Forget the node at a path, and its absence: its documents have changed. Who asks from now on
 * finds it anew, also while others wait for what was there before. */
void zd_catalog_forget(struct zd_dataset *dataset, struct zd_span path);

/**
 * A node as its document is going to be: for who writes chunks before it is stored. Nobody else
 * finds it; its documents' generations and its tag are those of the node as it is.
 *
 * @param node     an array
 * @param meta     the same array as it is going to be; shared
 * @param ret_node owned: a reference
 * @retval ZD_UNSUPPORTED a chunk is too large
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_catalog_foresee(const struct zd_node *node, struct zd_meta *meta,
    struct zd_node **ret_node, struct zd_error *err);

/**
 * A node whose documents are about to be stored, for who stores them: nobody else finds it.
 * @return owned: a reference; NULL: no memory
 */
struct zd_node *zd_catalog_new_node(struct zd_dataset *dataset, const char *path);

/**
 * Give it its model and layout, as one who reads the documents finds them; once.
 *
 * @param documents all of the node, as they are going to be; borrowed
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_node_parse(struct zd_node *node, const struct zd_dialect *dialect,
    const struct zd_documents *documents, struct zd_error *err);

/** Give it the state of its documents, n of them: the tag and the times come from that. */
void zd_node_set_stat(struct zd_node *node, const struct zd_stat *stat, uint32_t n);

/** The end of a node: for zd_cache_init of server->nodes. */
void zd_node_free(struct zd_cache_entry *entry);

/** How its documents are read, from the limits and the dataset's mode. */
struct zd_reading zd_catalog_reading(const struct zd_dataset *dataset);

#endif
