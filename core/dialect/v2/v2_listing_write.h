/* Writes consolidated metadata of v2 groups: documents by their keys, and the hooks of the dialect
 * for listings. Thread: any. */
#ifndef ZD_CORE_DIALECT_V2_V2_LISTING_WRITE_H
#define ZD_CORE_DIALECT_V2_V2_LISTING_WRITE_H

#include "core/base/emit.h"
#include "core/dialect/dialect.h"

/** zd_dialect.list: members with the documents as they are stored. */
void zd_v2_listing_write_node(const char *path, const struct zd_meta *meta, struct zd_emit *emit);

/**
 * The same of a node of any dialect, for readers of v2, as JSON: bare NaN are strings.
 *
 * @param path "" is the group itself
 * @param meta without a finding that is invalid
 * @retval ZD_INVALID, ZD_UNSUPPORTED v2 cannot say it, as the text does: nothing was added
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_v2_listing_write_any(
    const char *path, const struct zd_meta *meta, struct zd_emit *emit, struct zd_error *err);

/** Write the members after the documents. */
void zd_v2_listing_write_end(struct zd_emit *emit);

/** zd_dialect.set_listing: the group's own documents come first. */
void zd_v2_listing_write_set(const struct zd_documents *stored,
    const struct zd_stored_listing *listing, struct zd_document_texts *out);

/** zd_dialect.change_listing. */
void zd_v2_listing_write_change(const struct zd_documents *stored,
    const struct zd_listing_change *change, size_t n, struct zd_document_texts *out);

/**
 * The listing of a group whose own documents change: of what is made, else of what is stored.
 * Dropped where there is none that can be read, or no room for it.
 */
void zd_v2_listing_write_own(const struct zd_documents *stored, struct zd_document_texts *out);

#endif
