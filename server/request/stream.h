/* Bodies that are sent while they are made: a window of buffers between the steps of a request and
 * its connection. Thread: loop.
 *
 *     steps --> zd_stream_push --> [ pieces ] --> zd_stream_take --> socket
 *         wait while it is full        sleeps while it is empty
 */
#ifndef ZD_REQUEST_STREAM_H
#define ZD_REQUEST_STREAM_H

#include "core/base/buf.h"
#include "server/runtime/wait.h"

#define ZD_STREAM_PIECES       16
#define ZD_STREAM_WINDOW_TIMES 2 /* http.stream_bytes, is what a window holds */

enum zd_stream_state {
    ZD_STREAM_NONE,  /* no head has gone out: the answer may still be any */
    ZD_STREAM_OPEN,  /* the head is given, pieces follow */
    ZD_STREAM_ENDED, /* no piece follows */
    ZD_STREAM_CUT,   /* the body ends too early, and so does the connection */
};

/** Some bytes of a buffer. */
struct zd_stream_piece {
    struct zd_buf *buf; /* owned */
    size_t from;
    size_t len;
};

/** Embedded in the request; zeroed: nothing is streamed. */
struct zd_stream {
    enum zd_stream_state state;
    struct zd_stream_piece piece[ZD_STREAM_PIECES]; /* a ring: n of them from `first` on */
    uint32_t first;
    uint32_t n;
    uint64_t held_bytes;   /* of the buffers in the ring */
    bool may_end;          /* the body may end anywhere: nothing is missing then */
    uint64_t bytes_max;    /* of held_bytes; one buffer may always be held */
    uint64_t taken_bytes;  /* by the connection, of all pieces */
    struct zd_wait *room;  /* of the steps; NULL: they do not wait */
    uint64_t wanted_bytes; /* that it waits for */
    struct zd_buf *spare;  /* one that was drained, to be filled again; owned */
};

/** Nothing is given yet. @param bytes_max how much the window may hold */
void zd_stream_init(struct zd_stream *stream, uint64_t bytes_max);
void zd_stream_done(struct zd_stream *stream); /* accepts a zeroed one */

static inline bool zd_stream_is_open(const struct zd_stream *stream)
{
    return stream->state != ZD_STREAM_NONE;
}

/** Whether a buffer of that size may be given now. */
bool zd_stream_has_room(const struct zd_stream *stream, uint64_t bytes);

/** Wait until a buffer of that size may be given. @param wait its done runs in zd_stream_take */
enum zd_next zd_stream_want_room(struct zd_stream *stream, uint64_t bytes, struct zd_wait *wait);

/** A buffer for the next piece: one that was drained, or a new one. @return owned, len 0; NULL
 * without memory */
struct zd_buf *zd_stream_buf(struct zd_stream *stream, size_t cap);

/**
 * Add len bytes to the end of the body; there is room (asserted).
 * @param buf  owned, taken over; shared ones are not written
 * @param from where the bytes begin in it
 */
void zd_stream_push(struct zd_stream *stream, struct zd_buf *buf, size_t from, size_t len);

/** Copy the next bytes of the body out. @return how many; 0: there are none at present */
size_t zd_stream_take(struct zd_stream *stream, void *to, size_t len_max);

/** Drop the held bytes. */
void zd_stream_drop(struct zd_stream *stream);

/** The body cannot be made whole: what is held is dropped, and nothing follows. */
void zd_stream_cut(struct zd_stream *stream);

#endif
