/* Many byte strings in one body: multipart/mixed (RFC 2046, 5.1) and binary frames. */
#ifndef ZD_HTTP_MULTIPART_H
#define ZD_HTTP_MULTIPART_H

#include "core/base/text.h"

#define ZD_FRAMES_TYPE    "application/vnd.zarrd.frames"
#define ZD_MULTIPART_TYPE "multipart/mixed"

#define ZD_BOUNDARY_BYTES 32

/** An unpredictable boundary. @param seed bytes of the request */
void zd_multipart_boundary(char to[ZD_BOUNDARY_BYTES], struct zd_span seed);

/**
 * Add one part: Content-ID: <0,3> by the index, and `Zarr-Chunk: absent` when is_absent. A
 * failure stays in the text. Thread: any.
 */
void zd_multipart_add(struct zd_text *text, const char *boundary, const uint64_t *index,
    uint32_t rank, struct zd_span bytes, bool is_absent);

/** The end of the body. */
void zd_multipart_end(struct zd_text *text, const char *boundary);

/** Add one frame: u32le position, u64le length, bytes. An absent chunk's length is 2^64 - 1. */
void zd_multipart_frame_add(
    struct zd_text *text, uint32_t position, struct zd_span bytes, bool is_absent);

#endif
