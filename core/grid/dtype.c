/* Data types of elements. */
#include "core/grid/dtype.h"

#include <stdio.h>
#include <string.h>

#include "core/base/num.h"
#include "core/base/scan.h"
#include "core/grid/variable.h"

/* The registry of Zarr v3. */
static const struct zd_small_float bfloat16 = {8, 7, 127, ZD_SMALL_FLOAT_IEEE};
static const struct zd_small_float float8_e3m4 = {3, 4, 3, ZD_SMALL_FLOAT_IEEE};
static const struct zd_small_float float8_e4m3 = {4, 3, 7, ZD_SMALL_FLOAT_IEEE};
static const struct zd_small_float float8_e4m3b11fnuz = {4, 3, 11, ZD_SMALL_FLOAT_NO_NEGATIVE_ZERO};
static const struct zd_small_float float8_e4m3fnuz = {4, 3, 8, ZD_SMALL_FLOAT_NO_NEGATIVE_ZERO};
static const struct zd_small_float float8_e5m2 = {5, 2, 15, ZD_SMALL_FLOAT_IEEE};
static const struct zd_small_float float8_e5m2fnuz = {5, 2, 16, ZD_SMALL_FLOAT_NO_NEGATIVE_ZERO};
static const struct zd_small_float float8_e8m0fnu = {8, 0, 127, ZD_SMALL_FLOAT_POWERS};
static const struct zd_small_float float6_e2m3fn = {2, 3, 1, ZD_SMALL_FLOAT_FINITE};
static const struct zd_small_float float6_e3m2fn = {3, 2, 3, ZD_SMALL_FLOAT_FINITE};
static const struct zd_small_float float4_e2m1fn = {2, 1, 1, ZD_SMALL_FLOAT_FINITE};
static const struct zd_small_float half = {5, 10, 15, ZD_SMALL_FLOAT_IEEE};

#define SMALL_FLOAT(float, n_bytes, n_bits)                                                        \
    {.kind = ZD_DTYPE_SMALL_FLOAT,                                                                 \
        .bytes = (n_bytes),                                                                        \
        .unit_bytes = (n_bytes),                                                                   \
        .name = #float,                                                                            \
        .small = &(float),                                                                         \
        .n_low_bits = (n_bits)}
#define SMALL_COMPLEX(float, n_bytes, n_bits)                                                      \
    {.kind = ZD_DTYPE_SMALL_COMPLEX,                                                               \
        .bytes = 2 * (n_bytes),                                                                    \
        .unit_bytes = (n_bytes),                                                                   \
        .name = "complex_" #float,                                                                 \
        .small = &(float),                                                                         \
        .n_low_bits = (n_bits)}

/* Zarr v3, core data types, and those of the registry. */
static const struct zd_dtype types[] = {
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
    {.kind = ZD_DTYPE_INT, .bytes = 1, .unit_bytes = 1, .name = "int2", .n_low_bits = 2},
    {.kind = ZD_DTYPE_INT, .bytes = 1, .unit_bytes = 1, .name = "int4", .n_low_bits = 4},
    {.kind = ZD_DTYPE_UINT, .bytes = 1, .unit_bytes = 1, .name = "uint2", .n_low_bits = 2},
    {.kind = ZD_DTYPE_UINT, .bytes = 1, .unit_bytes = 1, .name = "uint4", .n_low_bits = 4},
    SMALL_FLOAT(bfloat16, 2, 0),
    SMALL_FLOAT(float8_e3m4, 1, 0),
    SMALL_FLOAT(float8_e4m3, 1, 0),
    SMALL_FLOAT(float8_e4m3b11fnuz, 1, 0),
    SMALL_FLOAT(float8_e4m3fnuz, 1, 0),
    SMALL_FLOAT(float8_e5m2, 1, 0),
    SMALL_FLOAT(float8_e5m2fnuz, 1, 0),
    SMALL_FLOAT(float8_e8m0fnu, 1, 0),
    SMALL_FLOAT(float6_e2m3fn, 1, 6),
    SMALL_FLOAT(float6_e3m2fn, 1, 6),
    SMALL_FLOAT(float4_e2m1fn, 1, 4),
    SMALL_COMPLEX(bfloat16, 2, 0),
    {.kind = ZD_DTYPE_SMALL_COMPLEX,
        .bytes = 4,
        .unit_bytes = 2,
        .name = "complex_float16",
        .small = &half},
    SMALL_COMPLEX(float8_e3m4, 1, 0),
    SMALL_COMPLEX(float8_e4m3, 1, 0),
    SMALL_COMPLEX(float8_e4m3b11fnuz, 1, 0),
    SMALL_COMPLEX(float8_e4m3fnuz, 1, 0),
    SMALL_COMPLEX(float8_e5m2, 1, 0),
    SMALL_COMPLEX(float8_e5m2fnuz, 1, 0),
    SMALL_COMPLEX(float8_e8m0fnu, 1, 0),
    SMALL_COMPLEX(float6_e2m3fn, 1, 6),
    SMALL_COMPLEX(float6_e3m2fn, 1, 6),
    SMALL_COMPLEX(float4_e2m1fn, 1, 4),
    {.kind = ZD_DTYPE_STRING, .bytes = ZD_VARIABLE_BYTES, .unit_bytes = 1, .name = "string"},
    {.kind = ZD_DTYPE_BYTES, .bytes = ZD_VARIABLE_BYTES, .unit_bytes = 1, .name = "bytes"},
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
    "int2",
    "int4",
    "uint2",
    "uint4",
    "bfloat16",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float4_e2m1fn",
    "complex_bfloat16",
    "complex_float16",
    "complex_float8_e3m4",
    "complex_float8_e4m3",
    "complex_float8_e4m3b11fnuz",
    "complex_float8_e4m3fnuz",
    "complex_float8_e5m2",
    "complex_float8_e5m2fnuz",
    "complex_float8_e8m0fnu",
    "complex_float6_e2m3fn",
    "complex_float6_e3m2fn",
    "complex_float4_e2m1fn",
    "string",
    "bytes",
    "r*",
    NULL,
};

static const struct {
    const char *alias;
    const char *name;
} aliases[] = {
    {"complex_float32", "complex64"}, {"complex_float64", "complex128"},
    {"variable_length_bytes", "bytes"}, /* zarr-python */
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

static const char *const unit_names[] = {
    [ZD_DTYPE_YEARS] = "Y",
    [ZD_DTYPE_MONTHS] = "M",
    [ZD_DTYPE_WEEKS] = "W",
    [ZD_DTYPE_DAYS] = "D",
    [ZD_DTYPE_HOURS] = "h",
    [ZD_DTYPE_MINUTES] = "m",
    [ZD_DTYPE_SECONDS] = "s",
    [ZD_DTYPE_MILLISECONDS] = "ms",
    [ZD_DTYPE_MICROSECONDS] = "us",
    [ZD_DTYPE_NANOSECONDS] = "ns",
    [ZD_DTYPE_PICOSECONDS] = "ps",
    [ZD_DTYPE_FEMTOSECONDS] = "fs",
    [ZD_DTYPE_ATTOSECONDS] = "as",
    [ZD_DTYPE_GENERIC] = "generic",
};

#define LIST_PREFIX   "v2.list."
#define TIME_NAME     "numpy.datetime64"
#define DURATION_NAME "numpy.timedelta64"
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

static bool may_be_listed(const struct zd_dtype *item)
{
    return item->n_low_bits == 0 &&
           (item->kind == ZD_DTYPE_BOOL || item->kind == ZD_DTYPE_INT ||
               item->kind == ZD_DTYPE_UINT || item->kind == ZD_DTYPE_FLOAT ||
               item->kind == ZD_DTYPE_COMPLEX);
}

bool zd_dtype_of_list(const struct zd_dtype *item, struct zd_dtype *ret_dtype)
{
    if (!may_be_listed(item)) {
        return false;
    }
    struct zd_dtype list = {.kind = ZD_DTYPE_LIST, .bytes = ZD_VARIABLE_BYTES, .unit_bytes = 1};
    (void)snprintf(list.name, sizeof list.name, LIST_PREFIX "%.16s", item->name);
    *ret_dtype = list;
    return true;
}

struct zd_dtype zd_dtype_list_item(const struct zd_dtype *dtype)
{
    struct zd_dtype item = {.bytes = 1};
    const enum zd_status found = zd_dtype_find(dtype->name + strlen(LIST_PREFIX), &item);
    assert(dtype->kind == ZD_DTYPE_LIST && found == ZD_OK);
    (void)found;
    return item;
}

static enum zd_status find_list(const char *name, struct zd_dtype *ret_dtype)
{
    for (size_t i = 0; i < ZD_COUNT_OF(types); i++) {
        if (strcmp(types[i].name, name) == 0) {
            return zd_dtype_of_list(&types[i], ret_dtype) ? ZD_OK : ZD_UNSUPPORTED;
        }
    }
    return ZD_UNSUPPORTED;
}

enum zd_status zd_dtype_find(const char *name, struct zd_dtype *ret_dtype)
{
    if (strncmp(name, LIST_PREFIX, strlen(LIST_PREFIX)) == 0) {
        return find_list(name + strlen(LIST_PREFIX), ret_dtype);
    }
    for (size_t i = 0; i < ZD_COUNT_OF(aliases); i++) {
        if (strcmp(aliases[i].alias, name) == 0) {
            name = aliases[i].name;
            break;
        }
    }
    for (size_t i = 0; i < ZD_COUNT_OF(types); i++) {
        if (strcmp(types[i].name, name) == 0) {
            *ret_dtype = types[i];
            return ZD_OK;
        }
    }
    return find_raw(name, ret_dtype);
}

enum zd_status zd_dtype_of_ticks(
    const char *name, enum zd_dtype_unit unit, uint64_t scale, struct zd_dtype *ret_dtype)
{
    const bool is_time = strcmp(name, TIME_NAME) == 0;
    if ((!is_time && strcmp(name, DURATION_NAME) != 0) || scale == 0 ||
        scale > ZD_DTYPE_SCALE_MAX) {
        return ZD_UNSUPPORTED;
    }
    struct zd_dtype dtype = {
        .kind = is_time ? ZD_DTYPE_TIME : ZD_DTYPE_DURATION,
        .bytes = sizeof(int64_t),
        .unit_bytes = sizeof(int64_t),
        .unit = unit,
        .scale = (uint32_t)scale,
    };
    (void)snprintf(dtype.name, sizeof dtype.name, "%s", name);
    *ret_dtype = dtype;
    return ZD_OK;
}

enum zd_status zd_dtype_of_bytes(const char *name, uint64_t bytes, struct zd_dtype *ret_dtype)
{
    static const struct zd_dtype sized[] = {
        {.kind = ZD_DTYPE_UTF32, .unit_bytes = 4, .name = "fixed_length_utf32"},
        {.kind = ZD_DTYPE_CHARS, .unit_bytes = 1, .name = "null_terminated_bytes"},
        {.kind = ZD_DTYPE_RAW, .unit_bytes = 1, .name = "raw_bytes"},
    };
    for (size_t i = 0; i < ZD_COUNT_OF(sized); i++) {
        if (strcmp(sized[i].name, name) == 0 && bytes > 0 && bytes <= ZD_DTYPE_BYTES_MAX &&
            bytes % sized[i].unit_bytes == 0) {
            *ret_dtype = sized[i];
            ret_dtype->bytes = (uint32_t)bytes;
            return ZD_OK;
        }
    }
    return ZD_UNSUPPORTED;
}

const char *zd_dtype_unit_name(enum zd_dtype_unit unit)
{
    return unit_names[unit];
}

bool zd_dtype_unit_find(struct zd_span name, enum zd_dtype_unit *ret_unit)
{
    /* Reference 5.4.2: U+03BC and U+00B5. */
    const bool is_micro = zd_span_is(name, "\xCE\xBCs") || zd_span_is(name, "\xC2\xB5s");
    for (size_t i = 0; i < ZD_COUNT_OF(unit_names); i++) {
        if (zd_span_is(name, unit_names[i]) || (is_micro && i == ZD_DTYPE_MICROSECONDS)) {
            *ret_unit = (enum zd_dtype_unit)i;
            return true;
        }
    }
    return false;
}

bool zd_dtype_equal(const struct zd_dtype *a, const struct zd_dtype *b)
{
    return strcmp(a->name, b->name) == 0 && a->bytes == b->bytes && a->unit == b->unit &&
           a->scale == b->scale &&
           (a->fields == b->fields || (a->fields != NULL && b->fields != NULL &&
                                          strcmp(a->fields->typestr, b->fields->typestr) == 0));
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
    case ZD_DTYPE_SMALL_FLOAT:
        return 'f';
    case ZD_DTYPE_COMPLEX:
    case ZD_DTYPE_SMALL_COMPLEX:
        return 'c';
    case ZD_DTYPE_TIME:
        return 'M';
    case ZD_DTYPE_DURATION:
        return 'm';
    case ZD_DTYPE_UTF32:
        return 'U';
    case ZD_DTYPE_CHARS:
        return 'S';
    case ZD_DTYPE_STRING:
    case ZD_DTYPE_BYTES:
    case ZD_DTYPE_LIST:
    case ZD_DTYPE_STRUCT:
        return 'O';
    case ZD_DTYPE_RAW:
        break;
    }
    return 'V';
}

void zd_dtype_typestr(const struct zd_dtype *dtype, char ret_typestr[ZD_DTYPE_TYPESTR_BYTES])
{
    /* NumPy's array interface: '|' where there is no byte order. */
    const char order = dtype->unit_bytes == 1 && dtype->small == NULL ? '|' : '<';
    if (zd_dtype_is_variable(dtype)) {
        (void)snprintf(ret_typestr, ZD_DTYPE_TYPESTR_BYTES, "|O");
        return;
    }
    uint32_t n = dtype->kind == ZD_DTYPE_UTF32 ? dtype->bytes / 4 : dtype->bytes;
    if (dtype->small != NULL) {
        n = dtype->kind == ZD_DTYPE_SMALL_FLOAT ? sizeof(float) : 2 * sizeof(float);
    }
    char unit[ZD_DTYPE_TYPESTR_BYTES] = "";
    if (zd_dtype_is_ticks(dtype) && dtype->unit != ZD_DTYPE_GENERIC) {
        const char *name = unit_names[dtype->unit];
        (void)(dtype->scale == 1 ? snprintf(unit, sizeof unit, "[%s]", name)
                                 : snprintf(unit, sizeof unit, "[%u%s]", dtype->scale, name));
    }
    (void)snprintf(ret_typestr, ZD_DTYPE_TYPESTR_BYTES, "%c%c%u%.20s", order,
        typestr_kind(dtype->kind), n, unit);
}

enum zd_status zd_dtype_add_typestr(const struct zd_dtype *dtype, struct zd_text *text)
{
    char typestr[ZD_DTYPE_TYPESTR_BYTES];
    if (dtype->fields != NULL) {
        return zd_text_add(text, dtype->fields->typestr);
    }
    zd_dtype_typestr(dtype, typestr);
    return zd_text_add(text, typestr);
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

/* Units of a few bytes; one field at a time. */
static void swap_field(const struct zd_field *field, uint8_t *at)
{
    const uint32_t unit_bytes = field->dtype.unit_bytes;
    for (uint32_t i = 0; unit_bytes > 1 && i < zd_dtype_field_bytes(field); i += unit_bytes) {
        for (uint32_t low = i, high = i + unit_bytes - 1; low < high; low++, high--) {
            const uint8_t byte = at[low];
            at[low] = at[high];
            at[high] = byte;
        }
    }
}

/* @param is_big of each field; NULL: all are swapped */
static void swap_fields(
    const struct zd_dtype *dtype, uint8_t *elements, size_t n_elements, const bool *is_big)
{
    const struct zd_struct_fields *fields = dtype->fields;
    for (size_t i = 0; i < n_elements; i++) {
        for (uint32_t k = 0; k < fields->n; k++) {
            const struct zd_field *field = &fields->field[k];
            if (is_big == NULL || is_big[k]) {
                swap_field(field, elements + i * dtype->bytes + field->offset);
            }
        }
    }
}

void zd_dtype_swap_fields(
    const struct zd_dtype *dtype, void *elements, size_t n_elements, const bool *is_big)
{
    assert(dtype->fields != NULL);
    swap_fields(dtype, elements, n_elements, is_big);
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
        assert(dtype->unit_bytes == 1 || dtype->fields != NULL);
        memmove(to, from, n_bytes);
        if (dtype->fields != NULL) {
            swap_fields(dtype, to, n_elements, NULL);
        }
    }
}

static void settle_bools(uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bytes[i] = bytes[i] != 0;
    }
}

/* The sign of a low bit goes up; of a number without sign, or a float, that is none. */
static void settle_low_bits(uint8_t *bytes, size_t n, unsigned n_bits, bool has_sign)
{
    const uint8_t mask = (uint8_t)((1U << n_bits) - 1);
    const uint8_t sign = (uint8_t)(has_sign ? 1U << (n_bits - 1) : 0U);
    for (size_t i = 0; i < n; i++) {
        bytes[i] = (uint8_t)(((bytes[i] & mask) ^ sign) - sign);
    }
}

static void settle_bytes(const struct zd_dtype *dtype, uint8_t *bytes, size_t n)
{
    if (dtype->kind == ZD_DTYPE_BOOL) {
        settle_bools(bytes, n);
    } else if (dtype->n_low_bits > 0) {
        settle_low_bits(bytes, n, dtype->n_low_bits, dtype->kind == ZD_DTYPE_INT);
    }
}

void zd_dtype_settle(const struct zd_dtype *dtype, void *elements, size_t n_elements)
{
    const struct zd_struct_fields *fields = dtype->fields;
    uint8_t *bytes = elements;
    if (fields == NULL) {
        settle_bytes(dtype, bytes, n_elements * dtype->bytes);
        return;
    }
    for (size_t i = 0; fields->is_loose && i < n_elements; i++) {
        for (uint32_t k = 0; k < fields->n; k++) {
            const struct zd_field *field = &fields->field[k];
            settle_bytes(&field->dtype, bytes + i * dtype->bytes + field->offset,
                zd_dtype_field_bytes(field));
        }
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

/* The bytes of elements of variable length. */
static bool has_same_bytes(const void *a, const void *b, uint64_t n_elements)
{
    bool is_same = true;
    for (uint64_t i = 0; i < n_elements && is_same; i++) {
        is_same = zd_span_equal(zd_variable_at(a, i), zd_variable_at(b, i));
    }
    return is_same;
}

bool zd_dtype_same_elements(
    const struct zd_dtype *dtype, const void *a, const void *b, uint64_t n_elements)
{
    return zd_dtype_is_variable(dtype)
               ? has_same_bytes(a, b, n_elements)
               : n_elements == 0 || memcmp(a, b, n_elements * dtype->bytes) == 0;
}

uint8_t *zd_dtype_copy(const struct zd_dtype *dtype, const void *element)
{
    if (zd_dtype_is_variable(dtype)) {
        return zd_variable_new(zd_variable_at(element, 0));
    }
    uint8_t *copy = zd_alloc(dtype->bytes);
    if (copy != NULL) {
        memcpy(copy, element, dtype->bytes);
    }
    return copy;
}

bool zd_dtype_is_ordered(const struct zd_dtype *dtype)
{
    switch (dtype->kind) {
    case ZD_DTYPE_BOOL:
    case ZD_DTYPE_INT:
    case ZD_DTYPE_UINT:
    case ZD_DTYPE_FLOAT:
    case ZD_DTYPE_TIME:
    case ZD_DTYPE_DURATION:
    case ZD_DTYPE_SMALL_FLOAT:
        return true;
    case ZD_DTYPE_COMPLEX:
    case ZD_DTYPE_SMALL_COMPLEX:
    case ZD_DTYPE_RAW:
    case ZD_DTYPE_UTF32:
    case ZD_DTYPE_CHARS:
    case ZD_DTYPE_STRING:
    case ZD_DTYPE_BYTES:
    case ZD_DTYPE_LIST:
    case ZD_DTYPE_STRUCT:
        break;
    }
    return false;
}
