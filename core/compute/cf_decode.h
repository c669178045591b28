/* Elements decoded as the attributes of their array say (CF conventions 2.5.1, 4.4 and 8.1): as
 * xarray's decode_cf does it, to the bit. Thread: any.
 *
 *     packed --_Unsigned--> packed --_FillValue, missing_value, valid_*--> missing or not
 *            --scale_factor, add_offset--> numbers --units "since"--> times
 *
 * Missing elements are NaN, or NaT. */
#ifndef ZD_CORE_COMPUTE_CF_DECODE_H
#define ZD_CORE_COMPUTE_CF_DECODE_H

#include "core/base/json.h"
#include "core/grid/dtype.h"

#define ZD_CF_DECODE_FILLS_MAX   16 /* missing values of an array */
#define ZD_CF_DECODE_ELEMENT_MAX 8  /* bytes of an element, and of what it becomes */

/** The array of the attributes. */
struct zd_cf_decode_array {
    const struct zd_json *attributes; /* an object, or NULL; borrowed */
    struct zd_dtype dtype;
    const void *fill;  /* the array's fill value where it marks missing elements (Zarr v2);
                          else NULL; borrowed during init */
    bool leaves_times; /* times stay numbers */
};

enum zd_cf_decode_way {
    ZD_CF_DECODE_NOTHING, /* elements stay */
    ZD_CF_DECODE_FLOATS,
    ZD_CF_DECODE_INTEGERS, /* times an integer; no value is missing */
    ZD_CF_DECODE_TIMES,
};

/** A value that marks missing elements. */
struct zd_cf_decode_fill {
    double number;
    uint64_t integer; /* two's complement, of the packed type; when is_integer */
    bool is_integer;
};

/** How elements are decoded. By value; the units are borrowed from the attributes. */
struct zd_cf_decode {
    enum zd_cf_decode_way way;
    struct zd_dtype stored;
    struct zd_dtype
        packed;         /* the same bytes, as _Unsigned has them, or as small floats are widened */
    struct zd_dtype to; /* of the result */
    struct zd_cf_decode_fill fill[ZD_CF_DECODE_FILLS_MAX];
    uint32_t n_fills;
    bool has_bounds; /* elements outside are missing */
    double min;
    double max;
    struct zd_dtype number; /* of the numbers before they become times */
    bool has_scale;
    bool has_offset;
    double scale;
    double offset;
    uint64_t integer_scale; /* of ZD_CF_DECODE_INTEGERS */
    int64_t tick_ns;        /* of times: what the numbers count */
    int64_t reference_ns;
    const char *units; /* of the numbers; NULL: none, or they became times */
};

/**
 * Read the attributes. Elements that are no real numbers stay as they are.
 * @retval ZD_INVALID an attribute is not what it must be; facts pointer (in the node's document),
 *                    name, expected, found
 */
ZD_RESULT zd_cf_decode_init(
    struct zd_cf_decode *decode, const struct zd_cf_decode_array *array, struct zd_error *err);

/**
 * Decode elements.
 * @param from n elements, at any address; to: room for n elements; the memories do not overlap
 * @param ret_place the first time that datetime64 in ns does not hold, when there is one
 * @return false when there is one: `to` is then undefined
 */
bool zd_cf_decode_run(const struct zd_cf_decode *decode, const uint8_t *from, uint64_t n,
    uint8_t *to, uint64_t *ret_place);

#endif
