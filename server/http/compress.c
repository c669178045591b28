/* Content codings (RFC 9110, 8.4.1): gzip and zstd. */
#include "server/http/compress.h"

#include <libdeflate.h>
#include <zlib.h>
#include <zstd.h>

#include "core/base/num.h"

/* A client waits for the compression, or its result is cached and sent often: at these levels JSON
 * has stopped shrinking much. The window of this zstd level is 2 MiB; browsers take up to 8 (RFC
 * 9659, 3). */
#define GZIP_LEVEL 6
#define ZSTD_LEVEL 3

/* Estimates for JSON. */
#define GZIP_NS_PER_BYTE 8
#define ZSTD_NS_PER_BYTE 3
#define COMPRESSOR_NS    15000 /* to set one up */

#define GZIP_WINDOW_BITS (15 + 16) /* 32 KiB, and the header of gzip */
#define GZIP_MEMORY      8
#define OUT_BYTES        (32U << 10)

const char *zd_compress_name(enum zd_coding coding)
{
    static const char *const names[ZD_CODINGS] = {"identity", "gzip", "zstd"};
    return names[coding];
}

uint64_t zd_compress_cost_ns(enum zd_coding coding, uint64_t len)
{
    return COMPRESSOR_NS + len * (coding == ZD_GZIP ? GZIP_NS_PER_BYTE : ZSTD_NS_PER_BYTE);
}

/* NULL: no memory. */
static struct zd_buf *gzip(struct zd_span from)
{
    struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(GZIP_LEVEL);
    if (compressor == NULL) {
        return NULL;
    }
    struct zd_buf *body = zd_buf_new(libdeflate_gzip_compress_bound(compressor, from.len));
    if (body != NULL) {
        body->len = libdeflate_gzip_compress(compressor, from.ptr, from.len, body->data, body->cap);
        assert(body->len > 0); /* the bound is enough */
    }
    libdeflate_free_compressor(compressor);
    return body;
}

/* NULL: no memory. */
static struct zd_buf *zstd(struct zd_span from)
{
    ZD_AUTO(zd_buf) body = zd_buf_new(ZSTD_compressBound(from.len));
    if (body == NULL) {
        return NULL;
    }
    const size_t len = ZSTD_compress(body->data, body->cap, from.ptr, from.len, ZSTD_LEVEL);
    if (ZSTD_isError(len)) {
        return NULL; /* the bound is enough: nothing else fails */
    }
    body->len = len;
    return ZD_TAKE(body);
}

enum zd_status zd_compress(enum zd_coding coding, struct zd_span from, struct zd_buf **ret_body)
{
    assert(coding == ZD_GZIP || coding == ZD_ZSTD);
    ZD_AUTO(zd_buf) room = coding == ZD_GZIP ? gzip(from) : zstd(from);
    /* The bound is about the plain length: a cached body must not take more than it needs. */
    struct zd_buf *body = room == NULL ? NULL : zd_buf_copy(zd_buf_span(room));
    if (body == NULL) {
        return ZD_NO_MEMORY;
    }
    *ret_body = body;
    return ZD_OK;
}

struct zd_compress_stream {
    ZSTD_CCtx *zstd; /* or NULL: gzip */
    z_stream gzip;
    uint8_t out[OUT_BYTES];
};

struct zd_compress_stream *zd_compress_begin(enum zd_coding coding)
{
    assert(coding == ZD_GZIP || coding == ZD_ZSTD);
    struct zd_compress_stream *stream = zd_alloc_zero(1, sizeof *stream);
    if (stream == NULL) {
        return NULL;
    }
    if (coding == ZD_ZSTD) {
        stream->zstd = ZSTD_createCCtx(); /* its level is ZSTD_LEVEL */
    }
    if (coding == ZD_ZSTD ? stream->zstd == NULL
                          : deflateInit2(&stream->gzip, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW_BITS,
                                GZIP_MEMORY, Z_DEFAULT_STRATEGY) != Z_OK) {
        zd_free(stream);
        return NULL;
    }
    return stream;
}

void zd_compress_end(struct zd_compress_stream *stream)
{
    if (stream != NULL && stream->zstd != NULL) {
        (void)ZSTD_freeCCtx(stream->zstd);
    } else if (stream != NULL) {
        (void)deflateEnd(&stream->gzip);
    }
    zd_free(stream);
}

static ZD_RESULT zstd_piece(
    struct zd_compress_stream *stream, struct zd_span from, bool is_last, struct zd_text *to)
{
    ZSTD_inBuffer in = {.src = from.ptr, .size = from.len};
    size_t left = 1;
    while (left != 0) {
        ZSTD_outBuffer out = {.dst = stream->out, .size = OUT_BYTES};
        left = ZSTD_compressStream2(stream->zstd, &out, &in, is_last ? ZSTD_e_end : ZSTD_e_flush);
        if (ZSTD_isError(left)) {
            return ZD_NO_MEMORY; /* nothing else fails */
        }
        ZD_TRY(zd_text_add_bytes(to, stream->out, out.pos));
    }
    return ZD_OK;
}

static ZD_RESULT gzip_piece(
    struct zd_compress_stream *stream, struct zd_span from, bool is_last, struct zd_text *to)
{
    z_stream *gzip = &stream->gzip;
    size_t left = from.len;
    gzip->next_in = (uint8_t *)(uintptr_t)from.ptr;
    do {
        const size_t n_in = zd_min_u64(left, UINT32_MAX);
        gzip->avail_in = (uInt)n_in;
        gzip->next_out = stream->out;
        gzip->avail_out = OUT_BYTES;
        const bool is_end = n_in == left;
        (void)deflate(gzip, !is_end ? Z_NO_FLUSH : is_last ? Z_FINISH : Z_SYNC_FLUSH);
        left -= n_in - gzip->avail_in;
        ZD_TRY(zd_text_add_bytes(to, stream->out, OUT_BYTES - gzip->avail_out));
    } while (left > 0 || gzip->avail_out == 0);
    return ZD_OK;
}

enum zd_status zd_compress_piece(
    struct zd_compress_stream *stream, struct zd_span from, bool is_last, struct zd_text *to)
{
    return stream->zstd != NULL ? zstd_piece(stream, from, is_last, to)
                                : gzip_piece(stream, from, is_last, to);
}
