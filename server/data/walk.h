/* Walking a hierarchy in the store: every node below one, in pre-order, with many reads under way.
 * Thread: loop. */
#ifndef ZD_DATA_WALK_H
#define ZD_DATA_WALK_H

#include "server/data/catalog.h"

struct zd_walk;

/** A node on the way. Everything borrowed, valid during the visit. */
struct zd_walk_node {
    const char *path;           /* in the dataset */
    uint64_t depth;             /* below the start */
    struct zd_node *node;       /* NULL when it could not be read */
    const struct zd_error *err; /* then: why */
};

/** Where to walk. */
struct zd_walk_want {
    struct zd_wait wait; /* status: ZD_OK, also when visit ended the walk; ZD_AGAIN: nodes in use
                            have the memory that the next one takes; else a listing failed. Then
                            nodes are missing */
    /* in */
    struct zd_node *start; /* an existing node; borrowed during the call */
    uint64_t depth_max;    /* 0 = the start alone */
    bool is_fresh;         /* the store is asked for every node: for writers */
    bool is_admitted;  /* there is memory for the nodes that visit keeps (zd_node_memory_admit) */
    const char *after; /* only nodes after this path; borrowed during the call; NULL = all */
    /** Runs for each node, in pre-order: children by the bytes of their names. False ends the walk.
     * Must not release the walk. */
    bool (*visit)(struct zd_walk_want *want, const struct zd_walk_node *found);
    uint64_t n_long; /* the walk rests as soon as it has met more places than that, perhaps before
                        any visit; 0 = it does not */
    bool is_long;    /* out: it has */
    bool is_incomplete; /* out: the store has no listings, so that nodes may be missing */
    /* Set by visit: after this node the walk rests. Still set at the answer: nodes are left, and
     * zd_walk_go_on visits them. */
    bool rests;
    /* its own */
    struct zd_walk *walk;
};

enum zd_next zd_walk_want(struct zd_walk_want *want);

/** Visit the nodes that are left; want->wait is new. */
enum zd_next zd_walk_go_on(struct zd_walk_want *want);

/** Stop, at any time, and drop the questions under way. Accepts a zeroed want. */
void zd_walk_release(struct zd_walk_want *want);

#endif
