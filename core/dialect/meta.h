/* A node of a hierarchy, in any format on disk: the model for all code above.
 */
#ifndef ZD_CORE_DIALECT_META_H
#define ZD_CORE_DIALECT_META_H

#include "core/base/tally.h"
#include "core/codec/chain.h"
#include "core/dialect/document_texts.h"
#include "core/dialect/stored_listing.h"
#include "core/extension/applied.h"
#include "core/extension/relative.h"
#include "core/grid/grid.h"

enum zd_node_type {
    ZD_NODE_GROUP,
    ZD_NODE_ARRAY,
    ZD_NODE_UNKNOWN, /* the document does not say, or is not JSON */
};

/** How the key of a chunk is made (Zarr v3, chunk_key_encoding). */
enum zd_key_encoding {
    ZD_KEYS_DEFAULT, /* c/0/1 */
    ZD_KEYS_V2,      /* 0.1 */
};

struct zd_dialect;

/** A node: immutable, counted. A refused node (faults refuse) has no array part that may be used.
 */
struct zd_meta {
    _Atomic uint32_t refs;
    struct zd_tally *tally; /* that its bytes are counted in, or NULL; borrowed */
    uint64_t tally_bytes;
    const struct zd_dialect *dialect;
    enum zd_node_type type;
    struct zd_json *document;              /* normalised to final v3; the stored one, as far as
                                              it is JSON, when refused; NULL when it is not JSON. Always
                                              without the consolidated block, and without bare NaN */
    struct zd_json *attributes;            /* an object, shared with document; NULL = none */
    struct zd_buf *text[ZD_DOCUMENTS_MAX]; /* its documents as they are stored, in a dialect that
                                              lists them so (lists_texts); references, or NULL */
    bool has_listing;                      /* group: one is stored, and may be used */
    bool has_unread_listing;           /* group: one is stored that is past the limits of reading */
    struct zd_stored_listing *listing; /* that one, or NULL: zd_meta_leave_listing. A reference */
    uint64_t listing_bytes;            /* group: of the text, the part that is the listing */
    uint64_t listing_index_bytes;      /* group: what the index of a listing that was left takes */
    struct zd_faults faults;
    struct zd_applied_list applied; /* its extensions that are known, when !zd_meta_is_refused */
    struct zd_view view;            /* what they make of it; zeroed without any */
    struct zd_relative
        *ome_levels; /* group: those of OME-NGFF, where no extension lists any; owned */

    /* array, when !zd_meta_is_refused */
    struct zd_grid grid;
    struct zd_edges *edges; /* the grid is `rectilinear`; its own, where chunks differ; owned; NULL:
                               it is `regular` */
    struct zd_dtype dtype;
    uint8_t *fill; /* dtype.bytes, and what they refer to; owned */
    struct zd_chain *chain;
    enum zd_key_encoding key_encoding;
    char key_separator;
    char *key_suffix;        /* behind every key of a chunk; owned; NULL: nothing, as a rule */
    bool is_scalar_numbered; /* zd_chunk_key_add_glued */
    bool has_reversed_keys;  /* the last axis comes first */
    bool has_no_fill; /* v2: the document says nothing of missing chunks, and readers differ in what
                         they find there: none is left out. `fill` is what is read here */
    char **dimension_name; /* rank entries, each a name or NULL; owned; NULL when there are no names
                              at all */
};

struct zd_meta *zd_meta_new(
    const struct zd_dialect *dialect); /* owned, one reference, zeroed; NULL without memory */
struct zd_meta *zd_meta_ref(struct zd_meta *meta);
void zd_meta_unref(struct zd_meta *meta); /* accepts NULL */
ZD_OWN(zd_meta, zd_meta_unref);

/**
 * Let a refused node show its document as it is stored, so that a person can see why it is refused.
 * @param stored borrowed
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_meta_show_stored(struct zd_meta *meta, const struct zd_json *stored);

/** Keep its documents as they are stored. @param n the first of them. @retval ZD_NO_MEMORY */
ZD_RESULT zd_meta_keep_texts(
    struct zd_meta *meta, const struct zd_documents *documents, uint32_t n);

/** The documents that the node was made of; borrowed. */
struct zd_documents zd_meta_documents(const struct zd_meta *meta);

/** It is in a count, of so many bytes, until it is freed; before anybody else has the node.
 * @param tally outlives the node */
void zd_meta_be_counted(struct zd_meta *meta, struct zd_tally *tally, uint64_t bytes);

/** Go on without the listing itself, which may be large; before anybody else has the node. */
void zd_meta_leave_listing(struct zd_meta *meta);

/**
 * Whether two arrays read the same stored chunks in the same way: shape, data type, grid, keys and
 * codecs are equal; the grid of b may have more chunks behind the array. A refused one is equal to
 * nothing. Thread: any.
 */
bool zd_meta_has_same_chunks(const struct zd_meta *a, const struct zd_meta *b);

/** The same, whatever their shapes: a chunk of the one that lies inside the grid of the other is a
 * chunk of the other, too. Thread: any. */
bool zd_meta_has_same_encoding(const struct zd_meta *a, const struct zd_meta *b);

/**
 * Whether chunks that were made for another array, or for this one as it was, may be stored: all
 * but the shape is equal, the fill value too, since chunks of nothing else are left out. Thread:
 * any.
 */
bool zd_meta_takes_chunks(const struct zd_meta *meta, const struct zd_meta *of);

/** Whether the node must not be interpreted; its faults say why. */
static inline bool zd_meta_is_refused(const struct zd_meta *meta)
{
    return zd_faults_refuse(&meta->faults);
}

static inline bool zd_meta_is_array(const struct zd_meta *meta)
{
    return meta->type == ZD_NODE_ARRAY && !zd_meta_is_refused(meta);
}

/** The node as hooks of extensions see it; borrowed from it. */
static inline struct zd_subject zd_meta_subject(const struct zd_meta *meta)
{
    const bool is_array = meta->type == ZD_NODE_ARRAY;
    return (struct zd_subject){
        .grid = is_array ? &meta->grid : NULL,
        .dtype = is_array ? &meta->dtype : NULL,
        .fill = is_array ? meta->fill : NULL,
    };
}

/** The shape as clients see it: the stored one, without what lies before the origin. */
static inline void zd_meta_shape(const struct zd_meta *meta, uint64_t ret_shape[ZD_RANK_MAX])
{
    for (uint32_t d = 0; d < meta->grid.rank; d++) {
        ret_shape[d] = meta->grid.shape[d] - meta->view.origin[d];
    }
}

#endif
