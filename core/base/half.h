/* Half floats (IEEE 754 binary16). */
#ifndef ZD_CORE_BASE_HALF_H
#define ZD_CORE_BASE_HALF_H

#include <stdint.h>

/** The value of a half, exactly. Thread: any. */
float zd_half_to_float(uint16_t half);

/** The half nearest to a value, ties to even. Thread: any. */
uint16_t zd_half_from_double(double value);

#endif
