/* Shared by fuzz targets: checks that hold in every build, and functions that take inputs apart. */
#include "tests/fuzz/input.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/num.h"
#include "core/grid/typestr.h"

void zd_fuzz_insist(bool holds)
{
    if (!holds) {
        abort();
    }
}

/* The first `len` bytes, of which a NUL ends the text; `skipped` more are left out. */
static char *take(struct zd_span *input, size_t len, size_t skipped)
{
    /* A block of exactly that size lets the sanitizers see one byte too many. */
    char *text = zd_strndup(len == 0 ? "" : (const char *)input->ptr, len);
    zd_fuzz_insist(text != NULL);
    const size_t used = len + skipped;
    *input = (struct zd_span){.ptr = input->ptr + used, .len = input->len - used};
    return text;
}

char *zd_fuzz_line(struct zd_span *input)
{
    const uint8_t *end = input->len == 0 ? NULL : memchr(input->ptr, '\n', input->len);
    return end == NULL ? take(input, input->len, 0) : take(input, (size_t)(end - input->ptr), 1);
}

enum zd_status zd_fuzz_dtype(const char *name, struct zd_dtype *ret_dtype)
{
    struct zd_typestr typestr;
    if (zd_dtype_find(name, ret_dtype) == ZD_OK) {
        return ZD_OK;
    }
    ZD_TRY(zd_typestr_parse(name, &typestr, NULL));
    *ret_dtype = typestr.dtype;
    return ZD_OK;
}

char *zd_fuzz_rest(struct zd_span *input)
{
    return take(input, input->len, 0);
}

uint8_t zd_fuzz_byte(struct zd_span *input)
{
    if (input->len == 0) {
        return 0;
    }
    const uint8_t byte = input->ptr[0];
    *input = (struct zd_span){.ptr = input->ptr + 1, .len = input->len - 1};
    return byte;
}

uint64_t zd_fuzz_u64(struct zd_span *input)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 8) {
        value |= (uint64_t)zd_fuzz_byte(input) << shift;
    }
    return value;
}
