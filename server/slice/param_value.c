/* How values of slice parameters are read. */
#include "server/slice/param_value.h"

#include <string.h>

#include "core/base/decimal.h"
#include "core/base/scan.h"
#include "server/request/body.h"

#define WORDS_BYTES_MAX  256 /* of all that a parameter may say, in messages */
#define NUMBER_BYTES_MAX 400 /* of a number as text */

static bool *flag_of(struct zd_slice_params *ask, const struct zd_param_value *value)
{
    return (bool *)((char *)ask + value->row->flag);
}

static void *value_of(struct zd_slice_params *ask, const struct zd_param_value *value)
{
    return (char *)ask + value->row->value;
}

static bool add_extent(struct zd_slice_params *ask, uint64_t extent)
{
    if (ask->rank == ZD_RANK_MAX) {
        return false;
    }
    ask->shape[ask->rank++] = extent;
    return true;
}

/* "10,5"; nothing is the shape of a scalar. */
static bool read_shape(struct zd_slice_params *ask, struct zd_span text)
{
    struct zd_scan scan = zd_scan_of(text);
    if (zd_scan_at_end(&scan)) {
        return true;
    }
    do {
        uint64_t extent;
        zd_scan_skip_spaces(&scan);
        if (zd_scan_u64(&scan, UINT64_MAX, &extent) != ZD_OK || !add_extent(ask, extent)) {
            return false;
        }
        zd_scan_skip_spaces(&scan);
    } while (zd_scan_char(&scan, ','));
    return zd_scan_at_end(&scan);
}

static enum zd_status bad_shape(const struct zd_param_value *value, struct zd_error *err)
{
    if (value->json != NULL) {
        return zd_body_fault(
            err, value->at.text, "at most 32 lengths, such as [10,5] or \"10,5\"", value->json);
    }
    const enum zd_status status =
        zd_fail_name(err, "expected_shape", "expected_shape must be a list of at most 32 lengths");
    zd_fact_expected(err, "lengths, such as 10,5");
    return status;
}

static bool read_extents(struct zd_slice_params *ask, const struct zd_json *list)
{
    for (size_t i = 0; i < zd_json_count(list); i++) {
        uint64_t extent;
        if (!zd_json_u64(zd_json_element(list, i), &extent) || !add_extent(ask, extent)) {
            return false;
        }
    }
    return true;
}

enum zd_status zd_param_value_shape(
    struct zd_slice_params *ask, const struct zd_param_value *value, struct zd_error *err)
{
    const bool is_list = zd_json_is(value->json, ZD_JSON_ARRAY);
    const struct zd_span text =
        value->json == NULL ? value->text : zd_json_string_span(value->json);
    const bool is_read =
        is_list ? read_extents(ask, value->json) : text.ptr != NULL && read_shape(ask, text);
    return is_read ? ZD_OK : bad_shape(value, err);
}

/* How many items stand before the next one. */
static uint64_t count_commas(const struct zd_text *text)
{
    uint64_t n = 0;
    for (size_t i = 0; i < text->len; i++) {
        n += text->at[i] == ',';
    }
    return n;
}

static enum zd_status add_items(
    struct zd_slice_params *ask, const struct zd_param_value *value, struct zd_error *err)
{
    for (size_t i = 0; i < zd_json_count(value->json); i++) {
        const struct zd_json *item = zd_json_element(value->json, i);
        const char *text = zd_json_string(item);
        int64_t index = 0;
        zd_text_add(&ask->slice, i == 0 ? "" : ",");
        if (zd_json_is(item, ZD_JSON_ARRAY)) {
            const struct zd_pointer at = zd_pointer_element(&value->at, i);
            ZD_TRY(zd_slice_lists_add(&ask->lists, item, &at, count_commas(&ask->slice), err));
            zd_text_add_char(&ask->slice, ':');
        } else if (text != NULL) {
            zd_text_add(&ask->slice, text);
        } else if (zd_json_i64(item, &index)) {
            zd_text_addf(&ask->slice, "%lld", (long long)index);
        } else {
            const struct zd_pointer place = zd_pointer_element(&value->at, i);
            return zd_body_fault(
                err, place.text, "a string, an integer or a list of integers", item);
        }
    }
    return ZD_OK;
}

/* Whether all of the text was kept. */
static enum zd_status check_kept(
    const struct zd_text *text, const struct zd_param_value *value, struct zd_error *err)
{
    if (text->status == ZD_NO_MEMORY) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for the value of %s", value->row->name);
    }
    if (text->status != ZD_OK) {
        return zd_fail(err, value->json == NULL ? ZD_INVALID : text->status,
            "the value of %s is too long", value->row->name);
    }
    return ZD_OK;
}

static enum zd_status add_text(struct zd_text *to, const struct zd_param_value *value,
    const char *expected, struct zd_error *err)
{
    const struct zd_span text =
        value->json == NULL ? value->text : zd_json_string_span(value->json);
    if (text.ptr == NULL) {
        return zd_body_fault(err, value->at.text, expected, value->json);
    }
    zd_text_add_bytes(to, text.ptr, text.len);
    return ZD_OK;
}

enum zd_status zd_param_value_slice(
    struct zd_slice_params *ask, const struct zd_param_value *value, struct zd_error *err)
{
    static const char expected[] = "a string, or a list of strings, integers and lists of integers";
    ZD_TRY(zd_json_is(value->json, ZD_JSON_ARRAY) ? add_items(ask, value, err)
                                                  : add_text(&ask->slice, value, expected, err));
    return check_kept(&ask->slice, value, err);
}

enum zd_status zd_param_value_points(
    struct zd_slice_params *ask, const struct zd_param_value *value, struct zd_error *err)
{
    return zd_slice_lists_add_points(&ask->lists, value->json, &value->at, err);
}

static bool is_sel(const struct zd_param_value *value)
{
    return strcmp(value->row->name, "sel") == 0;
}

/* A member of `isel` or `sel` as text. */
static enum zd_status add_pick(struct zd_slice_params *ask, const struct zd_param_value *value,
    const char *dim, const struct zd_json *json, struct zd_error *err)
{
    const struct zd_span string = zd_json_string_span(json);
    const char *digits = zd_json_digits(json);
    struct zd_selector pick = {.by_value = is_sel(value), .is_split = true};
    double real = 0;
    int64_t integer = 0;
    uint64_t large = 0;
    ZD_SCOPED_TEXT(text, NUMBER_BYTES_MAX);
    if (string.ptr != NULL) {
        return zd_selectors_add(&ask->picks, pick, zd_span_of(dim), string, err);
    }
    if (digits != NULL && pick.by_value) {
        zd_text_add(&text, digits);
    } else if (zd_json_i64(json, &integer)) {
        zd_text_addf(&text, "%lld", (long long)integer);
    } else if (zd_json_u64(json, &large)) {
        zd_text_add_u64(&text, large);
    } else if (pick.by_value && zd_json_is(json, ZD_JSON_REAL) && zd_json_f64(json, &real)) {
        zd_decimal_add(&text, real, 64);
    } else {
        const struct zd_pointer place = zd_pointer_member(&value->at, dim);
        return zd_body_fault(err, place.text,
            pick.by_value ? "a string or a number" : "a string or an integer", json);
    }
    pick.is_number = true;
    return zd_selectors_add(&ask->picks, pick, zd_span_of(dim), zd_text_span(&text), err);
}

/* In a query one a dimension, as often as they are there; in a body an object. */
enum zd_status zd_param_value_picks(
    struct zd_slice_params *ask, const struct zd_param_value *value, struct zd_error *err)
{
    const struct zd_params *params = value->params;
    if (value->json != NULL && !zd_json_is(value->json, ZD_JSON_OBJECT)) {
        return zd_body_fault(
            err, value->at.text, "an object, such as {\"time\": \"2001-02\"}", value->json);
    }
    for (void *iter = zd_json_next(value->json, NULL); iter != NULL;
        iter = zd_json_next(value->json, iter)) {
        ZD_TRY(add_pick(ask, value, zd_json_iter_name(iter), zd_json_iter_value(iter), err));
    }
    for (uint32_t i = 0; value->json == NULL && i < params->n; i++) {
        const struct zd_selector pick = {.by_value = is_sel(value)};
        if (strcmp(params->name[i], value->row->name) == 0) {
            ZD_TRY(zd_selectors_add(&ask->picks, pick, zd_span_of(""), params->value[i], err));
        }
    }
    return ZD_OK;
}

static void add_entry(struct zd_text *list, struct zd_span entry)
{
    zd_text_add_bytes(list, entry.ptr, entry.len);
    zd_text_add_char(list, '\0');
}

/* "u,v". @return how many */
static uint32_t add_entries(struct zd_text *list, struct zd_span text)
{
    struct zd_span entry = {.ptr = text.ptr};
    uint32_t n = 1;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == ',') {
            add_entry(list, entry);
            entry = (struct zd_span){.ptr = text.ptr + i + 1};
            n++;
        } else {
            entry.len++;
        }
    }
    add_entry(list, entry);
    return n;
}

/* A string of a list; NUL would end it early. @return its ptr is NULL: it is none */
static struct zd_span entry_of(const struct zd_json *json)
{
    const struct zd_span text = zd_json_string_span(json);
    const bool ends_early = text.ptr != NULL && memchr(text.ptr, '\0', text.len) != NULL;
    return ends_early ? (struct zd_span){0} : text;
}

enum zd_status zd_param_value_arrays(
    struct zd_slice_params *ask, const struct zd_param_value *value, struct zd_error *err)
{
    static const char expected[] = "a list of at least one array name";
    if (value->json == NULL) {
        ask->n_arrays = add_entries(&ask->arrays, value->text);
        return check_kept(&ask->arrays, value, err);
    }
    if (!zd_json_is(value->json, ZD_JSON_ARRAY) || zd_json_count(value->json) == 0) {
        return zd_body_fault(err, value->at.text, expected, value->json);
    }
    for (size_t i = 0; i < zd_json_count(value->json); i++) {
        const struct zd_json *item = zd_json_element(value->json, i);
        const struct zd_span name = entry_of(item);
        if (name.ptr == NULL) {
            const struct zd_pointer place = zd_pointer_element(&value->at, i);
            return zd_body_fault(err, place.text, "the name of an array", item);
        }
        add_entry(&ask->arrays, name);
        ask->n_arrays++;
    }
    return check_kept(&ask->arrays, value, err);
}

enum zd_status zd_param_value_format(
    struct zd_slice_params *ask, const struct zd_param_value *value, struct zd_error *err)
{
    static const char expected[] = "the name of a format";
    ZD_TRY(add_text(&ask->format, value, expected, err));
    return value->json != NULL && ask->format.status == ZD_TOO_LARGE
               ? zd_body_fault(err, value->at.text, expected, value->json)
               : check_kept(&ask->format, value, err);
}

enum zd_status zd_param_value_dtype(
    struct zd_slice_params *ask, const struct zd_param_value *value, struct zd_error *err)
{
    static const char expected[] = "the name of a data type";
    ZD_TRY(add_text(&ask->dtype, value, expected, err));
    return value->json != NULL && ask->dtype.status == ZD_TOO_LARGE
               ? zd_body_fault(err, value->at.text, expected, value->json)
               : check_kept(&ask->dtype, value, err);
}

enum zd_status zd_param_value_mark(
    struct zd_slice_params *ask, const struct zd_param_value *value, struct zd_error *err)
{
    const char *const *words = value->row->words;
    const char *text = zd_json_string(value->json);
    uint32_t choice;
    (void)ask;
    if (value->json == NULL) {
        return zd_params_choice(value->params, value->row->name, words, &choice, err);
    }
    ZD_SCOPED_TEXT(expected, WORDS_BYTES_MAX);
    zd_text_addf(&expected, "\"%s\"", words[0]);
    return text != NULL && strcmp(text, words[0]) == 0
               ? ZD_OK
               : zd_body_fault(err, value->at.text, expected.at, value->json);
}

enum zd_status zd_param_value_choice(
    struct zd_slice_params *ask, const struct zd_param_value *value, struct zd_error *err)
{
    const char *const *list = value->row->list;
    const char *text = zd_json_string(value->json);
    uint32_t *to = value_of(ask, value);
    if (value->json == NULL) {
        return zd_params_choice(value->params, value->row->name, list, to, err);
    }
    ZD_SCOPED_TEXT(expected, WORDS_BYTES_MAX);
    for (uint32_t i = 0; list[i] != NULL; i++) {
        if (text != NULL && strcmp(text, list[i]) == 0) {
            *to = i;
            return ZD_OK;
        }
        zd_text_addf(&expected, "%s\"%s\"", i == 0 ? "" : " or ", list[i]);
    }
    return zd_body_fault(err, value->at.text, expected.at, value->json);
}

static enum zd_status add_members(
    struct zd_text *list, const struct zd_param_value *value, struct zd_error *err)
{
    for (size_t i = 0; i < zd_json_count(value->json); i++) {
        const struct zd_json *entry = zd_json_element(value->json, i);
        const struct zd_span text = entry_of(entry);
        uint64_t number = 0;
        if (text.ptr != NULL) {
            add_entry(list, text);
        } else if (zd_json_u64(entry, &number)) {
            zd_text_add_u64(list, number);
            zd_text_add_char(list, '\0');
        } else {
            const struct zd_pointer place = zd_pointer_element(&value->at, i);
            return zd_body_fault(err, place.text, "a string or an integer", entry);
        }
    }
    return ZD_OK;
}

enum zd_status zd_param_value_list(
    struct zd_slice_params *ask, const struct zd_param_value *value, struct zd_error *err)
{
    struct zd_text *list = value_of(ask, value);
    if (value->json == NULL) {
        (void)add_entries(list, value->text);
    } else if (zd_json_is(value->json, ZD_JSON_ARRAY)) {
        ZD_TRY(add_members(list, value, err));
    } else if (zd_json_is(value->json, ZD_JSON_STRING)) {
        (void)add_entries(list, zd_json_string_span(value->json));
    } else {
        return zd_body_fault(err, value->at.text, "a string, or a list of strings", value->json);
    }
    return check_kept(list, value, err);
}

enum zd_status zd_param_value_word(
    struct zd_slice_params *ask, const struct zd_param_value *value, struct zd_error *err)
{
    const char *const *words = value->row->words;
    if (value->json == NULL) {
        uint32_t choice;
        ZD_TRY(zd_params_choice(value->params, value->row->name, words, &choice, err));
        *flag_of(ask, value) = choice == 1;
        return ZD_OK;
    }
    const char *text = zd_json_string(value->json);
    if (text == NULL || (strcmp(text, words[0]) != 0 && strcmp(text, words[1]) != 0)) {
        ZD_SCOPED_TEXT(expected, WORDS_BYTES_MAX);
        zd_text_addf(&expected, "\"%s\" or \"%s\"", words[0], words[1]);
        return zd_body_fault(err, value->at.text, expected.at, value->json);
    }
    *flag_of(ask, value) = strcmp(text, words[1]) == 0;
    return ZD_OK;
}

enum zd_status zd_param_value_flag(
    struct zd_slice_params *ask, const struct zd_param_value *value, struct zd_error *err)
{
    if (value->json == NULL) {
        return zd_params_flag(value->params, value->row->name, false, flag_of(ask, value), err);
    }
    *flag_of(ask, value) = zd_json_is_true(value->json);
    return *flag_of(ask, value) || zd_json_is_false(value->json)
               ? ZD_OK
               : zd_body_fault(err, value->at.text, "true or false", value->json);
}

enum zd_status zd_param_value_yes(
    struct zd_slice_params *ask, const struct zd_param_value *value, struct zd_error *err)
{
    bool *to = value_of(ask, value);
    if (value->json == NULL) {
        return zd_params_flag(value->params, value->row->name, false, to, err);
    }
    uint64_t number = 0;
    const bool is_number = zd_json_u64(value->json, &number) && number <= 1;
    if (!zd_json_is(value->json, ZD_JSON_BOOL) && !is_number) {
        return zd_body_fault(err, value->at.text, "true or false", value->json);
    }
    *to = zd_json_is_true(value->json) || number == 1;
    return ZD_OK;
}

enum zd_status zd_param_value_number(
    struct zd_slice_params *ask, const struct zd_param_value *value, struct zd_error *err)
{
    uint64_t *to = value_of(ask, value);
    if (value->json == NULL) {
        const struct zd_params_range any = {.most = UINT64_MAX};
        return zd_params_u64(value->params, value->row->name, any, to, err);
    }
    return zd_json_u64(value->json, to)
               ? ZD_OK
               : zd_body_fault(err, value->at.text, "a non-negative integer", value->json);
}

enum zd_status zd_param_value_text(
    struct zd_slice_params *ask, const struct zd_param_value *value, struct zd_error *err)
{
    (void)err;
    *(struct zd_span *)value_of(ask, value) = value->text;
    return ZD_OK;
}

enum zd_status zd_param_value_read(
    struct zd_slice_params *ask, const struct zd_param_value *value, struct zd_error *err)
{
    *flag_of(ask, value) = true;
    return value->row->parse(ask, value, err);
}
