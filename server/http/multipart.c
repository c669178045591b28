/* Many byte strings in one body: multipart/mixed (RFC 2046, 5.1) and binary frames. */
#include "server/http/multipart.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/base/hash.h"
#include "core/base/num.h"

void zd_multipart_boundary(char to[ZD_BOUNDARY_BYTES], struct zd_span seed)
{
    snprintf(to, ZD_BOUNDARY_BYTES, "zarrd-%016" PRIx64, zd_hash_of(seed, zd_hash_random_seed()));
}

void zd_multipart_add(struct zd_text *text, const char *boundary, const uint64_t *index,
    uint32_t rank, struct zd_span bytes, bool is_absent)
{
    zd_text_addf(text, "--%s\r\nContent-Type: application/octet-stream\r\nContent-ID: <", boundary);
    for (uint32_t d = 0; d < rank; d++) {
        zd_text_add(text, d == 0 ? "" : ",");
        zd_text_add_u64(text, index[d]);
    }
    zd_text_addf(text, ">\r\nContent-Length: %zu\r\n", bytes.len);
    zd_text_add(text, is_absent ? "Zarr-Chunk: absent\r\n\r\n" : "\r\n");
    zd_text_add_bytes(text, bytes.ptr, bytes.len);
    zd_text_add(text, "\r\n");
}

void zd_multipart_end(struct zd_text *text, const char *boundary)
{
    zd_text_addf(text, "--%s--\r\n", boundary);
}

void zd_multipart_frame_add(
    struct zd_text *text, uint32_t position, struct zd_span bytes, bool is_absent)
{
    uint8_t head[sizeof(uint32_t) + sizeof(uint64_t)];
    zd_store_u32(head, position);
    zd_store_u64(head + sizeof position, is_absent ? UINT64_MAX : bytes.len);
    zd_text_add_bytes(text, head, sizeof head);
    zd_text_add_bytes(text, bytes.ptr, bytes.len);
}
