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
