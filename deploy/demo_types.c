/* /types: one small array of every core data type, with the values that are easily got wrong. Raw
 * bits are left out: a common client refuses a whole hierarchy that has them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/half.h"
#include "core/grid/dtype.h"
#include "core/grid/scalar.h"
#include "deploy/demo_write.h"

#define N_COLUMNS 6
#define MIDDLE    12 /* of the 24 elements: ramps are 0 here */

/* A number as a float of so many bytes. */
static void put_float(double value, uint32_t bytes, uint8_t *to)
{
    const float single = (float)value;
    const uint16_t half = zd_half_from_double(value);
    switch (bytes) {
    case sizeof half:
        memcpy(to, &half, sizeof half);
        break;
    case sizeof single:
        memcpy(to, &single, sizeof single);
        break;
    default:
        memcpy(to, &value, sizeof value);
        break;
    }
}

/* NaN, the infinities and -0 first, then a ramp in steps of a quarter. */
static double float_value(uint64_t n)
{
    const double special[] = {NAN, INFINITY, -INFINITY, -0.0};
    return n < sizeof special / sizeof special[0] ? special[n] : ((double)n - MIDDLE) / 4;
}

/* The least and the greatest value first, then a ramp; little-endian, so that a narrow type takes
 * the first bytes. */
static uint64_t int_value(const struct zd_dtype *dtype, uint64_t n)
{
    const uint64_t greatest = UINT64_MAX >> (64 - 8 * dtype->bytes);
    const bool is_signed = dtype->kind == ZD_DTYPE_INT;
    if (n == 0) {
        return is_signed ? greatest / 2 + 1 : 0;
    }
    if (n == 1) {
        return is_signed ? greatest / 2 : greatest;
    }
    return is_signed ? n - MIDDLE : n;
}

static void put_int(const struct zd_dtype *dtype, uint64_t n, uint8_t *to)
{
    const uint64_t value = int_value(dtype, n);
    memcpy(to, &value, dtype->bytes);
}

static void element_at(const void *context, const uint64_t *at, void *ret_bytes)
{
    const struct zd_dtype *dtype = context;
    const uint64_t n = at[0] * N_COLUMNS + at[1];
    uint8_t *to = ret_bytes;
    switch (dtype->kind) {
    case ZD_DTYPE_BOOL:
        *to = n % 3 == 0;
        break;
    case ZD_DTYPE_INT:
    case ZD_DTYPE_UINT:
        put_int(dtype, n, to);
        break;
    case ZD_DTYPE_FLOAT:
        put_float(float_value(n), dtype->bytes, to);
        break;
    case ZD_DTYPE_COMPLEX:
        put_float(float_value(n), dtype->unit_bytes, to);
        put_float(-((double)n - MIDDLE), dtype->unit_bytes, to + dtype->unit_bytes);
        break;
    case ZD_DTYPE_RAW:
    case ZD_DTYPE_TIME:
    case ZD_DTYPE_DURATION:
    case ZD_DTYPE_UTF32:
    case ZD_DTYPE_CHARS:
    case ZD_DTYPE_SMALL_FLOAT:
    case ZD_DTYPE_SMALL_COMPLEX:
    case ZD_DTYPE_STRING:
    case ZD_DTYPE_BYTES:
    case ZD_DTYPE_LIST:
    case ZD_DTYPE_STRUCT:
        break;
    }
}

/* NULL: there is no array of that type. */
static const char *fill_of(const struct zd_dtype *dtype)
{
    if (dtype->n_low_bits > 0) {
        return NULL;
    }
    switch (dtype->kind) {
    case ZD_DTYPE_BOOL:
        return "false";
    case ZD_DTYPE_INT:
    case ZD_DTYPE_UINT:
        return "0";
    case ZD_DTYPE_FLOAT:
        return "\"NaN\"";
    case ZD_DTYPE_COMPLEX:
        return "[0.0, 0.0]";
    case ZD_DTYPE_RAW:
    case ZD_DTYPE_TIME:
    case ZD_DTYPE_DURATION:
    case ZD_DTYPE_UTF32:
    case ZD_DTYPE_CHARS:
    case ZD_DTYPE_SMALL_FLOAT:
    case ZD_DTYPE_SMALL_COMPLEX:
    case ZD_DTYPE_STRING:
    case ZD_DTYPE_BYTES:
    case ZD_DTYPE_LIST:
    case ZD_DTYPE_STRUCT:
        break;
    }
    return NULL;
}

static enum zd_status add_type(struct zd_demo *demo, const char *name, struct zd_error *err)
{
    struct zd_dtype dtype;
    ZD_SCOPED_TEXT(path, ZD_KEY_BYTES_MAX);
    ZD_SCOPED_TEXT(document, 4096);
    ZD_TRY(zd_dtype_find(name, &dtype));
    const char *fill = fill_of(&dtype);
    if (fill == NULL) {
        return ZD_OK;
    }
    ZD_TRY(zd_text_addf(&path, "types/%s", name));
    const char *endian =
        dtype.unit_bytes > 1 ? ", \"configuration\": {\"endian\": \"little\"}" : "";
    ZD_TRY(zd_text_addf(&document,
        "{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [4, 6],"
        " \"data_type\": \"%s\", \"fill_value\": %s,"
        " \"chunk_grid\": {\"name\": \"regular\", \"configuration\": {\"chunk_shape\": [2, 4]}},"
        " \"chunk_key_encoding\": {\"name\": \"default\","
        "   \"configuration\": {\"separator\": \"/\"}},"
        " \"codecs\": [{\"name\": \"bytes\"%s},"
        "   {\"name\": \"gzip\", \"configuration\": {\"level\": 6}}], \"attributes\": {}}",
        name, fill, endian));
    const struct zd_demo_array array = {path.at, document.at, element_at, &dtype};
    return zd_demo_add_array(demo, &array, err);
}

enum zd_status zd_demo_add_types(struct zd_demo *demo, struct zd_error *err)
{
    ZD_TRY(zd_demo_add_group(
        demo, "types", "{\"title\": \"One array of every core data type\"}", err));
    for (const char *const *name = zd_dtype_names; *name != NULL; name++) {
        struct zd_dtype dtype;
        if (zd_dtype_find(*name, &dtype) == ZD_OK && !zd_dtype_is_variable(&dtype)) {
            ZD_TRY(add_type(demo, *name, err));
        }
    }
    return ZD_OK;
}
