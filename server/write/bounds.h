/* Before elements are stored the extensions of their array must state bounds that include them
 * (core/dialect/written.h). Writers that arrive while the array's document is being changed wait
 * for the next change, which serves all of them. Thread: loop. */
#ifndef ZD_WRITE_BOUNDS_H
#define ZD_WRITE_BOUNDS_H

#include "core/dialect/written.h"
#include "server/write/metadata.h"

struct zd_bounds_want {
    struct zd_wait wait;
    struct zd_node *node; /* in and out: the array; a reference of the caller; exchanged for the
                           * fresh node when the document has changed */
    const struct zd_written *written; /* in: borrowed until the end */
    bool is_under_way;                /* its own */
};

/**
 * Widen the bounds in the document to include what is about to be stored. The caller holds a lock
 * of the array's path (CHUNKS or APPEND) until the end.
 *
 * wait.status: ZD_OK; ZD_NOT_FOUND: the array no longer exists; else as zd_metadata_want.
 * @return ZD_NEXT (always where no extension has bounds) or ZD_WAIT
 */
enum zd_next zd_bounds_want(struct zd_bounds_want *want);

#endif
