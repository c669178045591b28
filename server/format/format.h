/* Output formats of slices: one file each; the build lists them. */
#ifndef ZD_SERVER_FORMAT_FORMAT_H
#define ZD_SERVER_FORMAT_FORMAT_H

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
};

/** All formats, ended by NULL; generated from the files server/format/format_*.c. */
extern const struct zd_format *const zd_formats[];

const struct zd_format *zd_format_find(struct zd_span name); /* or NULL */

/** The size of a head and all elements as they are in memory; false when it does not fit 64 bits.
 */
bool zd_format_is_fixed(const struct zd_answer *answer, uint64_t head_bytes, uint64_t *ret_bytes);

#endif
