/* What a client asks of a slice, from the query or from a POST body (api.md 3.5). */
#include "server/slice/slice_params.h"

#include <string.h>

#include "core/base/scan.h"
#include "server/request/body.h"
#include "server/runtime/server.h"

#define FORMAT_BYTES_MAX 256
#define ONLY_MEMBERS     "only slice, format, expected_shape, nan, ints, origin, level, max_size"

const char *const zd_slice_params[] = {
    "slice",
    "format",
    "expected_shape",
    "nan",
    "ints",
    "origin",
    "level",
    "max_size",
    NULL,
};

static const char *const nan_words[] = {"string", "null", NULL};
static const char *const ints_words[] = {"number", "string", NULL};
static const char *const origin_words[] = {"array", "stored", NULL};

void zd_slice_params_init(struct zd_slice_params *ask, const struct zd_server *server)
{
    *ask = (struct zd_slice_params){.max_size = UINT64_MAX};
    zd_text_init(&ask->slice, server->config->settings.limits_body_bytes);
    zd_text_init(&ask->format, FORMAT_BYTES_MAX);
}

void zd_slice_params_done(struct zd_slice_params *ask)
{
    zd_text_done(&ask->slice);
    zd_text_done(&ask->format);
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
    ask->has_shape = true;
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

static enum zd_status read_scale(
    struct zd_slice_params *ask, const struct zd_params *params, struct zd_error *err)
{
    struct zd_span value;
    ask->has_level = zd_params_find(params, "level", &value);
    ask->has_max_size = zd_params_find(params, "max_size", &value);
    ZD_TRY(zd_params_u64(params, "level", 0, 0, UINT64_MAX, &ask->level, err));
    return zd_params_u64(params, "max_size", UINT64_MAX, 0, UINT64_MAX, &ask->max_size, err);
}

static enum zd_status bad_shape(struct zd_error *err)
{
    const enum zd_status status =
        zd_fail(err, ZD_INVALID, "expected_shape is not a list of at most 32 lengths");
    zd_fact_name(err, "expected_shape");
    zd_fact_expected(err, "lengths, such as 10,5");
    return status;
}

enum zd_status zd_slice_params_query(struct zd_slice_params *ask, const struct zd_params *params,
    const char **ret_code, struct zd_error *err)
{
    struct zd_span value;
    uint32_t nan_choice;
    uint32_t ints_choice;
    uint32_t origin_choice;
    *ret_code = "bad_parameter";
    ZD_TRY(zd_params_choice(params, "nan", nan_words, 0, &nan_choice, err));
    ZD_TRY(zd_params_choice(params, "ints", ints_words, 0, &ints_choice, err));
    ZD_TRY(zd_params_choice(params, "origin", origin_words, 0, &origin_choice, err));
    ZD_TRY(read_scale(ask, params, err));
    ask->style.nan_null = nan_choice == 1;
    ask->style.ints_string = ints_choice == 1;
    ask->is_of_stored = origin_choice == 1;
    if (zd_params_find(params, "expected_shape", &value) && !read_shape(ask, value)) {
        return bad_shape(err);
    }
    if (zd_params_find(params, "slice", &value)) {
        zd_text_add_bytes(&ask->slice, value.ptr, value.len);
    }
    ask->has_format = zd_params_find(params, "format", &value);
    if (ask->has_format) {
        zd_text_add_bytes(&ask->format, value.ptr, value.len);
    }
    if (ask->slice.status == ZD_NO_MEMORY || ask->format.status == ZD_NO_MEMORY) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for the parameters of a slice");
    }
    if (ask->slice.status != ZD_OK || ask->format.status != ZD_OK) {
        return zd_fail(err, ZD_INVALID, "the value of slice or format is too long");
    }
    return ZD_OK;
}

static enum zd_status read_slice_list(
    struct zd_slice_params *ask, const struct zd_json *list, struct zd_error *err)
{
    const struct zd_pointer at = {.text = "/slice"};
    for (size_t i = 0; i < zd_json_count(list); i++) {
        const struct zd_json *item = zd_json_element(list, i);
        if (!zd_json_is(item, ZD_JSON_STRING)) {
            const struct zd_pointer place = zd_pointer_element(&at, i);
            return zd_body_fault(err, place.text, "a string", item);
        }
        zd_text_add(&ask->slice, i == 0 ? "" : ",");
        zd_text_add(&ask->slice, zd_json_string(item));
    }
    return ZD_OK;
}

static enum zd_status read_slice(
    struct zd_slice_params *ask, const struct zd_json *value, struct zd_error *err)
{
    if (zd_json_is(value, ZD_JSON_ARRAY)) {
        ZD_TRY(read_slice_list(ask, value, err));
    } else if (zd_json_is(value, ZD_JSON_STRING)) {
        zd_text_add(&ask->slice, zd_json_string(value));
    } else {
        return zd_body_fault(err, "/slice", "a string or a list of strings", value);
    }
    return ask->slice.status == ZD_OK
               ? ZD_OK
               : zd_fail(err, ask->slice.status, "the slice of the body is too long");
}

static enum zd_status read_shape_member(
    struct zd_slice_params *ask, const struct zd_json *value, struct zd_error *err)
{
    if (zd_json_is(value, ZD_JSON_STRING)) {
        return read_shape(ask, zd_json_string_span(value))
                   ? ZD_OK
                   : zd_body_fault(err, "/expected_shape", "lengths, such as \"10,5\"", value);
    }
    if (!zd_json_is(value, ZD_JSON_ARRAY)) {
        return zd_body_fault(err, "/expected_shape", "a list of lengths", value);
    }
    ask->has_shape = true;
    for (size_t i = 0; i < zd_json_count(value); i++) {
        uint64_t extent;
        if (!zd_json_u64(zd_json_element(value, i), &extent) || !add_extent(ask, extent)) {
            return zd_body_fault(err, "/expected_shape", "at most 32 lengths", value);
        }
    }
    return ZD_OK;
}

/* One of two words; true when the second stands there. */
static enum zd_status read_word(const struct zd_json *value, const char *pointer,
    const char *const words[], bool *ret_second, struct zd_error *err)
{
    const char *text = zd_json_string(value);
    if (text == NULL || (strcmp(text, words[0]) != 0 && strcmp(text, words[1]) != 0)) {
        ZD_SCOPED_TEXT(expected, FORMAT_BYTES_MAX);
        zd_text_addf(&expected, "\"%s\" or \"%s\"", words[0], words[1]);
        return zd_body_fault(err, pointer, expected.at, value);
    }
    *ret_second = strcmp(text, words[1]) == 0;
    return ZD_OK;
}

static enum zd_status read_format(
    struct zd_slice_params *ask, const struct zd_json *value, struct zd_error *err)
{
    ask->has_format = true;
    if (zd_json_is(value, ZD_JSON_STRING)) {
        zd_text_add(&ask->format, zd_json_string(value));
    }
    if (ask->format.status == ZD_NO_MEMORY) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for the name of a format");
    }
    return ask->format.status == ZD_OK && zd_json_is(value, ZD_JSON_STRING)
               ? ZD_OK
               : zd_body_fault(err, "/format", "the name of a format", value);
}

static enum zd_status read_number(const struct zd_json *value, const char *pointer, bool *ret_has,
    uint64_t *ret_value, struct zd_error *err)
{
    *ret_has = true;
    return zd_json_u64(value, ret_value)
               ? ZD_OK
               : zd_body_fault(err, pointer, "an integer that is not negative", value);
}

static enum zd_status read_member(struct zd_slice_params *ask, const char *name,
    const struct zd_json *value, struct zd_error *err)
{
    if (strcmp(name, "slice") == 0) {
        return read_slice(ask, value, err);
    }
    if (strcmp(name, "expected_shape") == 0) {
        return read_shape_member(ask, value, err);
    }
    if (strcmp(name, "nan") == 0) {
        return read_word(value, "/nan", nan_words, &ask->style.nan_null, err);
    }
    if (strcmp(name, "ints") == 0) {
        return read_word(value, "/ints", ints_words, &ask->style.ints_string, err);
    }
    if (strcmp(name, "origin") == 0) {
        return read_word(value, "/origin", origin_words, &ask->is_of_stored, err);
    }
    if (strcmp(name, "level") == 0) {
        return read_number(value, "/level", &ask->has_level, &ask->level, err);
    }
    if (strcmp(name, "max_size") == 0) {
        return read_number(value, "/max_size", &ask->has_max_size, &ask->max_size, err);
    }
    if (strcmp(name, "format") == 0) {
        return read_format(ask, value, err);
    }
    const struct zd_pointer root = {.text = ""};
    const struct zd_pointer at = zd_pointer_member(&root, name);
    return zd_body_fault(err, at.text, ONLY_MEMBERS, value);
}

enum zd_status zd_slice_params_body(struct zd_slice_params *ask, const struct zd_json *body,
    const char **ret_code, struct zd_error *err)
{
    *ret_code = "bad_body";
    if (!zd_json_is(body, ZD_JSON_OBJECT)) {
        return zd_body_fault(err, "", "an object", body);
    }
    for (void *iter = zd_json_next(body, NULL); iter != NULL; iter = zd_json_next(body, iter)) {
        ZD_TRY(read_member(ask, zd_json_iter_name(iter), zd_json_iter_value(iter), err));
    }
    return ZD_OK;
}

enum zd_status zd_slice_params_select(const struct zd_slice_params *ask, const struct zd_meta *meta,
    struct zd_selection *ret_asked, struct zd_selection *ret_stored, const char **ret_code,
    struct zd_error *err)
{
    const uint32_t rank = meta->grid.rank;
    uint64_t shape[ZD_RANK_MAX];
    zd_meta_shape(meta, shape);
    const enum zd_status status = zd_selection_parse(zd_text_span(&ask->slice), rank,
        ask->is_of_stored ? meta->grid.shape : shape, ret_asked, err);
    *ret_code = status == ZD_OUT_OF_BOUNDS ? "out_of_bounds" : "bad_slice";
    ZD_TRY(status);
    *ret_stored = *ret_asked;
    for (uint32_t d = 0; !ask->is_of_stored && d < rank; d++) {
        /* Of nothing, start is 0. */
        ret_stored->axis[d].start += ret_asked->axis[d].count == 0 ? 0 : meta->view.origin[d];
    }
    return ZD_OK;
}
