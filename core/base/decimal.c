/* Floats as decimal text: the shortest that reads back as the same value.
 *
 * Two ways lead to the digits. The usual one asks double arithmetic: units / 10^n, where both are
 * exact, is rounded once and so is what a reader makes of these digits. What it cannot decide goes
 * to printf with more and more digits, read back each time.
 */
#include "core/base/decimal.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/half.h"

#define DIGITS_MAX         17 /* of a double: enough for every value */
#define TEXT_BYTES         64
#define FIXED_EXPONENT_MIN (-5)
#define FIXED_EXPONENT_MAX 16 /* 1e+16 and above are written with an exponent */
#define EXACT_POWER_MAX    22 /* 10^22 is the largest power of ten that is a double */
#define FEW_DECIMALS_MAX   6
#define FEW_VALUE_MIN      1e-3 /* below, few decimals say little */

static const double power_of_ten[EXACT_POWER_MAX + 1] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8,
    1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* A float type: how many digits always survive it, and how many always distinguish its values. */
struct float_type {
    unsigned bits;
    int digits_kept;
    int digits_max;
    double normal_min;
};

static const struct float_type half_type = {16, 3, 5, 0x1p-14};
static const struct float_type float_type = {32, 6, 9, 0x1p-126};
static const struct float_type double_type = {64, 15, DIGITS_MAX, 0x1p-1022};

/* The digits d0 d1 d2 ... mean d0.d1d2... times 10^exponent. */
struct decimal {
    char digit[DIGITS_MAX + 5];
    int n_digits; /* without zeros at the end, but at least 1 */
    int exponent;
};

static double round_to_half(double value)
{
    return (double)zd_half_to_float(zd_half_from_double(value));
}

static struct decimal trimmed(struct decimal decimal)
{
    while (decimal.n_digits > 1 && decimal.digit[decimal.n_digits - 1] == '0') {
        decimal.n_digits--;
    }
    return decimal;
}

/* units / 10^n_decimals */
static struct decimal decimal_of_units(uint64_t units, int n_decimals)
{
    char reversed[20];
    struct decimal decimal = {0};
    do {
        reversed[decimal.n_digits++] = (char)('0' + units % 10);
        units /= 10;
    } while (units > 0);
    for (int i = 0; i < decimal.n_digits; i++) {
        decimal.digit[i] = reversed[decimal.n_digits - 1 - i];
    }
    decimal.exponent = decimal.n_digits - 1 - n_decimals;
    return trimmed(decimal);
}

/* A double in the middle of two floats, or next to it, may stand for a decimal on either side. */
static bool is_near_middle(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint64_t below_float = bits & ((UINT64_C(1) << 29) - 1);
    const uint64_t middle = UINT64_C(1) << 28;
    return below_float >= middle - 1 && below_float <= middle + 1;
}

/* Whether a reader of a decimal, of which `nearest` is the nearest double, finds value. Decimals
 * of 5 digits are never so near to the middle of two halves that a double cannot tell. */
static bool reads_as(double nearest, double value, const struct float_type *type)
{
    switch (type->bits) {
    case 16:
        return round_to_half(nearest) == value;
    case 32:
        return (double)(float)nearest == value && !is_near_middle(nearest);
    default:
        return nearest == value;
    }
}

/* Measurements mostly have few decimals. Digits that every value of the type keeps are unique, so
 * the first that match are the shortest. */
static bool find_few_decimals(
    double value, const struct float_type *type, struct decimal *ret_decimal)
{
    if (value < FEW_VALUE_MIN && value != 0) {
        return false;
    }
    for (int n = 0; n <= FEW_DECIMALS_MAX; n++) {
        const double units = nearbyint(value * power_of_ten[n]);
        if (units >= power_of_ten[type->digits_kept]) {
            return false;
        }
        if (reads_as(units / power_of_ten[n], value, type)) {
            *ret_decimal = decimal_of_units((uint64_t)units, n);
            return true;
        }
    }
    return false;
}

/* The digits of floats and halves, as far as the powers of ten are exact. */
static bool find_by_double(double value, const struct float_type *type, struct decimal *ret_decimal)
{
    if (type->bits == 64 || value < type->normal_min) {
        return false;
    }
    const int exponent = (int)floor(log10(value));
    for (int n_digits = type->digits_kept; n_digits <= type->digits_max; n_digits++) {
        const int n = n_digits - 1 - exponent;
        if (n > EXACT_POWER_MAX || n < -EXACT_POWER_MAX) {
            return false;
        }
        const double power = power_of_ten[n < 0 ? -n : n];
        const double units = nearbyint(n < 0 ? value / power : value * power);
        const double nearest = n < 0 ? units * power : units / power;
        if (reads_as(nearest, value, type)) {
            *ret_decimal = decimal_of_units((uint64_t)units, n);
            return true;
        }
        if (type->bits == 32 && is_near_middle(nearest)) {
            return false;
        }
    }
    return false;
}

/* printf's decimal point depends on the locale, its digits do not. */
static struct decimal print(double value, int n_digits)
{
    char text[TEXT_BYTES];
    struct decimal decimal = {0};
    snprintf(text, sizeof text, "%.*e", n_digits - 1, value);
    const char *at = text;
    for (; *at != 'e'; at++) {
        if (*at >= '0' && *at <= '9') {
            decimal.digit[decimal.n_digits++] = *at;
        }
    }
    const bool is_negative = at[1] == '-';
    for (at += 2; *at != '\0'; at++) {
        decimal.exponent = decimal.exponent * 10 + (*at - '0');
    }
    decimal.exponent = is_negative ? -decimal.exponent : decimal.exponent;
    return trimmed(decimal);
}

static double read_back(const struct decimal *decimal, const struct float_type *type)
{
    char text[TEXT_BYTES];
    snprintf(text, sizeof text, "%.*se%d", decimal->n_digits, decimal->digit,
        decimal->exponent - (decimal->n_digits - 1)); /* no decimal point, no locale */
    if (type->bits == 32) {
        return (double)strtof(text, NULL);
    }
    const double value = strtod(text, NULL);
    return type->bits == 16 ? round_to_half(value) : value;
}

/* Any number of up to digits_kept digits prints exactly, with zeros at the end; only subnormals
 * keep fewer. */
static struct decimal find_by_printing(double value, const struct float_type *type)
{
    int n_digits = value < type->normal_min ? 1 : type->digits_kept;
    struct decimal decimal = print(value, n_digits);
    while (n_digits < type->digits_max && read_back(&decimal, type) != value) {
        decimal = print(value, ++n_digits);
    }
    return decimal;
}

static size_t put_exponent_form(const struct decimal *decimal, char *to)
{
    size_t len = 0;
    to[len++] = decimal->digit[0];
    if (decimal->n_digits > 1) {
        to[len++] = '.';
        memcpy(to + len, decimal->digit + 1, (size_t)decimal->n_digits - 1);
        len += (size_t)decimal->n_digits - 1;
    }
    return len + (size_t)snprintf(to + len, TEXT_BYTES - len, "e%+d", decimal->exponent);
}

static size_t put_fixed_form(const struct decimal *decimal, char *to)
{
    size_t len = 0;
    /* Places count powers of ten: from the first digit or the ones down to the last or the tenths.
     */
    const int first = decimal->exponent > 0 ? decimal->exponent : 0;
    const int last_digit = decimal->exponent - (decimal->n_digits - 1);
    const int last = last_digit < -1 ? last_digit : -1;
    for (int place = first; place >= last; place--) {
        const bool is_digit = place <= decimal->exponent && place >= last_digit;
        if (place == -1) {
            to[len++] = '.';
        }
        to[len++] = (char)(is_digit ? decimal->digit[decimal->exponent - place] : '0');
    }
    return len;
}

enum zd_status zd_decimal_add(struct zd_text *text, double value, unsigned bits)
{
    assert(isfinite(value));
    const struct float_type *type = bits == 16   ? &half_type
                                    : bits == 32 ? &float_type
                                                 : &double_type;
    const double size = fabs(value);
    struct decimal decimal;
    if (!find_few_decimals(size, type, &decimal) && !find_by_double(size, type, &decimal)) {
        decimal = find_by_printing(size, type);
    }
    char form[TEXT_BYTES];
    size_t len = 0;
    if (signbit(value)) {
        form[len++] = '-';
    }
    if (decimal.exponent < FIXED_EXPONENT_MIN || decimal.exponent >= FIXED_EXPONENT_MAX) {
        len += put_exponent_form(&decimal, form + len);
    } else {
        len += put_fixed_form(&decimal, form + len);
    }
    return zd_text_add_bytes(text, form, len);
}
