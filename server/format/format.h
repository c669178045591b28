/* Output formats of slices: one file each; the build lists them. */
#ifndef ZD_FORMAT_FORMAT_H
#define ZD_FORMAT_FORMAT_H

#include "core/array/block.h"
#include "core/base/text.h"
#include "core/grid/scalar.h"

/** The answer that a body is made for; it does not change between bands. Everything borrowed. */
struct zd_answer {
    const struct zd_meta *meta;
    const struct zd_selection *selection;
    uint32_t rank;               /* of the result */
    uint64_t shape[ZD_RANK_MAX]; /* of the result */
    uint64_t n_elements;
    struct zd_scalar_style style; /* of text */
    bool pretty;                  /* of text */
    void *state; /* of the format, from zd_format_open to zd_format_close; or NULL */
};

/** An answer for a selection whose element count fits 64 bits (asserted); style and pretty are off.
 */
void zd_format_answer_init(
    struct zd_answer *answer, const struct zd_meta *meta, const struct zd_selection *selection);

/** The name of a dimension of the result, or NULL; borrowed. */
const char *zd_format_answer_dimension(const struct zd_answer *answer, uint32_t dim);

/** Add lengths, or an index, with commas between them: "10,5". Failures stick in the text. */
void zd_format_add_lengths(struct zd_text *text, const uint64_t *length, uint32_t rank);

/** A ceiling for the answer as text: no format needs more. */
size_t zd_format_answer_text_max(const struct zd_answer *answer);

/* Bytes of a body before its elements: NumPy reads no longer heads. */
#define ZD_BODY_HEAD_MAX 10240

/** How the head of a body describes the elements that follow it. */
struct zd_body_head {
    size_t bytes;     /* of the head */
    bool has_shape;   /* the head has a shape */
    bool is_swapped;  /* units are big-endian */
    bool is_reversed; /* the first dimension runs fastest */
    uint32_t rank;
    uint64_t shape[ZD_RANK_MAX];
};

struct zd_text_reader; /* server/format/text_reader.h */

/**
 * A format: head, each band in order, tail; together they are the body. Without `band` the elements
 * as they are in memory follow the head, there is no tail, and ranges of the body can be read.
 */
struct zd_format {
    const char *name; /* of `format=`: "npy" */
    const char *media_type;
    bool is_text; /* the style and `pretty` of the answer change the body */

    /** Whether the format can express such a result; NULL: it can express any. */
    bool (*accepts)(const struct zd_dtype *dtype, uint32_t rank);

    /** The exact length of the body; false when it does not fit 64 bits. NULL: the length is not
     * known before the body is made, so that a large one is streamed without Content-Length. */
    bool (*size)(const struct zd_answer *answer, uint64_t *ret_bytes);

    /**
     * A body begins (again): makes the state that head, band and tail find in answer->state. NULL:
     * the format has no state. Only of formats with `band`.
     * @retval ZD_NO_MEMORY
     * Thread: loop.
     */
    ZD_RESULT (*open)(const struct zd_answer *answer, void **ret_state, struct zd_error *err);
    void (*close)(void *state); /* frees it, whether or not the body was finished */

    /** Add what precedes and what follows the elements; NULL: nothing does. Failures stick in the
     * text. Thread: any, one at a time. */
    void (*head)(const struct zd_answer *answer, struct zd_text *text);
    void (*tail)(const struct zd_answer *answer, struct zd_text *text);

    /** Add the elements first .. first + n_elements. As head and tail. */
    void (*band)(const struct zd_answer *answer, uint64_t first, uint64_t n_elements,
        const uint8_t *elements, struct zd_text *text);

    /* Reading bodies of requests. A format with `band` is read by read_text, or not at all. */

    /**
     * Read the head of a body that holds elements as they are in memory; NULL: it has no head.
     * @param bytes    the beginning of the body
     * @param ret_head with ZD_AGAIN only `bytes` is set: that many are needed to go on, at most
     *                 ZD_BODY_HEAD_MAX
     * @retval ZD_AGAIN
     * @retval ZD_INVALID facts expected, found
     */
    ZD_RESULT (*read_head)(const struct zd_dtype *dtype, struct zd_span bytes,
        struct zd_body_head *ret_head, struct zd_error *err);

    /**
     * Read the next piece, of any length, of a body that is text.
     * @param ret_used how many bytes were used: all, unless the reader is full
     * @retval ZD_INVALID facts position, and expected, found
     * @retval ZD_NO_MEMORY
     * Thread: any.
     */
    ZD_RESULT (*read_text)(
        struct zd_text_reader *reader, struct zd_span text, size_t *ret_used, struct zd_error *err);
};

/** All formats, ended by NULL; generated from the files server/format/format_*.c. */
extern const struct zd_format *const zd_formats[];

const struct zd_format *zd_format_find(struct zd_span name); /* or NULL */

/**
 * The format of a name; without a name the one that Accept prefers: raw among equals (json of
 * elements of variable length), then the first by name.
 *
 * @param name   or NULL
 * @param accept the header's value, or NULL
 * @param rank   of the result
 * @return NULL: no such format can express the result
 */
const struct zd_format *zd_format_choose(
    const struct zd_text *name, const char *accept, const struct zd_dtype *dtype, uint32_t rank);

/** Whether the elements are encoded by `band`; else they are the body as they are in memory, or
 * widened (core/grid/widen.h). */
static inline bool zd_format_encodes(const struct zd_format *format)
{
    return format->band != NULL;
}

/** Whether the format can express such a result; elements of variable length only as text. */
static inline bool zd_format_accepts(
    const struct zd_format *format, const struct zd_dtype *dtype, uint32_t rank)
{
    return (zd_format_encodes(format) || !zd_dtype_is_variable(dtype)) &&
           (format->accepts == NULL || format->accepts(dtype, rank));
}

/** Add elements as a format has them that encodes them or widens them. As `band`. */
void zd_format_band(const struct zd_format *format, const struct zd_answer *answer, uint64_t first,
    uint64_t n_elements, const uint8_t *elements, struct zd_text *text);

/** Whether bodies of requests can have the format. */
static inline bool zd_format_is_readable(const struct zd_format *format)
{
    return !zd_format_encodes(format) || format->read_text != NULL;
}

/** Begin a body: makes answer->state; an older state is freed. @retval ZD_NO_MEMORY */
ZD_RESULT zd_format_open(
    const struct zd_format *format, struct zd_answer *answer, struct zd_error *err);
void zd_format_close(const struct zd_format *format, struct zd_answer *answer); /* idempotent */

/** The size of a head and all elements as they are in memory, or widened; false when it does not
 * fit 64 bits.
 */
bool zd_format_fixed_size(const struct zd_answer *answer, uint64_t head_bytes, uint64_t *ret_bytes);

#endif
