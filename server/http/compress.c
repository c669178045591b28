/* Content codings (RFC 9110, 8.4.1): gzip and zstd. */
#include "server/http/compress.h"

#include <libdeflate.h>
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

const char *zd_compress_name(enum zd_coding coding)
{
    static const char *const names[ZD_CODINGS] = {"identity", "gzip", "zstd"};
    return names[coding];
}

uint64_t zd_compress_cost_ns(enum zd_coding coding, uint64_t len)
{
    return COMPRESSOR_NS + len * (coding == ZD_GZIP ? GZIP_NS_PER_BYTE : ZSTD_NS_PER_BYTE);
}

static enum zd_status gzip(struct zd_span from, struct zd_buf **ret_body)
{
    struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(GZIP_LEVEL);
    if (compressor == NULL) {
        return ZD_NO_MEMORY;
    }
    struct zd_buf *body = zd_buf_new(libdeflate_gzip_compress_bound(compressor, from.len));
    if (body != NULL) {
        body->len = libdeflate_gzip_compress(compressor, from.ptr, from.len, body->data, body->cap);
        assert(body->len > 0); /* the bound is enough */
    }
    libdeflate_free_compressor(compressor);
    *ret_body = body;
    return body == NULL ? ZD_NO_MEMORY : ZD_OK;
}

static enum zd_status zstd(struct zd_span from, struct zd_buf **ret_body)
{
    ZD_AUTO(zd_buf) body = zd_buf_new(ZSTD_compressBound(from.len));
    if (body == NULL) {
        return ZD_NO_MEMORY;
    }
    const size_t len = ZSTD_compress(body->data, body->cap, from.ptr, from.len, ZSTD_LEVEL);
    if (ZSTD_isError(len)) {
        return ZD_NO_MEMORY; /* the bound is enough: nothing else fails */
    }
    body->len = len;
    *ret_body = ZD_TAKE(body);
    return ZD_OK;
}

enum zd_status zd_compress(enum zd_coding coding, struct zd_span from, struct zd_buf **ret_body)
{
    assert(coding == ZD_GZIP || coding == ZD_ZSTD);
    struct zd_buf *room = NULL;
    ZD_TRY(coding == ZD_GZIP ? gzip(from, &room) : zstd(from, &room));
    /* The bound is about the plain length: a cached body must not take more than it needs. */
    struct zd_buf *body = zd_buf_copy(zd_buf_span(room));
    zd_buf_unref(room);
    if (body == NULL) {
        return ZD_NO_MEMORY;
    }
    *ret_body = body;
    return ZD_OK;
}
