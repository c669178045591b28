/* One change of one chunk, for core/array/rewrite. */
#ifndef ZD_CORE_ARRAY_REWRITE_EDIT_H
#define ZD_CORE_ARRAY_REWRITE_EDIT_H

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

/** The stored object that the edit changes: index in level 0's grid. */
void zd_rewrite_edit_object(
    const struct zd_layout *layout, const struct zd_edit *edit, uint64_t ret_index[ZD_RANK_MAX]);

/** Whether nothing remains of what is stored, so that it need not be read: the whole object is
 * written or erased, whatever it was. A box at the array's edge is not: elements outside may be
 * those of a process that knows the array to be larger. */
bool zd_rewrite_edit_is_whole(const struct zd_layout *layout, const struct zd_edit *edit);

/** Whether all of the object's elements within the array are written or erased. */
bool zd_rewrite_edit_is_all(const struct zd_layout *layout, const struct zd_edit *edit);

/** Whether the array can be encoded, unless the edit erases.
 * @retval ZD_UNSUPPORTED reading has dropped a codec that this build does not know */
ZD_RESULT zd_rewrite_edit_check_codecs(
    const struct zd_layout *layout, const struct zd_edit *edit, struct zd_error *err);

#endif
