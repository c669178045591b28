/* The formats by name, and what all of them share. */
#include "server/format/format.h"

#include <string.h>

#include "core/base/num.h"
#include "core/grid/widen.h"
#include "server/http/accept.h"

#define DEFAULT_NAME         "raw"
#define WIDE_BYTES           4096   /* of elements that are widened at once */
#define DEFAULT_TEXT_NAME    "json" /* of elements of variable length */
#define DEFAULT_TABLE_NAME   "csv"
#define EMPTY_TEXT_BYTES_MAX (UINT64_C(1) << 20)
#define HEAD_BYTES_MAX       (UINT64_C(1) << 18)
#define COLUMN_MARKS         3 /* quotes and a comma */

const struct zd_format *zd_format_find(struct zd_span name)
{
    for (size_t i = 0; zd_formats[i] != NULL; i++) {
        if (zd_span_is(name, zd_formats[i]->name)) {
            return zd_formats[i];
        }
    }
    return NULL;
}

static bool can_say(const struct zd_format *format, const struct zd_dtype *dtype, uint32_t rank,
    const uint64_t *shape)
{
    return format != NULL && zd_format_accepts(format, dtype, rank, shape);
}

static const struct zd_format *negotiate(const char *accept, enum zd_format_layout layout,
    const struct zd_dtype *dtype, uint32_t rank, const uint64_t *shape)
{
    const struct zd_format *best = NULL;
    uint32_t best_quality = 0;
    const char *initial = layout == ZD_LAYOUT_TABLE     ? DEFAULT_TABLE_NAME
                          : zd_dtype_is_variable(dtype) ? DEFAULT_TEXT_NAME
                                                        : DEFAULT_NAME;
    for (size_t i = 0; zd_formats[i] != NULL; i++) {
        const struct zd_format *format = zd_format_in(zd_formats[i], layout);
        if (!can_say(format, dtype, rank, shape)) {
            continue;
        }
        const uint32_t quality = zd_accept_quality(accept, format->media_type);
        const bool is_default = strcmp(format->name, initial) == 0;
        if (quality > best_quality || (quality == best_quality && quality > 0 && is_default)) {
            best = format;
            best_quality = quality;
        }
    }
    return best;
}

const struct zd_format *zd_format_choose(const struct zd_text *name, const char *accept,
    enum zd_format_layout layout, const struct zd_dtype *dtype, uint32_t rank,
    const uint64_t *shape)
{
    if (name == NULL) {
        return negotiate(accept, layout, dtype, rank, shape);
    }
    const struct zd_format *format = zd_format_find(zd_text_span(name));
    format = format == NULL ? NULL : zd_format_in(format, layout);
    return can_say(format, dtype, rank, shape) ? format : NULL;
}

void zd_format_answer_init(
    struct zd_answer *answer, const struct zd_meta *meta, const struct zd_selection *selection)
{
    *answer = (struct zd_answer){.meta = meta, .selection = selection, .dtype = meta->dtype};
    for (uint32_t d = 0; d < selection->rank; d++) {
        answer->dim[answer->rank] = selection->axis[d].is_joint ? ZD_ANSWER_NO_DIM : (uint8_t)d;
        answer->rank += !selection->axis[d].dropped;
    }
    (void)zd_selection_shape(selection, answer->shape);
    const bool overflows = zd_selection_overflows(selection, &answer->n_elements);
    assert(!overflows);
    (void)overflows;
}

const char *zd_format_answer_dimension(const struct zd_answer *answer, uint32_t dim)
{
    char *const *names = answer->meta->dimension_name;
    const uint8_t d = dim < answer->rank ? answer->dim[dim] : ZD_ANSWER_NO_DIM;
    return names == NULL || d == ZD_ANSWER_NO_DIM ? NULL : names[d];
}

void zd_format_add_lengths(struct zd_text *text, const uint64_t *length, uint32_t rank)
{
    for (uint32_t d = 0; d < rank; d++) {
        zd_text_add(text, d == 0 ? "" : ",");
        zd_text_add_u64(text, length[d]);
    }
}

static uint64_t element_text_max(const struct zd_dtype *dtype, uint32_t rank)
{
    /* Around each element at most: its brackets, and pretty printed a line for each. */
    return zd_scalar_text_max(dtype) + (uint64_t)rank * 2 * (2 * (uint64_t)rank + 4);
}

static uint64_t columns_max_of(const struct zd_answer *answer)
{
    uint64_t bytes = 0;
    for (uint32_t d = 0; answer->column != NULL && d < answer->rank; d++) {
        bytes += answer->column[d].text_max + COLUMN_MARKS;
    }
    return bytes;
}

/* The longest header line, with the names of the last dimension's positions. */
static uint64_t header_text_max(const struct zd_answer *answer)
{
    const bool has_positions = answer->has_header && answer->column != NULL && answer->rank == 2;
    return has_positions ? answer->shape[1] * (answer->column[1].text_max + COLUMN_MARKS) : 0;
}

size_t zd_format_answer_text_max(const struct zd_answer *answer)
{
    const uint64_t columns = columns_max_of(answer);
    if (answer->n_elements == 0) {
        return EMPTY_TEXT_BYTES_MAX + header_text_max(answer);
    }
    uint64_t max;
    if (ckd_add(&max, columns, element_text_max(&answer->dtype, answer->rank)) ||
        ckd_mul(&max, max, answer->n_elements) || ckd_add(&max, max, HEAD_BYTES_MAX)) {
        return SIZE_MAX;
    }
    return max;
}

void zd_format_band(const struct zd_format *format, const struct zd_answer *answer, uint64_t first,
    uint64_t n_elements, const uint8_t *elements, struct zd_text *text)
{
    const struct zd_dtype *dtype = &answer->dtype;
    const struct zd_dtype wide = zd_widen_dtype(dtype);
    uint8_t piece[WIDE_BYTES];
    if (format->band != NULL) {
        format->band(answer, first, n_elements, elements, text);
        return;
    }
    while (n_elements > 0 && text->status == ZD_OK) {
        const size_t n = zd_min_u64(n_elements, sizeof piece / wide.bytes);
        zd_widen(dtype, piece, elements, n);
        zd_text_add_bytes(text, piece, n * wide.bytes);
        elements += n * dtype->bytes;
        n_elements -= n;
    }
}

enum zd_status zd_format_open(
    const struct zd_format *format, struct zd_answer *answer, struct zd_error *err)
{
    zd_format_close(format, answer);
    return format->open == NULL ? ZD_OK : format->open(answer, &answer->state, err);
}

void zd_format_close(const struct zd_format *format, struct zd_answer *answer)
{
    if (answer->state != NULL) {
        format->close(answer->state);
        answer->state = NULL;
    }
}

bool zd_format_fixed_size(const struct zd_answer *answer, uint64_t head_bytes, uint64_t *ret_bytes)
{
    const struct zd_dtype dtype = zd_widen_dtype(&answer->dtype);
    uint64_t bytes;
    if (ckd_mul(&bytes, answer->n_elements, (uint64_t)dtype.bytes) ||
        ckd_add(&bytes, bytes, head_bytes)) {
        return false;
    }
    *ret_bytes = bytes;
    return true;
}
