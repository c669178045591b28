/* Half floats (IEEE 754 binary16). */
#include "core/base/half.h"

#include <math.h>
#include <string.h>

#define HALF_INFINITY 0x7C00U
#define HALF_SIGN     0x8000U

float zd_half_to_float(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & HALF_SIGN) << 16;
    const uint32_t magnitude = half & ~HALF_SIGN;
    uint32_t bits;
    float value;
    if (magnitude >= HALF_INFINITY) { /* the payload of a NaN keeps its place at the top */
        bits = UINT32_C(0x7F800000) | (magnitude & 0x3FF) << 13;
    } else if (magnitude >= 0x400) {
        bits = (magnitude << 13) + UINT32_C(0x38000000); /* the exponent's bias: 127 - 15 */
    } else {
        value = (float)magnitude * 0x1p-24F;
        memcpy(&bits, &value, sizeof bits);
    }
    bits |= sign;
    memcpy(&value, &bits, sizeof value);
    return value;
}

uint16_t zd_half_from_double(double value)
{
    const uint16_t sign = signbit(value) ? HALF_SIGN : 0;
    const double size = fabs(value);
    if (isnan(value)) {
        return (uint16_t)(sign | 0x7E00U);
    }
    if (size >= 65520.0) { /* half way to the number after the last */
        return (uint16_t)(sign | HALF_INFINITY);
    }
    if (size < 0x1p-14) {
        return (uint16_t)(sign | (uint16_t)nearbyint(size * 0x1p24));
    }
    int exponent;
    const double fraction = frexp(size, &exponent); /* 0.5 <= fraction < 1 */
    const uint16_t mantissa = (uint16_t)nearbyint(fraction * 2048);
    /* The mantissa's top bit counts one exponent, as does its carry when it rounds up to 2048. */
    return (uint16_t)(sign | (((unsigned)(exponent + 13) << 10) + mantissa));
}
