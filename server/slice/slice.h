/* One slice that is read: its length, its cost, and its body band by band. A small body is made as
 * a whole; a large one is streamed, each band as soon as it is made. Thread: loop. */
#ifndef ZD_SLICE_SLICE_H
#define ZD_SLICE_SLICE_H

#include "core/grid/band.h"
#include "server/format/format.h"
#include "server/slice/slice_read.h"

/** The state of a request for a slice. */
struct zd_slice {
    struct zd_slice_read read; /* first; the task copies one lot of chunks, or encodes elements */
    struct zd_list spare;      /* in the server's list of spare slices */
    struct zd_answer answer;
    const struct zd_format *format;
    bool is_streamed; /* into req->stream: the body is one band or one encoded piece */
    bool is_encoding; /* the task encodes next */
    bool is_grown;    /* it is streamed, since its text turned out to be long */

    uint64_t length; /* of the whole body; valid when length_is_known */
    bool length_is_known;
    uint64_t head_bytes; /* of a format that does not encode */
    bool is_range;       /* only length range_len from range_first is made */
    uint64_t range_first;
    uint64_t range_len;
    uint64_t begin; /* elements [begin, end) are made */
    uint64_t end;

    /* The elements on their way into the body. */
    struct zd_bands bands;
    struct zd_band band;
    struct zd_block block;   /* of the band: in the body, or in `elements` */
    struct zd_buf *elements; /* one band, when the format encodes */
    uint64_t n_encoded;      /* elements of the band, */
    uint64_t encode_end;     /* which the task encodes as far as that */
    struct zd_text text;     /* the body under construction, when the format encodes */
    struct zd_buf *body;     /* the body, or the piece of it that is next */
    enum zd_status encoded;  /* how that ended */
};

/** The state of the request. NULL without memory. */
struct zd_slice *zd_slice_new(struct zd_request *req, const struct zd_slice_read_kind *kind);

/** Whether the body is made of the elements piece by piece, not of themselves. */
bool zd_slice_is_encoded(const struct zd_slice *slice);

/** The work and the release of its kind, and what the work costs. */
void zd_slice_work(struct zd_task *task);
void zd_slice_release(struct zd_task *task);
uint64_t zd_slice_cost_ns(const struct zd_slice_read *read);

/** Free the spare slices. */
void zd_slices_done(struct zd_server *server);

/**
 * The selection is known: choose the format, and judge the slice against expected_shape and the
 * limits. Everything that can be refused is refused here, before any chunk is touched.
 * @return false: the request is answered
 */
bool zd_slice_plan(struct zd_slice *slice);

/** The format is known: prepares the answer, its length and its headers. @retval ZD_NO_MEMORY */
ZD_RESULT zd_slice_prepare(struct zd_slice *slice, struct zd_error *err);

/** The entity tag. Every touched object is known. */
void zd_slice_tag(const struct zd_slice *slice, char to[ZD_TAG_BYTES]);

/** Only these bytes of the body are wanted; the format does not encode. */
void zd_slice_cut(struct zd_slice *slice, uint64_t first, uint64_t len);

/** All of the body is wanted (again). */
void zd_slice_uncut(struct zd_slice *slice);

/** Whether the body, or its range, is streamed. The length of text is estimated. */
bool zd_slice_is_large(const struct zd_slice *slice);

/** The memory that making the body takes; of a streamed body, its window. */
uint64_t zd_slice_held_bytes(const struct zd_slice *slice);

/** Begin the body (again). @retval ZD_NO_MEMORY */
ZD_RESULT zd_slice_begin(struct zd_slice *slice, struct zd_error *err);

/** Bytes that the next band, or encoded piece, needs in the window of a stream. */
uint64_t zd_slice_room_bytes(const struct zd_slice *slice);

/**
 * The next band: sets band and block and begins to fetch it.
 * @param ret_is_over there is none left
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_slice_next_band(struct zd_slice *slice, bool *ret_is_over, struct zd_error *err);

/** Streamed: begin the next piece of the band. @return false: all of it is encoded, or the format
 * does not encode */
bool zd_slice_next_piece(struct zd_slice *slice);

/** Whether the text, or its next piece, could be made. @retval ZD_TOO_LARGE @retval ZD_NO_MEMORY */
ZD_RESULT zd_slice_check_encoded(const struct zd_slice *slice, struct zd_error *err);

/** Streamed, and checked: push the band, or the encoded piece, into the open stream.
 * @retval ZD_NO_MEMORY */
ZD_RESULT zd_slice_give(struct zd_slice *slice, struct zd_error *err);

/** Not streamed, all bands are made: whether the text is too long for that. Then it can begin
 * again, and is large. */
bool zd_slice_has_grown(struct zd_slice *slice);

/** Not streamed, all bands are made: sets `body`. @retval ZD_TOO_LARGE @retval ZD_NO_MEMORY */
ZD_RESULT zd_slice_finish(struct zd_slice *slice, struct zd_error *err);

#endif
