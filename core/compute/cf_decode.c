/* Elements decoded as the attributes of their array say.
 *
 * xarray's coders in their order, with the types that they give: numbers pass through a lot of
 * doubles, each step a loop that the compiler turns into vector instructions, and are rounded to
 * the type of the result after each step. */
#include "core/compute/cf_decode.h"

#include <math.h>
#include <string.h>

#include "core/base/base64.h"
#include "core/base/num.h"
#include "core/codec/number.h"
#include "core/grid/cf_time.h"
#include "core/grid/widen.h"

#define FILL_NAME     "_FillValue"
#define FOUND_MAX     64
#define EXACT_INTEGER 0x1p53
#define AS_A_NS       INT64_C(1000000000)

#define FILLS_EXPECTED "a number, or a list of numbers, at most 16 of all attributes"
_Static_assert(ZD_CF_DECODE_FILLS_MAX == 16, "FILLS_EXPECTED says how many there may be");

/* Attributes that are being read. */
struct reading {
    struct zd_cf_decode *decode;
    const struct zd_cf_decode_array *array;
    struct zd_error *err;
    bool has_fill_entry;   /* xarray keeps one, whether or not any element can equal it */
    bool is_reinterpreted; /* _Unsigned changes the type */
    bool is_integer_scale;
};

/* ---- attributes ---- */

static enum zd_status refuse(const struct reading *reading, const char *name, const char *expected)
{
    const struct zd_pointer root = {.text = "/attributes"};
    const struct zd_json *found = zd_json_member(reading->array->attributes, name);
    const enum zd_status status = zd_fail_name(reading->err, name,
        "the attribute %s is %s, expected %s: the array cannot be decoded", name,
        zd_json_type_name(found), expected);
    zd_fact_pointer(reading->err, zd_pointer_member(&root, name).text);
    zd_fact_expected(reading->err, "%s", expected);
    zd_fact_found(reading->err, "%s", zd_json_type_name(found));
    return status;
}

/* A number, or a list of one. */
static const struct zd_json *single(const struct zd_json *json)
{
    const bool is_list = zd_json_is(json, ZD_JSON_ARRAY) && zd_json_count(json) == 1;
    return is_list ? zd_json_element(json, 0) : json;
}

/* @param ret_has false: there is no such attribute */
static enum zd_status read_number(
    const struct reading *reading, const char *name, bool *ret_has, double *ret_number)
{
    const struct zd_json *json = zd_json_member(reading->array->attributes, name);
    *ret_has = json != NULL && !zd_json_is(json, ZD_JSON_NULL);
    return !*ret_has || zd_json_f64(single(json), ret_number) ? ZD_OK
                                                              : refuse(reading, name, "a number");
}

static bool is_integer_type(const struct zd_dtype *dtype)
{
    return zd_number_is_integer(dtype);
}

/* The integer that has the low bits of another one. */
static uint64_t low_bits(const struct zd_dtype *dtype, uint64_t integer)
{
    const uint32_t n_above = 64 - dtype->bytes * 8;
    const uint64_t bits = integer << n_above;
    return dtype->kind == ZD_DTYPE_INT ? (uint64_t)((int64_t)bits >> n_above) : bits >> n_above;
}

static double double_of(const struct zd_dtype *dtype, uint64_t integer)
{
    return dtype->kind == ZD_DTYPE_INT ? (double)(int64_t)integer : (double)integer;
}

/* ---- _Unsigned ---- */

static void read_unsigned(struct reading *reading)
{
    static const char *const names[2][4] = {
        {"int8", "int16", "int32", "int64"}, {"uint8", "uint16", "uint32", "uint64"}};
    struct zd_cf_decode *decode = reading->decode;
    const char *text = zd_json_string(zd_json_member(reading->array->attributes, "_Unsigned"));
    const bool is_signed = decode->packed.kind == ZD_DTYPE_INT;
    if (text == NULL || !is_integer_type(&decode->packed) ||
        strcmp(text, is_signed ? "true" : "false") != 0) {
        return;
    }
    for (uint32_t i = 0; i < ZD_COUNT_OF(names[0]); i++) {
        if (decode->packed.bytes == 1U << i) {
            reading->is_reinterpreted =
                zd_dtype_find(names[is_signed ? 1 : 0][i], &decode->packed) == ZD_OK;
            return;
        }
    }
}

/* ---- missing values ---- */

static bool is_full(const struct reading *reading)
{
    return reading->decode->n_fills == ZD_CF_DECODE_FILLS_MAX;
}

static void add_fill(struct reading *reading, const struct zd_cf_decode_fill *fill)
{
    struct zd_cf_decode *decode = reading->decode;
    const bool is_nan = isnan(fill->number);
    reading->has_fill_entry =
        reading->has_fill_entry || !is_nan || !is_integer_type(&decode->packed);
    if (!is_nan) {
        decode->fill[decode->n_fills++] = *fill;
    }
}

static bool read_integer(const struct zd_json *json, uint64_t *ret_integer)
{
    int64_t negative;
    if (zd_json_u64(json, ret_integer)) {
        return true;
    }
    if (zd_json_i64(json, &negative)) {
        *ret_integer = (uint64_t)negative;
        return true;
    }
    return false;
}

/* xarray has floats in v3 as base64 of a float64; writers of JSON have words for NaN. */
static bool read_text_fill(const struct zd_json *json, double *ret_number)
{
    const struct zd_span text = zd_json_string_span(json);
    uint8_t bytes[sizeof *ret_number];
    if (text.ptr == NULL) {
        return false;
    }
    if (zd_span_is(text, "NaN") || zd_span_is(text, "nan")) {
        *ret_number = (double)NAN;
        return true;
    }
    if (zd_base64_bytes(text) != sizeof bytes || !zd_base64_decode(text, bytes)) {
        return false;
    }
    memcpy(ret_number, bytes, sizeof bytes);
    return true;
}

static bool read_fill(const struct reading *reading, const struct zd_json *json, bool is_moved,
    struct zd_cf_decode_fill *ret_fill)
{
    const struct zd_dtype *packed = &reading->decode->packed;
    struct zd_cf_decode_fill fill = {.is_integer = read_integer(json, &fill.integer)};
    if (fill.is_integer && is_moved) {
        fill.integer = low_bits(packed, fill.integer);
        fill.number = double_of(packed, fill.integer);
    } else if (!zd_json_f64(json, &fill.number) &&
               (is_integer_type(packed) || !read_text_fill(json, &fill.number))) {
        return false;
    }
    *ret_fill = fill;
    return true;
}

/* A value, or a list of some. */
static enum zd_status read_fills(struct reading *reading, const char *name, bool is_moved)
{
    const struct zd_json *json = zd_json_member(reading->array->attributes, name);
    const bool is_list = zd_json_is(json, ZD_JSON_ARRAY);
    const size_t n = json == NULL || zd_json_is(json, ZD_JSON_NULL) ? 0
                     : is_list                                      ? zd_json_count(json)
                                                                    : 1;
    for (size_t i = 0; i < n; i++) {
        struct zd_cf_decode_fill fill;
        if (is_full(reading) ||
            !read_fill(reading, is_list ? zd_json_element(json, i) : json, is_moved, &fill)) {
            return refuse(reading, name, FILLS_EXPECTED);
        }
        add_fill(reading, &fill);
    }
    return ZD_OK;
}

/* The fill value of an array of v2. */
static void add_stored_fill(struct reading *reading)
{
    const struct zd_cf_decode *decode = reading->decode;
    struct zd_cf_decode_fill fill = {.is_integer = is_integer_type(&decode->packed)};
    if (fill.is_integer) {
        zd_numbers_load_integers(&decode->packed, reading->array->fill, 1, &fill.integer);
        fill.number = double_of(&decode->packed, fill.integer);
    } else if (zd_widen_is_needed(&decode->stored)) {
        float wide;
        zd_widen(&decode->stored, &wide, reading->array->fill, 1);
        fill.number = (double)wide;
    } else {
        zd_numbers_load(&decode->packed, reading->array->fill, 1, &fill.number);
    }
    add_fill(reading, &fill);
}

static enum zd_status read_missing(struct reading *reading)
{
    ZD_TRY(read_fills(reading, "missing_value", false));
    if (reading->array->fill != NULL) {
        if (is_full(reading)) {
            return refuse(reading, "missing_value", FILLS_EXPECTED);
        }
        add_stored_fill(reading);
        return ZD_OK;
    }
    return read_fills(reading, FILL_NAME, reading->is_reinterpreted);
}

/* ---- valid_min, valid_max, valid_range ---- */

static void add_bounds(struct reading *reading, double min, double max)
{
    struct zd_cf_decode *decode = reading->decode;
    const double moved = ldexp(1, (int)(decode->packed.bytes * 8));
    if (reading->is_reinterpreted && decode->packed.kind == ZD_DTYPE_UINT) {
        min += min < 0 && isfinite(min) ? moved : 0; /* given in the signed type */
        max += max < 0 && isfinite(max) ? moved : 0;
    }
    decode->has_bounds = true;
    decode->min = fmax(decode->min, min);
    decode->max = fmin(decode->max, max);
}

static enum zd_status read_bounds(struct reading *reading)
{
    const struct zd_json *range = zd_json_member(reading->array->attributes, "valid_range");
    bool has_min;
    bool has_max;
    double min = -INFINITY;
    double max = INFINITY;
    reading->decode->min = min;
    reading->decode->max = max;
    ZD_TRY(read_number(reading, "valid_min", &has_min, &min));
    ZD_TRY(read_number(reading, "valid_max", &has_max, &max));
    if (has_min || has_max) {
        add_bounds(reading, min, max);
    }
    if (range == NULL || zd_json_is(range, ZD_JSON_NULL)) {
        return ZD_OK;
    }
    if (zd_json_count(range) != 2 || !zd_json_f64(zd_json_element(range, 0), &min) ||
        !zd_json_f64(zd_json_element(range, 1), &max)) {
        return refuse(reading, "valid_range", "a list of two numbers");
    }
    add_bounds(reading, min, max);
    return ZD_OK;
}

/* ---- scale_factor, add_offset ---- */

static enum zd_status read_scale(struct reading *reading)
{
    struct zd_cf_decode *decode = reading->decode;
    const struct zd_json *scale =
        single(zd_json_member(reading->array->attributes, "scale_factor"));
    decode->scale = 1;
    ZD_TRY(read_number(reading, "scale_factor", &decode->has_scale, &decode->scale));
    ZD_TRY(read_number(reading, "add_offset", &decode->has_offset, &decode->offset));
    reading->is_integer_scale = decode->has_scale && read_integer(scale, &decode->integer_scale);
    return ZD_OK;
}

/* ---- times ---- */

/* Whether the numbers are times that datetime64 holds. */
static enum zd_status read_time(struct reading *reading, bool *ret_is_time)
{
    struct zd_cf_decode *decode = reading->decode;
    const struct zd_json *attributes = reading->array->attributes;
    const struct zd_json *calendar = zd_json_member(attributes, "calendar");
    struct zd_cf_time time;
    int64_t reference_ns;
    decode->units = zd_json_string(zd_json_member(attributes, "units"));
    *ret_is_time = false;
    if (decode->units == NULL || reading->array->leaves_times) {
        return ZD_OK;
    }
    const enum zd_status status = zd_cf_time_parse(
        zd_span_of(decode->units), zd_json_string_span(calendar), &time, reading->err);
    if (status == ZD_UNSUPPORTED) {
        return ZD_OK;
    }
    if (status != ZD_OK) {
        const struct zd_pointer root = {.text = "/attributes"};
        const bool is_calendar =
            reading->err != NULL && strcmp(reading->err->facts.name, "calendar") == 0;
        zd_fact_pointer(
            reading->err, zd_pointer_member(&root, is_calendar ? "calendar" : "units").text);
        return status;
    }
    const zd_i128 tick_ns = time.unit / AS_A_NS;
    if (zd_cf_calendar_is_standard(time.calendar) && time.unit % AS_A_NS == 0 &&
        tick_ns <= INT64_MAX && zd_cf_time_ns(time.reference, &reference_ns)) {
        decode->tick_ns = (int64_t)tick_ns;
        decode->reference_ns = reference_ns;
        *ret_is_time = true;
    }
    return ZD_OK;
}

/* ---- what elements become ---- */

/* The type of numbers, as xarray chooses it (CFMaskCoder, CFScaleOffsetCoder; every number of JSON
 * is a float64 or an integer of Python). */
static const char *number_name(const struct reading *reading, bool is_time)
{
    const struct zd_cf_decode *decode = reading->decode;
    const bool is_scaled = decode->has_scale || decode->has_offset;
    const bool is_float = zd_number_is_float(&decode->packed);
    if (is_scaled) {
        const bool stays =
            is_float && reading->has_fill_entry && decode->n_fills == 0 && !decode->has_bounds;
        return stays && !is_time ? decode->packed.name : "float64";
    }
    if (is_float) {
        return decode->packed.name;
    }
    return decode->packed.bytes <= 2 ? "float32" : "float64";
}

static enum zd_status choose(struct reading *reading, bool is_time)
{
    struct zd_cf_decode *decode = reading->decode;
    const bool is_scaled = decode->has_scale || decode->has_offset;
    const bool has_missing = decode->n_fills > 0 || decode->has_bounds;
    decode->to = decode->packed;
    if (!is_scaled && !has_missing && !is_time) {
        decode->to = reading->is_reinterpreted ? decode->packed : decode->stored;
        return ZD_OK;
    }
    if (is_scaled && !has_missing && !is_time && !decode->has_offset && reading->is_integer_scale &&
        is_integer_type(&decode->packed)) {
        decode->way = ZD_CF_DECODE_INTEGERS;
        return zd_dtype_find("int64", &decode->to);
    }
    decode->way = is_time ? ZD_CF_DECODE_TIMES : ZD_CF_DECODE_FLOATS;
    ZD_TRY(zd_dtype_find(number_name(reading, is_time), &decode->number));
    zd_numbers_round(&decode->number, &decode->scale, 1);
    zd_numbers_round(&decode->number, &decode->offset, 1);
    decode->to = decode->number;
    if (is_time) {
        decode->units = NULL;
        return zd_dtype_of_ticks("numpy.datetime64", ZD_DTYPE_NANOSECONDS, 1, &decode->to);
    }
    return ZD_OK;
}

enum zd_status zd_cf_decode_init(
    struct zd_cf_decode *decode, const struct zd_cf_decode_array *array, struct zd_error *err)
{
    struct zd_cf_decode found = {
        .stored = array->dtype, .packed = zd_widen_dtype(&array->dtype), .to = array->dtype};
    struct reading reading = {.decode = &found, .array = array, .err = err};
    bool is_time;
    found.units = zd_json_string(zd_json_member(array->attributes, "units"));
    if (zd_number_is_real(&found.packed) && found.packed.kind != ZD_DTYPE_BOOL) {
        read_unsigned(&reading);
        ZD_TRY(read_missing(&reading));
        ZD_TRY(read_bounds(&reading));
        ZD_TRY(read_scale(&reading));
        ZD_TRY(read_time(&reading, &is_time));
        ZD_TRY(choose(&reading, is_time));
    }
    *decode = found;
    return ZD_OK;
}

/* ---- elements ---- */

/* Elements on their way; at most ZD_NUMBERS_MAX. */
struct lot {
    double number[ZD_NUMBERS_MAX];
    uint8_t is_missing[ZD_NUMBERS_MAX];
    size_t n;
};

static void mark_missing(const struct zd_cf_decode *decode, struct lot *lot)
{
    memset(lot->is_missing, 0, lot->n);
    for (uint32_t k = 0; k < decode->n_fills; k++) {
        const double fill = decode->fill[k].number;
        for (size_t i = 0; i < lot->n; i++) {
            lot->is_missing[i] |= lot->number[i] == fill;
        }
    }
    if (decode->has_bounds) {
        const double min = decode->min;
        const double max = decode->max;
        for (size_t i = 0; i < lot->n; i++) {
            lot->is_missing[i] |= (lot->number[i] < min) | (lot->number[i] > max);
        }
    }
}

static void scale(const struct zd_cf_decode *decode, struct lot *lot)
{
    if (decode->has_scale) {
        for (size_t i = 0; i < lot->n; i++) {
            lot->number[i] *= decode->scale;
        }
        zd_numbers_round(&decode->number, lot->number, lot->n);
    }
    if (decode->has_offset) {
        for (size_t i = 0; i < lot->n; i++) {
            lot->number[i] += decode->offset;
        }
        zd_numbers_round(&decode->number, lot->number, lot->n);
    }
}

static void drop_missing(struct lot *lot)
{
    for (size_t i = 0; i < lot->n; i++) {
        lot->number[i] = lot->is_missing[i] != 0 ? (double)NAN : lot->number[i];
    }
}

/* The numbers of a lot, NaN where they are missing. */
static void load(const struct zd_cf_decode *decode, const uint8_t *from, struct lot *lot)
{
    const bool has_missing = decode->n_fills > 0 || decode->has_bounds;
    if (zd_widen_is_needed(&decode->stored)) {
        float wide[ZD_NUMBERS_MAX];
        zd_widen(&decode->stored, wide, from, lot->n);
        zd_numbers_load(&decode->packed, (const uint8_t *)wide, lot->n, lot->number);
    } else {
        zd_numbers_load(&decode->packed, from, lot->n, lot->number);
    }
    if (has_missing) {
        mark_missing(decode, lot);
    }
    scale(decode, lot);
    if (has_missing) {
        drop_missing(lot);
    }
}

static void multiply(const struct zd_cf_decode *decode, const uint8_t *from, size_t n, uint8_t *to)
{
    uint64_t integer[ZD_NUMBERS_MAX];
    zd_numbers_load_integers(&decode->packed, from, n, integer);
    for (size_t i = 0; i < n; i++) {
        integer[i] *= decode->integer_scale; /* NumPy wraps too */
    }
    zd_numbers_store_integers(&decode->to, integer, n, to);
}

/* NumPy's cast: towards zero. */
static bool time_of_number(const struct zd_cf_decode *decode, double number, int64_t *ret_ns)
{
    const double ns = number * (double)decode->tick_ns;
    if (isnan(number)) {
        *ret_ns = ZD_DTYPE_NAT;
        return true;
    }
    return fabs(ns) < 0x1p63 && !ckd_add(ret_ns, (int64_t)ns, decode->reference_ns) &&
           *ret_ns != ZD_DTYPE_NAT;
}

static bool times_of_numbers(const struct zd_cf_decode *decode, const uint8_t *from, size_t n,
    uint8_t *to, uint64_t *ret_place)
{
    struct lot lot = {.n = n};
    load(decode, from, &lot);
    for (size_t i = 0; i < n; i++) {
        int64_t ns;
        if (!time_of_number(decode, lot.number[i], &ns)) {
            *ret_place = i;
            return false;
        }
        zd_store_u64(to + i * sizeof ns, (uint64_t)ns);
    }
    return true;
}

/* Whether an integer is a missing value; all 64 bits are compared. */
static bool is_missing(const struct zd_cf_decode *decode, uint64_t integer)
{
    const double number = double_of(&decode->packed, integer);
    for (uint32_t k = 0; k < decode->n_fills; k++) {
        const struct zd_cf_decode_fill *fill = &decode->fill[k];
        if (fill->is_integer && fabs(fill->number) > EXACT_INTEGER ? integer == fill->integer
                                                                   : number == fill->number) {
            return true;
        }
    }
    return decode->has_bounds && (number < decode->min || number > decode->max);
}

static bool time_of_integer(const struct zd_cf_decode *decode, uint64_t integer, int64_t *ret_ns)
{
    const bool is_unsigned = decode->packed.kind == ZD_DTYPE_UINT;
    if (is_missing(decode, integer) || (!is_unsigned && (int64_t)integer == ZD_DTYPE_NAT)) {
        *ret_ns = ZD_DTYPE_NAT;
        return true;
    }
    const bool is_beyond = is_unsigned && integer > INT64_MAX;
    return !is_beyond && !ckd_mul(ret_ns, (int64_t)integer, decode->tick_ns) &&
           !ckd_add(ret_ns, *ret_ns, decode->reference_ns) && *ret_ns != ZD_DTYPE_NAT;
}

static bool times_of_integers(const struct zd_cf_decode *decode, const uint8_t *from, size_t n,
    uint8_t *to, uint64_t *ret_place)
{
    uint64_t integer[ZD_NUMBERS_MAX];
    zd_numbers_load_integers(&decode->packed, from, n, integer);
    for (size_t i = 0; i < n; i++) {
        int64_t ns;
        if (!time_of_integer(decode, integer[i], &ns)) {
            *ret_place = i;
            return false;
        }
        zd_store_u64(to + i * sizeof ns, (uint64_t)ns);
    }
    return true;
}

static void decode_floats(
    const struct zd_cf_decode *decode, const uint8_t *from, size_t n, uint8_t *to)
{
    struct lot lot = {.n = n};
    load(decode, from, &lot);
    zd_numbers_store(&decode->to, lot.number, n, to);
}

/* At most ZD_NUMBERS_MAX elements. */
static bool decode_lot(const struct zd_cf_decode *decode, const uint8_t *from, size_t n,
    uint8_t *to, uint64_t *ret_place)
{
    const bool is_scaled = decode->has_scale || decode->has_offset;
    switch (decode->way) {
    case ZD_CF_DECODE_NOTHING:
        memcpy(to, from, n * decode->to.bytes);
        return true;
    case ZD_CF_DECODE_FLOATS:
        decode_floats(decode, from, n, to);
        return true;
    case ZD_CF_DECODE_INTEGERS:
        multiply(decode, from, n, to);
        return true;
    case ZD_CF_DECODE_TIMES:
        break;
    }
    return is_integer_type(&decode->packed) && !is_scaled
               ? times_of_integers(decode, from, n, to, ret_place)
               : times_of_numbers(decode, from, n, to, ret_place);
}

bool zd_cf_decode_run(const struct zd_cf_decode *decode, const uint8_t *from, uint64_t n,
    uint8_t *to, uint64_t *ret_place)
{
    for (uint64_t at = 0; at < n; at += ZD_NUMBERS_MAX) {
        const size_t n_lot = zd_min_u64(n - at, ZD_NUMBERS_MAX);
        if (!decode_lot(decode, from + at * decode->stored.bytes, n_lot, to + at * decode->to.bytes,
                ret_place)) {
            *ret_place += at;
            return false;
        }
    }
    return true;
}
