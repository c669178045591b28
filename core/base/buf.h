/* Bytes that cross a module or a thread: counted, and immutable once shared. */
#ifndef ZD_CORE_BASE_BUF_H
#define ZD_CORE_BASE_BUF_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/own.h"

/** Borrowed bytes. */
struct zd_span {
    const uint8_t *ptr; /* NULL only when len is 0 */
    size_t len;         /* bytes */
};

/** Some bytes of something longer. */
struct zd_byte_range {
    uint64_t first;
    uint64_t len;
};

/** A counted buffer. One owner fills data[0 .. cap) and sets len; from the first ref on nobody
 * writes. */
struct zd_buf {
    _Atomic uint32_t refs;
    size_t len;     /* bytes in use; <= cap */
    size_t cap;     /* bytes at data */
    uint8_t *data;  /* whoever fills it may leave bytes out at its beginning */
    uint8_t *taken; /* bytes that were there before it (zd_buf_take); owned; or NULL */
};

/**
 * A new buffer with room for cap bytes, len 0, contents undefined.
 *
 * @return owned, one reference; NULL when memory is short
 * Thread: any.
 */
struct zd_buf *zd_buf_new(size_t cap);

/** A new buffer that holds a copy of bytes, or NULL. Thread: any. */
struct zd_buf *zd_buf_copy(struct zd_span bytes);

/**
 * A buffer of bytes that are there.
 *
 * @param bytes  len of them, from zd_alloc; taken over, but not on failure
 * @return owned, one reference; NULL when memory is short
 * Thread: any.
 */
struct zd_buf *zd_buf_take(uint8_t *bytes, size_t len);

/** Take another reference; returns its argument. Thread: any. */
struct zd_buf *zd_buf_ref(struct zd_buf *buf);

/** Drop a reference; the last one frees. Accepts NULL. Thread: any. */
void zd_buf_unref(struct zd_buf *buf);

ZD_OWN(zd_buf, zd_buf_unref);

static inline struct zd_span zd_buf_span(const struct zd_buf *buf)
{
    return (struct zd_span){.ptr = buf->data, .len = buf->len};
}

struct zd_span zd_span_of(const char *text);
bool zd_span_equal(struct zd_span a, struct zd_span b);
bool zd_span_is(struct zd_span span, const char *text);
struct zd_span zd_span_trim(struct zd_span span); /* without spaces and tabs at both ends */

#endif
