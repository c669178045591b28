/* Elements as numbers, some at a time: how NumPy casts from one data type to another.
 *
 * Numbers pass through a lot of doubles (or of 64-bit integers), so that there is one short loop a
 * data type and direction, which the compiler turns into vector instructions. */
#include "core/codec/number.h"

#include <string.h>

#include "core/base/half.h"
#include "core/base/num.h"

/* ---- elements to doubles ---- */

static void load_bool(const uint8_t *from, size_t n, double *to)
{
    for (size_t i = 0; i < n; i++) {
        to[i] = from[i] != 0 ? 1 : 0;
    }
}

static void load_i8(const uint8_t *from, size_t n, double *to)
{
    for (size_t i = 0; i < n; i++) {
        to[i] = (double)(int8_t)from[i];
    }
}

static void load_i16(const uint8_t *from, size_t n, double *to)
{
    for (size_t i = 0; i < n; i++) {
        to[i] = (double)(int16_t)zd_load_u16(from + i * sizeof(int16_t));
    }
}

static void load_i32(const uint8_t *from, size_t n, double *to)
{
    for (size_t i = 0; i < n; i++) {
        to[i] = (double)(int32_t)zd_load_u32(from + i * sizeof(int32_t));
    }
}

static void load_i64(const uint8_t *from, size_t n, double *to)
{
    for (size_t i = 0; i < n; i++) {
        to[i] = (double)(int64_t)zd_load_u64(from + i * sizeof(int64_t));
    }
}

static void load_u8(const uint8_t *from, size_t n, double *to)
{
    for (size_t i = 0; i < n; i++) {
        to[i] = (double)from[i];
    }
}

static void load_u16(const uint8_t *from, size_t n, double *to)
{
    for (size_t i = 0; i < n; i++) {
        to[i] = (double)zd_load_u16(from + i * sizeof(uint16_t));
    }
}

static void load_u32(const uint8_t *from, size_t n, double *to)
{
    for (size_t i = 0; i < n; i++) {
        to[i] = (double)zd_load_u32(from + i * sizeof(uint32_t));
    }
}

static void load_u64(const uint8_t *from, size_t n, double *to)
{
    for (size_t i = 0; i < n; i++) {
        to[i] = (double)zd_load_u64(from + i * sizeof(uint64_t));
    }
}

static void load_f16(const uint8_t *from, size_t n, double *to)
{
    for (size_t i = 0; i < n; i++) {
        to[i] = (double)zd_half_to_float(zd_load_u16(from + i * sizeof(uint16_t)));
    }
}

static void load_f32(const uint8_t *from, size_t n, double *to)
{
    for (size_t i = 0; i < n; i++) {
        float number;
        memcpy(&number, from + i * sizeof number, sizeof number);
        to[i] = (double)number;
    }
}

static void load_f64(const uint8_t *from, size_t n, double *to)
{
    memcpy(to, from, n * sizeof *to);
}

/* ---- doubles to elements: no cast of C that would be undefined ---- */

static int32_t to_i32(double number)
{
    const bool fits = (number > -0x1p31 - 1) & (number < 0x1p31);
    return (int32_t)(fits ? number : -0x1p31);
}

static int64_t to_i64(double number)
{
    const bool fits = (number >= -0x1p63) & (number < 0x1p63);
    return (int64_t)(fits ? number : -0x1p63);
}

static uint64_t to_u64(double number)
{
    const bool is_upper = number >= 0x1p63;
    const uint64_t lower = (uint64_t)to_i64(is_upper ? number - 0x1p63 : number);
    return lower + (is_upper ? UINT64_C(1) << 63 : 0);
}

static void store_bool(const double *from, size_t n, uint8_t *to)
{
    for (size_t i = 0; i < n; i++) {
        to[i] = from[i] != 0;
    }
}

static void store_8(const double *from, size_t n, uint8_t *to)
{
    for (size_t i = 0; i < n; i++) {
        to[i] = (uint8_t)to_i32(from[i]);
    }
}

static void store_16(const double *from, size_t n, uint8_t *to)
{
    for (size_t i = 0; i < n; i++) {
        const uint16_t number = (uint16_t)to_i32(from[i]);
        memcpy(to + i * sizeof number, &number, sizeof number);
    }
}

static void store_i32(const double *from, size_t n, uint8_t *to)
{
    for (size_t i = 0; i < n; i++) {
        zd_store_u32(to + i * sizeof(int32_t), (uint32_t)to_i32(from[i]));
    }
}

static void store_u32(const double *from, size_t n, uint8_t *to)
{
    for (size_t i = 0; i < n; i++) {
        zd_store_u32(to + i * sizeof(uint32_t), (uint32_t)to_i64(from[i]));
    }
}

static void store_i64(const double *from, size_t n, uint8_t *to)
{
    for (size_t i = 0; i < n; i++) {
        zd_store_u64(to + i * sizeof(int64_t), (uint64_t)to_i64(from[i]));
    }
}

static void store_u64(const double *from, size_t n, uint8_t *to)
{
    for (size_t i = 0; i < n; i++) {
        zd_store_u64(to + i * sizeof(uint64_t), to_u64(from[i]));
    }
}

static void store_f16(const double *from, size_t n, uint8_t *to)
{
    for (size_t i = 0; i < n; i++) {
        const uint16_t number = zd_half_from_double(from[i]);
        memcpy(to + i * sizeof number, &number, sizeof number);
    }
}

static void store_f32(const double *from, size_t n, uint8_t *to)
{
    for (size_t i = 0; i < n; i++) {
        const float number = (float)from[i];
        memcpy(to + i * sizeof number, &number, sizeof number);
    }
}

static void store_f64(const double *from, size_t n, uint8_t *to)
{
    memcpy(to, from, n * sizeof *from);
}

/* ---- which loop ---- */

static const struct type {
    const char *name; /* other types may have the kind and size of one of these */
    enum zd_dtype_kind kind;
    uint32_t bytes;
    void (*load)(const uint8_t *from, size_t n, double *to);
    void (*store)(const double *from, size_t n, uint8_t *to);
} types[] = {
    {"bool", ZD_DTYPE_BOOL, 1, load_bool, store_bool},
    {"int8", ZD_DTYPE_INT, 1, load_i8, store_8},
    {"int16", ZD_DTYPE_INT, 2, load_i16, store_16},
    {"int32", ZD_DTYPE_INT, 4, load_i32, store_i32},
    {"int64", ZD_DTYPE_INT, 8, load_i64, store_i64},
    {"uint8", ZD_DTYPE_UINT, 1, load_u8, store_8},
    {"uint16", ZD_DTYPE_UINT, 2, load_u16, store_16},
    {"uint32", ZD_DTYPE_UINT, 4, load_u32, store_u32},
    {"uint64", ZD_DTYPE_UINT, 8, load_u64, store_u64},
    {"float16", ZD_DTYPE_FLOAT, 2, load_f16, store_f16},
    {"float32", ZD_DTYPE_FLOAT, 4, load_f32, store_f32},
    {"float64", ZD_DTYPE_FLOAT, 8, load_f64, store_f64},
};

/* NULL: it is none of real numbers. */
static const struct type *find_type(const struct zd_dtype *dtype)
{
    for (size_t i = 0; i < ZD_COUNT_OF(types); i++) {
        if (types[i].kind == dtype->kind && types[i].bytes == dtype->bytes &&
            strcmp(types[i].name, dtype->name) == 0) {
            return &types[i];
        }
    }
    return NULL;
}

bool zd_number_is_real(const struct zd_dtype *dtype)
{
    return find_type(dtype) != NULL;
}

bool zd_number_is_integer(const struct zd_dtype *dtype)
{
    return (dtype->kind == ZD_DTYPE_INT || dtype->kind == ZD_DTYPE_UINT) &&
           zd_number_is_real(dtype);
}

bool zd_number_is_float(const struct zd_dtype *dtype)
{
    return dtype->kind == ZD_DTYPE_FLOAT && zd_number_is_real(dtype);
}

bool zd_number_fits_double(const struct zd_dtype *dtype)
{
    return !zd_number_is_integer(dtype) || dtype->bytes < sizeof(uint64_t);
}

void zd_numbers_load(const struct zd_dtype *dtype, const uint8_t *from, size_t n, double *to)
{
    find_type(dtype)->load(from, n, to);
}

void zd_numbers_store(const struct zd_dtype *dtype, const double *from, size_t n, uint8_t *to)
{
    find_type(dtype)->store(from, n, to);
}

void zd_numbers_round(const struct zd_dtype *dtype, double *number, size_t n)
{
    assert(zd_number_is_float(dtype));
    switch (dtype->bytes) {
    case 2:
        for (size_t i = 0; i < n; i++) {
            number[i] = (double)zd_half_to_float(zd_half_from_double(number[i]));
        }
        return;
    case 4:
        for (size_t i = 0; i < n; i++) {
            number[i] = (double)(float)number[i];
        }
        return;
    default:
        return;
    }
}

/* ---- integers ---- */

static void load_signed(uint32_t bytes, const uint8_t *from, size_t n, uint64_t *to)
{
    switch (bytes) {
    case 1:
        for (size_t i = 0; i < n; i++) {
            to[i] = (uint64_t)(int8_t)from[i];
        }
        return;
    case 2:
        for (size_t i = 0; i < n; i++) {
            to[i] = (uint64_t)(int16_t)zd_load_u16(from + i * 2);
        }
        return;
    case 4:
        for (size_t i = 0; i < n; i++) {
            to[i] = (uint64_t)(int32_t)zd_load_u32(from + i * 4);
        }
        return;
    default:
        memcpy(to, from, n * sizeof *to);
    }
}

static void load_unsigned(uint32_t bytes, const uint8_t *from, size_t n, uint64_t *to)
{
    switch (bytes) {
    case 1:
        for (size_t i = 0; i < n; i++) {
            to[i] = from[i];
        }
        return;
    case 2:
        for (size_t i = 0; i < n; i++) {
            to[i] = zd_load_u16(from + i * 2);
        }
        return;
    case 4:
        for (size_t i = 0; i < n; i++) {
            to[i] = zd_load_u32(from + i * 4);
        }
        return;
    default:
        memcpy(to, from, n * sizeof *to);
    }
}

void zd_numbers_load_integers(
    const struct zd_dtype *dtype, const uint8_t *from, size_t n, uint64_t *to)
{
    if (dtype->kind == ZD_DTYPE_INT) {
        load_signed(dtype->bytes, from, n, to);
        return;
    }
    load_unsigned(dtype->bytes, from, n, to);
    if (dtype->kind == ZD_DTYPE_BOOL) {
        for (size_t i = 0; i < n; i++) {
            to[i] = to[i] != 0;
        }
    }
}

void zd_numbers_store_integers(
    const struct zd_dtype *dtype, const uint64_t *from, size_t n, uint8_t *to)
{
    const bool is_bool = dtype->kind == ZD_DTYPE_BOOL;
    switch (dtype->bytes) {
    case 1:
        for (size_t i = 0; i < n; i++) {
            to[i] = is_bool ? from[i] != 0 : (uint8_t)from[i];
        }
        return;
    case 2:
        for (size_t i = 0; i < n; i++) {
            const uint16_t number = (uint16_t)from[i];
            memcpy(to + i * sizeof number, &number, sizeof number);
        }
        return;
    case 4:
        for (size_t i = 0; i < n; i++) {
            zd_store_u32(to + i * sizeof(uint32_t), (uint32_t)from[i]);
        }
        return;
    default:
        memcpy(to, from, n * sizeof *from);
    }
}

/* ---- casts ---- */

/* Rounded once: by way of double, a 64-bit integer would be rounded twice. */
static void store_wide(
    const struct zd_dtype *from_dtype, const uint64_t *from, size_t n, uint8_t *to)
{
    const bool is_signed = from_dtype->kind == ZD_DTYPE_INT;
    for (size_t i = 0; i < n; i++) {
        const float number = is_signed ? (float)(int64_t)from[i] : (float)from[i];
        memcpy(to + i * sizeof number, &number, sizeof number);
    }
}

static void cast_lot(const struct zd_dtype *from_dtype, const uint8_t *from, size_t n,
    const struct zd_dtype *to_dtype, uint8_t *to)
{
    uint64_t integer[ZD_NUMBERS_MAX];
    double number[ZD_NUMBERS_MAX];
    const bool is_wide = !zd_number_fits_double(from_dtype);
    if (!zd_number_is_float(from_dtype) && !zd_number_is_float(to_dtype)) {
        zd_numbers_load_integers(from_dtype, from, n, integer);
        zd_numbers_store_integers(to_dtype, integer, n, to);
    } else if (is_wide && to_dtype->bytes == sizeof(float)) {
        zd_numbers_load_integers(from_dtype, from, n, integer);
        store_wide(from_dtype, integer, n, to);
    } else {
        zd_numbers_load(from_dtype, from, n, number);
        zd_numbers_store(to_dtype, number, n, to);
    }
}

void zd_numbers_cast(const struct zd_dtype *from_dtype, const uint8_t *from, size_t n,
    const struct zd_dtype *to_dtype, uint8_t *to)
{
    for (size_t done = 0; done < n; done += ZD_NUMBERS_MAX) {
        const size_t n_now = zd_min_u64(n - done, ZD_NUMBERS_MAX);
        cast_lot(from_dtype, from + done * from_dtype->bytes, n_now, to_dtype,
            to + done * to_dtype->bytes);
    }
}
