/* The members that only an array's final v3 document has: judged, taken into the model, written
 * back. */
#ifndef ZD_CORE_DIALECT_V3_V3_ARRAY_H
#define ZD_CORE_DIALECT_V3_V3_ARRAY_H

#include "core/dialect/meta.h"

/**
 * Judge shape, data_type, chunk_grid, chunk_key_encoding, fill_value, codecs, dimension_names and
 * storage_transformers. Every fault goes to meta->faults; a member that cannot be understood does
 * not make faults of those that depend on it, which are judged as far as they do not.
 *
 * @param document an object; borrowed
 * @param meta     its array part is filled in as far as it goes
 * @return whether grid, data type and fill value are known: what extensions are judged with
 * Thread: any.
 */
bool zd_v3_array_parse(
    const struct zd_json *document, enum zd_judgement judgement, struct zd_meta *meta);

/**
 * Put the members shape to codecs into a document, in their canonical form and order.
 *
 * @param meta an array, not refused
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_v3_array_render(const struct zd_meta *meta, struct zd_json *document);

/** Put dimension_names in, when there are any. */
ZD_RESULT zd_v3_array_render_names(const struct zd_meta *meta, struct zd_json *document);

#endif
