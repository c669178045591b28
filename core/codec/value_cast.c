/* Numbers cast to another data type value by value. Some at a time are widened: to long double,
 * which holds every number of every type, where 64-bit integers take part, else to double. */
#include "core/codec/value_cast.h"

#include <math.h>
#include <string.h>

#include "core/base/half.h"
#include "core/base/num.h"

#define BITS_PER_BYTE 8U
#define NO_PAIR       SIZE_MAX

/* Some elements on their way. */
struct lot {
    const struct zd_value_cast *cast;
    size_t n;
    size_t bad; /* the first that does not fit; n: none */
    double number[ZD_NUMBERS_MAX];
    uint64_t integer[ZD_NUMBERS_MAX];
    size_t pair[ZD_NUMBERS_MAX]; /* what it is mapped to, or NO_PAIR; used when there are pairs */
};

static bool is_signed(const struct zd_dtype *dtype)
{
    return dtype->kind == ZD_DTYPE_INT;
}

static unsigned bits_of(const struct zd_dtype *dtype)
{
    return dtype->bytes * BITS_PER_BYTE;
}

/* The greatest integer of a type, and the least one in two's complement. */
static uint64_t max_of(const struct zd_dtype *dtype)
{
    return UINT64_MAX >> (64 - bits_of(dtype) + is_signed(dtype));
}

static uint64_t min_of(const struct zd_dtype *dtype)
{
    return is_signed(dtype) ? ~max_of(dtype) : 0;
}

/* ---- pairs ---- */

uint64_t zd_value_key(const struct zd_dtype *dtype, const void *element)
{
    uint64_t key = 0;
    double number = 0;
    if (zd_number_is_integer(dtype)) {
        zd_numbers_load_integers(dtype, element, 1, &key);
        return key;
    }
    zd_numbers_load(dtype, element, 1, &number);
    if (isnan(number)) {
        return UINT64_MAX;
    }
    number += 0; /* -0 becomes 0 */
    memcpy(&key, &number, sizeof key);
    return key;
}

static size_t find_pair(const struct zd_value_cast *cast, uint64_t key)
{
    size_t first = 0;
    size_t end = cast->n_pairs;
    while (first < end) {
        const size_t middle = first + (end - first) / 2;
        if (cast->pair[middle].key < key) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return first < cast->n_pairs && cast->pair[first].key == key ? first : NO_PAIR;
}

static void find_pairs(struct lot *lot, const uint8_t *from)
{
    for (size_t i = 0; i < lot->n; i++) {
        const uint64_t key = zd_value_key(&lot->cast->from, from + i * lot->cast->from.bytes);
        lot->pair[i] = find_pair(lot->cast, key);
    }
}

static void store_pairs(const struct lot *lot, uint8_t *to)
{
    const uint32_t bytes = lot->cast->to.bytes;
    for (size_t i = 0; i < lot->n; i++) {
        if (lot->pair[i] != NO_PAIR) {
            memcpy(to + i * bytes, lot->cast->pair[lot->pair[i]].to, bytes);
        }
    }
}

/* Element i does not fit: unless it is mapped, all is in vain. */
static void refuse(struct lot *lot, size_t i)
{
    const bool is_mapped = lot->cast->n_pairs > 0 && lot->pair[i] != NO_PAIR;
    if (!is_mapped && lot->bad == lot->n) {
        lot->bad = i;
    }
}

/* ---- integers from integers ---- */

static bool is_below(const struct zd_value_cast *cast, uint64_t integer)
{
    const bool is_negative = is_signed(&cast->from) && (int64_t)integer < 0;
    return is_negative && (!is_signed(&cast->to) || (int64_t)integer < (int64_t)min_of(&cast->to));
}

static bool is_above(const struct zd_value_cast *cast, uint64_t integer)
{
    const bool is_negative = is_signed(&cast->from) && (int64_t)integer < 0;
    return !is_negative && integer > max_of(&cast->to);
}

static void bound_integers(struct lot *lot)
{
    const struct zd_value_cast *cast = lot->cast;
    for (size_t i = 0; i < lot->n; i++) {
        const bool below = is_below(cast, lot->integer[i]);
        const bool above = is_above(cast, lot->integer[i]);
        if (!below && !above) {
            continue;
        }
        if (cast->overflow == ZD_OVERFLOW_CLAMPS) {
            lot->integer[i] = below ? min_of(&cast->to) : max_of(&cast->to);
        } else if (cast->overflow == ZD_OVERFLOW_FAILS) {
            refuse(lot, i);
        }
    }
}

/* ---- integers from floating-point numbers ---- */

static double round_whole(enum zd_rounding rounding, double number)
{
    switch (rounding) {
    case ZD_NEAREST_EVEN:
        return rint(number);
    case ZD_TOWARDS_ZERO:
        return trunc(number);
    case ZD_TOWARDS_POSITIVE:
        return ceil(number);
    case ZD_TOWARDS_NEGATIVE:
        return floor(number);
    case ZD_NEAREST_AWAY:
        break;
    }
    return round(number);
}

static uint64_t to_bits(const struct zd_dtype *dtype, double whole)
{
    return is_signed(dtype) ? (uint64_t)(int64_t)whole : (uint64_t)whole;
}

/* The low 64 bits of a whole number of any size. */
static uint64_t low_bits(double whole)
{
    const uint64_t magnitude = (uint64_t)fmod(fabs(whole), 0x1p64);
    return signbit(whole) ? 0 - magnitude : magnitude;
}

static void whole_numbers(struct lot *lot)
{
    const struct zd_value_cast *cast = lot->cast;
    const int n_bits = (int)bits_of(&cast->to) - is_signed(&cast->to);
    const double end = ldexp(1, n_bits); /* the first that is too much */
    const double least = is_signed(&cast->to) ? -end : 0;
    for (size_t i = 0; i < lot->n; i++) {
        const double whole = round_whole(cast->rounding, lot->number[i]);
        if (whole >= least && whole < end) {
            lot->integer[i] = to_bits(&cast->to, whole);
            continue;
        }
        lot->integer[i] = 0;
        if (isfinite(whole) && cast->overflow == ZD_OVERFLOW_WRAPS) {
            lot->integer[i] = low_bits(whole);
        } else if (isfinite(whole) && cast->overflow == ZD_OVERFLOW_CLAMPS) {
            lot->integer[i] = whole < least ? min_of(&cast->to) : max_of(&cast->to);
        } else {
            refuse(lot, i);
        }
    }
}

/* ---- floating-point numbers ---- */

/* The nearest number of the type, ties to even; infinite when it is beyond the last one. */
static double nearest(const struct zd_dtype *dtype, long double number)
{
    switch (dtype->bytes) {
    case 2: /* of the integers that double rounds, all are beyond its range */
        return (double)zd_half_to_float(zd_half_from_double((double)number));
    case 4:
        return (double)(float)number;
    default:
        return (double)number;
    }
}

/* The next number of the type in a direction, from one that is finite. */
static double neighbour(const struct zd_dtype *dtype, double number, double direction)
{
    uint16_t half;
    switch (dtype->bytes) {
    case 2:
        half = zd_half_from_double(number);
        if ((half & 0x7FFFU) == 0) {
            return copysign(0x1p-24, direction);
        }
        half = (uint16_t)(half + ((number < 0) == (direction < 0) ? 1 : -1));
        return (double)zd_half_to_float(half);
    case 4:
        return (double)nextafterf((float)number, (float)direction);
    default:
        return nextafter(number, direction);
    }
}

/* The last finite number of the type, with a sign. */
static double last_of(const struct zd_dtype *dtype, bool is_negative)
{
    const double last = dtype->bytes == 2   ? 65504.0
                        : dtype->bytes == 4 ? 0x1.fffffep127
                                            : 0x1.fffffffffffffp1023;
    return is_negative ? -last : last;
}

/* Which way a number is rounded that lies between two of the type: an infinity; 0 for the nearest.
 */
static double direction_of(enum zd_rounding rounding, long double number)
{
    switch (rounding) {
    case ZD_TOWARDS_ZERO:
        return signbit(number) ? INFINITY : -INFINITY;
    case ZD_TOWARDS_POSITIVE:
        return INFINITY;
    case ZD_TOWARDS_NEGATIVE:
        return -INFINITY;
    case ZD_NEAREST_EVEN:
    case ZD_NEAREST_AWAY:
        break;
    }
    return 0;
}

/* A finite number, by any rule; infinite when it is beyond the last one. */
static double round_float(
    enum zd_rounding rounding, const struct zd_dtype *dtype, long double number)
{
    double rounded = nearest(dtype, number);
    const double direction = direction_of(rounding, number);
    if ((long double)rounded == number || rounding == ZD_NEAREST_EVEN) {
        return rounded;
    }
    if (isinf(rounded)) {
        /* Treat exponents as unbounded: accept values below the next number that would follow. */
        const double last = last_of(dtype, rounded < 0);
        const long double step = (long double)last - (long double)neighbour(dtype, last, -last);
        const bool is_less = fabsl(number) < fabsl((long double)last + step);
        const bool goes_back = direction != 0 && (direction < 0) == (rounded > 0);
        return is_less && goes_back ? last : rounded;
    }
    const double away = copysign(INFINITY, signbit(number) ? -1.0 : 1.0);
    if (direction == 0) { /* a tie goes away from zero */
        const double other = neighbour(dtype, rounded, away);
        const bool is_tie = fabsl(number) > fabsl((long double)rounded) &&
                            fabsl(number - rounded) == fabsl((long double)other - number);
        return is_tie ? other : rounded;
    }
    const bool is_past = direction > 0 ? rounded < number : rounded > number;
    return is_past ? neighbour(dtype, rounded, direction) : rounded;
}

static void bound_float(struct lot *lot, size_t i, long double number)
{
    const double rounded = isfinite(number)
                               ? round_float(lot->cast->rounding, &lot->cast->to, number)
                               : (double)number;
    if (isinf(rounded) && isfinite(number) && lot->cast->overflow == ZD_OVERFLOW_FAILS) {
        refuse(lot, i);
    }
    lot->number[i] = rounded;
}

static void numbers_from_integers(struct lot *lot)
{
    const bool has_sign = is_signed(&lot->cast->from);
    for (size_t i = 0; i < lot->n; i++) {
        const uint64_t integer = lot->integer[i];
        bound_float(lot, i, has_sign ? (long double)(int64_t)integer : (long double)integer);
    }
}

static void narrow_numbers(struct lot *lot)
{
    for (size_t i = 0; i < lot->n; i++) {
        bound_float(lot, i, (long double)lot->number[i]);
    }
}

/* ---- lots ---- */

static void cast_to_integers(struct lot *lot, const uint8_t *from, uint8_t *to)
{
    const struct zd_value_cast *cast = lot->cast;
    if (zd_number_is_integer(&cast->from)) {
        zd_numbers_load_integers(&cast->from, from, lot->n, lot->integer);
        bound_integers(lot);
    } else {
        zd_numbers_load(&cast->from, from, lot->n, lot->number);
        whole_numbers(lot);
    }
    zd_numbers_store_integers(&cast->to, lot->integer, lot->n, to);
}

static void cast_to_floats(struct lot *lot, const uint8_t *from, uint8_t *to)
{
    const struct zd_value_cast *cast = lot->cast;
    if (zd_number_fits_double(&cast->from)) {
        zd_numbers_load(&cast->from, from, lot->n, lot->number);
        if (cast->to.bytes < sizeof(double)) {
            narrow_numbers(lot);
        }
    } else {
        zd_numbers_load_integers(&cast->from, from, lot->n, lot->integer);
        numbers_from_integers(lot);
    }
    zd_numbers_store(&cast->to, lot->number, lot->n, to);
}

static bool cast_lot(struct lot *lot, const uint8_t *from, uint8_t *to)
{
    lot->bad = lot->n;
    if (lot->cast->n_pairs > 0) {
        find_pairs(lot, from);
    }
    if (zd_number_is_integer(&lot->cast->to)) {
        cast_to_integers(lot, from, to);
    } else {
        cast_to_floats(lot, from, to);
    }
    if (lot->cast->n_pairs > 0) {
        store_pairs(lot, to);
    }
    return lot->bad == lot->n;
}

bool zd_value_cast_run(const struct zd_value_cast *cast, const uint8_t *from, uint64_t n,
    uint8_t *to, uint64_t *ret_place)
{
    struct lot lot = {.cast = cast};
    for (uint64_t at = 0; at < n; at += ZD_NUMBERS_MAX) {
        lot.n = zd_min_u64(n - at, ZD_NUMBERS_MAX);
        if (!cast_lot(&lot, from + at * cast->from.bytes, to + at * cast->to.bytes)) {
            *ret_place = at + lot.bad;
            return false;
        }
    }
    return true;
}
