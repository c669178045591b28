/* Output formats of slices: one file each; the build lists them. */
#ifndef ZD_FORMAT_FORMAT_H
#define ZD_FORMAT_FORMAT_H

#include "core/array/block.h"
#include "core/base/text.h"
#include "core/grid/scalar.h"

#define ZD_ANSWER_NO_DIM UINT8_MAX

#define ZD_HEADER_COLUMNS_MAX 16384 /* of a line that is made at once */

struct zd_answer;
struct zd_cf_time; /* core/grid/cf_time.h */

/** How csv and json arrange elements. */
enum zd_format_layout {
    ZD_LAYOUT_ARRAY, /* as an array: rows, or nested lists */
    ZD_LAYOUT_TABLE, /* one row an element, with its coordinates */
};

/** The column of a dimension in a table: what each position of the result is called
 * (server/format/column.h). Everything borrowed. */
struct zd_column {
    const uint8_t
        *values; /* elements of dtype, for each index of the dimension; NULL: the indices */
    struct zd_dtype dtype;
    const struct zd_cf_time *time; /* what the values count; NULL: they are no times */
    const struct zd_axis *axis;    /* the indices of the positions; NULL: positions are indices */
    uint64_t block;    /* so many indices are one position, which is called as the first */
    uint64_t text_max; /* bytes of one as text, without its quotes */
};

/** The answers that make one body together, in its order. Borrowed. */
struct zd_answers {
    const struct zd_answer *const *at;
    uint32_t n;
    const struct zd_json *attributes; /* of the group that they are below; or NULL */
};

/** The answer that a body is made for; it does not change between bands. Everything borrowed. The
 * result is what is selected, or made of it: of another type then, of less dimensions, or shorter
 * ones. */
struct zd_answer {
    const struct zd_meta *meta;           /* of the array */
    const struct zd_selection *selection; /* of the array */
    struct zd_dtype dtype;                /* of the result */
    uint32_t rank;                        /* of the result */
    uint64_t shape[ZD_RANK_MAX];          /* of the result */
    uint8_t dim[ZD_RANK_MAX]; /* of the array, for each dimension of the result; or ..._NO_DIM */
    const uint64_t *block; /* for each dimension of the result: so many elements that are selected
                              became one (the last may be of less); NULL: 1 */
    const char *units;     /* of the elements once they are decoded; or NULL */
    const char *name;      /* of the array, for formats that name it; or NULL */
    const struct zd_answers *all; /* of its body, and it is one of them; NULL: it is alone */
    bool is_decoded;              /* what the attributes say of packed elements is done */
    uint64_t n_elements;
    struct zd_scalar_style style;   /* of text */
    bool pretty;                    /* of text */
    bool has_header;                /* of csv: a line with names comes first */
    const struct zd_column *column; /* of tables and headers, for each dimension of the result */
    void *state; /* of the format, from zd_format_open to zd_format_close; or NULL. All answers of
                    one body have the same */
};

/** The answers of a body, by one of them. */
static inline uint32_t zd_format_n_answers(const struct zd_answer *answer)
{
    return answer->all == NULL ? 1 : answer->all->n;
}
static inline const struct zd_answer *zd_format_answer_at(
    const struct zd_answer *answer, uint32_t i)
{
    return answer->all == NULL ? answer : answer->all->at[i];
}

/** The answer that is a selection as it is, whose element count fits 64 bits (asserted); style and
 * pretty are off. */
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
    const char *extension; /* of a file: "npy" */
    bool is_text;          /* the style and `pretty` of the answer change the body */
    bool is_table;
    bool takes_several;  /* answers of one body, */
    bool has_dimensions; /* which share dimensions by name: each has one length */
    bool is_binary; /* `band` does little more than copy: elements are as long as in memory, or as
                       those of core/grid/widen.h */

    const struct zd_format *table; /* the same with one row an element; or NULL */

    /** Whether the format can express such a result; NULL: it can express any. */
    bool (*accepts)(const struct zd_dtype *dtype, uint32_t rank);

    /** Whether it can express such a shape; NULL: it can express any. */
    bool (*accepts_shape)(uint32_t rank, const uint64_t *shape);

    /** The exact length of the body; false when it does not fit 64 bits. NULL: the length is not
     * known before the body is made, so that a large one is streamed without Content-Length. */
    bool (*size)(const struct zd_answer *answer, uint64_t *ret_bytes);

    /**
     * A body begins (again): makes the state that head, band and tail find in answer->state. NULL:
     * the format has no state. Only of formats with `band`.
     * @retval ZD_UNSUPPORTED, ZD_TOO_LARGE it cannot express the answers together
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

extern const struct zd_format zd_format_npy; /* that of the members of npz */

/** All formats, ended by NULL; generated from the files server/format/format_*.c. */
extern const struct zd_format *const zd_formats[];

const struct zd_format *zd_format_find(struct zd_span name); /* or NULL */

/** The format in that layout; NULL: it has none. */
static inline const struct zd_format *zd_format_in(
    const struct zd_format *format, enum zd_format_layout layout)
{
    return layout == ZD_LAYOUT_TABLE ? format->table : format;
}

/**
 * The format of a name; without a name the one that Accept prefers: raw among equals (json of
 * elements of variable length, csv of tables), then the first by name.
 *
 * @param name   or NULL
 * @param accept the header's value, or NULL
 * @param layout of the formats that are looked at
 * @param rank   of the result
 * @param shape  of the result
 * @return NULL: no such format can express the result
 */
const struct zd_format *zd_format_choose(const struct zd_text *name, const char *accept,
    enum zd_format_layout layout, const struct zd_dtype *dtype, uint32_t rank,
    const uint64_t *shape);

/** Whether the elements are encoded by `band`; else they are the body as they are in memory, or
 * widened (core/grid/widen.h). */
static inline bool zd_format_encodes(const struct zd_format *format)
{
    return format->band != NULL;
}

/** Whether the format can express such a result; elements of variable length only as text.
 * @param shape NULL: any */
static inline bool zd_format_accepts(const struct zd_format *format, const struct zd_dtype *dtype,
    uint32_t rank, const uint64_t *shape)
{
    return (zd_format_encodes(format) || !zd_dtype_is_variable(dtype)) &&
           (format->accepts == NULL || format->accepts(dtype, rank)) &&
           (shape == NULL || format->accepts_shape == NULL || format->accepts_shape(rank, shape));
}

/** Add elements as a format has them that encodes them or widens them. As `band`. */
void zd_format_band(const struct zd_format *format, const struct zd_answer *answer, uint64_t first,
    uint64_t n_elements, const uint8_t *elements, struct zd_text *text);

/** Whether bodies of requests can have the format. */
static inline bool zd_format_is_readable(const struct zd_format *format)
{
    return !zd_format_encodes(format) || format->read_text != NULL;
}

/** Begin a body: makes answer->state; an older state is freed. As `open`. */
ZD_RESULT zd_format_open(
    const struct zd_format *format, struct zd_answer *answer, struct zd_error *err);
void zd_format_close(const struct zd_format *format, struct zd_answer *answer); /* idempotent */

/** The size of a head and all elements as they are in memory, or widened; false when it does not
 * fit 64 bits.
 */
bool zd_format_fixed_size(const struct zd_answer *answer, uint64_t head_bytes, uint64_t *ret_bytes);

#endif
