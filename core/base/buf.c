/* Bytes that cross a module or a thread: counted, and immutable once shared. */
#include "core/base/buf.h"

#include <assert.h>
#include <stdalign.h>
#include <string.h>

#include "core/base/num.h"

/* The bytes follow the header in one allocation, aligned for any element, unless they were there
 * before it. */
#define HEADER_BYTES ((sizeof(struct zd_buf) + 63) / 64 * 64)

struct zd_buf *zd_buf_new(size_t cap)
{
    size_t len;
    if (ckd_add(&len, cap, HEADER_BYTES)) {
        return NULL;
    }
    struct zd_buf *buf = zd_alloc(len);
    if (buf == NULL) {
        return NULL;
    }
    atomic_init(&buf->refs, 1);
    buf->len = 0;
    buf->cap = cap;
    buf->data = (uint8_t *)buf + HEADER_BYTES;
    buf->taken = NULL;
    return buf;
}

struct zd_buf *zd_buf_copy(struct zd_span bytes)
{
    struct zd_buf *buf = zd_buf_new(bytes.len);
    if (buf != NULL && bytes.len > 0) {
        memcpy(buf->data, bytes.ptr, bytes.len);
        buf->len = bytes.len;
    }
    return buf;
}

struct zd_buf *zd_buf_take(uint8_t *bytes, size_t len)
{
    struct zd_buf *buf = zd_buf_new(0);
    if (buf != NULL) {
        buf->taken = bytes;
        buf->data = bytes;
        buf->len = len;
        buf->cap = len;
    }
    return buf;
}

struct zd_buf *zd_buf_ref(struct zd_buf *buf)
{
    const uint32_t before = atomic_fetch_add_explicit(&buf->refs, 1, memory_order_relaxed);
    assert(before > 0);
    (void)before;
    return buf;
}

void zd_buf_unref(struct zd_buf *buf)
{
    if (buf == NULL) {
        return;
    }
    if (atomic_fetch_sub_explicit(&buf->refs, 1, memory_order_acq_rel) == 1) {
        zd_free(buf->taken);
        zd_free(buf);
    }
}

struct zd_span zd_span_of(const char *text)
{
    return (struct zd_span){.ptr = (const uint8_t *)text, .len = strlen(text)};
}

bool zd_span_equal(struct zd_span a, struct zd_span b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

bool zd_span_is(struct zd_span span, const char *text)
{
    return zd_span_equal(span, zd_span_of(text));
}

struct zd_span zd_span_trim(struct zd_span span)
{
    while (span.len > 0 && (span.ptr[0] == ' ' || span.ptr[0] == '\t')) {
        span.ptr++;
        span.len--;
    }
    while (span.len > 0 && (span.ptr[span.len - 1] == ' ' || span.ptr[span.len - 1] == '\t')) {
        span.len--;
    }
    return span;
}
