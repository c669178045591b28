/* A final v3 document, as JSON, to a node: every rule of the specification (Zarr v3, metadata). */
#ifndef ZD_CORE_DIALECT_V3_DOCUMENT_H
#define ZD_CORE_DIALECT_V3_DOCUMENT_H

#include "core/dialect/dialect.h"

/**
 * Judge a document and make its node. A consolidated block of a group is left alone here.
 *
 * @param dialect  the node's; static
 * @param document any JSON value; borrowed
 * @param ret_meta owned; refused when the document is faulty
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_v3_document_parse(const struct zd_dialect *dialect, const struct zd_json *document,
    const struct zd_reading *reading, struct zd_meta **ret_meta, struct zd_error *err);

#endif
