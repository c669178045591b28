/* The bytes of a stored object after some of its chunks were changed. No I/O. */
#ifndef ZD_CORE_ARRAY_REWRITE_H
#define ZD_CORE_ARRAY_REWRITE_H

#include "core/array/rewrite_edit.h"

/** One stored object, and all that changes in it. */
struct zd_rewrite {
    /* in */
    const struct zd_layout *layout; /* borrowed */
    struct zd_buf *old;             /* what is stored; borrowed; NULL: nothing, or nobody knows */
    bool old_is_unknown;            /* it was not read: there is one edit, which is whole */
    bool write_empty;               /* chunks of nothing but the fill value are stored, too */
    uint64_t bytes_max;             /* of the new object */
    struct zd_edit *const *edit;    /* n_edits of that object; applied in this order */
    uint32_t n_edits;
    /* out */
    bool is_changed;      /* else it is to stay as it is */
    struct zd_buf *bytes; /* when it has changed: owned; NULL: the object is to be erased */
};

/**
 * Make the new object. Each edit is told its own status; only those that are told ZD_OK are in it.
 *
 * Chunks of a shard that no edit touches keep their bytes, nested shards too; a shard without
 * chunks is none. What a box leaves in a chunk of the last level is decoded and encoded again,
 * unless no bit of it changes. A chunk whose elements all equal the fill value, bit by bit, is left
 * out unless write_empty; but never one that a client encoded. Elements outside the array keep
 * what they were, and are the fill value where there were none, or none that decode.
 *
 * An edit's status: ZD_OK; ZD_CORRUPT: what is stored does not decode (unless nothing of it
 * remains); ZD_PRECONDITION (only_absent); ZD_UNSUPPORTED (as zd_rewrite_verify); ZD_NO_MEMORY.
 *
 * @retval ZD_TOO_LARGE the new object has more than bytes_max bytes; facts limit, requested
 * @retval ZD_NO_MEMORY
 * Thread: any; pure work.
 */
ZD_RESULT zd_rewrite(struct zd_rewrite *rewrite, struct zd_error *err);

/** The store knew nothing of an object that was erased unread: the counts say so. */
void zd_rewrite_was_absent(struct zd_rewrite *rewrite);

#endif
