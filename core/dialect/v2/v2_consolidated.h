/* Consolidated metadata of a v2 group, `.zmetadata`: the documents of the group and of the nodes
 * below it, by their keys (zarr-python's consolidate_metadata). The root of a hierarchy of
 * draft-2020 has one, too, with other keys. */
#ifndef ZD_CORE_DIALECT_V2_V2_CONSOLIDATED_H
#define ZD_CORE_DIALECT_V2_V2_CONSOLIDATED_H

#include "core/dialect/dialect.h"

#define ZD_V2_LISTING_LEVELS 2 /* above the documents that it lists: itself, and its map */

/** How its keys name nodes: "a/b/.zarray". */
zd_stored_listing_tell zd_v2_consolidated_tell;

/**
 * Judge the text of a `.zmetadata` and keep its map in meta->listing. Reading ignores, with a
 * warning, what it cannot use, all of it if need be; to be written, every entry is judged too.
 *
 * @param text  the document; without bytes: it is longer than the limit, and was not read
 * @param bytes that hold it; or NULL: a copy is made
 * @param tell  how its keys name nodes
 * @param meta  of the group; its dialect has parse_entry
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_v2_consolidated_judge(struct zd_span text, struct zd_buf *bytes,
    zd_stored_listing_tell *tell, const struct zd_reading *reading, struct zd_meta *meta);

#endif
