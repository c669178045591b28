/* The drafts of Zarr v3 of February to October 2023: documents under the key of final v3 with a few
 * older spellings. */
#ifndef ZD_CORE_DIALECT_V3_DRAFT_2023_06_H
#define ZD_CORE_DIALECT_V3_DRAFT_2023_06_H

#include "core/dialect/dialect.h"

/**
 * Judge the document of a `zarr.json`: where it has a mark of those drafts it makes a node of
 * draft-2023-06, and what is found points to the document as it is; else one of v3. Final v3
 * refuses every mark, so that none is ever taken for the other. To be written, there is only v3.
 *
 * @param document any JSON value; borrowed
 * @param ret_meta owned; refused when the document is faulty
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_draft_2023_06_parse_any(const struct zd_json *document,
    const struct zd_reading *reading, struct zd_meta **ret_meta, struct zd_error *err);

#endif
