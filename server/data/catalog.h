/* Nodes through the metadata cache. Thread: loop. */
#ifndef ZD_DATA_CATALOG_H
#define ZD_DATA_CATALOG_H

#include "server/data/node.h"

struct zd_node_want {
    struct zd_wait wait;
    bool is_admitted;     /* in: there is memory for it in any case (zd_node_memory_admit) */
    struct zd_node *node; /* out, with ZD_OK: a reference for the caller */
};

/**
 * The node at a path, fresh enough for its dataset (revalidate_ms).
 *
 * wait.status: ZD_OK (also for a refused node), ZD_NOT_FOUND (there is no node), ZD_STORE ... (the
 * store could not tell), ZD_AGAIN (nodes in use have the memory that it takes), ZD_TOO_LARGE (there
 * is never so much; facts limit and requested).
 * @param path decoded, no slash at either end; "" is the root
 */
enum zd_next zd_catalog_want(
    struct zd_dataset *dataset, const char *path, struct zd_node_want *want);

/** The same, but the store is asked now: writers must not rely on older knowledge. */
enum zd_next zd_catalog_want_fresh(
    struct zd_dataset *dataset, const char *path, struct zd_node_want *want);

/** Stop waiting, and release the node. Accepts a zeroed want, and one that was answered. */
void zd_catalog_release(struct zd_node_want *want);

/** Forget the node at a path, or its absence: its documents have changed. A request from now on
 * reads it again, even while earlier requests wait for what was there before. */
void zd_catalog_forget(struct zd_dataset *dataset, struct zd_span path);

#endif
