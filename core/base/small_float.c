/* Floats of 16 bits and less: their formats, and their values. */
#include "core/base/small_float.h"

#include <math.h>
#include <string.h>

#define FLOAT_MANTISSA 23U
#define FLOAT_INFINITY UINT32_C(0x7F800000)

uint32_t zd_small_float_bits(const struct zd_small_float *format)
{
    const bool has_sign = format->specials != ZD_SMALL_FLOAT_POWERS;
    return format->n_exponent + format->n_mantissa + (has_sign ? 1U : 0U);
}

/* Codes without their sign are below it. */
static uint32_t sign_of(const struct zd_small_float *format)
{
    return UINT32_C(1) << (format->n_exponent + format->n_mantissa);
}

bool zd_small_float_infinity(const struct zd_small_float *format, uint32_t *ret_code)
{
    if (format->specials != ZD_SMALL_FLOAT_IEEE) {
        return false;
    }
    *ret_code = sign_of(format) - (UINT32_C(1) << format->n_mantissa);
    return true;
}

bool zd_small_float_nan(const struct zd_small_float *format, uint32_t *ret_code)
{
    const uint32_t sign = sign_of(format);
    switch (format->specials) {
    case ZD_SMALL_FLOAT_IEEE:
        *ret_code = sign - (UINT32_C(1) << (format->n_mantissa - 1U));
        return true;
    case ZD_SMALL_FLOAT_NO_NEGATIVE_ZERO:
        *ret_code = sign;
        return true;
    case ZD_SMALL_FLOAT_POWERS:
        *ret_code = sign - 1;
        return true;
    case ZD_SMALL_FLOAT_FINITE:
        break;
    }
    return false;
}

static bool is_nan(const struct zd_small_float *format, uint32_t code)
{
    uint32_t special = 0;
    if (zd_small_float_infinity(format, &special)) {
        return (code & (sign_of(format) - 1)) > special;
    }
    return zd_small_float_nan(format, &special) && code == special;
}

/* The magnitude of a number. */
static double size_of(const struct zd_small_float *format, uint32_t code)
{
    const int exponent = (int)(code >> format->n_mantissa);
    const uint32_t unit = UINT32_C(1) << format->n_mantissa;
    const uint32_t mantissa = code & (unit - 1);
    const int scale = format->bias + format->n_mantissa;
    if (format->specials == ZD_SMALL_FLOAT_POWERS) {
        return ldexp(1, exponent - scale);
    }
    return exponent == 0 ? ldexp(mantissa, 1 - scale) : ldexp(unit + mantissa, exponent - scale);
}

double zd_small_float_value(const struct zd_small_float *format, uint32_t code)
{
    const uint32_t sign = sign_of(format);
    uint32_t infinity = 0;
    if (is_nan(format, code)) {
        return (double)NAN;
    }
    const uint32_t positive = code & (sign - 1);
    const bool is_infinite = zd_small_float_infinity(format, &infinity) && positive == infinity;
    const double size = is_infinite ? (double)INFINITY : size_of(format, positive);
    return (code & sign) != 0 ? -size : size;
}

/* The greatest code of a number, without its sign. */
static uint32_t greatest_of(const struct zd_small_float *format)
{
    const uint32_t sign = sign_of(format);
    uint32_t infinity = 0;
    if (zd_small_float_infinity(format, &infinity)) {
        return infinity - 1;
    }
    return format->specials == ZD_SMALL_FLOAT_POWERS ? sign - 2 : sign - 1;
}

double zd_small_float_greatest(const struct zd_small_float *format)
{
    return size_of(format, greatest_of(format));
}

/* The power of two nearest to a positive number, as its exponent and the bias. */
static bool nearest_power(const struct zd_small_float *format, double value, uint32_t *ret_code)
{
    int exponent = 0;
    if (!(value > 0) || isinf(value)) {
        return false;
    }
    const double fraction = frexp(value, &exponent); /* 0.5 or more, less than 1 */
    const int code = exponent - 1 + format->bias;
    const bool is_above = fraction > 0.75 || (fraction == 0.75 && code % 2 != 0);
    const int rounded = code + (is_above ? 1 : 0);
    if (rounded > (int)greatest_of(format)) {
        return false;
    }
    *ret_code = rounded < 0 ? 0 : (uint32_t)rounded;
    return true;
}

/* Round a magnitude to units of the last place. Codes continue where the exponent changes. */
static bool nearest_size(const struct zd_small_float *format, double size, uint32_t *ret_code)
{
    const uint32_t greatest = greatest_of(format);
    const int least = 1 - format->bias;
    int exponent = 0;
    (void)frexp(size, &exponent);
    exponent = size == 0 || exponent - 1 < least ? least : exponent - 1;
    const bool is_beyond = isinf(size) || exponent > (int)(greatest >> format->n_mantissa);
    const double n_units = is_beyond ? 0 : nearbyint(ldexp(size, format->n_mantissa - exponent));
    const uint32_t steps = is_beyond ? 0 : (uint32_t)(exponent - least);
    const uint32_t code =
        is_beyond ? greatest + 1 : (steps << format->n_mantissa) + (uint32_t)n_units;
    if (code > greatest) {
        return zd_small_float_infinity(format, ret_code);
    }
    *ret_code = code;
    return true;
}

bool zd_small_float_nearest(const struct zd_small_float *format, double value, uint32_t *ret_code)
{
    uint32_t code = 0;
    if (isnan(value)) {
        return zd_small_float_nan(format, ret_code);
    }
    if (format->specials == ZD_SMALL_FLOAT_POWERS) {
        return nearest_power(format, value, ret_code);
    }
    if (!nearest_size(format, fabs(value), &code)) {
        return false;
    }
    const bool lacks_sign = code == 0 && format->specials == ZD_SMALL_FLOAT_NO_NEGATIVE_ZERO;
    *ret_code = code | (signbit(value) && !lacks_sign ? sign_of(format) : 0);
    return true;
}

static bool keeps_payload(const struct zd_small_float *format)
{
    return format->specials == ZD_SMALL_FLOAT_IEEE;
}

uint32_t zd_small_float_widen(const struct zd_small_float *format, uint32_t code)
{
    const uint32_t sign = sign_of(format);
    if (is_nan(format, code) && keeps_payload(format)) {
        const uint32_t payload = code & ((UINT32_C(1) << format->n_mantissa) - 1);
        return ((code & sign) != 0 ? UINT32_C(1) << 31 : 0) | FLOAT_INFINITY |
               payload << (FLOAT_MANTISSA - format->n_mantissa);
    }
    const float value = (float)zd_small_float_value(format, code); /* exact */
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

bool zd_small_float_narrow(
    const struct zd_small_float *format, uint32_t float_bits, uint32_t *ret_code)
{
    float value;
    uint32_t nan = 0;
    memcpy(&value, &float_bits, sizeof value);
    if (!isnan(value) || !keeps_payload(format)) {
        return zd_small_float_nearest(format, (double)value, ret_code);
    }
    const uint32_t mask = (UINT32_C(1) << format->n_mantissa) - 1;
    const uint32_t payload = float_bits >> (FLOAT_MANTISSA - format->n_mantissa) & mask;
    (void)zd_small_float_nan(format, &nan);
    const uint32_t quiet = nan & mask;
    *ret_code = (nan & ~mask) | (payload == 0 ? quiet : payload) |
                (float_bits >> 31 != 0 ? sign_of(format) : 0);
    return true;
}
