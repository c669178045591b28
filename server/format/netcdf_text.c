/* The pieces of a netCDF classic header. */
#include "server/format/netcdf_text.h"

#include <assert.h>
#include <string.h>

#include "core/base/half.h"
#include "core/base/num.h"
#include "core/base/scan.h"
#include "core/grid/widen.h"

#define PIECE_ELEMENTS   1024
#define SUFFIX_BYTES_MAX 16

/* ---- numbers and lists ---- */

void zd_netcdf_text_add_u32(struct zd_netcdf_text *to, uint32_t value)
{
    const uint32_t big = __builtin_bswap32(value);
    zd_text_add_bytes(&to->text, &big, sizeof big);
}

void zd_netcdf_text_add_u64(struct zd_netcdf_text *to, uint64_t value)
{
    const uint64_t big = __builtin_bswap64(value);
    zd_text_add_bytes(&to->text, &big, sizeof big);
}

void zd_netcdf_text_add_count(struct zd_netcdf_text *to, uint64_t value)
{
    if (to->is_cdf5) {
        zd_netcdf_text_add_u64(to, value);
    } else {
        zd_netcdf_text_add_u32(to, (uint32_t)zd_min_u64(value, UINT32_MAX));
    }
}

void zd_netcdf_text_add_list(struct zd_netcdf_text *to, uint32_t tag, uint64_t n_items)
{
    zd_netcdf_text_add_u32(to, n_items == 0 ? 0 : tag);
    zd_netcdf_text_add_count(to, n_items);
}

void zd_netcdf_text_pad(struct zd_text *text, uint64_t n_bytes)
{
    static const char zeros[ZD_NETCDF_ALIGN] = {0};
    const size_t surplus = n_bytes % ZD_NETCDF_ALIGN;
    zd_text_add_bytes(text, zeros, surplus == 0 ? 0 : ZD_NETCDF_ALIGN - surplus);
}

static void add_padded(struct zd_netcdf_text *to, struct zd_span bytes)
{
    zd_netcdf_text_add_count(to, bytes.len);
    zd_text_add_bytes(&to->text, bytes.ptr, bytes.len);
    zd_netcdf_text_pad(&to->text, bytes.len);
}

void zd_netcdf_text_add_name(struct zd_netcdf_text *to, const char *name)
{
    add_padded(to, zd_span_of(name));
}

/* ---- elements ---- */

static enum zd_netcdf_type integer_type(const struct zd_dtype *dtype)
{
    const bool is_signed = dtype->kind == ZD_DTYPE_INT;
    switch (dtype->bytes) {
    case 1:
        return is_signed ? ZD_NETCDF_BYTE : ZD_NETCDF_UBYTE;
    case 2:
        return is_signed ? ZD_NETCDF_SHORT : ZD_NETCDF_USHORT;
    case 4:
        return is_signed ? ZD_NETCDF_INT : ZD_NETCDF_UINT;
    default:
        return is_signed ? ZD_NETCDF_INT64 : ZD_NETCDF_UINT64;
    }
}

static enum zd_netcdf_type ticks_type(const struct zd_dtype *dtype)
{
    const bool is_said = dtype->unit >= ZD_DTYPE_DAYS && dtype->unit <= ZD_DTYPE_NANOSECONDS;
    return is_said && dtype->scale == 1 ? ZD_NETCDF_INT64 : ZD_NETCDF_NONE;
}

enum zd_netcdf_type zd_netcdf_text_type(const struct zd_dtype *dtype)
{
    switch (dtype->kind) {
    case ZD_DTYPE_BOOL:
        return ZD_NETCDF_BYTE;
    case ZD_DTYPE_INT:
    case ZD_DTYPE_UINT:
        return integer_type(dtype);
    case ZD_DTYPE_FLOAT:
        return dtype->bytes == sizeof(double) ? ZD_NETCDF_DOUBLE : ZD_NETCDF_FLOAT;
    case ZD_DTYPE_SMALL_FLOAT:
        return ZD_NETCDF_FLOAT;
    case ZD_DTYPE_TIME:
    case ZD_DTYPE_DURATION:
        return ticks_type(dtype);
    case ZD_DTYPE_COMPLEX:
    case ZD_DTYPE_RAW:
    case ZD_DTYPE_UTF32:
    case ZD_DTYPE_CHARS:
    case ZD_DTYPE_SMALL_COMPLEX:
    case ZD_DTYPE_STRING:
    case ZD_DTYPE_BYTES:
    case ZD_DTYPE_LIST:
    case ZD_DTYPE_STRUCT:
        return ZD_NETCDF_NONE;
    }
    return ZD_NETCDF_NONE;
}

uint32_t zd_netcdf_text_type_bytes(enum zd_netcdf_type type)
{
    static const uint8_t bytes[] = {0, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8};
    assert(type != ZD_NETCDF_NONE);
    return bytes[type];
}

static void swap_floats(uint32_t *bits, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bits[i] = __builtin_bswap32(bits[i]);
    }
}

/* Floats of less than 32 bits. */
static void add_wide(
    struct zd_text *text, const struct zd_dtype *dtype, const uint8_t *elements, size_t n)
{
    uint32_t bits[PIECE_ELEMENTS];
    for (size_t first = 0; first < n && text->status == ZD_OK; first += PIECE_ELEMENTS) {
        const size_t n_piece = zd_min_u64(n - first, PIECE_ELEMENTS);
        const uint8_t *from = elements + first * dtype->bytes;
        if (zd_widen_is_needed(dtype)) {
            zd_widen(dtype, bits, from, n_piece);
        }
        for (size_t i = 0; !zd_widen_is_needed(dtype) && i < n_piece; i++) {
            const float value = zd_half_to_float(zd_load_u16(from + 2 * i));
            memcpy(&bits[i], &value, sizeof value);
        }
        swap_floats(bits, n_piece);
        zd_text_add_bytes(text, bits, n_piece * sizeof *bits);
    }
}

void zd_netcdf_text_add_elements(
    struct zd_text *text, const struct zd_dtype *dtype, const uint8_t *elements, size_t n)
{
    if (zd_dtype_is_float(dtype) && dtype->bytes < sizeof(float)) {
        add_wide(text, dtype, elements, n);
        return;
    }
    const size_t at = text->len;
    if (zd_text_add_bytes(text, elements, n * dtype->bytes) == ZD_OK && dtype->unit_bytes > 1) {
        zd_dtype_swap(dtype, text->at + at, text->at + at, n);
    }
}

/* ---- attributes ---- */

void zd_netcdf_text_add_string(struct zd_netcdf_text *to, const char *name, struct zd_span value)
{
    zd_netcdf_text_add_name(to, name);
    zd_netcdf_text_add_u32(to, ZD_NETCDF_CHAR);
    add_padded(to, value);
}

void zd_netcdf_text_add_values(struct zd_netcdf_text *to, const char *name,
    const struct zd_dtype *dtype, const void *values, size_t n)
{
    const enum zd_netcdf_type type = zd_netcdf_text_type(dtype);
    zd_netcdf_text_add_name(to, name);
    zd_netcdf_text_add_u32(to, type);
    zd_netcdf_text_add_count(to, n);
    zd_netcdf_text_add_elements(&to->text, dtype, values, n);
    zd_netcdf_text_pad(&to->text, n * zd_netcdf_text_type_bytes(type));
}

/* ---- names ---- */

static bool is_alphanumeric(uint8_t c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c >= 0x80;
}

/* "name = ID1 [IDN ...]": anything printable but a slash; behind a space something follows. */
static bool is_allowed(uint8_t c, bool is_first, bool is_last)
{
    return is_alphanumeric(c) || c == '_' || (!is_first && c > ' ' && c < 0x7f && c != '/') ||
           (c == ' ' && !is_first && !is_last);
}

static bool has_name(const struct zd_text *names, size_t from, size_t end, struct zd_span name)
{
    for (size_t at = from; at < end; at += strlen(names->at + at) + 1) {
        if (zd_span_is(name, names->at + at)) {
            return true;
        }
    }
    return false;
}

/* The first bytes, and no part of a character. */
static size_t shortened(struct zd_span name, size_t len_max)
{
    size_t len = name.len;
    if (len > len_max) {
        len = len_max;
        while (len > 0 && (name.ptr[len] & 0xc0) == 0x80) {
            len--;
        }
    }
    return len;
}

size_t zd_netcdf_text_name(struct zd_text *names, size_t from, struct zd_span name)
{
    const size_t at = names->len;
    const bool is_utf8 = zd_scan_is_utf8(name);
    const size_t len = shortened(name, ZD_NETCDF_NAME_BYTES_MAX - SUFFIX_BYTES_MAX);
    for (size_t i = 0; i < len; i++) {
        const uint8_t c = name.ptr[i];
        const bool is_kept = is_allowed(c, i == 0, i + 1 == len) && (c < 0x80 || is_utf8);
        zd_text_add_bytes(names, is_kept ? &c : (const uint8_t *)"_", 1);
    }
    if (len == 0) {
        zd_text_add_char(names, '_');
    }
    const size_t base = names->len;
    for (uint64_t number = 2; names->status == ZD_OK; number++) {
        const struct zd_span made = {
            .ptr = (const uint8_t *)names->at + at, .len = names->len - at};
        if (!has_name(names, from, at, made)) {
            break;
        }
        zd_text_cut(names, base);
        zd_text_add_char(names, '_');
        zd_text_add_u64(names, number);
    }
    zd_text_add_char(names, '\0');
    return at;
}
