/* An element of an ordered data type: its value, and the order of two elements. */
#include "core/grid/element.h"

#include <math.h>
#include <string.h>

#include "core/base/half.h"
#include "core/base/num.h"

uint64_t zd_element_u64(const struct zd_dtype *dtype, const void *element)
{
    uint64_t value = 0;
    memcpy(&value, element, dtype->bytes);
    return dtype->kind == ZD_DTYPE_BOOL ? value != 0 : value;
}

int64_t zd_element_i64(const struct zd_dtype *dtype, const void *element)
{
    uint64_t value = 0;
    memcpy(&value, element, dtype->bytes);
    const uint64_t sign = UINT64_C(1) << (dtype->bytes * 8 - 1);
    return (int64_t)((value ^ sign) - sign);
}

double zd_element_f64(const struct zd_dtype *dtype, const void *element)
{
    float narrow;
    double value;
    if (dtype->small != NULL) {
        uint32_t code = 0;
        memcpy(&code, element, dtype->bytes);
        return zd_small_float_value(dtype->small, code);
    }
    switch (dtype->bytes) {
    case 2:
        return (double)zd_half_to_float(zd_load_u16(element));
    case 4:
        memcpy(&narrow, element, sizeof narrow);
        return (double)narrow;
    default:
        memcpy(&value, element, sizeof value);
        return value;
    }
}

int zd_element_compare(const struct zd_dtype *dtype, const void *a, const void *b)
{
    if (zd_dtype_is_float(dtype)) {
        const double x = zd_element_f64(dtype, a);
        const double y = zd_element_f64(dtype, b);
        return (x > y) - (x < y);
    }
    if (dtype->kind == ZD_DTYPE_INT || zd_dtype_is_ticks(dtype)) {
        const int64_t x = zd_element_i64(dtype, a);
        const int64_t y = zd_element_i64(dtype, b);
        return (x > y) - (x < y);
    }
    const uint64_t x = zd_element_u64(dtype, a);
    const uint64_t y = zd_element_u64(dtype, b);
    return (x > y) - (x < y);
}

bool zd_element_is_nan(const struct zd_dtype *dtype, const void *element)
{
    if (zd_dtype_is_ticks(dtype)) {
        return zd_element_i64(dtype, element) == ZD_DTYPE_NAT;
    }
    return zd_dtype_is_float(dtype) && isnan(zd_element_f64(dtype, element));
}
