/* The elements of a slice that is written, out of the body of its request: raw, npy or json, as the
 * body comes. Thread: loop. */
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
    bool is_single; /* broadcast: one element, in whatever number of lists of one */
    /* its own */
    bool has_head; /* it is read, or text is measured */
    struct zd_body_head head;
    struct zd_text_reader reader;
    uint8_t *piece; /* text that is taken, and not read yet; owned */
    size_t piece_len;
    size_t piece_at;
    uint8_t *to;        /* destination of the next elements */
    uint64_t to_bytes;  /* of them */
    uint64_t got_bytes; /* of those */
    uint64_t n_swapped; /* of those, elements whose units are in order */
};

/**
 * The format that a Content-Type names: one without a Content-Type is raw. NULL: none that can be
 * read.
 */
const struct zd_format *zd_slice_body_format(const char *content_type);

/** The media types of all that can be read, ended by NULL. */
#define ZD_SLICE_BODY_TYPES_MAX 8
void zd_slice_body_types(const char *ret_types[ZD_SLICE_BODY_TYPES_MAX]);

/** Begin: elements of that shape are expected; is_single: only one. Holds no memory yet. */
void zd_slice_body_init(struct zd_slice_body *body, struct zd_request *req,
    const struct zd_format *format, const struct zd_dtype *dtype);
void zd_slice_body_done(struct zd_slice_body *body); /* accepts a zeroed one */

/** What is expected: these elements, or is_single one. */
void zd_slice_body_expect(
    struct zd_slice_body *body, uint32_t rank, const uint64_t *shape, bool is_single);

/**
 * Compare Content-Length, before a byte of the body is asked for: where it can be told that the
 * body is not what is expected. @retval ZD_INVALID facts expected, found (in bytes)
 */
ZD_RESULT zd_slice_body_check_length(const struct zd_slice_body *body, struct zd_error *err);

/**
 * How long the body is along a dimension of which nothing was said before: changes shape and
 * n_elements. A step calls it until it says ZD_NEXT; but of raw bodies it is told by
 * Content-Length, before a byte is asked for.
 *
 * @retval ZD_INVALID   that cannot be told; facts expected, found
 * @retval ZD_TOO_LARGE text is held whole, up to limits.body_bytes; facts limit, requested
 */
ZD_RESULT zd_slice_body_measure(
    struct zd_slice_body *body, uint32_t dim, enum zd_next *ret_next, struct zd_error *err);

/** Whether measuring needs the body: zd_body_stream_ask comes before. */
bool zd_slice_body_is_measured_late(const struct zd_slice_body *body);

/**
 * The head of the body. A step calls it until it says ZD_NEXT.
 *
 * @param ret_next ZD_WAIT: more of the body must come; req->step runs again then
 * @retval ZD_INVALID   it is no such body, or of another shape; facts expected, found
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_slice_body_begin(
    struct zd_slice_body *body, enum zd_next *ret_next, struct zd_error *err);

/** The next elements are to go there: dense, C order, little-endian. */
void zd_slice_body_aim(struct zd_slice_body *body, uint8_t *to, uint64_t n_elements);

/**
 * Some of them. A step calls it until ret_is_full.
 * @param ret_next ZD_WAIT: more of the body must come; ZD_NEXT: call again, or go on when it is
 *                 full
 * @retval ZD_INVALID the body ends too early, or is not what it should be; facts expected, found
 */
ZD_RESULT zd_slice_body_fill(
    struct zd_slice_body *body, enum zd_next *ret_next, bool *ret_is_full, struct zd_error *err);

/** All elements are read: the body must end. As zd_slice_body_begin. */
ZD_RESULT zd_slice_body_end(
    struct zd_slice_body *body, enum zd_next *ret_next, struct zd_error *err);

#endif
