/* Setting the shape of an array that its caller writes into. Thread: loop. */
#ifndef ZD_WRITE_GROW_H
#define ZD_WRITE_GROW_H

#include "server/write/metadata.h"

/** A new shape; everything is borrowed during zd_grow_want. */
struct zd_grow_ask {
    const struct zd_node *node; /* the array; the caller holds ZD_LOCK_APPEND of its path */
    const uint64_t *shape;      /* no dimension shorter than it is */
    struct zd_node *expected;   /* only while its document is the one of this node; or NULL */
    bool is_dry;
};

/** Set it, as a change of metadata: see zd_metadata_want. */
enum zd_next zd_grow_want(const struct zd_grow_ask *ask, struct zd_metadata_want *want);

#endif
