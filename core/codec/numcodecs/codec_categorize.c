/* The codec `categorize` of numcodecs: text as numbers of labels, from 1 on; 0 is no label, and the
 * empty text. */
#include <inttypes.h>
#include <string.h>

#include "core/base/num.h"
#include "core/codec/number.h"
#include "core/codec/parameter.h"
#include "core/grid/utf32.h"
#include "core/grid/variable.h"

#define NAME         "numcodecs.categorize"
#define BYTES_PER_US 1000
#define LABELS_MAX   1024 /* each element is compared with each of them */

struct categorize {
    uint64_t n;               /* elements of a chunk */
    struct zd_dtype elements; /* string, or text of fixed length */
    struct zd_dtype codes;    /* of what is stored */
    uint64_t n_labels;
    struct zd_buf *labels; /* packed; owned */
    uint8_t fill[sizeof(uint64_t)];
};

static void categorize_close(void *state)
{
    struct categorize *categorize = state;
    if (categorize != NULL) {
        zd_buf_unref(categorize->labels);
        zd_free(categorize);
    }
}

/* Text of fixed length takes labels that fit. */
static bool fits(const struct zd_repr *decoded, struct zd_span label)
{
    const bool is_fixed = !decoded->lacks_dtype && decoded->dtype.kind == ZD_DTYPE_UTF32;
    return !is_fixed || zd_utf32_len(label) <= decoded->dtype.bytes;
}

/* The labels, which borrow their bytes from the document. */
static bool read_labels(const struct zd_parameters *parameters, const struct zd_repr *decoded,
    uint8_t *spans, uint64_t *ret_n)
{
    const struct zd_pointer list = zd_parameter_at(parameters, "labels");
    const struct zd_json *labels =
        zd_parameter_need(parameters, "labels", "a list of strings") == NULL
            ? NULL
            : zd_parameter_array(parameters, "labels");
    if (labels == NULL) {
        return false;
    }
    if (zd_json_count(labels) > LABELS_MAX) {
        zd_faults_add(parameters->faults, ZD_FAULT_UNSUPPORTED, "out_of_range", NAME, &list,
            "at most 1024 labels", NULL, NAME ": %zu labels; at most %d are supported",
            zd_json_count(labels), LABELS_MAX);
        return false;
    }
    bool is_good = true;
    for (size_t i = 0; i < zd_json_count(labels); i++) {
        const struct zd_json *label = zd_json_element(labels, i);
        const struct zd_pointer at = zd_pointer_element(&list, i);
        if (zd_json_string(label) == NULL) {
            zd_parameter_fault(parameters, "labels", &at, "wrong_type", "a string", label);
            is_good = false;
        } else if (!fits(decoded, zd_json_string_span(label))) {
            zd_parameter_fault(parameters, "labels", &at, "out_of_range",
                "a label that is not longer than an element", label);
            is_good = false;
        }
        zd_variable_put(spans, i, zd_json_string_span(label));
    }
    *ret_n = zd_json_count(labels);
    return is_good;
}

static void read_codes(const struct zd_parameters *parameters, struct categorize *categorize)
{
    const enum zd_status status = zd_dtype_find("uint8", &categorize->codes);
    assert(status == ZD_OK);
    (void)status;
    if (zd_parameter_find(parameters, "astype") != NULL) {
        (void)zd_parameter_typestr(
            parameters, "astype", zd_number_is_integer, "a type of integers", &categorize->codes);
    }
}

static void judge_input(const struct zd_codec_config *config, struct zd_faults *faults)
{
    const struct zd_repr *decoded = config->decoded;
    const enum zd_dtype_kind kind = decoded->dtype.kind;
    if (!decoded->lacks_dtype && kind != ZD_DTYPE_STRING && kind != ZD_DTYPE_UTF32) {
        zd_faults_add(faults, ZD_FAULT_UNSUPPORTED, "unsupported_codec", NAME, &config->at,
            "string or fixed_length_utf32", decoded->dtype.name,
            NAME " supports elements of string and fixed_length_utf32, not of %s",
            decoded->dtype.name);
    }
}

/* Label numbers for all of them, 0 and 1 .. n_labels, must be codes. */
static void judge_count(const struct zd_parameters *parameters, const struct categorize *categorize)
{
    const bool is_signed = categorize->codes.kind == ZD_DTYPE_INT;
    const unsigned n_bits = categorize->codes.bytes * 8 - (is_signed ? 1 : 0);
    if (categorize->n_labels > UINT64_MAX >> (64 - n_bits)) {
        const struct zd_pointer at = zd_parameter_at(parameters, "astype");
        zd_parameter_fault(parameters, "astype", &at, "out_of_range",
            "a type with enough values for all labels", zd_parameter_find(parameters, "astype"));
    }
}

static enum zd_status make_state(
    const struct categorize *found, const uint8_t *spans, void **ret_state)
{
    struct categorize *state = zd_alloc(sizeof *state);
    if (state == NULL) {
        return ZD_NO_MEMORY;
    }
    *state = *found;
    if (zd_variable_pack(spans, found->n_labels, SIZE_MAX, &state->labels, NULL) != ZD_OK) {
        zd_free(state);
        return ZD_NO_MEMORY;
    }
    *ret_state = state;
    return ZD_OK;
}

static enum zd_status categorize_open(const struct zd_codec_config *config,
    struct zd_repr *ret_encoded, void **ret_state, struct zd_faults *faults)
{
    static const char *const names[] = {"labels", "dtype", "astype", NULL};
    struct zd_parameters parameters;
    struct categorize found = {.elements = config->decoded->dtype};
    uint8_t spans[LABELS_MAX * ZD_VARIABLE_BYTES];
    zd_parameters_init(&parameters, NAME, config, names, faults);
    read_codes(&parameters, &found);
    if (read_labels(&parameters, config->decoded, spans, &found.n_labels)) {
        judge_count(&parameters, &found);
    }
    judge_input(config, faults);
    ZD_TRY(zd_parameters_status(&parameters));
    struct zd_repr encoded = *config->decoded;
    encoded.dtype = found.codes;
    ZD_TRY(zd_parameters_size(&parameters, "astype", &encoded));
    found.n = encoded.size / found.codes.bytes;
    ZD_TRY(make_state(&found, spans, ret_state));
    const struct categorize *state = *ret_state;
    *ret_encoded = encoded;
    ret_encoded->fill = state->fill; /* no label */
    return ZD_OK;
}

/* Find the label of element i. */
static enum zd_status find_text(const struct categorize *categorize, const struct zd_buf *encoded,
    uint64_t i, struct zd_span *ret_text, struct zd_error *err)
{
    uint64_t code = 0;
    memcpy(&code, encoded->data + i * categorize->codes.bytes, categorize->codes.bytes);
    if (code > categorize->n_labels) {
        const enum zd_status status = zd_fail(err, ZD_CORRUPT,
            NAME ": element %" PRIu64 " has the label number %" PRIu64 ", but there are %" PRIu64
                 " labels",
            i, code, categorize->n_labels);
        zd_fact_name(err, NAME);
        return status;
    }
    const struct zd_span none = {0};
    *ret_text = code == 0 ? none : zd_variable_at(categorize->labels->data, code - 1);
    return ZD_OK;
}

static enum zd_status categorize_decode(
    const void *state, struct zd_buf *encoded, struct zd_buf **ret_decoded, struct zd_error *err)
{
    const struct categorize *categorize = state;
    const bool is_fixed = categorize->elements.kind == ZD_DTYPE_UTF32;
    const size_t bytes = is_fixed ? categorize->elements.bytes : ZD_VARIABLE_BYTES;
    ZD_AUTO(zd_buf) elements = zd_buf_new(categorize->n * bytes);
    if (elements == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, NAME ": cannot allocate a chunk");
    }
    assert(encoded->len == categorize->n * categorize->codes.bytes);
    for (uint64_t i = 0; i < categorize->n; i++) {
        struct zd_span text;
        ZD_TRY(find_text(categorize, encoded, i, &text, err));
        if (!is_fixed) {
            zd_variable_put(elements->data, i, text);
        } else if (!zd_utf32_read(text, elements->data + i * bytes, bytes)) {
            assert(false); /* labels fit */
        }
    }
    if (is_fixed) {
        elements->len = elements->cap;
        *ret_decoded = ZD_TAKE(elements);
        return ZD_OK;
    }
    return zd_variable_pack(
        elements->data, categorize->n, zd_variable_bytes_max(categorize->n), ret_decoded, err);
}

/* The number of a label; false: it is none. */
static bool find_label(
    const struct categorize *categorize, struct zd_span element, uint64_t *ret_code)
{
    for (uint64_t i = 0; i < categorize->n_labels; i++) {
        if (zd_span_equal(zd_variable_at(categorize->labels->data, i), element)) {
            *ret_code = i + 1;
            return true;
        }
    }
    *ret_code = 0;
    return element.len == 0;
}

/* The text of an element; of fixed length it is made in `text`. */
static struct zd_span text_of(const struct categorize *categorize, const struct zd_buf *decoded,
    uint64_t i, struct zd_text *text)
{
    const size_t bytes = categorize->elements.bytes;
    if (categorize->elements.kind != ZD_DTYPE_UTF32) {
        return zd_variable_at(decoded->data, i);
    }
    zd_text_cut(text, 0);
    zd_utf32_add((struct zd_span){.ptr = decoded->data + i * bytes, .len = bytes}, text);
    return zd_text_span(text);
}

static enum zd_status categorize_encode(
    const void *state, struct zd_buf *decoded, struct zd_buf **ret_encoded, struct zd_error *err)
{
    const struct categorize *categorize = state;
    ZD_SCOPED_TEXT(text, categorize->elements.bytes); /* UTF-8 is no longer than UTF-32 */
    ZD_AUTO(zd_buf) encoded = zd_buf_new(categorize->n * categorize->codes.bytes);
    if (encoded == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, NAME ": cannot allocate a chunk");
    }
    encoded->len = encoded->cap;
    for (uint64_t i = 0; i < categorize->n; i++) {
        uint64_t code;
        const struct zd_span element = text_of(categorize, decoded, i, &text);
        if (text.status != ZD_OK) {
            return zd_fail(err, text.status, NAME ": no memory for an element");
        }
        if (!find_label(categorize, element, &code)) {
            return zd_fail(err, ZD_INVALID,
                NAME ": element %" PRIu64 " of the chunk is not one of the %" PRIu64 " labels", i,
                categorize->n_labels);
        }
        memcpy(encoded->data + i * categorize->codes.bytes, &code, categorize->codes.bytes);
    }
    *ret_encoded = ZD_TAKE(encoded);
    return ZD_OK;
}

static enum zd_status set_labels(const struct categorize *categorize, struct zd_json *json)
{
    ZD_AUTO(zd_json) labels = zd_json_new_array();
    for (uint64_t i = 0; labels != NULL && i < categorize->n_labels; i++) {
        const struct zd_span label = zd_variable_at(categorize->labels->data, i);
        ZD_SCOPED_TEXT(text, label.len);
        ZD_TRY(zd_text_add_bytes(&text, label.ptr, label.len));
        ZD_TRY(zd_json_append(labels, zd_json_new_text(text.at)));
    }
    return zd_json_set(json, "labels", ZD_TAKE(labels));
}

static enum zd_status categorize_configuration(const void *state, struct zd_json **ret_json)
{
    const struct categorize *categorize = state;
    ZD_AUTO(zd_json) json = zd_json_new_object();
    if (json == NULL) {
        return ZD_NO_MEMORY;
    }
    ZD_TRY(set_labels(categorize, json));
    if (categorize->elements.kind == ZD_DTYPE_UTF32) {
        ZD_TRY(zd_parameter_set_typestr(json, "dtype", &categorize->elements));
    } else {
        ZD_TRY(zd_json_set(json, "dtype", zd_json_new_text("|O")));
    }
    ZD_TRY(zd_parameter_set_typestr(json, "astype", &categorize->codes));
    *ret_json = ZD_TAKE(json);
    return ZD_OK;
}

const struct zd_codec zd_codec_categorize = {
    .name = NAME,
    .kind = ZD_CODEC_ARRAY_ARRAY,
    .schema = "{\"type\":\"object\",\"properties\":{\"labels\":{\"type\":\"array\",\"items\":"
              "{\"type\":\"string\"}},\"dtype\":{\"type\":\"string\"},\"astype\":{\"type\":"
              "\"string\"}},\"required\":[\"labels\"],\"additionalProperties\":false}",
    .takes_variable = true,
    .open = categorize_open,
    .close = categorize_close,
    .decode = categorize_decode,
    .encode = categorize_encode,
    .bytes_per_us = BYTES_PER_US,
    .configuration = categorize_configuration,
};
