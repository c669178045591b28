/* An edit: a change of one chunk, for core/array/rewrite. */
#ifndef ZD_CORE_ARRAY_REWRITE_EDIT_H
#define ZD_CORE_ARRAY_REWRITE_EDIT_H

#include "core/array/layout.h"
#include "core/array/scatter.h"
#include "core/dialect/written.h"

/** The fate of a chunk. */
enum zd_edit_kind {
    ZD_EDIT_BOX,     /* new values for some elements, or for all within the array */
    ZD_EDIT_DECODED, /* new values for all elements, padding included */
    ZD_EDIT_ENCODED, /* new bytes, as a client has encoded them */
    ZD_EDIT_ERASE,   /* nothing is stored: all elements are the fill value */
};

/** How many chunks an edit has changed. */
struct zd_edit_counts {
    uint64_t n_written;
    uint64_t n_erased;    /* were stored, or may have been, and no longer are */
    uint64_t n_unchanged; /* stored or absent, as before */
};

/**
 * A change of one chunk of any level. A chunk of level 0 is a stored object, even if it is a
 * shard: a slice has one edit for each object, a box planned over the grid of level 0, and
 * zd_rewrite finds the chunks within the shard.
 *
 * An edit may outlive its request in a queue or a worker: it holds a reference to `bytes`, into
 * which `source` points.
 */
struct zd_edit {
    enum zd_edit_kind kind;
    uint32_t level;          /* of layout->level */
    struct zd_part part;     /* of a plan over that level's grid; only `chunk` unless it is a box */
    struct zd_source source; /* of a box: as far as the part's `to` and `count` go, within bytes */
    struct zd_buf *bytes;    /* shared: what source points into; elements of the whole chunk in C
                              * order, little-endian; the encoded chunk; NULL: it is erased */
    bool only_absent;        /* ZD_PRECONDITION if the chunk is stored already */
    bool keeps_empty;        /* chunks that it leaves with only the fill value are stored */
    bool is_verified;        /* by zd_rewrite_verify, which a box does not need */
    struct zd_written *written; /* zd_rewrite_verify adds all elements to it; borrowed, or NULL */

    /* out: of zd_rewrite */
    enum zd_status status;        /* a failed edit has changed nothing */
    struct zd_error *err;         /* of a failed one: owned, or NULL for want of memory */
    struct zd_edit_counts counts; /* of a box in chunks of the last level; else of the chunk */
};

/** A zeroed edit; NULL without memory. */
struct zd_edit *zd_rewrite_edit_new(void);

/** Also releases its bytes. Accepts NULL. */
void zd_rewrite_edit_free(struct zd_edit *edit);
ZD_OWN(zd_edit, zd_rewrite_edit_free);

/** The stored object that an edit changes: its index in the grid of level 0. */
void zd_rewrite_edit_object(
    const struct zd_layout *layout, const struct zd_edit *edit, uint64_t ret_index[ZD_RANK_MAX]);

/** Whether the edit replaces or erases the whole object, so that it need not be read. False for a
 * box at the edge of the array: elements outside may belong to a process that knows a larger array.
 */
bool zd_rewrite_edit_is_whole(const struct zd_layout *layout, const struct zd_edit *edit);

/** Whether the edit writes or erases all elements of the object that lie within the array. */
bool zd_rewrite_edit_is_all(const struct zd_layout *layout, const struct zd_edit *edit);

/** Whether the array's codecs take the edit: all take an erasure, those that are only read take
 * encoded chunks. @retval ZD_UNSUPPORTED as of zd_chain_check_encodes */
ZD_RESULT zd_rewrite_edit_check_codecs(
    const struct zd_layout *layout, const struct zd_edit *edit, struct zd_error *err);

#endif
