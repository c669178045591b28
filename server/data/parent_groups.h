/* The groups above a node, and what their extensions say about it. Thread: loop, but for
 * zd_parent_groups_listing. */
#ifndef ZD_DATA_PARENT_GROUPS_H
#define ZD_DATA_PARENT_GROUPS_H

#include "server/data/catalog.h"
#include "server/data/reader.h"

/** A group whose extensions say something about the nodes below it. */
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

/** Whether a node's extensions say something about the nodes below it. */
bool zd_parent_groups_says_something(const struct zd_meta *meta);

/** Add a group, if its extensions do. @retval ZD_NO_MEMORY */
ZD_RESULT zd_parent_groups_add(
    struct zd_parent_groups *groups, const char *path, struct zd_meta *meta);
/** Release the groups that are not above a path: no later one in pre-order is below them. */
void zd_parent_groups_keep(struct zd_parent_groups *groups, const char *path);
void zd_parent_groups_done(struct zd_parent_groups *groups); /* leaves a zeroed one */

/** The statement of the groups above a path about the node there. Thread: any. */
struct zd_listing zd_parent_groups_listing(const struct zd_parent_groups *groups, const char *path);

/** All groups above a path. Starts zeroed. */
struct zd_parent_groups_want {
    struct zd_wait wait;            /* its status is always ZD_OK */
    struct zd_reader reader;        /* in: what it may not read says nothing */
    struct zd_parent_groups groups; /* out */
    uint64_t checked_ms; /* out: loop time when the store was asked about the first of them; 0: some
                            of them could not be read */
    /* its own */
    struct zd_machine machine;
    struct zd_dataset *dataset; /* borrowed */
    const char *path;           /* borrowed */
    bool is_asking;
    size_t len; /* of the path of the group that is asked for */
    struct zd_node_want node;
};

/**
 * Look up the groups above a path. A group that cannot be read says nothing.
 * @param path borrowed until the answer
 */
enum zd_next zd_parent_groups_want(
    struct zd_dataset *dataset, const char *path, struct zd_parent_groups_want *want);

/** Stop waiting, and release what was found. Accepts a zeroed want. */
void zd_parent_groups_release(struct zd_parent_groups_want *want);

#endif
