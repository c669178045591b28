/* The elements of a coordinate as labels. */
#include "core/grid/labels.h"

#include <math.h>

#include "core/base/json.h"
#include "core/base/num.h"
#include "core/grid/element.h"
#include "core/grid/iso_date.h"
#include "core/grid/label_spec.h"
#include "core/grid/scalar.h"
#include "core/grid/utf32.h"
#include "core/grid/variable.h"

#define NUMBER_BYTES_MAX 400 /* of a number as text: every double can be written in full */
#define TEXT_BYTES_MAX   100 /* of an element in messages */
#define MONTHS_A_YEAR    12
#define YEAR_0           1970
#define WHOLE_BITS       100 /* integers are far below that */
#define FLOAT_BYTES      4

/* ---- what they are ---- */

/* Set the unit of the ticks of times. @return false: it is unknown */
static bool set_ticks(struct zd_labels *labels, const struct zd_dtype *dtype)
{
    struct zd_dtype as_time = *dtype;
    as_time.kind = ZD_DTYPE_TIME;
    const bool is_month = dtype->unit == ZD_DTYPE_MONTHS;
    if (!is_month && dtype->unit != ZD_DTYPE_YEARS) {
        return zd_cf_time_of_ticks(&as_time, &labels->time);
    }
    labels->n_months = dtype->scale * (is_month ? 1 : MONTHS_A_YEAR);
    labels->time = (struct zd_cf_time){.calendar = ZD_CF_PROLEPTIC_GREGORIAN, .unit = 1};
    return dtype->kind == ZD_DTYPE_TIME && dtype->scale <= UINT32_MAX / MONTHS_A_YEAR;
}

static enum zd_status refuse_type(const struct zd_dtype *dtype, struct zd_error *err)
{
    return zd_fail(err, ZD_UNSUPPORTED, "its elements are %s", dtype->name);
}

/* Numbers, which may be times. */
static enum zd_status init_numbers(struct zd_labels *labels, const struct zd_dtype *dtype,
    struct zd_span units, struct zd_span calendar, struct zd_error *err)
{
    labels->kind = zd_dtype_is_float(dtype) ? ZD_LABELS_FLOATS : ZD_LABELS_INTEGERS;
    if (dtype->kind == ZD_DTYPE_BOOL || units.len == 0) {
        return ZD_OK;
    }
    const enum zd_status status = zd_cf_time_parse(units, calendar, &labels->time, err);
    if (status == ZD_INVALID) {
        return status;
    }
    labels->kind = status == ZD_OK ? ZD_LABELS_TIMES : labels->kind;
    return ZD_OK;
}

enum zd_status zd_labels_init(struct zd_labels *labels, const struct zd_dtype *dtype,
    struct zd_span units, struct zd_span calendar, struct zd_error *err)
{
    *labels = (struct zd_labels){.dtype = *dtype};
    switch (dtype->kind) {
    case ZD_DTYPE_BOOL:
    case ZD_DTYPE_INT:
    case ZD_DTYPE_UINT:
    case ZD_DTYPE_FLOAT:
    case ZD_DTYPE_SMALL_FLOAT:
        return init_numbers(labels, dtype, units, calendar, err);
    case ZD_DTYPE_TIME:
    case ZD_DTYPE_DURATION:
        labels->kind = dtype->kind == ZD_DTYPE_TIME ? ZD_LABELS_TIMES : ZD_LABELS_DURATIONS;
        return set_ticks(labels, dtype) ? ZD_OK : refuse_type(dtype, err);
    case ZD_DTYPE_UTF32:
    case ZD_DTYPE_CHARS:
    case ZD_DTYPE_STRING:
        labels->kind = ZD_LABELS_TEXTS;
        return ZD_OK;
    case ZD_DTYPE_COMPLEX:
    case ZD_DTYPE_RAW:
    case ZD_DTYPE_SMALL_COMPLEX:
    case ZD_DTYPE_BYTES:
    case ZD_DTYPE_LIST:
    case ZD_DTYPE_STRUCT:
        break;
    }
    return refuse_type(dtype, err);
}

void zd_labels_done(struct zd_labels *labels)
{
    zd_free(labels->order);
    labels->order = NULL;
}

/* ---- texts ---- */

bool zd_labels_need_packing(const struct zd_dtype *dtype)
{
    return dtype->kind == ZD_DTYPE_UTF32 || dtype->kind == ZD_DTYPE_CHARS;
}

static void add_fixed(const struct zd_dtype *dtype, const uint8_t *element, struct zd_text *text)
{
    struct zd_span bytes = {.ptr = element, .len = dtype->bytes};
    if (dtype->kind == ZD_DTYPE_UTF32) {
        zd_utf32_add(bytes, text);
        return;
    }
    while (bytes.len > 0 && bytes.ptr[bytes.len - 1] == 0) {
        bytes.len--;
    }
    zd_text_add_bytes(text, bytes.ptr, bytes.len);
}

enum zd_status zd_labels_pack(const struct zd_dtype *dtype, const uint8_t *elements, uint64_t n,
    struct zd_buf **ret_packed, struct zd_error *err)
{
    ZD_SCOPED_TEXT(text, SIZE_MAX / 2);
    ZD_AUTO(zd_buf) lengths = zd_buf_new(n * ZD_VARIABLE_BYTES);
    for (uint64_t i = 0; lengths != NULL && i < n; i++) {
        const size_t before = text.len;
        add_fixed(dtype, elements + i * dtype->bytes, &text);
        zd_variable_put(lengths->data, i, (struct zd_span){.len = text.len - before});
    }
    if (lengths == NULL || text.status != ZD_OK) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for the texts of a coordinate");
    }
    return zd_variable_join(lengths->data, n, zd_text_span(&text), ret_packed, err);
}

static int compare_texts(struct zd_span a, struct zd_span b)
{
    const size_t len = zd_min_u64(a.len, b.len);
    const int order = len == 0 ? 0 : memcmp(a.ptr, b.ptr, len);
    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

/* ---- elements ---- */

static const uint8_t *element_at(const struct zd_labels *labels, uint64_t i)
{
    return labels->element + i * labels->dtype.bytes;
}

static zd_i128 integer_at(const struct zd_labels *labels, uint64_t i)
{
    const struct zd_dtype *dtype = &labels->dtype;
    const uint8_t *element = element_at(labels, i);
    return dtype->kind == ZD_DTYPE_INT || zd_dtype_is_ticks(dtype)
               ? (zd_i128)zd_element_i64(dtype, element)
               : (zd_i128)zd_element_u64(dtype, element);
}

/* The beginning of a month that ticks count. */
static bool moment_of_months(const struct zd_labels *labels, int64_t ticks, zd_i128 *ret_moment)
{
    zd_i128 month;
    const zd_i128 year =
        zd_cf_calendar_divide((zd_i128)ticks * labels->n_months, MONTHS_A_YEAR, &month);
    if (year > ZD_CF_YEAR_MAX || year < -ZD_CF_YEAR_MAX) {
        return false;
    }
    const struct zd_cf_date date = {
        .year = (int64_t)year + YEAR_0, .month = (uint32_t)month + 1, .day = 1};
    return zd_cf_calendar_moment(labels->time.calendar, &date, ret_moment);
}

/* The moment of a time, or the length of a duration. */
static bool moment_at(const struct zd_labels *labels, uint64_t i, zd_i128 *ret_moment)
{
    const struct zd_dtype *dtype = &labels->dtype;
    const uint8_t *element = element_at(labels, i);
    if (zd_element_is_nan(dtype, element)) {
        return false;
    }
    if (labels->n_months > 0) {
        return moment_of_months(labels, zd_element_i64(dtype, element), ret_moment);
    }
    if (zd_dtype_is_float(dtype)) {
        return zd_cf_time_of_f64(&labels->time, zd_element_f64(dtype, element), ret_moment);
    }
    return dtype->kind == ZD_DTYPE_UINT
               ? zd_cf_time_of_u64(&labels->time, zd_element_u64(dtype, element), ret_moment)
               : zd_cf_time_of_i64(&labels->time, zd_element_i64(dtype, element), ret_moment);
}

bool zd_labels_is_value(const struct zd_labels *labels, uint64_t i)
{
    zd_i128 moment;
    switch (labels->kind) {
    case ZD_LABELS_TIMES:
    case ZD_LABELS_DURATIONS:
        return moment_at(labels, i, &moment);
    case ZD_LABELS_FLOATS:
        return !zd_element_is_nan(&labels->dtype, element_at(labels, i));
    case ZD_LABELS_INTEGERS:
    case ZD_LABELS_TEXTS:
        break;
    }
    return true;
}

int zd_labels_compare(const struct zd_labels *labels, uint64_t a, uint64_t b)
{
    return labels->kind == ZD_LABELS_TEXTS
               ? compare_texts(
                     zd_variable_at(labels->element, a), zd_variable_at(labels->element, b))
               : zd_element_compare(&labels->dtype, element_at(labels, a), element_at(labels, b));
}

/* "3 h", as zd_iso_date_read_duration reads it. */
static void add_duration(const struct zd_labels *labels, uint64_t i, struct zd_text *text)
{
    const zd_i128 count = integer_at(labels, i) * labels->dtype.scale;
    zd_text_addf(text, "%lld %s", (long long)count, zd_dtype_unit_name(labels->dtype.unit));
}

void zd_labels_add(const struct zd_labels *labels, uint64_t i, struct zd_text *text)
{
    const struct zd_scalar_style style = {.bare_strings = true};
    zd_i128 moment;
    if (labels->kind == ZD_LABELS_TEXTS) {
        const struct zd_span bytes = zd_variable_at(labels->element, i);
        zd_text_add_bytes(text, bytes.ptr, bytes.len);
    } else if (labels->kind == ZD_LABELS_TIMES && moment_at(labels, i, &moment) &&
               zd_cf_time_add(labels->time.calendar, moment, text)) {
        return;
    } else if (labels->kind == ZD_LABELS_DURATIONS && zd_labels_is_value(labels, i)) {
        add_duration(labels, i, text);
    } else {
        zd_scalar_add(&labels->dtype, element_at(labels, i), &style, text);
    }
}

/* ---- labels that a client names ---- */

/* A finite or infinite number, or a bool; NULL: it is none. Owned. */
static struct zd_json *parse_number(struct zd_span text, bool takes_bool)
{
    static const struct zd_json_limits limits = {
        .bytes_max = NUMBER_BYTES_MAX, .nodes_max = 1, .depth_max = 1};
    ZD_AUTO(zd_json) json = NULL;
    if (text.len == 0 || zd_json_parse(text, &limits, &json, NULL) != ZD_OK) {
        return NULL;
    }
    const bool is_number = zd_json_is(json, ZD_JSON_INTEGER) || zd_json_is(json, ZD_JSON_REAL);
    return is_number || (takes_bool && zd_json_is(json, ZD_JSON_BOOL)) ? ZD_TAKE(json) : NULL;
}

static void read_integer(const struct zd_json *json, struct zd_label *label)
{
    const double limit = ldexp(1, WHOLE_BITS);
    uint64_t unsigned_value;
    int64_t value;
    if (zd_json_is(json, ZD_JSON_BOOL)) {
        label->whole = zd_json_is_true(json) ? 1 : 0;
    } else if (zd_json_i64(json, &value)) {
        label->whole = value;
    } else if (zd_json_u64(json, &unsigned_value)) {
        label->whole = unsigned_value;
    } else if (zd_json_f64(json, &label->real)) {
        label->whole = (zd_i128)floor(fmax(fmin(label->real, limit), -limit));
        label->has_fraction = floor(label->real) < label->real;
        return;
    }
    label->real = (double)label->whole;
}

static enum zd_status read_number(const struct zd_labels *labels, struct zd_span text,
    struct zd_label *label, struct zd_error *err)
{
    const bool is_bool = labels->dtype.kind == ZD_DTYPE_BOOL;
    uint8_t element[sizeof(uint64_t)];
    bool is_noted;
    ZD_AUTO(zd_json) json = parse_number(text, is_bool);
    if (json == NULL) {
        return zd_label_spec_fail(err, is_bool ? "true or false" : "a number", text);
    }
    if (labels->kind == ZD_LABELS_INTEGERS) {
        read_integer(json, label);
        return ZD_OK;
    }
    ZD_TRY(zd_scalar_parse(&labels->dtype, json, element, &is_noted, err));
    label->real = zd_element_f64(&labels->dtype, element);
    return ZD_OK;
}

static enum zd_status read_time(const struct zd_labels *labels, struct zd_span text,
    struct zd_label *label, struct zd_error *err)
{
    struct zd_iso_date date;
    if (!zd_iso_date_read(text, &date)) {
        return zd_label_spec_fail(err, "a date or time, such as 2001-02-03T04:05", text);
    }
    return zd_iso_date_period(&date, labels->time.calendar, &label->whole, &label->end)
               ? ZD_OK
               : zd_label_spec_fail(err, "a date that exists in the calendar", text);
}

static enum zd_status read_duration(
    struct zd_span text, zd_i128 *ret_duration, struct zd_error *err)
{
    return zd_iso_date_read_duration(text, ret_duration)
               ? ZD_OK
               : zd_label_spec_fail(err, "a duration, such as PT3H or 3h", text);
}

enum zd_status zd_label_read(const struct zd_labels *labels, struct zd_span text,
    struct zd_label *ret_label, struct zd_error *err)
{
    struct zd_label label = {.text = text};
    switch (labels->kind) {
    case ZD_LABELS_INTEGERS:
    case ZD_LABELS_FLOATS:
        ZD_TRY(read_number(labels, text, &label, err));
        break;
    case ZD_LABELS_TIMES:
        ZD_TRY(read_time(labels, text, &label, err));
        break;
    case ZD_LABELS_DURATIONS:
        ZD_TRY(read_duration(text, &label.whole, err));
        label.end = label.whole + 1;
        break;
    case ZD_LABELS_TEXTS:
        break;
    }
    *ret_label = label;
    return ZD_OK;
}

static bool is_time(const struct zd_labels *labels)
{
    return labels->kind == ZD_LABELS_TIMES || labels->kind == ZD_LABELS_DURATIONS;
}

enum zd_status zd_label_read_tolerance(const struct zd_labels *labels, struct zd_span text,
    struct zd_label_tolerance *ret_tolerance, struct zd_error *err)
{
    struct zd_label_tolerance tolerance = {0};
    if (is_time(labels)) {
        ZD_TRY(read_duration(text, &tolerance.duration, err));
    } else {
        ZD_AUTO(zd_json) json = parse_number(text, false);
        if (!zd_json_f64(json, &tolerance.number) || tolerance.number < 0) {
            return zd_label_spec_fail(err, "a tolerance of 0 or more", text);
        }
    }
    *ret_tolerance = tolerance;
    return ZD_OK;
}

static int compare_wholes(zd_i128 a, zd_i128 b)
{
    return (a > b) - (a < b);
}

static int compare_reals(double a, double b)
{
    return (a > b) - (a < b);
}

int zd_label_compare(const struct zd_labels *labels, uint64_t i, const struct zd_label *label)
{
    zd_i128 whole = 0;
    switch (labels->kind) {
    case ZD_LABELS_FLOATS:
        return compare_reals(zd_element_f64(&labels->dtype, element_at(labels, i)), label->real);
    case ZD_LABELS_TEXTS:
        return compare_texts(zd_variable_at(labels->element, i), label->text);
    case ZD_LABELS_INTEGERS:
        whole = integer_at(labels, i);
        return whole == label->whole && label->has_fraction ? -1
                                                            : compare_wholes(whole, label->whole);
    case ZD_LABELS_TIMES:
    case ZD_LABELS_DURATIONS:
        (void)moment_at(labels, i, &whole); /* it is a value */
        break;
    }
    return compare_wholes(whole, label->whole);
}

int zd_label_compare_two(
    const struct zd_labels *labels, const struct zd_label *a, const struct zd_label *b)
{
    if (labels->kind == ZD_LABELS_TEXTS) {
        return compare_texts(a->text, b->text);
    }
    if (labels->kind == ZD_LABELS_FLOATS) {
        return compare_reals(a->real, b->real);
    }
    const int order = compare_wholes(a->whole, b->whole);
    return order != 0 ? order : compare_reals(a->has_fraction, b->has_fraction);
}

/* ---- distances, as NumPy computes them in the type of the elements ---- */

static double distance_of(const struct zd_labels *labels, uint64_t i, const struct zd_label *label)
{
    const struct zd_dtype *dtype = &labels->dtype;
    const bool is_float = labels->kind == ZD_LABELS_FLOATS;
    const double element =
        is_float ? zd_element_f64(dtype, element_at(labels, i)) : (double)integer_at(labels, i);
    const double distance = fabs(element - label->real);
    return is_float && dtype->bytes == FLOAT_BYTES ? (double)(float)distance : distance;
}

/* The distance of times, of durations, and of integers that are compared with an integer. */
static zd_i128 whole_distance_of(
    const struct zd_labels *labels, uint64_t i, const struct zd_label *label)
{
    zd_i128 whole = 0;
    if (labels->kind == ZD_LABELS_INTEGERS) {
        whole = integer_at(labels, i);
    } else {
        (void)moment_at(labels, i, &whole); /* it is a value */
    }
    return whole < label->whole ? label->whole - whole : whole - label->whole;
}

int zd_label_compare_distances(
    const struct zd_labels *labels, uint64_t a, uint64_t b, const struct zd_label *label)
{
    if (labels->kind == ZD_LABELS_FLOATS || label->has_fraction) {
        return compare_reals(distance_of(labels, a, label), distance_of(labels, b, label));
    }
    return compare_wholes(whole_distance_of(labels, a, label), whole_distance_of(labels, b, label));
}

bool zd_label_is_within(const struct zd_labels *labels, uint64_t i, const struct zd_label *label,
    const struct zd_label_tolerance *tolerance)
{
    return is_time(labels) ? whole_distance_of(labels, i, label) <= tolerance->duration
                           : distance_of(labels, i, label) <= tolerance->number;
}
