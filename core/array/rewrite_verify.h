/* Checking edits without the stored object. */
#ifndef ZD_CORE_ARRAY_REWRITE_VERIFY_H
#define ZD_CORE_ARRAY_REWRITE_VERIFY_H

#include "core/array/rewrite_edit.h"

/**
 * Check an edit before zd_rewrite: encoded bytes must decode to exactly one chunk (a shard is
 * decoded chunk by chunk, so it may be larger than memory), elements must be as many as a chunk
 * has, and the codecs of the array must be known. If the array skips empty chunks (its view), they
 * are removed from encoded bytes: the edit becomes an erasure, or gets a shard without them.
 *
 * @param edit        index and level lie within the layout; is_verified is set
 * @param decoded_max bytes of elements that encoded bytes may decode to, all inner chunks together
 * @retval ZD_CORRUPT     they do not decode; facts as set by the codecs
 * @retval ZD_INVALID     elements of another number of bytes: facts expected and found
 * @retval ZD_TOO_LARGE   more than decoded_max; facts limit, requested
 * @retval ZD_UNSUPPORTED reading has dropped an unknown codec: chunks cannot be encoded or checked
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_rewrite_verify(const struct zd_layout *layout, struct zd_edit *edit,
    uint64_t decoded_max, struct zd_error *err);

#endif
