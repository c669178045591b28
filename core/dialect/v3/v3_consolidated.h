/* Inline consolidated metadata of a v3 group: a stored listing of the nodes below it (zarr-python's
 * `consolidated_metadata`). */
#ifndef ZD_CORE_DIALECT_V3_V3_CONSOLIDATED_H
#define ZD_CORE_DIALECT_V3_V3_CONSOLIDATED_H

#include "core/dialect/dialect.h"

/** A block as it is found in a group's text. */
struct zd_v3_block {
    const struct zd_json *json;        /* the block, with an empty map; borrowed */
    struct zd_stored_listing *listing; /* the map; NULL: there is none. Borrowed */
    bool is_bare;                      /* the block is the map itself (zd_v3_text_is_bare) */
    bool has_nonfinite;                /* a bare NaN or infinity is in the map */
};

/**
 * Judge the member consolidated_metadata of a group and keep its map in meta->listing. Reading
 * ignores, with a warning, what it cannot use; to be written, every entry is judged too.
 *
 * Thread: any.
 */
void zd_v3_consolidated_judge(
    const struct zd_v3_block *block, const struct zd_reading *reading, struct zd_meta *meta);

/** The block is past the limits of reading, and was left out: a warning. Thread: any. */
void zd_v3_consolidated_leave_out(const struct zd_error *why, struct zd_meta *meta);

/** zd_dialect.parse_entry of the v3 dialect. */
ZD_RESULT zd_v3_consolidated_parse_entry(const struct zd_stored_entry *entry,
    const struct zd_reading *reading, struct zd_meta **ret_meta, struct zd_error *err);

#endif
