/* The text of a v3 document: a tree, but for the listing of a group, which stays text. */
#ifndef ZD_CORE_DIALECT_V3_V3_TEXT_H
#define ZD_CORE_DIALECT_V3_V3_TEXT_H

#include "core/dialect/dialect.h"

#define ZD_V3_BLOCK "consolidated_metadata" /* Zarr v3, consolidated metadata */

/** A text that was read. */
struct zd_v3_text {
    struct zd_json *json;              /* of a group with an empty map in the block; owned */
    struct zd_stored_listing *listing; /* that map, or NULL: there is none. A reference */
    uint64_t listing_bytes;            /* of the block */
    bool is_bare;                      /* the block is the map itself */
    bool has_nonfinite;                /* a bare NaN or infinity is in the map */
    struct zd_error why_left_out;      /* not ZD_OK: the block is past the limits; null stands in
                                          its place */
};

/**
 * Read the text of a document. The block holds the documents of any number of nodes, so that the
 * limits of one document say nothing of it: its bytes are bounded by a limit of their own, and the
 * values grow with the bytes as they do in one document. An entry is judged like a document by
 * itself when it is used. To be read, a block past the limits is left out.
 *
 * @param ret_text owned
 * @retval ZD_INVALID   it is not JSON
 * @retval ZD_TOO_LARGE facts limit and requested
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_v3_text_parse(const struct zd_documents *documents, const struct zd_reading *reading,
    struct zd_v3_text **ret_text, struct zd_error *err);

/**
 * Whether a block is as the seed of ZEP 6 has it: the map itself, without what is around it now. It
 * is read so, and not written. @param block text of a JSON value. Thread: any.
 */
bool zd_v3_text_is_bare(struct zd_span block);

void zd_v3_text_free(struct zd_v3_text *text); /* accepts NULL */
ZD_OWN(zd_v3_text, zd_v3_text_free);

/** zd_dialect.check of the v3 dialect, of one text. */
ZD_RESULT zd_v3_text_check(
    struct zd_span text, const struct zd_reading *reading, struct zd_error *err);

#endif
