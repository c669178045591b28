/* Elements of types that NumPy lacks, as elements of the type that answers have instead. */
#include "core/grid/widen.h"

#include <assert.h>
#include <string.h>

#include "core/base/num.h"

struct zd_dtype zd_widen_dtype(const struct zd_dtype *dtype)
{
    struct zd_dtype wide = *dtype;
    if (zd_widen_is_needed(dtype)) {
        const char *name = dtype->kind == ZD_DTYPE_SMALL_FLOAT ? "float32" : "complex64";
        const enum zd_status status = zd_dtype_find(name, &wide);
        assert(status == ZD_OK);
        (void)status;
    }
    return wide;
}

/* Floats in an element, each of so many bytes. */
static uint32_t n_parts(const struct zd_dtype *dtype)
{
    return dtype->kind == ZD_DTYPE_SMALL_COMPLEX ? 2 : 1;
}

void zd_widen(const struct zd_dtype *dtype, void *to, const uint8_t *from, size_t n_elements)
{
    const uint32_t len = dtype->bytes / n_parts(dtype);
    uint8_t *wide = to;
    assert(zd_widen_is_needed(dtype));
    for (size_t i = 0; i < n_elements * n_parts(dtype); i++) {
        uint32_t code = 0;
        memcpy(&code, from + i * len, len);
        const uint32_t bits = zd_small_float_widen(dtype->small, code);
        memcpy(wide + i * sizeof bits, &bits, sizeof bits);
    }
}

size_t zd_widen_back(const struct zd_dtype *dtype, uint8_t *to, const void *from, size_t n_elements)
{
    const uint32_t len = dtype->bytes / n_parts(dtype);
    const uint8_t *wide = from;
    assert(zd_widen_is_needed(dtype));
    for (size_t i = 0; i < n_elements * n_parts(dtype); i++) {
        uint32_t code = 0;
        if (!zd_small_float_narrow(dtype->small, zd_load_u32(wide + i * sizeof code), &code)) {
            return i / n_parts(dtype);
        }
        memcpy(to + i * len, &code, len);
    }
    return n_elements;
}
