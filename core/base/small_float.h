/* Floats of 16 bits and less: their formats, and their values. */
#ifndef ZD_CORE_BASE_SMALL_FLOAT_H
#define ZD_CORE_BASE_SMALL_FLOAT_H

#include <stdbool.h>
#include <stdint.h>

/** Which codes are no numbers. */
enum zd_small_float_specials {
    ZD_SMALL_FLOAT_IEEE,             /* the greatest exponent: infinities and NaN */
    ZD_SMALL_FLOAT_FINITE,           /* none ("fn") */
    ZD_SMALL_FLOAT_NO_NEGATIVE_ZERO, /* NaN is where -0 would be; no infinities ("fnuz") */
    ZD_SMALL_FLOAT_POWERS, /* powers of two, no sign, no zero; the last code is NaN ("fnu") */
};

/** From the highest bit: a sign (unless POWERS), the exponent, the mantissa. */
struct zd_small_float {
    uint8_t n_exponent; /* bits */
    uint8_t n_mantissa;
    uint8_t bias;
    enum zd_small_float_specials specials;
};

/** How many bits a code has; those above are 0. */
uint32_t zd_small_float_bits(const struct zd_small_float *format);

/** The value, exactly; NaN of any payload is one NaN. Thread: any. */
double zd_small_float_value(const struct zd_small_float *format, uint32_t code);

/** The code nearest to a value, ties to even; beyond the greatest number an infinity, where there
 * are such. @return false: the format has nothing for it. Thread: any. */
bool zd_small_float_nearest(const struct zd_small_float *format, double value, uint32_t *ret_code);

/** The bits of the float that is the same, payloads of NaN included, and back: as
 * zd_small_float_nearest. Thread: any. */
uint32_t zd_small_float_widen(const struct zd_small_float *format, uint32_t code);
bool zd_small_float_narrow(
    const struct zd_small_float *format, uint32_t float_bits, uint32_t *ret_code);

/** The code of NaN (quiet, sign and payload 0) and that of +infinity. @return false: there is none
 */
bool zd_small_float_nan(const struct zd_small_float *format, uint32_t *ret_code);
bool zd_small_float_infinity(const struct zd_small_float *format, uint32_t *ret_code);

/** The greatest number. */
double zd_small_float_greatest(const struct zd_small_float *format);

#endif
