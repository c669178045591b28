/* Output formats of slices: one file each; the build lists them. */
#ifndef ZD_FORMAT_FORMAT_H
#define ZD_FORMAT_FORMAT_H

#include "core/array/block.h"
#include "core/base/text.h"
#include "core/grid/scalar.h"

/** What is being answered: the same for all bands. Everything borrowed. */
struct zd_answer {
    const struct zd_meta *meta;
    const struct zd_selection *selection;
    uint32_t rank;               /* of the result */
    uint64_t shape[ZD_RANK_MAX]; /* of the result */
    uint64_t n_elements;
    struct zd_scalar_style style; /* json and csv */
    bool pretty;                  /* json */
};

/** An answer for a selection whose element count fits 64 bits (asserted); style and pretty are off.
 */
void zd_answer_init(
    struct zd_answer *answer, const struct zd_meta *meta, const struct zd_selection *selection);

/** The name of a dimension of the result, or NULL; borrowed. */
const char *zd_answer_dimension(const struct zd_answer *answer, uint32_t dim);

/** A ceiling for the answer as text: more than json or csv can need. */
size_t zd_answer_text_max(const struct zd_answer *answer);

#define ZD_BODY_HEAD_MAX                                                                           \
    10240 /* bytes of a body before its elements; NumPy reads no longer ones                       \
           */

/** What the head of a body says of the elements behind it. */
struct zd_body_head {
    size_t bytes;     /* of the head */
    bool has_shape;   /* it says the shape */
    bool is_swapped;  /* units are big-endian */
    bool is_reversed; /* the first dimension runs fastest */
    uint32_t rank;
    uint64_t shape[ZD_RANK_MAX];
};

struct zd_text_reader; /* server/format/text_reader.h */

/** A format. head, each band in order, tail: together they are the body. */
struct zd_format {
    const char *name; /* of `format=`: "npy" */
    const char *media_type;

    /** Whether it can say that. */
    bool (*accepts)(const struct zd_dtype *dtype, uint32_t rank);

    /** Exact bytes of head, all elements and tail; false when that does not fit 64 bits. NULL: not
     * known beforehand. */
    bool (*size)(const struct zd_answer *answer, uint64_t *ret_bytes);

    /** What comes before the elements and after them; NULL = nothing. */
    void (*head)(const struct zd_answer *answer, struct zd_text *text);
    void (*tail)(const struct zd_answer *answer, struct zd_text *text);

    /** Elements first .. first + n as text; NULL: the elements themselves are the body (raw, npy).
     * Worker thread. */
    void (*band)(const struct zd_answer *answer, uint64_t first, uint64_t n_elements,
        const uint8_t *elements, struct zd_text *text);

    /* Reading bodies of requests: one of these, or neither. */

    /**
     * Of a body that holds elements as they are in memory: its head.
     * @param bytes    the beginning of the body
     * @param ret_head with ZD_AGAIN only `bytes`: so many are needed to go on, at most
     *                 ZD_BODY_HEAD_MAX
     * @retval ZD_AGAIN
     * @retval ZD_INVALID facts expected, found
     */
    ZD_RESULT (*read_head)(const struct zd_dtype *dtype, struct zd_span bytes,
        struct zd_body_head *ret_head, struct zd_error *err);

    /**
     * Of a body that is text: the next piece of it, of any length.
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

/** The size of a head and all elements as they are in memory; false when it does not fit 64 bits.
 */
bool zd_format_is_fixed(const struct zd_answer *answer, uint64_t head_bytes, uint64_t *ret_bytes);

#endif
