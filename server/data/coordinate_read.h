/* The labels of an array of rank 1: read whole, ordered and kept. Thread: loop.
 *
 *     kept and trusted --> at once
 *     kept             --> its stored objects are as they were: trusted again
 *                      --> one is not: read
 *     read             --> decoded, ordered on a worker, kept
 */
#ifndef ZD_DATA_COORDINATE_READ_H
#define ZD_DATA_COORDINATE_READ_H

#include "core/grid/labels.h"
#include "server/data/catalog.h"

/** A coordinate as it was read: immutable, counted. Other threads may read what it holds. */
struct zd_coordinate {
    uint32_t refs;
    struct zd_buf *elements; /* owned; of texts packed */
    struct zd_labels labels; /* all of the coordinate, with their order */
    uint64_t text_max;       /* bytes of the longest text; 0: they are none */
    uint64_t tag; /* of its documents and stored objects: a part of tags of answers that show it */
};

struct zd_coordinate *zd_coordinate_ref(struct zd_coordinate *coordinate);
void zd_coordinate_unref(struct zd_coordinate *coordinate); /* accepts NULL */

/** The end of what is kept of one: for zd_cache_init of server->coordinates. */
void zd_coordinate_free(struct zd_cache_entry *entry);

/** A wanted coordinate. Starts zeroed but for the `done` of its wait. */
struct zd_coordinate_read {
    struct zd_wait wait;
    struct zd_coordinate *coordinate; /* out, with ZD_OK: a reference */
    struct zd_flight *flight;
};

/**
 * Read them, unless they are kept and trusted. One reading serves all who want them.
 *
 * wait.status: ZD_OK; ZD_UNSUPPORTED or ZD_INVALID: its elements are no labels; ZD_TOO_LARGE: they
 * are more than limits.coordinate_bytes (facts limit, requested); ZD_CORRUPT, ZD_STORE ...
 * @param node of rank 1, with a layout
 */
enum zd_next zd_coordinate_read_want(struct zd_node *node, struct zd_coordinate_read *read);

/** Stop waiting, and release what was read. Accepts a zeroed one, and one that was answered. */
void zd_coordinate_read_release(struct zd_coordinate_read *read);

#endif
