/* Writes the texts of final v3 documents: the writing hooks of the v3 dialect. */
#ifndef ZD_CORE_DIALECT_V3_V3_WRITE_H
#define ZD_CORE_DIALECT_V3_V3_WRITE_H

#include "core/dialect/dialect.h"

/** zd_dialect.render and so on. Thread: any. */
void zd_v3_render(const struct zd_json *document, const struct zd_stored_listing *listing,
    struct zd_document_texts *out, struct zd_faults *faults);
void zd_v3_patch(const struct zd_documents *stored, const struct zd_json *patch,
    struct zd_document_texts *out, struct zd_faults *faults);
void zd_v3_set_listing(const struct zd_documents *stored, const struct zd_stored_listing *listing,
    struct zd_document_texts *out);
void zd_v3_change_listing(const struct zd_documents *stored, const struct zd_listing_change *change,
    size_t n, struct zd_document_texts *out);

#endif
