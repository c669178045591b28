/* Edits judged without the stored object. */
#ifndef ZD_CORE_ARRAY_REWRITE_VERIFY_H
#define ZD_CORE_ARRAY_REWRITE_VERIFY_H

#include "core/array/rewrite_edit.h"

/**
 * What is judged without the stored object, before zd_rewrite: that bytes which a client encoded
 * decode to exactly one chunk (a shard chunk by chunk, so that it may be larger than memory), that
 * elements are as many as a chunk has, and that the array can be encoded. Where the array skips
 * empty chunks (its view), such chunks are taken out of what a client encoded, one after the other:
 * the edit becomes an erasure, or gets the bytes of a shard without them.
 *
 * @param edit        index and level lie within the layout; is_verified is set
 * @param decoded_max bytes of elements that encoded bytes may decode to, all inner chunks together
 * @retval ZD_CORRUPT     they do not decode: facts as the codecs tell
 * @retval ZD_INVALID     elements of another number of bytes: facts expected and found
 * @retval ZD_TOO_LARGE   more than decoded_max; facts limit, requested
 * @retval ZD_UNSUPPORTED a codec was dropped on read: nothing can be encoded, nor be sure to decode
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_rewrite_verify(const struct zd_layout *layout, struct zd_edit *edit,
    uint64_t decoded_max, struct zd_error *err);

#endif
