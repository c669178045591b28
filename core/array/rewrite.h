/* The bytes of a stored object after some of its chunks were changed. No I/O. */
#ifndef ZD_CORE_ARRAY_REWRITE_H
#define ZD_CORE_ARRAY_REWRITE_H

#include "core/array/rewrite_edit.h"

/** A stored object with all its changes. */
struct zd_rewrite {
    /* in */
    const struct zd_layout *layout; /* borrowed */
    struct zd_buf *old;             /* the stored object; borrowed; NULL: none, or old_is_unknown */
    bool old_is_unknown;         /* it was not read: then there is one edit, of the whole object */
    bool write_empty;            /* also store chunks that hold only the fill value */
    uint64_t bytes_max;          /* of the new object */
    struct zd_edit *const *edit; /* n_edits of that object; applied in this order */
    uint32_t n_edits;
    /* out */
    bool is_changed;      /* false: the object stays as it is */
    struct zd_buf *bytes; /* of a changed object: owned; NULL: erase the object */
};

/**
 * Make the new object. Each edit gets its own status; the object has the edits with ZD_OK.
 *
 * Chunks of a shard that no edit touches keep their bytes, nested shards included; a shard without
 * chunks is not stored. A chunk of the last level that a box changes in part is decoded and encoded
 * again. A chunk whose elements all equal the fill value, bit by bit, is left out unless
 * write_empty or the edit's keeps_empty is set, the array has_no_fill, or a client has encoded it.
 * Elements outside the array keep their values; they get the fill value if there were none, or if
 * the old chunk does not decode.
 *
 * Status of an edit: ZD_OK; ZD_CORRUPT: a stored chunk that it changes in part does not decode;
 * ZD_PRECONDITION (only_absent); ZD_UNSUPPORTED (as zd_rewrite_verify); ZD_NO_MEMORY.
 *
 * @retval ZD_TOO_LARGE the new object has more than bytes_max bytes; facts limit, requested
 * @retval ZD_NO_MEMORY
 * Thread: any; pure work.
 */
ZD_RESULT zd_rewrite(struct zd_rewrite *rewrite, struct zd_error *err);

/** Correct the counts: the object that was erased without reading did not exist. */
void zd_rewrite_was_absent(struct zd_rewrite *rewrite);

#endif
