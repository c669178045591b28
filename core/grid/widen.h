/* Elements of types that NumPy lacks, as elements of the type that answers have instead. */
#ifndef ZD_CORE_GRID_WIDEN_H
#define ZD_CORE_GRID_WIDEN_H

#include "core/grid/dtype.h"

/** Whether NumPy has no elements like those in memory: small floats. Integers of few bits are in
 * memory as int8 and uint8. Thread: any. */
static inline bool zd_widen_is_needed(const struct zd_dtype *dtype)
{
    return dtype->small != NULL;
}

/** The type of the answer: float32, complex64; else the type itself. Thread: any. */
struct zd_dtype zd_widen_dtype(const struct zd_dtype *dtype);

/** Elements as those of zd_widen_dtype, exactly. @param from at any address. Thread: any. */
void zd_widen(const struct zd_dtype *dtype, void *to, const uint8_t *from, size_t n_elements);

/**
 * The other way: each the nearest of the type.
 * @return how many elements were taken: less than n_elements where the next has no element like it
 * Thread: any.
 */
size_t zd_widen_back(
    const struct zd_dtype *dtype, uint8_t *to, const void *from, size_t n_elements);

#endif
