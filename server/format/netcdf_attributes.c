/* Attributes of Zarr as attributes of netCDF. */
#include "server/format/netcdf_attributes.h"

#include <stdio.h>
#include <string.h>

#include "core/base/half.h"
#include "core/dialect/dialect.h"
#include "core/grid/scalar.h"

#define VALUE_BYTES_MAX 65536               /* of one, */
#define ALL_BYTES_MAX   (UINT64_C(1) << 18) /* and all */
#define ATTRIBUTES_MAX  1000                /* each name is compared with all before it */
#define NUMBERS_MAX     (VALUE_BYTES_MAX / sizeof(double))
#define NAMES_BYTES_MAX (UINT64_C(1) << 18)
#define NAMES_BYTES     (UINT64_C(2) * ZD_NETCDF_NAME_BYTES_MAX) /* of one, with all around it */
#define ITEM_BYTES_MAX  16 /* of an element that is a number */

/* The list under construction. */
struct list {
    struct zd_netcdf_text items;
    struct zd_text names; /* each ended by NUL */
    uint64_t n;
};

static void list_init(struct list *list, const struct zd_netcdf_text *to)
{
    *list = (struct list){.items.is_cdf5 = to->is_cdf5};
    zd_text_init(&list->items.text, to->text.len_max);
    zd_text_init(&list->names, NAMES_BYTES_MAX);
}

/* Add the list, and end it. */
static void list_give(struct list *list, struct zd_netcdf_text *to)
{
    const struct zd_text *items = &list->items.text;
    zd_netcdf_text_add_list(to, ZD_NETCDF_ATTRIBUTE, list->n);
    zd_text_add_bytes(&to->text, items->at, items->len);
    if (to->text.status == ZD_OK) {
        to->text.status = items->status == ZD_OK ? list->names.status : items->status;
    }
    zd_text_done(&list->items.text);
    zd_text_done(&list->names);
}

/* Whether there is room for one more; its name. NULL: there is none. */
static const char *begin_item(struct list *list, const char *name, size_t value_bytes)
{
    if (value_bytes > VALUE_BYTES_MAX || list->n == ATTRIBUTES_MAX ||
        list->items.text.len + value_bytes > ALL_BYTES_MAX - NAMES_BYTES ||
        list->names.len > NAMES_BYTES_MAX - NAMES_BYTES) {
        return NULL;
    }
    const size_t at = zd_netcdf_text_name(&list->names, 0, zd_span_of(name));
    list->n++;
    return list->names.at + at;
}

static void add_string(struct list *list, const char *name, struct zd_span value)
{
    const char *legal = begin_item(list, name, value.len);
    if (legal != NULL) {
        zd_netcdf_text_add_string(&list->items, legal, value);
    }
}

static void add_values(
    struct list *list, const char *name, const struct zd_dtype *dtype, const void *values, size_t n)
{
    const char *legal = begin_item(list, name, n * dtype->bytes);
    if (legal != NULL) {
        zd_netcdf_text_add_values(&list->items, legal, dtype, values, n);
    }
}

/* ---- numbers ---- */

static size_t n_numbers(const struct zd_json *value)
{
    return zd_json_is(value, ZD_JSON_ARRAY) ? zd_json_count(value) : 1;
}

static const struct zd_json *number_at(const struct zd_json *value, size_t i)
{
    return zd_json_is(value, ZD_JSON_ARRAY) ? zd_json_element(value, i) : value;
}

static bool read_integer(const struct zd_json *value, int64_t *ret_number)
{
    if (zd_json_is(value, ZD_JSON_BOOL)) {
        *ret_number = zd_json_is_true(value) ? 1 : 0;
        return true;
    }
    return zd_json_i64(value, ret_number);
}

/* The smallest type that has them all: int32, of CDF-5 int64, float64. NULL: they are no numbers.
 */
static const char *type_name_of(const struct zd_json *value, bool is_cdf5)
{
    const char *name = "int32";
    for (size_t i = 0; i < n_numbers(value); i++) {
        int64_t integer;
        double real;
        const struct zd_json *number = number_at(value, i);
        const bool is_integer = read_integer(number, &integer);
        if (!is_integer && !zd_json_f64(number, &real)) {
            return NULL;
        }
        if (!is_integer || (!is_cdf5 && integer != (int32_t)integer)) {
            name = "float64";
        } else if (integer != (int32_t)integer && strcmp(name, "int32") == 0) {
            name = "int64";
        }
    }
    return name;
}

static void read_number(const struct zd_json *number, const struct zd_dtype *dtype, uint8_t *to)
{
    int64_t integer = 0;
    double real = 0;
    const bool is_integer = read_integer(number, &integer);
    if (dtype->kind == ZD_DTYPE_INT) {
        memcpy(to, &integer, dtype->bytes);
    } else {
        if (is_integer) {
            real = (double)integer;
        } else {
            (void)zd_json_f64(number, &real);
        }
        memcpy(to, &real, sizeof real);
    }
}

static void add_numbers(struct list *list, const char *name, const struct zd_json *value)
{
    const size_t n = n_numbers(value);
    const char *type_name =
        n == 0 || n > NUMBERS_MAX ? NULL : type_name_of(value, list->items.is_cdf5);
    struct zd_dtype dtype;
    if (type_name == NULL || zd_dtype_find(type_name, &dtype) != ZD_OK) {
        return;
    }
    uint8_t *numbers = zd_alloc(n * dtype.bytes);
    if (numbers == NULL) {
        list->items.text.status = ZD_NO_MEMORY;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        read_number(number_at(value, i), &dtype, numbers + i * dtype.bytes);
    }
    add_values(list, name, &dtype, numbers, n);
    zd_free(numbers);
}

static void add_value(struct list *list, const char *name, const struct zd_json *value)
{
    const struct zd_span string = zd_json_string_span(value);
    if (string.ptr != NULL) {
        add_string(list, name, string);
    } else {
        add_numbers(list, name, value);
    }
}

/* ---- what speaks of the elements ---- */

/* xarray writes a float as base64 of a double. */
static bool read_coded(const struct zd_dtype *dtype, struct zd_span text, uint8_t *to)
{
    double value;
    if (dtype->kind != ZD_DTYPE_FLOAT ||
        !zd_scalar_read_base64(text, (uint8_t *)&value, sizeof value)) {
        return false;
    }
    const float single = (float)value;
    const uint16_t half = zd_half_from_double(value);
    const void *from = dtype->bytes == sizeof value    ? (const void *)&value
                       : dtype->bytes == sizeof single ? (const void *)&single
                                                       : (const void *)&half;
    memcpy(to, from, dtype->bytes);
    return true;
}

static bool read_element(const struct zd_dtype *dtype, const struct zd_json *value, uint8_t *to)
{
    const struct zd_span text = zd_json_string_span(value);
    return zd_scalar_read(dtype, value, to, NULL) == ZD_OK ||
           (text.ptr != NULL && read_coded(dtype, text, to));
}

/* Numbers in the type of the elements, where they fit it. */
static bool add_elements(
    struct list *list, const char *name, const struct zd_dtype *dtype, const struct zd_json *value)
{
    uint8_t elements[2 * ITEM_BYTES_MAX];
    const size_t n = n_numbers(value);
    if (n == 0 || n > 2 || dtype->bytes > ITEM_BYTES_MAX) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (!read_element(dtype, number_at(value, i), elements + i * dtype->bytes)) {
            return false;
        }
    }
    add_values(list, name, dtype, elements, n);
    return true;
}

static bool is_one_of(const char *name, const char *const *names)
{
    while (*names != NULL && strcmp(*names, name) != 0) {
        names++;
    }
    return *names != NULL;
}

/* Whether the answer says it in another way. */
static bool is_said(const struct zd_answer *answer, const char *name)
{
    static const char *const packing[] = {"scale_factor", "add_offset", "_FillValue",
        "missing_value", "valid_min", "valid_max", "valid_range", "_Unsigned", NULL};
    static const char *const times[] = {"units", "calendar", "_FillValue", "dtype", NULL};
    return strcmp(name, "_ARRAY_DIMENSIONS") == 0 ||
           (answer->is_decoded && is_one_of(name, packing)) ||
           (zd_dtype_is_ticks(&answer->dtype) && is_one_of(name, times)) ||
           (answer->units != NULL && strcmp(name, "units") == 0);
}

static void add_member(struct list *list, const struct zd_answer *answer, const char *name,
    const struct zd_json *value)
{
    static const char *const typed[] = {
        "_FillValue", "missing_value", "valid_min", "valid_max", "valid_range", NULL};
    if (is_said(answer, name)) {
        return;
    }
    if (is_one_of(name, typed) && add_elements(list, name, &answer->dtype, value)) {
        return;
    }
    if (strcmp(name, "_FillValue") != 0) { /* which has no other type */
        add_value(list, name, value);
    }
}

static const char *unit_word(enum zd_dtype_unit unit)
{
    static const char *const words[] = {[ZD_DTYPE_DAYS] = "days",
        [ZD_DTYPE_HOURS] = "hours",
        [ZD_DTYPE_MINUTES] = "minutes",
        [ZD_DTYPE_SECONDS] = "seconds",
        [ZD_DTYPE_MILLISECONDS] = "milliseconds",
        [ZD_DTYPE_MICROSECONDS] = "microseconds",
        [ZD_DTYPE_NANOSECONDS] = "nanoseconds"};
    return words[unit];
}

static void add_ticks(struct list *list, const struct zd_dtype *dtype)
{
    const int64_t nat = ZD_DTYPE_NAT;
    char units[64];
    (void)snprintf(units, sizeof units, "%s%s", unit_word(dtype->unit),
        dtype->kind == ZD_DTYPE_TIME ? " since 1970-01-01" : "");
    add_string(list, "units", zd_span_of(units));
    if (dtype->kind == ZD_DTYPE_TIME) {
        add_string(list, "calendar", zd_span_of("proleptic_gregorian"));
    }
    add_values(list, "_FillValue", dtype, &nat, 1);
}

/* Add the attributes that follow from the array's type and the format. */
static void add_own(struct list *list, const struct zd_answer *answer)
{
    const struct zd_meta *meta = answer->meta;
    const struct zd_dtype *dtype = &answer->dtype;
    if (zd_dtype_is_ticks(dtype)) {
        add_ticks(list, dtype);
        return;
    }
    if (answer->units != NULL) {
        add_string(list, "units", zd_span_of(answer->units));
    }
    if (dtype->kind == ZD_DTYPE_BOOL) {
        add_string(list, "dtype", zd_span_of("bool")); /* as xarray writes it */
    }
    const bool is_v2 = meta->dialect != NULL && strcmp(meta->dialect->name, "v2") == 0;
    if (is_v2 && !meta->has_no_fill && !answer->is_decoded &&
        zd_json_member(meta->attributes, "_FillValue") == NULL &&
        zd_dtype_equal(dtype, &meta->dtype) && dtype->kind != ZD_DTYPE_BOOL) {
        add_values(list, "_FillValue", dtype, meta->fill, 1);
    }
}

void zd_netcdf_attributes_add(struct zd_netcdf_text *to, const struct zd_answer *answer)
{
    const struct zd_json *attributes = answer->meta->attributes;
    struct list list;
    list_init(&list, to);
    add_own(&list, answer);
    for (void *iter = attributes == NULL ? NULL : zd_json_next(attributes, NULL); iter != NULL;
        iter = zd_json_next(attributes, iter)) {
        add_member(&list, answer, zd_json_iter_name(iter), zd_json_iter_value(iter));
    }
    list_give(&list, to);
}

void zd_netcdf_attributes_add_global(struct zd_netcdf_text *to, const struct zd_json *attributes)
{
    struct list list;
    list_init(&list, to);
    for (void *iter = attributes == NULL ? NULL : zd_json_next(attributes, NULL); iter != NULL;
        iter = zd_json_next(attributes, iter)) {
        add_value(&list, zd_json_iter_name(iter), zd_json_iter_value(iter));
    }
    list_give(&list, to);
}
