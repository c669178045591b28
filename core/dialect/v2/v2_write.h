/* Writes the documents of Zarr v2: the writing hooks of the v2 dialect. */
#ifndef ZD_CORE_DIALECT_V2_V2_WRITE_H
#define ZD_CORE_DIALECT_V2_V2_WRITE_H

#include "core/dialect/dialect.h"

/** zd_dialect.render and so on. Thread: any. */
void zd_v2_render(const struct zd_json *document, const struct zd_stored_listing *listing,
    struct zd_document_texts *out, struct zd_faults *faults);
void zd_v2_patch(const struct zd_documents *stored, const struct zd_json *patch,
    struct zd_document_texts *out, struct zd_faults *faults);
ZD_RESULT zd_v2_take(
    struct zd_span text, const struct zd_json_limits *limits, struct zd_document_texts *out);
ZD_RESULT zd_v2_check(
    const struct zd_documents *documents, const struct zd_reading *reading, struct zd_error *err);

#endif
