/* Elements converted to another data type, as answers are that ask for one: as NumPy's astype does
 * it, but that nothing wraps. Thread: any. */
#ifndef ZD_CORE_COMPUTE_CONVERT_H
#define ZD_CORE_COMPUTE_CONVERT_H

#include "core/base/buf.h"
#include "core/grid/dtype.h"

#define ZD_CONVERT_SAFE        "safe" /* what a typed array of JavaScript holds */
#define ZD_CONVERT_ELEMENT_MAX 16     /* bytes of the largest element that is converted */

enum zd_convert_rule {
    ZD_CONVERT_COPY,    /* the bytes stay */
    ZD_CONVERT_ALWAYS,  /* real numbers, each of which becomes one */
    ZD_CONVERT_INTEGER, /* real numbers as integers, unless one does not fit */
    ZD_CONVERT_EXACT,   /* 64-bit integers as float64, unless one is not the same; NaT is NaN */
    ZD_CONVERT_COMPLEX, /* real or complex numbers as complex ones */
};

struct zd_convert {
    enum zd_convert_rule rule;
    struct zd_dtype from;
    struct zd_dtype to;
};

/** The names of all types that elements may become, and ZD_CONVERT_SAFE, ended by NULL. */
extern const char *const zd_convert_names[];

/**
 * A conversion to the type of a NumPy name ("f4", "<f4", "float32"), or to the safe one.
 * @retval ZD_INVALID unknown type, or such elements cannot be converted to it; facts name
 *                    ("dtype"), found
 */
ZD_RESULT zd_convert_init(struct zd_convert *convert, const struct zd_dtype *from,
    struct zd_span name, struct zd_error *err);

/** The type that elements are computed as: small floats are widened (core/grid/widen.h), integers
 * of few bits are in memory as those of eight are; else the type itself. */
struct zd_dtype zd_convert_usual(const struct zd_dtype *dtype);

/** Whether some elements may have no equivalent in the other type. */
bool zd_convert_may_fail(const struct zd_convert *convert);

/**
 * Convert elements.
 * @param from n elements, at any address; to: room for n elements; the memories do not overlap
 * @param ret_place the first element that the type does not hold, when there is one
 * @return false when there is one: `to` is then undefined
 */
bool zd_convert_run(const struct zd_convert *convert, const uint8_t *from, uint64_t n, uint8_t *to,
    uint64_t *ret_place);

#endif
