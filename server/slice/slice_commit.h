/* The end of writing a slice: from staged objects to what everybody sees.
 *
 *     [ keys held against other processes, and looked at again ] --> [ document widened ]
 *         --> objects committed --> [ shape grown ] --> settled --> [ keys given back ]
 *                     |                   |
 *                     +----- failed ------+---------> undone ----------^
 *
 * It belongs to itself: once begun it goes to its end, whether the client waits or not. Thread:
 * loop. */
#ifndef ZD_SLICE_SLICE_COMMIT_H
#define ZD_SLICE_SLICE_COMMIT_H

#include "server/slice/slice_write.h"

/**
 * Commit all objects, or of a dry one say what would become of them. Then write->status and its
 * like tell how that ended; counts, touched and node are of what is stored now. What failed has
 * changed no object; where the store fails at that too, the error says how many it has, and which.
 *
 * @return ZD_NEXT; ZD_WAIT: the request's next step runs when it is over
 */
enum zd_next zd_slice_commit(struct zd_slice_write *write);

/** Something that it waited for was told. */
void zd_slice_commit_go_on(struct zd_slice_commit *commit);

#endif
