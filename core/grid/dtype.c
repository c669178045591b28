/* Data types of elements. */
#include "core/grid/dtype.h"

#include <stdio.h>
#include <string.h>

#include "core/base/num.h"
#include "core/base/scan.h"

/* Zarr v3, core data types. */
static const struct zd_dtype core_types[] = {
    {.kind = ZD_DTYPE_BOOL, .bytes = 1, .unit_bytes = 1, .name = "bool"},
    {.kind = ZD_DTYPE_INT, .bytes = 1, .unit_bytes = 1, .name = "int8"},
    {.kind = ZD_DTYPE_INT, .bytes = 2, .unit_bytes = 2, .name = "int16"},
    {.kind = ZD_DTYPE_INT, .bytes = 4, .unit_bytes = 4, .name = "int32"},
    {.kind = ZD_DTYPE_INT, .bytes = 8, .unit_bytes = 8, .name = "int64"},
    {.kind = ZD_DTYPE_UINT, .bytes = 1, .unit_bytes = 1, .name = "uint8"},
    {.kind = ZD_DTYPE_UINT, .bytes = 2, .unit_bytes = 2, .name = "uint16"},
    {.kind = ZD_DTYPE_UINT, .bytes = 4, .unit_bytes = 4, .name = "uint32"},
    {.kind = ZD_DTYPE_UINT, .bytes = 8, .unit_bytes = 8, .name = "uint64"},
    {.kind = ZD_DTYPE_FLOAT, .bytes = 2, .unit_bytes = 2, .name = "float16"},
    {.kind = ZD_DTYPE_FLOAT, .bytes = 4, .unit_bytes = 4, .name = "float32"},
    {.kind = ZD_DTYPE_FLOAT, .bytes = 8, .unit_bytes = 8, .name = "float64"},
    {.kind = ZD_DTYPE_COMPLEX, .bytes = 8, .unit_bytes = 4, .name = "complex64"},
    {.kind = ZD_DTYPE_COMPLEX, .bytes = 16, .unit_bytes = 8, .name = "complex128"},
};

const char *const zd_dtype_names[] = {
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
    "r*",
    NULL,
};

static const struct {
    const char *alias;
    const char *name;
} aliases[] = {
    {"complex_float32", "complex64"},
    {"complex_float64", "complex128"},
};

const char *zd_dtype_alias(const char *name)
{
    for (size_t i = 0; i < ZD_COUNT_OF(aliases); i++) {
        if (strcmp(aliases[i].name, name) == 0) {
            return aliases[i].alias;
        }
    }
    return NULL;
}

#define BITS_PER_BYTE 8U

/* Zarr v3, r<N>: N is a multiple of 8, written without leading zeros. */
static enum zd_status find_raw(const char *name, struct zd_dtype *ret_dtype)
{
    const uint64_t n_bits_max = (uint64_t)ZD_DTYPE_BYTES_MAX * BITS_PER_BYTE;
    uint64_t n_bits = 0;
    if (name[0] != 'r' || zd_scan_whole_u64(zd_span_of(name + 1), n_bits_max, &n_bits) != ZD_OK) {
        return ZD_UNSUPPORTED;
    }
    if (n_bits == 0 || n_bits % BITS_PER_BYTE != 0) {
        return ZD_UNSUPPORTED;
    }
    struct zd_dtype raw = {
        .kind = ZD_DTYPE_RAW, .bytes = (uint32_t)(n_bits / BITS_PER_BYTE), .unit_bytes = 1};
    (void)snprintf(raw.name, sizeof raw.name, "r%u", raw.bytes * BITS_PER_BYTE);
    *ret_dtype = raw;
    return ZD_OK;
}

enum zd_status zd_dtype_find(const char *name, struct zd_dtype *ret_dtype)
{
    for (size_t i = 0; i < ZD_COUNT_OF(aliases); i++) {
        if (strcmp(aliases[i].alias, name) == 0) {
            name = aliases[i].name;
            break;
        }
    }
    for (size_t i = 0; i < ZD_COUNT_OF(core_types); i++) {
        if (strcmp(core_types[i].name, name) == 0) {
            *ret_dtype = core_types[i];
            return ZD_OK;
        }
    }
    return find_raw(name, ret_dtype);
}

static char typestr_kind(enum zd_dtype_kind kind)
{
    switch (kind) {
    case ZD_DTYPE_BOOL:
        return 'b';
    case ZD_DTYPE_INT:
        return 'i';
    case ZD_DTYPE_UINT:
        return 'u';
    case ZD_DTYPE_FLOAT:
        return 'f';
    case ZD_DTYPE_COMPLEX:
        return 'c';
    case ZD_DTYPE_RAW:
        break;
    }
    return 'V';
}

enum zd_status zd_dtype_add_typestr(const struct zd_dtype *dtype, struct zd_text *text)
{
    /* NumPy's array interface: '|' where there is no byte order. */
    const char order = dtype->unit_bytes == 1 ? '|' : '<';
    return zd_text_addf(text, "%c%c%u", order, typestr_kind(dtype->kind), dtype->bytes);
}

static void swap_2(uint8_t *to, const uint8_t *from, size_t n_units)
{
    for (size_t i = 0; i < n_units; i++) {
        const uint16_t unit = __builtin_bswap16(zd_load_u16(from + i * sizeof unit));
        memcpy(to + i * sizeof unit, &unit, sizeof unit);
    }
}

static void swap_4(uint8_t *to, const uint8_t *from, size_t n_units)
{
    for (size_t i = 0; i < n_units; i++) {
        const uint32_t unit = __builtin_bswap32(zd_load_u32(from + i * sizeof unit));
        memcpy(to + i * sizeof unit, &unit, sizeof unit);
    }
}

static void swap_8(uint8_t *to, const uint8_t *from, size_t n_units)
{
    for (size_t i = 0; i < n_units; i++) {
        const uint64_t unit = __builtin_bswap64(zd_load_u64(from + i * sizeof unit));
        memcpy(to + i * sizeof unit, &unit, sizeof unit);
    }
}

void zd_dtype_swap(const struct zd_dtype *dtype, void *to, const void *from, size_t n_elements)
{
    const size_t n_bytes = n_elements * dtype->bytes;
    switch (dtype->unit_bytes) {
    case 2:
        swap_2(to, from, n_bytes / 2);
        return;
    case 4:
        swap_4(to, from, n_bytes / 4);
        return;
    case 8:
        swap_8(to, from, n_bytes / 8);
        return;
    default:
        assert(dtype->unit_bytes == 1);
        memmove(to, from, n_bytes);
    }
}

void zd_dtype_fill(const struct zd_dtype *dtype, void *to, const void *element, size_t n_elements)
{
    const size_t len = n_elements * dtype->bytes;
    if (len == 0) {
        return;
    }
    const uint8_t *first = element;
    if (memcmp(first, first + 1, dtype->bytes - 1) == 0) {
        memset(to, first[0], len); /* all its bytes are the same */
        return;
    }
    memcpy(to, element, dtype->bytes);
    for (size_t filled = dtype->bytes; filled < len; filled *= 2) {
        const size_t n_more = zd_min_u64(filled, len - filled);
        memcpy((uint8_t *)to + filled, to, n_more);
    }
}

bool zd_dtype_is_ordered(const struct zd_dtype *dtype)
{
    switch (dtype->kind) {
    case ZD_DTYPE_BOOL:
    case ZD_DTYPE_INT:
    case ZD_DTYPE_UINT:
    case ZD_DTYPE_FLOAT:
        return true;
    case ZD_DTYPE_COMPLEX:
    case ZD_DTYPE_RAW:
        break;
    }
    return false;
}
