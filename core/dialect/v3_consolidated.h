/* Inline consolidated metadata of a v3 group: a stored listing of the nodes below it (zarr-python's
 * `consolidated_metadata`). */
#ifndef ZD_CORE_DIALECT_V3_CONSOLIDATED_H
#define ZD_CORE_DIALECT_V3_CONSOLIDATED_H

#include "core/dialect/dialect.h"

/**
 * Judge the member consolidated_metadata of a group and keep its map in meta->consolidated.
 * Reading ignores, with a warning, what it cannot use; to be written, every entry is judged too.
 *
 * @param block borrowed
 * Thread: any.
 */
void zd_v3_consolidated_parse(
    const struct zd_json *block, const struct zd_reading *reading, struct zd_meta *meta);

/** The block is past the limits of reading, and was left out: a warning. Thread: any. */
void zd_v3_consolidated_leave_out(const struct zd_error *why, struct zd_meta *meta);

/** zd_dialect.stored_node of the v3 dialect. */
ZD_RESULT zd_v3_consolidated_next(
    const struct zd_meta *meta, size_t *iter, struct zd_stored_node *ret_node);

#endif
