/* Data types as NumPy spells them (Zarr v2, data type encoding). */
#include "core/grid/typestr.h"

#include <inttypes.h>
#include <string.h>

#include "core/base/num.h"
#include "core/base/scan.h"

#define NAME_BYTES_MAX 16
#define BITS_PER_BYTE  8U
#define ORDERS         "<>|"
#define UNIT_LETTERS   "YMWDhmsunpfa\xCE\xBC\xC2\xB5" /* the micro sign, too */
#define POINT_BYTES    4U                             /* of a character */

/* The kinds of data types by their letter. */
static const struct kind {
    char letter;
    const char *name; /* of v3, in front of the number of bits where there is one; NULL: not read */
    const char *description;
} kinds[] = {
    {'b', "bool", "booleans"},
    {'i', "int", "integers"},
    {'u', "uint", "unsigned integers"},
    {'f', "float", "floating-point numbers"},
    {'c', "complex", "complex numbers"},
    {'V', "r", "raw bytes"},
    {'S', "null_terminated_bytes", "byte strings"},
    {'U', "fixed_length_utf32", "text"},
    {'M', "numpy.datetime64", "times"},
    {'m', "numpy.timedelta64", "durations"},
    {'O', NULL, "objects of variable length"},
};

/* A type string, taken apart. */
struct parts {
    char order;
    const struct kind *kind;
    uint64_t n_bytes;        /* of an element, or of what it counts; 0: not said */
    enum zd_dtype_unit unit; /* of times */
    uint64_t scale;
};

static const struct kind *find_kind(char letter)
{
    for (size_t i = 0; i < ZD_COUNT_OF(kinds); i++) {
        if (kinds[i].letter == letter) {
            return &kinds[i];
        }
    }
    return NULL;
}

static bool is_ticks(const struct kind *kind)
{
    return kind->letter == 'M' || kind->letter == 'm';
}

/* "[10us]"; without it, ticks of an unknown unit. */
static bool read_unit(struct zd_scan *scan, struct parts *parts)
{
    struct zd_span name = {0};
    parts->unit = ZD_DTYPE_GENERIC;
    parts->scale = 1;
    if (!zd_scan_char(scan, '[')) {
        return true;
    }
    const bool has_scale = scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9';
    if (has_scale && zd_scan_u64(scan, ZD_DTYPE_SCALE_MAX, &parts->scale) != ZD_OK) {
        return false;
    }
    return zd_scan_run(scan, UNIT_LETTERS, sizeof UNIT_LETTERS, &name) == ZD_OK &&
           zd_dtype_unit_find(name, &parts->unit) && zd_scan_char(scan, ']');
}

static bool take_apart(const char *typestr, struct parts *parts)
{
    struct zd_scan scan = zd_scan_of(zd_span_of(typestr));
    if (typestr[0] == '\0' || strchr(ORDERS, typestr[0]) == NULL) {
        return false;
    }
    *parts = (struct parts){.order = typestr[0], .kind = find_kind(typestr[1])};
    if (parts->kind == NULL || !zd_scan_char(&scan, parts->order) ||
        !zd_scan_char(&scan, parts->kind->letter)) {
        return false;
    }
    if (parts->kind->letter == 'O') {
        return true; /* NumPy: pointers of the writer's machine */
    }
    if (zd_scan_u64(&scan, UINT32_MAX, &parts->n_bytes) != ZD_OK) {
        return false;
    }
    return (!is_ticks(parts->kind) || read_unit(&scan, parts)) && zd_scan_at_end(&scan);
}

static bool is_unknown_to_numpy(const struct zd_dtype *dtype)
{
    return dtype->small != NULL || dtype->n_low_bits > 0;
}

static enum zd_status refuse_text(const char *typestr, struct zd_error *err)
{
    const enum zd_status status =
        zd_fail(err, ZD_INVALID, "\"%.64s\" is not a NumPy type string", typestr);
    zd_fact_expected(err, "a byte order, a letter and a number of bytes, as in \"<f4\"");
    zd_fact_found(err, "%.64s", typestr);
    return status;
}

static enum zd_status refuse_type(
    const char *typestr, const struct kind *kind, struct zd_error *err)
{
    return zd_fail(err, ZD_UNSUPPORTED,
        "\"%.64s\": this version does not decode %s%s; the stored chunks can still be read by key",
        typestr, kind->description, kind->name == NULL ? "" : " of that size");
}

static enum zd_status find_dtype(const struct parts *parts, struct zd_dtype *ret_dtype)
{
    const char *name = parts->kind->name;
    const bool is_text = parts->kind->letter == 'U';
    if (is_ticks(parts->kind)) {
        return parts->n_bytes == sizeof(int64_t)
                   ? zd_dtype_of_ticks(name, parts->unit, parts->scale, ret_dtype)
                   : ZD_UNSUPPORTED;
    }
    if (is_text || parts->kind->letter == 'S') {
        return zd_dtype_of_bytes(name, parts->n_bytes * (is_text ? POINT_BYTES : 1), ret_dtype);
    }
    ZD_SCOPED_TEXT(text, NAME_BYTES_MAX);
    ZD_TRY(zd_text_add(&text, name));
    if (parts->kind->letter != 'b') {
        ZD_TRY(zd_text_add_u64(&text, parts->n_bytes * BITS_PER_BYTE));
    } else if (parts->n_bytes != 1) {
        return ZD_UNSUPPORTED;
    }
    return zd_dtype_find(text.at, ret_dtype);
}

enum zd_status zd_typestr_parse(
    const char *typestr, struct zd_typestr *ret_dtype, struct zd_error *err)
{
    struct parts parts;
    struct zd_dtype dtype;
    if (!take_apart(typestr, &parts)) {
        return refuse_text(typestr, err);
    }
    if (parts.kind->name == NULL) {
        return refuse_type(typestr, parts.kind, err);
    }
    const enum zd_status status = find_dtype(&parts, &dtype);
    if (status != ZD_OK) {
        return status == ZD_NO_MEMORY ? zd_fail(err, status, "no memory for a data type")
                                      : refuse_type(typestr, parts.kind, err);
    }
    if (parts.order == '|' && dtype.unit_bytes > 1) {
        const enum zd_status invalid = zd_fail(
            err, ZD_INVALID, "\"%.64s\" does not state the byte order of its elements", typestr);
        zd_fact_expected(err, "< or > in front");
        zd_fact_found(err, "%.64s", typestr);
        return invalid;
    }
    *ret_dtype =
        (struct zd_typestr){.dtype = dtype, .is_big = parts.order == '>' && dtype.unit_bytes > 1};
    return ZD_OK;
}

/* tensorstore writes such names. */
enum zd_status zd_typestr_parse_stored(
    const char *text, struct zd_typestr *ret_dtype, struct zd_error *err)
{
    struct zd_dtype dtype;
    if (zd_dtype_find(text, &dtype) == ZD_OK && is_unknown_to_numpy(&dtype)) {
        *ret_dtype = (struct zd_typestr){.dtype = dtype};
        return ZD_OK;
    }
    return zd_typestr_parse(text, ret_dtype, err);
}

enum zd_status zd_typestr_parse_any(
    const char *text, struct zd_typestr *ret_dtype, struct zd_error *err)
{
    struct zd_dtype dtype;
    if (zd_dtype_find(text, &dtype) == ZD_OK && dtype.kind != ZD_DTYPE_RAW &&
        !is_unknown_to_numpy(&dtype) && !zd_dtype_is_variable(&dtype)) {
        *ret_dtype = (struct zd_typestr){.dtype = dtype};
        return ZD_OK;
    }
    return zd_typestr_parse(text, ret_dtype, err);
}

bool zd_typestr_equal(const struct zd_typestr *a, const struct zd_typestr *b)
{
    return zd_dtype_equal(&a->dtype, &b->dtype) && a->is_big == b->is_big;
}
