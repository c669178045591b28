/* The stored listing of a group, in no cache: nodes are kept without it. Thread: loop. */
#ifndef ZD_DATA_LISTING_READ_H
#define ZD_DATA_LISTING_READ_H

#include "server/data/node.h"

struct zd_listing_read_load;

/** A stored listing. */
struct zd_listing_read {
    struct zd_wait wait;
    struct zd_stored_listing *listing; /* out: with ZD_OK; until it is released. NULL: there is none
                                          that can be read */
    struct zd_listing_read_load *load; /* its own */
};

/** How much memory it takes: known before it is read again. */
uint64_t zd_listing_read_bytes(const struct zd_node *node);

/**
 * Read it from the documents that the node was made of. wait.status: ZD_OK, ZD_PRECONDITION (the
 * documents have changed: ask for the node again), ZD_STORE ...
 * @param node a group; a reference is taken
 */
enum zd_next zd_listing_read_want(struct zd_node *node, struct zd_listing_read *want);

/** Stop waiting, and give back the listing. Accepts a zeroed want. */
void zd_listing_read_release(struct zd_listing_read *want);

#endif
