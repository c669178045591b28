/* Many byte strings in one body: multipart/mixed (RFC 2046, 5.1) and our frames (api.md 3.4). */
#ifndef ZD_HTTP_MULTIPART_H
#define ZD_HTTP_MULTIPART_H

#include "core/base/text.h"

#define ZD_FRAMES_TYPE    "application/vnd.zarrd.frames"
#define ZD_MULTIPART_TYPE "multipart/mixed"

#define ZD_BOUNDARY_BYTES 32

/** A boundary that bytes made by others do not hold; seed: the request's. */
void zd_multipart_boundary(char to[ZD_BOUNDARY_BYTES], struct zd_span seed);

/**
 * Add one part: Content-ID: <0,3> by the index, and `Zarr-Chunk: absent` when is_absent. Failures
 * stick in the text, as everywhere here. Thread: any.
 */
void zd_multipart_add(struct zd_text *text, const char *boundary, const uint64_t *index,
    uint32_t rank, struct zd_span bytes, bool is_absent);

/** The end of the body. */
void zd_multipart_end(struct zd_text *text, const char *boundary);

/** Add one frame: u32le position, u64le length, bytes. */
void zd_frame_add(struct zd_text *text, uint32_t position, struct zd_span bytes);

/** A frame that says: there is nothing (length 2^64 - 1). */
void zd_frame_add_absent(struct zd_text *text, uint32_t position);

#endif
