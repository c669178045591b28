/* A slice that is read: its length, its cost, and its body band by band. A small body is made as
 * a whole; a large one is streamed, each band as soon as it is made. Thread: loop. */
#ifndef ZD_SLICE_SLICE_H
#define ZD_SLICE_SLICE_H

#include "core/grid/band.h"
#include "server/format/format.h"
#include "server/slice/slice_columns.h"
#include "server/slice/slice_read.h"
#include "server/slice/slice_result.h"

/** State shared by slices that form one body, one after the other (server/slice/slice_set.h). */
struct zd_slice_shared {
    struct zd_answers answers; /* of all of them, once they are prepared */
    uint32_t n_held; /* references: one of each slice, one of the owner; the last one releases it */
    void (*release)(struct zd_slice_shared *shared);
    bool is_large;   /* the body is streamed */
    size_t text_max; /* a ceiling for it */
};

/** The state of a request for a slice. */
struct zd_slice {
    struct zd_slice_read read; /* first; the task works on one lot of chunks, or encodes elements */
    struct zd_list spare;      /* in the server's list of spare slices */
    struct zd_slice_result result;
    struct zd_selection selected;     /* before nearest left elements out */
    uint32_t n_headers;               /* before it was prepared */
    struct zd_answer answer;          /* of the result */
    struct zd_column *column;         /* of the answer, or NULL; owned */
    struct zd_slice_columns *columns; /* that it borrows from, or NULL; owned */
    const struct zd_format *format;
    struct zd_slice_shared *shared; /* borrowed; NULL: the body is of this slice alone */
    bool is_first;                  /* of those that share the body */
    bool is_last;
    bool is_selected; /* by another array: its parameters select nothing */
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
    uint8_t *made;           /* the band's elements: in the body, or in `elements` */
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

/**
 * The selection is known: choose the format, and judge the slice against expected_shape and the
 * limits. Everything that can be refused is refused here, before any chunk is touched.
 */
enum zd_next zd_slice_plan(struct zd_slice *slice);

/** A time is beyond datetime64, and nothing was sent yet: forget what was planned; planned again,
 * times stay numbers. @return false: that is not what has failed */
bool zd_slice_leave_times(struct zd_slice *slice);

/** The format is known: prepares the answer, its length and its headers. @retval ZD_NO_MEMORY */
ZD_RESULT zd_slice_prepare(struct zd_slice *slice, struct zd_error *err);

/** Whether the answer says what the positions of its dimensions are called: tables and headers do.
 */
bool zd_slice_names_positions(const struct zd_slice *slice);

/** Find what they are called before zd_slice_prepare, and go on with `next`, which looks at
 * columns->wait; else they are called by their indices. @return what the step returns */
enum zd_next zd_slice_want_columns(struct zd_slice *slice, zd_step *next);

/** The same of a slice that shares its body: prepares the answer. @param name of it; borrowed */
void zd_slice_prepare_answer(struct zd_slice *slice, const char *name);

/** The headers of the slice. */
void zd_slice_add_headers(struct zd_slice *slice);

/** The entity tag. Every touched object is known. */
void zd_slice_tag(const struct zd_slice *slice, char to[ZD_TAG_BYTES]);

/** Only these bytes of the body are wanted; the format does not encode. */
void zd_slice_cut(struct zd_slice *slice, uint64_t first, uint64_t len);

/** All of the body is wanted (again). */
void zd_slice_uncut(struct zd_slice *slice);

/** Whether the body, or its range, is streamed. The length of text is estimated. */
bool zd_slice_is_large(const struct zd_slice *slice);

/** About how long encoding all of it takes, in ns. */
uint64_t zd_slice_expect_ns(const struct zd_slice *slice);

/** The memory that making the body takes; of a streamed body, its window. */
uint64_t zd_slice_held_bytes(const struct zd_slice *slice);

/** Bytes of the body; an estimate for text. */
uint64_t zd_slice_wanted_bytes(const struct zd_slice *slice);

/** Begin the body, or its part (again). @retval ZD_NO_MEMORY */
ZD_RESULT zd_slice_begin(struct zd_slice *slice, struct zd_error *err);

/** Bytes that the next band, or encoded piece, needs in the window of a stream. */
uint64_t zd_slice_room_bytes(const struct zd_slice *slice);

/**
 * The next band: sets band and begins to fetch what it is made of.
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

/** All bands are made, and not streamed, or there are none: sets `body`, or leaves the text to the
 * slice that follows. @retval ZD_TOO_LARGE @retval ZD_NO_MEMORY */
ZD_RESULT zd_slice_finish(struct zd_slice *slice, struct zd_error *err);

/** The elements are in the body: releases what is of no use any more. */
void zd_slice_rest(struct zd_slice *slice);

/** Free the spare slices. */
void zd_slices_done(struct zd_server *server);

/* ---- between its files ---- */

/** A zeroed slice, whose fetch may have room for parts; NULL without memory. */
struct zd_slice *zd_slice_take_spare(struct zd_server *server);

/** Keep a slice for another request, or free it when there are enough. @param slice owned; all but
 * its fetch was released */
void zd_slice_keep_spare(struct zd_server *server, struct zd_slice *slice);

#endif
