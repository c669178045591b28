/* The bytes of a stored object after some of its chunks were changed. No I/O. */
#ifndef ZD_CORE_ARRAY_REWRITE_H
#define ZD_CORE_ARRAY_REWRITE_H

#include "core/array/layout.h"
#include "core/array/scatter.h"
#include "core/dialect/written.h"

/** What happens to a chunk. */
enum zd_edit_kind {
    ZD_EDIT_BOX,     /* some of its elements, or all within the array, get other values */
    ZD_EDIT_DECODED, /* all of its elements, its padding included, get other values */
    ZD_EDIT_ENCODED, /* it gets these bytes, as a client has encoded them */
    ZD_EDIT_ERASE,   /* its elements are the fill value, and nothing is stored */
};

/** What became of chunks. */
struct zd_edit_counts {
    uint64_t n_written;
    uint64_t n_erased;    /* were stored, as far as is known, and are not any more */
    uint64_t n_unchanged; /* stored as they were, or absent as they were */
};

/**
 * One change of one chunk of any level. A chunk of level 0 is a stored object, also when it is a
 * shard: so a slice has one edit an object, a box planned over level 0's grid, and the shard's own
 * chunks are found here.
 *
 * It lives for as long as a worker or a queue has it: so `bytes` is a reference of its own, and
 * `source` points into it.
 */
struct zd_edit {
    enum zd_edit_kind kind;
    uint32_t level;          /* of layout->level */
    struct zd_part part;     /* of a plan over that level's grid; only `chunk` unless it is a box */
    struct zd_source source; /* of a box: as far as the part's `to` and `count` go, within bytes */
    struct zd_buf *bytes;    /* shared: what source points into; elements of the whole chunk in C
                              * order, little-endian; the encoded chunk; NULL: it is erased */
    bool only_absent;        /* fails with ZD_PRECONDITION when the chunk is stored already */
    bool is_verified;        /* zd_rewrite_verify was content with it: a box needs not be */
    struct zd_written *written; /* zd_rewrite_verify tells it of all elements; borrowed, or NULL */

    /* out: of zd_rewrite */
    enum zd_status status; /* of this edit: a failed one has changed nothing */
    struct zd_error err;
    struct zd_edit_counts counts; /* of a box in chunks of the last level; else of the chunk */
};

/** An edit, zeroed; NULL without memory. */
struct zd_edit *zd_rewrite_edit_new(void);

/** Its bytes are released with it. Accepts NULL. */
void zd_rewrite_edit_free(struct zd_edit *edit);
ZD_OWN(zd_edit, zd_rewrite_edit_free);

/**
 * What is judged without the stored object, before zd_rewrite: that bytes which a client encoded
 * decode to exactly one chunk (a shard chunk by chunk, so that it may be larger than memory), that
 * elements are as many as a chunk has, and that the array can be encoded. Where the array skips
 * empty chunks (its view), such chunks are taken out of what a client encoded, one after the other:
 * the edit becomes an erasure, or gets the bytes of a shard without them.
 *
 * @param edit        index and level lie within the layout; is_verified is set
 * @param decoded_max bytes of elements that encoded bytes may decode to, all inner chunks together
 * @retval ZD_CORRUPT     they do not decode: facts as the codecs tell
 * @retval ZD_INVALID     elements of another number of bytes: facts expected and found
 * @retval ZD_TOO_LARGE   more than decoded_max; facts limit, requested
 * @retval ZD_UNSUPPORTED a codec was dropped on read: nothing can be encoded, nor be sure to decode
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_rewrite_verify(const struct zd_layout *layout, struct zd_edit *edit,
    uint64_t decoded_max, struct zd_error *err);

/** The stored object that the edit changes: index in level 0's grid. */
void zd_rewrite_edit_object(
    const struct zd_layout *layout, const struct zd_edit *edit, uint64_t ret_index[ZD_RANK_MAX]);

/** Whether nothing remains of what is stored, so that it need not be read: the whole object is
 * written or erased, whatever it was. A box at the array's edge is not: elements outside may be
 * those of a process that knows the array to be larger. */
bool zd_rewrite_edit_is_whole(const struct zd_layout *layout, const struct zd_edit *edit);

/** Whether all of the object's elements within the array are written or erased. */
bool zd_rewrite_edit_is_all(const struct zd_layout *layout, const struct zd_edit *edit);

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

/** The most memory that edits of one object take: the object before and after, the indexes of its
 * shards, one chunk of the last level decoded and encoded. Without the edit's own bytes. */
uint64_t zd_rewrite_cost_bytes(const struct zd_layout *layout, uint64_t object_bytes_max);

/** About how long that edit takes; to verify it, as long as it is not. */
uint64_t zd_rewrite_cost_ns(const struct zd_layout *layout, const struct zd_edit *edit);

#endif
