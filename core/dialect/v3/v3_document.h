/* A final v3 document, as JSON, to a node: every rule of the specification (Zarr v3, metadata). */
#ifndef ZD_CORE_DIALECT_V3_V3_DOCUMENT_H
#define ZD_CORE_DIALECT_V3_V3_DOCUMENT_H

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

/**
 * Judge a document into a node that was just made, which may have findings already.
 *
 * @param meta its document is set, whether it is refused or not
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_v3_document_judge(const struct zd_json *document, const struct zd_reading *reading,
    struct zd_meta *meta, struct zd_error *err);

/** The node of a text that could not even be read as JSON. @param why ZD_INVALID or ZD_TOO_LARGE
 * @param ret_meta owned; refused. Thread: any. */
ZD_RESULT zd_v3_document_refuse(const struct zd_dialect *dialect, const struct zd_error *why,
    struct zd_meta **ret_meta, struct zd_error *err);

#endif
