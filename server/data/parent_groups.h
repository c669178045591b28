/* The groups above a node, and what their extensions say of it. Thread: loop, but for
 * zd_parent_groups_listing. */
#ifndef ZD_DATA_PARENT_GROUPS_H
#define ZD_DATA_PARENT_GROUPS_H

#include "server/data/catalog.h"

/** A group that says something of nodes below it. */
struct zd_parent_groups_group {
    char *path;           /* in the dataset; owned */
    struct zd_meta *meta; /* a reference */
};

/** Such groups. Starts zeroed. */
struct zd_parent_groups {
    struct zd_parent_groups_group *group; /* n of them, in pre-order, each once; owned */
    size_t n;
    uint64_t tag; /* of what they say: a part of entity tags */
};

/** Whether a node says something of nodes below it. */
bool zd_parent_groups_says_something(const struct zd_meta *meta);

/** Add a group, when it does. @retval ZD_NO_MEMORY */
ZD_RESULT zd_parent_groups_add(
    struct zd_parent_groups *above, const char *path, struct zd_meta *meta);
void zd_parent_groups_done(struct zd_parent_groups *above); /* leaves a zeroed one */

/** What those above a path say of the node there. Thread: any. */
struct zd_listing zd_parent_groups_listing(const struct zd_parent_groups *above, const char *path);

/** A look at all groups above a path. Starts zeroed. */
struct zd_parent_groups_look {
    struct zd_parent_groups above; /* out */
    uint64_t checked_ms; /* out: when the store was asked about the first of them, loop time; 0:
                            it could not tell of all */
    /* its own */
    struct zd_dataset *dataset; /* borrowed */
    const char *path;           /* borrowed */
    size_t len;                 /* of the path of the group that is asked for */
    struct zd_node_want want;
    void (*done)(void *context);
    void *context;
};

/**
 * Look. A group that the store cannot tell of says nothing: the node itself is known.
 * @param path borrowed until it is over
 * @param done when it is over, unless that is told at once
 * @return ZD_NEXT: over; ZD_WAIT: done will run
 */
enum zd_next zd_parent_groups_want(struct zd_parent_groups_look *look, struct zd_dataset *dataset,
    const char *path, void (*done)(void *context), void *context);

/** Stop looking, and give back what was found. Accepts a zeroed look. */
void zd_parent_groups_release(struct zd_parent_groups_look *look);

#endif
