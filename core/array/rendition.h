/* How a node is shown to readers that know final v3 alone: in the views /v3 and /v3-unsharded.
 * No I/O. */
#ifndef ZD_CORE_ARRAY_RENDITION_H
#define ZD_CORE_ARRAY_RENDITION_H

#include "core/array/layout.h"

enum zd_view_kind {
    ZD_VIEW_NONE,      /* nodes as they are */
    ZD_VIEW_V3,        /* as final v3 */
    ZD_VIEW_UNSHARDED, /* the same; sharded arrays as plain ones, of their innermost chunks */
};

/** Which bytes are the chunks of a view, and how their keys are made. */
struct zd_rendition {
    uint32_t level;      /* of the layout: its chunks are those of the view */
    bool is_decoded;     /* each is its elements, little-endian, in C order; those of variable
                            length as zd_vlen_write has them */
    bool has_stored_key; /* chunks have the keys that are stored; else those of the default encoding
                            with '/' (Zarr v3, chunk_key_encoding) */
};

/** Why final v3 has no words for an array that is not refused, or NULL. Thread: any. */
const char *zd_rendition_refusal(const struct zd_meta *meta);

/** The rendition of an array that is not refused. Thread: any. */
struct zd_rendition zd_rendition_of(const struct zd_layout *layout, enum zd_view_kind kind);

/**
 * The final v3 document of a node in a view.
 *
 * @param meta             not refused, nor by zd_rendition_refusal
 * @param ret_document     owned: a reference, perhaps to that of the node
 * @retval ZD_UNSUPPORTED  an array of which chunks cannot be read one by one
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_rendition_document(struct zd_meta *meta, enum zd_view_kind kind,
    struct zd_json **ret_document, struct zd_error *err);

/**
 * The chunk of a view that a key below its array names.
 *
 * @param ret_index rank entries, in the grid of the rendition's level
 * @retval ZD_NOT_FOUND, ZD_OUT_OF_BOUNDS as zd_chunk_key_parse
 * Thread: any.
 */
ZD_RESULT zd_rendition_chunk(const struct zd_layout *layout, const struct zd_rendition *rendition,
    const char *key, uint64_t *ret_index);

#endif
