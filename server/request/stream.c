/* Bodies that are sent while they are made. */
#include "server/request/stream.h"

#include <assert.h>
#include <string.h>

#include "core/base/num.h"

#define SPARE_SHARE 2 /* a spare buffer serves when no more than this many times too large */

void zd_stream_init(struct zd_stream *stream, uint64_t bytes_max)
{
    *stream = (struct zd_stream){.bytes_max = bytes_max};
}

void zd_stream_drop(struct zd_stream *stream)
{
    for (; stream->n > 0; stream->n--) {
        zd_buf_unref(stream->piece[stream->first].buf);
        stream->first = (stream->first + 1) % ZD_STREAM_PIECES;
    }
    stream->held_bytes = 0;
    zd_buf_unref(stream->spare);
    stream->spare = NULL;
    stream->room = NULL;
}

void zd_stream_done(struct zd_stream *stream)
{
    zd_stream_drop(stream);
    zd_stream_init(stream, 0);
}

void zd_stream_cut(struct zd_stream *stream)
{
    zd_stream_drop(stream);
    stream->state = ZD_STREAM_CUT;
}

bool zd_stream_has_room(const struct zd_stream *stream, uint64_t bytes)
{
    const bool fits =
        stream->held_bytes < stream->bytes_max && bytes <= stream->bytes_max - stream->held_bytes;
    return stream->n == 0 || (stream->n < ZD_STREAM_PIECES && fits);
}

enum zd_next zd_stream_want_room(struct zd_stream *stream, uint64_t bytes, struct zd_wait *wait)
{
    if (zd_stream_has_room(stream, bytes)) {
        return ZD_NEXT;
    }
    stream->room = wait;
    stream->wanted_bytes = bytes;
    return ZD_WAIT;
}

struct zd_buf *zd_stream_buf(struct zd_stream *stream, size_t cap)
{
    struct zd_buf *spare = ZD_TAKE(stream->spare);
    if (spare != NULL && spare->cap >= cap && spare->cap / SPARE_SHARE <= cap) {
        spare->len = 0;
        return spare;
    }
    zd_buf_unref(spare);
    return zd_buf_new(cap);
}

void zd_stream_push(struct zd_stream *stream, struct zd_buf *buf, size_t from, size_t len)
{
    assert(stream->n < ZD_STREAM_PIECES && from + len <= buf->len);
    const uint32_t last = (stream->first + stream->n) % ZD_STREAM_PIECES;
    stream->piece[last] = (struct zd_stream_piece){.buf = buf, .from = from, .len = len};
    stream->held_bytes += buf->cap;
    stream->n++;
}

/* The first piece is drained; its buffer is kept when no other reference reads it. */
static void pop(struct zd_stream *stream)
{
    struct zd_buf *buf = stream->piece[stream->first].buf;
    stream->held_bytes -= buf->cap;
    stream->first = (stream->first + 1) % ZD_STREAM_PIECES;
    stream->n--;
    if (stream->spare == NULL && atomic_load_explicit(&buf->refs, memory_order_acquire) == 1) {
        stream->spare = buf;
        return;
    }
    zd_buf_unref(buf);
}

size_t zd_stream_take(struct zd_stream *stream, void *to, size_t len_max)
{
    size_t len = 0;
    while (stream->n > 0 && len < len_max) {
        struct zd_stream_piece *piece = &stream->piece[stream->first];
        const size_t n = zd_min_u64(piece->len, len_max - len);
        memcpy((uint8_t *)to + len, piece->buf->data + piece->from, n);
        piece->from += n;
        piece->len -= n;
        len += n;
        if (piece->len == 0) {
            pop(stream);
        }
    }
    stream->taken_bytes += len;
    if (stream->room != NULL && zd_stream_has_room(stream, stream->wanted_bytes)) {
        zd_wait_end(ZD_TAKE(stream->room), ZD_OK, NULL);
    }
    return len;
}
