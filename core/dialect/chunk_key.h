/* Keys of chunks in the two encodings that every dialect's model knows (Zarr v3,
 * chunk_key_encoding). */
#ifndef ZD_CORE_DIALECT_CHUNK_KEY_H
#define ZD_CORE_DIALECT_CHUNK_KEY_H

#include "core/dialect/meta.h"

/**
 * Add the key of a chunk, relative to its node: "c/0/1", "0.1".
 *
 * @param index rank entries, inside the grid
 * @retval ZD_TOO_LARGE the key does not fit
 * Thread: any.
 */
ZD_RESULT zd_chunk_key_add(const struct zd_meta *meta, const uint64_t *index, struct zd_text *key);

/**
 * The chunk that a key names, exactly: no sign, no leading zero, nothing left over.
 *
 * @param ret_index rank entries; untouched on failure
 * @retval ZD_NOT_FOUND     it is no chunk key of that array
 * @retval ZD_OUT_OF_BOUNDS it would be one of a larger grid
 * Thread: any.
 */
ZD_RESULT zd_chunk_key_parse(const struct zd_meta *meta, struct zd_span key, uint64_t *ret_index);

/** Both with the first number glued to its letter, as drafts of v3 had it: "c0/1"; a scalar has
 * "c", or "c0" where meta->is_scalar_numbered. */
ZD_RESULT zd_chunk_key_add_glued(
    const struct zd_meta *meta, const uint64_t *index, struct zd_text *key);
ZD_RESULT zd_chunk_key_parse_glued(
    const struct zd_meta *meta, struct zd_span key, uint64_t *ret_index);

/** zd_chunk_key_parse of a grid whose keys have the default encoding, with '/'. */
ZD_RESULT zd_chunk_key_parse_default(
    const struct zd_grid *grid, struct zd_span key, uint64_t *ret_index);

#endif
