/* The column of a dimension in a table. */
#include "server/format/column.h"

#include <string.h>

#include "core/base/half.h"

#define INDEX_TEXT_MAX 20 /* 2^64 - 1 */

struct zd_column zd_column_of_indices(const struct zd_answer *answer, uint32_t dim)
{
    const uint8_t d = answer->dim[dim];
    return (struct zd_column){
        .axis = d == ZD_ANSWER_NO_DIM ? NULL : &answer->selection->axis[d],
        .block = answer->block == NULL ? 1 : answer->block[dim],
        .text_max = INDEX_TEXT_MAX,
    };
}

static int64_t load_i64(const struct zd_dtype *dtype, const uint8_t *element)
{
    const unsigned n_spare = 64 - 8 * dtype->bytes;
    uint64_t bits = 0;
    memcpy(&bits, element, dtype->bytes);
    return (int64_t)(bits << n_spare) >> n_spare;
}

static uint64_t load_u64(const struct zd_dtype *dtype, const uint8_t *element)
{
    uint64_t bits = 0;
    memcpy(&bits, element, dtype->bytes);
    return bits;
}

static double load_f64(const struct zd_dtype *dtype, const uint8_t *element)
{
    double value;
    float single;
    switch (dtype->bytes) {
    case sizeof value:
        memcpy(&value, element, sizeof value);
        return value;
    case sizeof single:
        memcpy(&single, element, sizeof single);
        return single;
    default:
        return zd_half_to_float(zd_load_u16(element));
    }
}

static bool is_number(const struct zd_dtype *dtype)
{
    return dtype->kind == ZD_DTYPE_INT || dtype->kind == ZD_DTYPE_UINT ||
           dtype->kind == ZD_DTYPE_FLOAT;
}

static bool find_moment(const struct zd_dtype *dtype, const struct zd_cf_time *time,
    const uint8_t *element, zd_i128 *ret_moment)
{
    if (dtype->kind == ZD_DTYPE_INT) {
        return zd_cf_time_of_i64(time, load_i64(dtype, element), ret_moment);
    }
    return dtype->kind == ZD_DTYPE_UINT
               ? zd_cf_time_of_u64(time, load_u64(dtype, element), ret_moment)
               : zd_cf_time_of_f64(time, load_f64(dtype, element), ret_moment);
}

/* @return false: it is no date; nothing is added */
static bool add_time(const struct zd_dtype *dtype, const struct zd_cf_time *time,
    const uint8_t *element, const struct zd_scalar_style *style, struct zd_text *text)
{
    const char *quote = style->bare_strings ? "" : "\"";
    const size_t before = text->len;
    zd_i128 moment;
    if (!find_moment(dtype, time, element, &moment)) {
        return false;
    }
    zd_text_add(text, quote);
    if (!zd_cf_time_add(time->calendar, moment, text)) {
        zd_text_cut(text, before);
        return false;
    }
    zd_text_add(text, quote);
    return true;
}

void zd_column_add_element(const struct zd_dtype *dtype, const struct zd_cf_time *time,
    const uint8_t *element, const struct zd_scalar_style *style, struct zd_text *text)
{
    if (time == NULL || !add_time(dtype, time, element, style, text)) {
        zd_scalar_add(dtype, element, style, text);
    }
}

void zd_column_add(const struct zd_column *column, uint64_t position,
    const struct zd_scalar_style *style, struct zd_text *text)
{
    const uint64_t i = position * column->block;
    const uint64_t index = column->axis == NULL ? i : zd_axis_at(column->axis, i);
    if (column->values == NULL) {
        zd_text_add_u64(text, index);
        return;
    }
    const uint8_t *value = column->values + index * column->dtype.bytes;
    zd_column_add_element(&column->dtype, column->time, value, style, text);
}

void zd_column_add_name(const struct zd_answer *answer, uint32_t dim, struct zd_text *name)
{
    const char *own = zd_format_answer_dimension(answer, dim);
    const uint8_t d = answer->dim[dim];
    if (own != NULL) {
        zd_text_add(name, own);
    } else {
        zd_text_addf(name, "dim_%u", (unsigned)(d == ZD_ANSWER_NO_DIM ? dim : d));
    }
}

bool zd_column_find_time(const struct zd_answer *answer, struct zd_cf_time *ret_time)
{
    const struct zd_json *attributes = answer->meta->attributes;
    const struct zd_span units = answer->units != NULL
                                     ? zd_span_of(answer->units)
                                     : zd_json_string_span(zd_json_member(attributes, "units"));
    const struct zd_span calendar = zd_json_string_span(zd_json_member(attributes, "calendar"));
    const bool is_packed =
        !answer->is_decoded && (zd_json_member(attributes, "scale_factor") != NULL ||
                                   zd_json_member(attributes, "add_offset") != NULL);
    return units.ptr != NULL && is_number(&answer->dtype) && !is_packed &&
           zd_cf_time_parse(units, calendar, ret_time, NULL) == ZD_OK;
}
