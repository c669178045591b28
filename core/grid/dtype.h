/* Data types of elements. */
#ifndef ZD_CORE_GRID_DTYPE_H
#define ZD_CORE_GRID_DTYPE_H

#include "core/base/status.h"
#include "core/base/text.h"

enum zd_dtype_kind {
    ZD_DTYPE_BOOL,
    ZD_DTYPE_INT,
    ZD_DTYPE_UINT,
    ZD_DTYPE_FLOAT,
    ZD_DTYPE_COMPLEX,
    ZD_DTYPE_RAW, /* opaque bits: r<N> */
};

#define ZD_DTYPE_BYTES_MAX 65536 /* of one element: r524288 */

/** A data type of fixed size. By value. */
struct zd_dtype {
    enum zd_dtype_kind kind;
    uint32_t bytes;      /* of one element; >= 1 */
    uint32_t unit_bytes; /* the unit that byte order swaps: 4 for complex64; 1 when there is none */
    char name[16];       /* as in a v3 document: "float32", "r24" */
};

/**
 * The core data type of that name (Zarr v3, data types; r<N> included), or one of its aliases.
 *
 * @retval ZD_UNSUPPORTED no such type in this build (also a malformed r<N>)
 * Thread: any.
 */
ZD_RESULT zd_dtype_find(const char *name, struct zd_dtype *ret_dtype);

/** The names of all data types, aliases left out, ended by NULL ("r*" stands for the raw bits). */
extern const char *const zd_dtype_names[];

/** The other name of such a data type, or NULL: it has one at most. Thread: any. */
const char *zd_dtype_alias(const char *name);

/** NumPy's typestr: "<f4", "|b1", "|V3". Thread: any. */
enum zd_status zd_dtype_add_typestr(const struct zd_dtype *dtype, struct zd_text *text);

/** Swap the byte order of n_elements elements from one place to another (which may be the same). */
void zd_dtype_swap(const struct zd_dtype *dtype, void *to, const void *from, size_t n_elements);

/** Write one element n_elements times. */
void zd_dtype_fill(const struct zd_dtype *dtype, void *to, const void *element, size_t n_elements);

/** Whether elements of that type have an order, and therefore extremes. Thread: any. */
bool zd_dtype_is_ordered(const struct zd_dtype *dtype);

#endif
