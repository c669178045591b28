/* What the extensions of an array must say before elements are stored: bounds that are never false
 * (core/dialect/written.h). Concurrent writers of one array do not race: those that arrive while
 * its document is changed wait for the next change, which serves all of them. Thread: loop. */
#ifndef ZD_WRITE_BOUNDS_H
#define ZD_WRITE_BOUNDS_H

#include "core/dialect/written.h"
#include "server/write/metadata.h"

struct zd_bounds_want {
    struct zd_wait wait;
    struct zd_node *node; /* in and out: the array; owned; exchanged for the fresh node when the
                           * document has changed */
    const struct zd_written *written; /* in: borrowed until the end */
    bool is_under_way;                /* its own */
};

void zd_bounds_init(struct zd_server *server);
void zd_bounds_done(struct zd_server *server); /* nothing is under way */

/**
 * Make the document right for what is about to be stored. The caller holds a lock of the array's
 * path (CHUNKS or APPEND) until the end.
 *
 * wait.status: ZD_OK; ZD_NOT_FOUND: the array no longer exists; those of a change of metadata.
 * @return ZD_NEXT (at once, where no extension asks) or ZD_WAIT
 */
enum zd_next zd_bounds_want(struct zd_bounds_want *want);

/** Release the node. Nothing is under way. Accepts a zeroed want. */
void zd_bounds_release(struct zd_bounds_want *want);

#endif
