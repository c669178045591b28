/* Elements as numbers, some at a time: how NumPy casts from one data type to another. */
#ifndef ZD_CORE_CODEC_NUMBER_H
#define ZD_CORE_CODEC_NUMBER_H

#include <stddef.h>

#include "core/grid/dtype.h"

/* The size of a lot: numbers that a codec widens at a time stay in the nearest cache. The widest
 * type. */
#define ZD_NUMBERS_MAX      512
#define ZD_NUMBER_BYTES_MAX 8

/** Whether the elements are real numbers: integers, floating-point numbers, or bool (0 and 1). */
bool zd_number_is_real(const struct zd_dtype *dtype);

/** Integers, signed or not; bool is none. Floating-point numbers. */
bool zd_number_is_integer(const struct zd_dtype *dtype);
bool zd_number_is_float(const struct zd_dtype *dtype);

/** Whether every value of a type of real numbers is a double too: not of 64-bit integers. */
bool zd_number_fits_double(const struct zd_dtype *dtype);

/**
 * Elements of a type of real numbers as doubles. 64-bit integers are rounded to the nearest.
 * @param from n elements, aligned or not
 * @param to   n numbers
 * Thread: any.
 */
void zd_numbers_load(const struct zd_dtype *dtype, const uint8_t *from, size_t n, double *to);

/**
 * Doubles as elements, as C casts them: to integers towards zero, and what does not fit wraps.
 * What fits neither in 32 bits (of types up to that, signed or narrower) nor in 64 becomes what
 * x86 and therefore NumPy there makes of it: the low bits of the least integer.
 * Thread: any.
 */
void zd_numbers_store(const struct zd_dtype *dtype, const double *from, size_t n, uint8_t *to);

/** Round numbers to the precision of a floating-point type. Thread: any. */
void zd_numbers_round(const struct zd_dtype *dtype, double *number, size_t n);

/** Integers or bools in 64 bits, two's complement; and back, of which the low bits count.
 * Thread: any. */
void zd_numbers_load_integers(
    const struct zd_dtype *dtype, const uint8_t *from, size_t n, uint64_t *to);
void zd_numbers_store_integers(
    const struct zd_dtype *dtype, const uint64_t *from, size_t n, uint8_t *to);

/**
 * Cast elements of one type of real numbers to another, as NumPy's astype does.
 * @param from n elements; to: room for n elements; the memories do not overlap
 * Thread: any.
 */
void zd_numbers_cast(const struct zd_dtype *from_dtype, const uint8_t *from, size_t n,
    const struct zd_dtype *to_dtype, uint8_t *to);

#endif
