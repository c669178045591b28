/* An element of an ordered data type: its value, and the order of two elements. */
#ifndef ZD_CORE_GRID_ELEMENT_H
#define ZD_CORE_GRID_ELEMENT_H

#include "core/grid/dtype.h"

/** Which of two elements of an ordered type is less: < 0, 0 or > 0, exactly; neither is NaN or NaT.
 * Thread: any. */
int zd_element_compare(const struct zd_dtype *dtype, const void *a, const void *b);

/** The exact value of an element of a float type, a signed type (ticks are signed), bool or an
 * unsigned type. */
double zd_element_f64(const struct zd_dtype *dtype, const void *element);
int64_t zd_element_i64(const struct zd_dtype *dtype, const void *element);
uint64_t zd_element_u64(const struct zd_dtype *dtype, const void *element);

/** Whether an element of an ordered type is NaN, or NaT. */
bool zd_element_is_nan(const struct zd_dtype *dtype, const void *element);

#endif
