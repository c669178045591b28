/* Chunks of remote stores that are read before they are asked for: the next ones of a client that
 * goes through an array in one direction (an animation, a series of times). Thread: loop.
 *
 *     a slice is read --> the same chunks: nothing
 *                    \--> one step as before: the chunks of the next steps are read
 *                    \--> anything else: what is under way is cancelled
 *
 * What is read goes into the cache of decoded chunks, and joins the request that wants it
 * meanwhile. Its bytes are admitted as those of a request; when memory or the endpoint is short of
 * anything, nothing is read. */
#ifndef ZD_SLICE_READ_AHEAD_H
#define ZD_SLICE_READ_AHEAD_H

#include "server/request/request.h"

struct zd_node;

/**
 * Slices of so many clients and arrays are watched; which of them read ahead, and what they have
 * seen. Made when a slice of a remote store is read first.
 */
struct zd_read_ahead;

/**
 * A request has read a selection. Up to remote.read_ahead chunks are read after the third one in a
 * row that went the same way; none of arrays that a group calls slow, or of local stores.
 *
 * @param node      of the array, with a layout; borrowed
 * @param selection in the stored array; borrowed
 */
void zd_read_ahead_note(
    struct zd_request *req, struct zd_node *node, const struct zd_selection *selection);

/** Cancel all of it and free it. */
void zd_read_ahead_close(struct zd_server *server);

#endif
