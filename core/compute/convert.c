/* Elements converted to another data type: real numbers by the loops of codecs, others here. */
#include "core/compute/convert.h"

#include <math.h>
#include <string.h>

#include "core/base/num.h"
#include "core/codec/value_cast.h"
#include "core/grid/typestr.h"
#include "core/grid/widen.h"

#define LOT            512
#define NAME_BYTES_MAX 32
#define COMPONENTS     2 /* of a complex number */

const char *const zd_convert_names[] = {"bool", "int8", "int16", "int32", "int64", "uint8",
    "uint16", "uint32", "uint64", "float16", "float32", "float64", "complex64", "complex128",
    ZD_CONVERT_SAFE, NULL};

/* ---- which conversion ---- */

struct zd_dtype zd_convert_usual(const struct zd_dtype *dtype)
{
    struct zd_dtype found = zd_widen_dtype(dtype);
    const bool is_few =
        (dtype->kind == ZD_DTYPE_INT || dtype->kind == ZD_DTYPE_UINT) && !zd_number_is_real(dtype);
    if (is_few && zd_dtype_find(dtype->kind == ZD_DTYPE_INT ? "int8" : "uint8", &found) != ZD_OK) {
        return *dtype;
    }
    return found;
}

static bool is_listed(const struct zd_dtype *dtype)
{
    size_t i = 0;
    while (zd_convert_names[i] != NULL && strcmp(zd_convert_names[i], dtype->name) != 0) {
        i++;
    }
    return zd_convert_names[i] != NULL;
}

/* "f4" is "<f4" of a type string, "u1" is "|u1". */
static bool find_type(struct zd_span name, struct zd_dtype *ret_dtype)
{
    struct zd_typestr found;
    ZD_SCOPED_TEXT(text, NAME_BYTES_MAX);
    const bool is_short = name.len >= 2 && name.ptr[1] >= '0' && name.ptr[1] <= '9';
    const bool is_byte = name.len == 2 && name.ptr[1] == '1';
    zd_text_add(&text, is_byte ? "|" : is_short ? "<" : "");
    zd_text_add_bytes(&text, name.ptr, name.len);
    if (text.status != ZD_OK || strlen(text.at) != text.len ||
        zd_typestr_parse_any(text.at, &found, NULL) != ZD_OK || found.is_big) {
        return false;
    }
    *ret_dtype = found.dtype;
    return is_listed(ret_dtype);
}

static bool is_wide_integer(const struct zd_dtype *dtype)
{
    return dtype->bytes == sizeof(uint64_t) &&
           (zd_number_is_integer(dtype) || zd_dtype_is_ticks(dtype));
}

/* The name of the safe type. @return NULL: there is none */
static const char *safe_name(const struct zd_dtype *dtype)
{
    if (dtype->kind == ZD_DTYPE_BOOL) {
        return "uint8";
    }
    if (dtype->kind == ZD_DTYPE_FLOAT && dtype->bytes == 2) {
        return "float32";
    }
    if (is_wide_integer(dtype)) {
        return "float64";
    }
    return zd_number_is_real(dtype) ? dtype->name : NULL;
}

/* Whether every integer or bool of the one type is one of the other. */
static bool holds_all(const struct zd_dtype *to, const struct zd_dtype *from)
{
    if (from->kind == ZD_DTYPE_BOOL) {
        return true;
    }
    const bool is_signed = from->kind == ZD_DTYPE_INT;
    return to->kind == from->kind ? to->bytes >= from->bytes
                                  : !is_signed && to->bytes > from->bytes;
}

static bool find_real_rule(
    const struct zd_dtype *from, const struct zd_dtype *to, enum zd_convert_rule *ret_rule)
{
    const bool is_cut =
        zd_number_is_integer(to) && (zd_number_is_float(from) || !holds_all(to, from));
    *ret_rule = is_cut ? ZD_CONVERT_INTEGER : ZD_CONVERT_ALWAYS;
    return zd_number_is_real(to);
}

/* @return false: elements of the one do not become such of the other */
static bool find_rule(
    const struct zd_dtype *from, const struct zd_dtype *to, enum zd_convert_rule *ret_rule)
{
    if (zd_dtype_equal(from, to)) {
        *ret_rule = ZD_CONVERT_COPY;
        return true;
    }
    if (zd_dtype_is_ticks(from)) {
        *ret_rule = ZD_CONVERT_COPY;
        return to->kind == ZD_DTYPE_INT && to->bytes == from->bytes;
    }
    if (to->kind == ZD_DTYPE_COMPLEX) {
        *ret_rule = ZD_CONVERT_COMPLEX;
        return zd_number_is_real(from) || from->kind == ZD_DTYPE_COMPLEX;
    }
    return zd_number_is_real(from) && find_real_rule(from, to, ret_rule);
}

static enum zd_status refuse(
    const struct zd_dtype *from, struct zd_span name, const char *why, struct zd_error *err)
{
    const int shown = (int)zd_min_u64(name.len, NAME_BYTES_MAX);
    const enum zd_status status = zd_fail_name(
        err, "dtype", "dtype=%.*s: %s%s", shown, (const char *)name.ptr, why, from->name);
    zd_fact_found(err, "%.*s", shown, (const char *)name.ptr);
    return status;
}

enum zd_status zd_convert_init(struct zd_convert *convert, const struct zd_dtype *from,
    struct zd_span name, struct zd_error *err)
{
    const struct zd_dtype number = zd_convert_usual(from);
    struct zd_convert found = {.from = *from};
    if (zd_span_is(name, ZD_CONVERT_SAFE)) {
        const char *safe = safe_name(&number);
        if (safe == NULL || zd_dtype_find(safe, &found.to) != ZD_OK) {
            return refuse(from, name, "a JavaScript typed array cannot hold ", err);
        }
    } else if (!find_type(name, &found.to)) {
        return refuse(from, name, "unknown data type; the array has ", err);
    }
    if (zd_span_is(name, ZD_CONVERT_SAFE) && is_wide_integer(&number)) {
        found.rule = ZD_CONVERT_EXACT;
    } else if (!find_rule(&number, &found.to, &found.rule)) {
        return refuse(from, name, "cannot be converted from ", err);
    }
    if (found.rule == ZD_CONVERT_COPY && zd_widen_is_needed(from)) {
        found.rule = ZD_CONVERT_ALWAYS; /* each is widened */
    }
    *convert = found;
    return ZD_OK;
}

bool zd_convert_may_fail(const struct zd_convert *convert)
{
    return convert->rule == ZD_CONVERT_INTEGER || convert->rule == ZD_CONVERT_EXACT;
}

/* ---- elements ---- */

static bool to_integers(const struct zd_dtype *from_dtype, const struct zd_dtype *to_dtype,
    const uint8_t *from, uint64_t n, uint8_t *to, uint64_t *ret_place)
{
    const struct zd_value_cast cast = {
        .from = *from_dtype,
        .to = *to_dtype,
        .rounding = ZD_TOWARDS_ZERO,
        .overflow = ZD_OVERFLOW_FAILS,
    };
    return zd_value_cast_run(&cast, from, n, to, ret_place);
}

/* Whether a float64 made of an integer has its value. */
static bool is_same(const struct zd_dtype *from, uint64_t integer, double number)
{
    if (from->kind == ZD_DTYPE_UINT) {
        return number < 0x1p64 && (uint64_t)number == integer;
    }
    return number < 0x1p63 && (int64_t)number == (int64_t)integer;
}

static bool to_exact(const struct zd_dtype *from_dtype, const uint8_t *from, uint64_t n,
    uint8_t *to, uint64_t *ret_place)
{
    const bool is_ticks = zd_dtype_is_ticks(from_dtype);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t integer = zd_load_u64(from + i * sizeof integer);
        double number =
            from_dtype->kind == ZD_DTYPE_UINT ? (double)integer : (double)(int64_t)integer;
        if (is_ticks && (int64_t)integer == ZD_DTYPE_NAT) {
            number = (double)NAN;
        } else if (!is_same(from_dtype, integer, number)) {
            *ret_place = i;
            return false;
        }
        memcpy(to + i * sizeof number, &number, sizeof number);
    }
    return true;
}

/* The type of the components of complex numbers, or of real numbers themselves. */
static struct zd_dtype component_of(const struct zd_dtype *dtype)
{
    struct zd_dtype component = *dtype;
    if (dtype->kind == ZD_DTYPE_COMPLEX &&
        zd_dtype_find(dtype->bytes == 8 ? "float32" : "float64", &component) != ZD_OK) {
        return *dtype;
    }
    return component;
}

/* At most LOT elements. */
static void to_complex(const struct zd_dtype *from_dtype, const struct zd_dtype *to_dtype,
    const uint8_t *from, uint64_t n, uint8_t *to)
{
    const struct zd_dtype part_from = component_of(from_dtype);
    const struct zd_dtype part_to = component_of(to_dtype);
    uint8_t part[LOT * ZD_NUMBER_BYTES_MAX];
    if (from_dtype->kind == ZD_DTYPE_COMPLEX) {
        zd_numbers_cast(&part_from, from, n * COMPONENTS, &part_to, to);
        return;
    }
    zd_numbers_cast(&part_from, from, n, &part_to, part);
    memset(to, 0, n * to_dtype->bytes);
    for (uint64_t i = 0; i < n; i++) {
        memcpy(to + i * to_dtype->bytes, part + i * part_to.bytes, part_to.bytes);
    }
}

/* At most LOT elements of a type that NumPy has. */
static bool convert_lot(const struct zd_convert *convert, const struct zd_dtype *from_dtype,
    const uint8_t *from, uint64_t n, uint8_t *to, uint64_t *ret_place)
{
    switch (convert->rule) {
    case ZD_CONVERT_COPY:
        memcpy(to, from, n * convert->to.bytes);
        return true;
    case ZD_CONVERT_INTEGER:
        return to_integers(from_dtype, &convert->to, from, n, to, ret_place);
    case ZD_CONVERT_EXACT:
        return to_exact(from_dtype, from, n, to, ret_place);
    case ZD_CONVERT_COMPLEX:
        to_complex(from_dtype, &convert->to, from, n, to);
        return true;
    case ZD_CONVERT_ALWAYS:
        break;
    }
    if (zd_dtype_equal(from_dtype, &convert->to)) {
        memcpy(to, from, n * convert->to.bytes);
    } else {
        zd_numbers_cast(from_dtype, from, n, &convert->to, to);
    }
    return true;
}

bool zd_convert_run(const struct zd_convert *convert, const uint8_t *from, uint64_t n, uint8_t *to,
    uint64_t *ret_place)
{
    const struct zd_dtype number = zd_convert_usual(&convert->from);
    const bool is_widened = zd_widen_is_needed(&convert->from);
    uint8_t wide[LOT * ZD_CONVERT_ELEMENT_MAX];
    for (uint64_t at = 0; at < n; at += LOT) {
        const uint64_t n_lot = zd_min_u64(n - at, LOT);
        const uint8_t *lot = from + at * convert->from.bytes;
        if (is_widened) {
            zd_widen(&convert->from, wide, lot, n_lot);
            lot = wide;
        }
        if (!convert_lot(convert, &number, lot, n_lot, to + at * convert->to.bytes, ret_place)) {
            *ret_place += at;
            return false;
        }
    }
    return true;
}
