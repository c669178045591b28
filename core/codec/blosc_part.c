/* Parts of a Blosc 1 frame.
 *
 *     frame   header | where each block begins | block | block | ...
 *     block   length | stream | length | stream | ...
 *
 * A block is one stream, or as many as an element has bytes. With the byte shuffle the first bytes
 * of all elements of a block come first, then all second ones; so each stream is one such plane, or
 * the only stream is all of them. */
#include "core/codec/blosc_part.h"

#include <lz4.h>
#include <string.h>

#include "core/base/num.h"

#define NAME         "blosc"
#define HEADER_BYTES 16
#define FORMAT_LZ4   1U
#define LZ4_VERSION  1U
#define START_BYTES  4 /* of the place of a block, and of the length of a stream */
#define STREAMS_MAX  16
#define STREAM_BYTES 128 /* the library cuts no shorter streams */

/* A block, and the bytes of it that are wanted. */
struct block {
    struct zd_span in;   /* from its first stream to the end of the frame */
    uint8_t *decoded;    /* len bytes: what its streams hold */
    uint32_t len;        /* decoded */
    uint32_t stream_len; /* divides len */
    uint32_t n_planes;   /* of one byte of each element; 1 = not shuffled */
    uint32_t first;      /* wanted: decoded bytes [first, end) of the block */
    uint32_t end;
};

enum zd_status zd_blosc_corrupt(struct zd_error *err, const char *what, uint64_t found)
{
    const enum zd_status status =
        zd_fail(err, ZD_CORRUPT, NAME ": %s (found %llu)", what, (unsigned long long)found);
    zd_fact_name(err, NAME);
    zd_fact_found(err, "%llu", (unsigned long long)found);
    return status;
}

static bool is_split(const struct zd_blosc_header *header)
{
    return (header->flags & ZD_BLOSC_UNSPLIT) == 0 && header->typesize > 1;
}

bool zd_blosc_has_parts(const struct zd_blosc_header *header)
{
    if ((header->flags & ZD_BLOSC_STORED) != 0) {
        return true;
    }
    const bool is_lz4 =
        ZD_BLOSC_FORMAT(header->flags) == FORMAT_LZ4 && header->compressor_version == LZ4_VERSION;
    const bool is_agreed =
        !is_split(header) ||
        (header->typesize <= STREAMS_MAX && header->blocksize % header->typesize == 0 &&
            header->blocksize / header->typesize >= STREAM_BYTES);
    return is_lz4 && is_agreed && (header->flags & ZD_BLOSC_BITSHUFFLED) == 0 &&
           header->blocksize <= header->nbytes;
}

/* How much of a stream, which holds decoded bytes from `at` on, is needed from its start; 0 = it
 * need not be decoded. */
static uint32_t needed_of(const struct block *block, uint32_t at, uint32_t stream_len)
{
    const uint32_t n_elements = block->len / block->n_planes;
    const uint32_t tail = n_elements * block->n_planes; /* behind the planes: bytes as they are */
    uint32_t first = block->first;
    uint32_t end = block->end;
    if (block->n_planes > 1 && stream_len < block->len) {
        return (uint32_t)zd_div_up(end, block->n_planes); /* the stream is a plane */
    }
    if (block->n_planes > 1 && end <= tail) {
        first = first / block->n_planes;
        end = tail - n_elements + (uint32_t)zd_div_up(end, block->n_planes);
    }
    return first < at + stream_len && end > at ? (uint32_t)zd_min_u64(end - at, stream_len) : 0;
}

static enum zd_status decode_stream(
    struct zd_span in, uint32_t stream_len, uint32_t needed, uint8_t *to, struct zd_error *err)
{
    if (in.len == stream_len) {
        memcpy(to, in.ptr, needed); /* it did not become shorter */
        return ZD_OK;
    }
    const int n = needed == stream_len ? LZ4_decompress_safe((const char *)in.ptr, (char *)to,
                                             (int)in.len, (int)stream_len)
                                       : LZ4_decompress_safe_partial((const char *)in.ptr,
                                             (char *)to, (int)in.len, (int)needed, (int)needed);
    if (n < 0 || (uint32_t)n != needed) {
        return zd_blosc_corrupt(err, "the frame cannot be decoded", in.len);
    }
    return ZD_OK;
}

static enum zd_status decode_streams(const struct block *block, struct zd_error *err)
{
    const uint32_t stream_len = block->stream_len;
    struct zd_span in = block->in;
    for (uint32_t at = 0; at < block->len; at += stream_len) {
        const uint32_t len = in.len < START_BYTES ? UINT32_MAX : zd_load_u32(in.ptr);
        if (len > INT32_MAX || len > in.len - START_BYTES) {
            return zd_blosc_corrupt(err, "a stream ends beyond the frame", len);
        }
        const struct zd_span stream = {.ptr = in.ptr + START_BYTES, .len = len};
        const uint32_t needed = needed_of(block, at, stream_len);
        if (needed > 0) {
            ZD_TRY(decode_stream(stream, stream_len, needed, block->decoded + at, err));
        }
        in.ptr += START_BYTES + len;
        in.len -= START_BYTES + len;
    }
    return ZD_OK;
}

/* Inlined with a constant n_planes, so that the inner loop is unrolled. */
static inline void weave(uint8_t *to, const uint8_t *planes, uint32_t n_elements, uint32_t n_planes,
    uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++) {
        for (uint32_t plane = 0; plane < n_planes; plane++) {
            to[(i - first) * n_planes + plane] = planes[plane * n_elements + i];
        }
    }
}

static void weave_elements(uint8_t *to, const struct block *block, uint32_t first, uint32_t end)
{
    const uint32_t n_elements = block->len / block->n_planes;
    switch (block->n_planes) {
    case 2:
        weave(to, block->decoded, n_elements, 2, first, end);
        return;
    case 4:
        weave(to, block->decoded, n_elements, 4, first, end);
        return;
    case 8:
        weave(to, block->decoded, n_elements, 8, first, end);
        return;
    default:
        weave(to, block->decoded, n_elements, block->n_planes, first, end);
    }
}

/* A byte of the block before its shuffle. */
static uint8_t byte_at(const struct block *block, uint32_t at)
{
    const uint32_t n_elements = block->len / block->n_planes;
    const bool is_tail = at >= n_elements * block->n_planes;
    return block->decoded[is_tail ? at : at % block->n_planes * n_elements + at / block->n_planes];
}

/* Whole elements together, the cut ones at both ends byte by byte. */
static void take_wanted(const struct block *block, uint8_t *to)
{
    if (block->n_planes == 1) {
        memcpy(to, block->decoded + block->first, block->end - block->first);
        return;
    }
    const uint32_t n_elements = block->len / block->n_planes;
    const uint32_t first = (uint32_t)zd_div_up(block->first, block->n_planes);
    const uint32_t end = (uint32_t)zd_min_u64(block->end / block->n_planes, n_elements);
    uint32_t at = block->first;
    while (at < block->end && at < first * block->n_planes) {
        *to++ = byte_at(block, at++);
    }
    if (first < end) {
        weave_elements(to, block, first, end);
        to += (size_t)(end - first) * block->n_planes;
        at = end * block->n_planes;
    }
    while (at < block->end) {
        *to++ = byte_at(block, at++);
    }
}

/* Block i: where it is in the frame, and which of its bytes are wanted. */
static enum zd_status open_block(const struct zd_blosc_header *header, struct zd_span frame,
    uint32_t i, struct zd_byte_range run, struct block *block, struct zd_error *err)
{
    const uint64_t begin = (uint64_t)i * header->blocksize;
    const uint64_t len = zd_min_u64(header->blocksize, header->nbytes - begin);
    const size_t place = HEADER_BYTES + (size_t)i * START_BYTES;
    if (frame.len < place + START_BYTES) {
        return zd_blosc_corrupt(err, "the frame ends before its blocks", frame.len);
    }
    const uint32_t start = zd_load_u32(frame.ptr + place);
    if (start < HEADER_BYTES || start >= frame.len) {
        return zd_blosc_corrupt(err, "a block begins outside of the frame", start);
    }
    const bool is_short = len < header->blocksize; /* such a one is never split */
    const bool is_shuffled = (header->flags & ZD_BLOSC_SHUFFLED) != 0 && header->typesize > 1;
    block->in = (struct zd_span){.ptr = frame.ptr + start, .len = frame.len - start};
    block->len = (uint32_t)len;
    block->stream_len = is_split(header) && !is_short ? block->len / header->typesize : block->len;
    block->n_planes = is_shuffled ? header->typesize : 1;
    block->first = (uint32_t)(zd_max_u64(run.first, begin) - begin);
    block->end = (uint32_t)(zd_min_u64(run.first + run.len, begin + len) - begin);
    return ZD_OK;
}

static enum zd_status decode_blocks(const struct zd_blosc_header *header, struct zd_span frame,
    struct zd_byte_range run, uint8_t *memory, uint8_t *to, struct zd_error *err)
{
    const uint64_t last = (run.first + run.len - 1) / header->blocksize;
    struct block block = {.decoded = memory, .n_planes = 1};
    for (uint64_t i = run.first / header->blocksize; i <= last; i++) {
        ZD_TRY(open_block(header, frame, (uint32_t)i, run, &block, err));
        ZD_TRY(decode_streams(&block, err));
        take_wanted(&block, to);
        to += block.end - block.first;
    }
    return ZD_OK;
}

enum zd_status zd_blosc_decode_part(const struct zd_blosc_header *header, struct zd_span frame,
    struct zd_byte_range run, uint8_t *to, struct zd_error *err)
{
    assert(zd_blosc_has_parts(header) && frame.len == header->cbytes);
    assert(run.len > 0 && run.first + run.len <= header->nbytes);
    if ((header->flags & ZD_BLOSC_STORED) != 0) {
        if (frame.len - HEADER_BYTES != header->nbytes) {
            return zd_blosc_corrupt(err,
                "a frame stored without compression has 16 bytes more than its data", frame.len);
        }
        memcpy(to, frame.ptr + HEADER_BYTES + run.first, run.len);
        return ZD_OK;
    }
    uint8_t *memory = zd_alloc(header->blocksize);
    if (memory == NULL) {
        return zd_fail(
            err, ZD_NO_MEMORY, NAME ": cannot allocate a block of %u bytes", header->blocksize);
    }
    const enum zd_status status = decode_blocks(header, frame, run, memory, to, err);
    zd_free(memory);
    return status;
}
