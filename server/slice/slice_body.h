/* The elements of a slice that is written, read from the body of its request piece by piece: raw,
 * npy or json. Thread: loop.
 *
 * zd_slice_body_measure, _begin, _fill and _end are called again and again: each sets `waits` (the
 * request's machine is woken when more of the body has come) and `is_done` (no call is left). */
#ifndef ZD_SLICE_SLICE_BODY_H
#define ZD_SLICE_SLICE_BODY_H

#include "server/format/format.h"
#include "server/format/text_reader.h"
#include "server/request/request.h"

struct zd_slice_body {
    struct zd_request *req;         /* borrowed */
    const struct zd_format *format; /* one that can be read */
    const struct zd_dtype *dtype;   /* borrowed */
    uint32_t rank;                  /* of the elements that are expected */
    uint64_t shape[ZD_RANK_MAX];
    uint64_t n_elements;
    bool is_single; /* broadcast: one element, in any number of lists of one */
    struct zd_answer
        answer;     /* what a GET would say of them: names of dimensions; zeroed: unknown */
    bool is_append; /* all of it comes before it is read, where it can be held */
    /* out, of the last call */
    bool waits;
    bool is_done;
    bool is_measured; /* the length that was not expected is found */
    /* its own */
    bool has_head; /* it is read, or text is measured */
    struct zd_body_head head;
    struct zd_text_reader reader;
    uint8_t *piece; /* text received but not read yet; owned */
    size_t piece_len;
    size_t piece_at;
    uint8_t *to;        /* destination of the next elements */
    uint64_t to_bytes;  /* they have */
    uint64_t got_bytes; /* of them */
    uint64_t n_taken;   /* elements that are checked, with units in native order */
};

/** The format that the Content-Type of a request names, raw without one. @return NULL: it cannot be
 * read, and the request is answered */
const struct zd_format *zd_slice_body_format(struct zd_request *req);

/** Whether bodies of the format can have elements of that type. @retval ZD_UNSUPPORTED */
ZD_RESULT zd_slice_body_check_dtype(
    const struct zd_format *format, const struct zd_dtype *dtype, struct zd_error *err);

/** The most bytes that elements of variable length have in the body; 0 of other types. */
uint64_t zd_slice_body_variable_bytes(const struct zd_slice_body *body);

/** Begin. Holds no memory yet. */
void zd_slice_body_init(struct zd_slice_body *body, struct zd_request *req,
    const struct zd_format *format, const struct zd_dtype *dtype);
void zd_slice_body_done(struct zd_slice_body *body); /* accepts a zeroed one */

/** Expect elements of that shape, or with is_single one element. */
void zd_slice_body_expect(
    struct zd_slice_body *body, uint32_t rank, const uint64_t *shape, bool is_single);

/**
 * Compare Content-Length with what is expected, before the body is asked for. Text has any length,
 * and a body with a head is judged when that is read.
 * @retval ZD_INVALID facts expected, found (in bytes)
 */
ZD_RESULT zd_slice_body_check_length(const struct zd_slice_body *body, struct zd_error *err);

/**
 * Find the length of the body along a dimension whose length was not expected: sets shape and
 * n_elements. A raw body is measured by its Content-Length, before it is asked for.
 *
 * @retval ZD_INVALID   the length cannot be known; facts expected, found
 * @retval ZD_TOO_LARGE text is held whole, up to limits.body_bytes; facts limit, requested
 */
ZD_RESULT zd_slice_body_measure(struct zd_slice_body *body, uint32_t dim, struct zd_error *err);

/** Whether measuring needs the body: zd_slice_body_ask comes before. */
bool zd_slice_body_is_measured_late(const struct zd_slice_body *body);

/** All of an append's body, and a byte that must not come. 0: it is no append, or too long to be
 * held; text is held elsewhere. */
uint64_t zd_slice_body_whole_bytes(const struct zd_slice_body *body);

/** How much of the body is held while it comes; >= 1. */
size_t zd_slice_body_window_bytes(const struct zd_slice_body *body);

/** Ask for the body (zd_body_stream_ask) with that window. @param bytes_max of the window */
ZD_RESULT zd_slice_body_ask(
    const struct zd_slice_body *body, uint64_t bytes_max, struct zd_error *err);

/**
 * Read the head of the body.
 * @retval ZD_INVALID   it is malformed, or of another type or shape; facts expected, found
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_slice_body_begin(struct zd_slice_body *body, struct zd_error *err);

/** Where the next elements go: dense, C order, little-endian. */
void zd_slice_body_aim(struct zd_slice_body *body, uint8_t *to, uint64_t n_elements);

/**
 * Read some of these elements.
 * @retval ZD_INVALID the body ends too early, or has something else; facts expected, found
 */
ZD_RESULT zd_slice_body_fill(struct zd_slice_body *body, struct zd_error *err);

/**
 * Elements of variable length that were read get their bytes.
 * @param elements where they went to; owned, another buffer afterwards
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_slice_body_settle(
    struct zd_slice_body *body, struct zd_buf **elements, struct zd_error *err);

/** All elements are read: the body must end. As zd_slice_body_begin. */
ZD_RESULT zd_slice_body_end(struct zd_slice_body *body, struct zd_error *err);

#endif
