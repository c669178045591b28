/* Numbers cast to another data type value by value, as the codec `cast_value` has it: rounded in a
 * given way, and refused, clamped or wrapped where the type does not hold them. */
#ifndef ZD_CORE_CODEC_VALUE_CAST_H
#define ZD_CORE_CODEC_VALUE_CAST_H

#include "core/codec/number.h"

enum zd_rounding {
    ZD_NEAREST_EVEN,
    ZD_TOWARDS_ZERO,
    ZD_TOWARDS_POSITIVE,
    ZD_TOWARDS_NEGATIVE,
    ZD_NEAREST_AWAY,
};

enum zd_overflow {
    ZD_OVERFLOW_FAILS,
    ZD_OVERFLOW_CLAMPS, /* to the extremes of integers; to infinities */
    ZD_OVERFLOW_WRAPS,  /* to integers: modulo 2^bits */
};

/** A value that becomes another one by decree. */
struct zd_value_pair {
    uint64_t key; /* zd_value_key of the first */
    uint8_t to[ZD_NUMBER_BYTES_MAX];
};

/** A cast from one type of numbers to another; both are integers or floating-point numbers. */
struct zd_value_cast {
    struct zd_dtype from;
    struct zd_dtype to;
    enum zd_rounding rounding;
    enum zd_overflow overflow;
    const struct zd_value_pair *pair; /* ascending keys, each once; borrowed */
    size_t n_pairs;
};

/** A number that two elements of a type share when they are equal: all NaN are, and 0 and -0. */
uint64_t zd_value_key(const struct zd_dtype *dtype, const void *element);

/**
 * Cast elements.
 *
 * @param from      n elements; to: room for n elements; the memories do not overlap
 * @param ret_place the first element that the type does not hold, when there is one
 * @return false when there is one: `to` is then undefined
 * Thread: any.
 */
bool zd_value_cast_run(const struct zd_value_cast *cast, const uint8_t *from, uint64_t n,
    uint8_t *to, uint64_t *ret_place);

#endif
