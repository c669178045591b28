/* Walking a hierarchy in the store: every node below one, in pre-order, with many reads under way.
 * Thread: loop. */
#ifndef ZD_DATA_WALK_H
#define ZD_DATA_WALK_H

#include "server/data/catalog.h"

/** A node on the way. Everything borrowed, valid during the visit. */
struct zd_walk_node {
    const char *path;           /* in the dataset */
    uint64_t depth;             /* below the start */
    struct zd_node *node;       /* NULL when the store could not tell */
    const struct zd_error *err; /* then: why */
};

/** Where to walk, and who is told. */
struct zd_walk_config {
    struct zd_node *start; /* an existing node; a reference is taken */
    uint64_t depth_max;    /* 0 = the start alone */
    const char *after;     /* only nodes that come after this path; copied; NULL = all */

    /** Told of each node, in pre-order: children by the bytes of their names. False ends the walk.
     * Must not free the walk. */
    bool (*visit)(void *context, const struct zd_walk_node *found);
    /** The walk has ended; may free it. Never runs when zd_walk_run returned ZD_NEXT. */
    void (*done)(void *context);
    void *context;
};

struct zd_walk;

/** @param ret_walk owned @retval ZD_NO_MEMORY */
ZD_RESULT zd_walk_new(
    const struct zd_walk_config *config, struct zd_walk **ret_walk, struct zd_error *err);

/** Begin, once. @return ZD_NEXT: ended already; ZD_WAIT: done will run */
enum zd_next zd_walk_run(struct zd_walk *walk);

/** How it ended: ZD_OK, also when visit ended it; else a listing failed, and nodes are missing. */
ZD_RESULT zd_walk_status(const struct zd_walk *walk, struct zd_error *err);

/** At any time: what is under way is dropped. Accepts NULL. */
void zd_walk_free(struct zd_walk *walk);

#endif
