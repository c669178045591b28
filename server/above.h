/* The groups above a node, and what their extensions say of it. Thread: loop, but for
 * zd_above_listing. */
#ifndef ZD_SERVER_ABOVE_H
#define ZD_SERVER_ABOVE_H

#include "server/catalog.h"

/** A group that says something of nodes below it. */
struct zd_above_group {
    char *path;           /* in the dataset; owned */
    struct zd_meta *meta; /* a reference */
};

/** Such groups. Starts zeroed. */
struct zd_above {
    struct zd_above_group *group; /* n of them, in pre-order, each once; owned */
    size_t n;
    uint64_t tag; /* of what they say: a part of entity tags */
};

/** Whether a node says something of nodes below it. */
bool zd_above_says_something(const struct zd_meta *meta);

/** Add a group, when it does. @retval ZD_NO_MEMORY */
ZD_RESULT zd_above_add(struct zd_above *above, const char *path, struct zd_meta *meta);
void zd_above_done(struct zd_above *above); /* leaves a zeroed one */

/** What those above a path say of the node there. Thread: any. */
struct zd_listing zd_above_listing(const struct zd_above *above, const char *path);

/** A look at all groups above a path. Starts zeroed. */
struct zd_above_look {
    struct zd_above above; /* out */
    uint64_t checked_ms;   /* out: when the store was asked about the first of them, loop time; 0:
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
enum zd_next zd_above_want(struct zd_above_look *look, struct zd_dataset *dataset, const char *path,
    void (*done)(void *context), void *context);

/** Stop looking, and give back what was found. Accepts a zeroed look. */
void zd_above_release(struct zd_above_look *look);

#endif
