/* Judging a codec's configuration: every fault with its place. */
#include "core/codec/parameter.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/base/emit.h"
#include "core/grid/scalar.h"
#include "core/grid/typestr.h"

#define EXPECTED_BYTES_MAX 256
#define FOUND_BYTES_MAX    100
#define TYPESTR_BYTES_MAX  16

static size_t count_refusals(const struct zd_faults *faults)
{
    return faults->n_invalid + faults->n_unsupported;
}

static bool is_known(const char *const *names, const char *name)
{
    for (size_t i = 0; names[i] != NULL; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static void add_words(struct zd_text *text, const char *const *words)
{
    for (size_t i = 0; words[i] != NULL; i++) {
        zd_text_addf(text, "%s%s", i == 0 ? "" : ", ", words[i]);
    }
}

void zd_parameters_init(struct zd_parameters *parameters, const char *codec,
    const struct zd_codec_config *config, const char *const *names, struct zd_faults *faults)
{
    *parameters = (struct zd_parameters){
        .codec = codec,
        .configuration = config->configuration,
        .at = zd_pointer_member(&config->at, "configuration"),
        .judgement = config->judgement,
        .faults = faults,
        .n_refusals = count_refusals(faults),
        .is_blind = config->decoded != NULL && !zd_codec_repr_is_known(config->decoded),
    };
    ZD_SCOPED_TEXT(expected, EXPECTED_BYTES_MAX);
    add_words(&expected, names);
    const struct zd_json *members = config->configuration;
    for (void *iter = members == NULL ? NULL : zd_json_next(members, NULL); iter != NULL;
        iter = zd_json_next(members, iter)) {
        const char *name = zd_json_iter_name(iter);
        if (is_known(names, name)) {
            continue;
        }
        const struct zd_pointer at = zd_pointer_member(&parameters->at, name);
        zd_faults_add(faults, ZD_FAULT_INVALID, "unknown_member", name, &at,
            expected.len == 0 ? "no members" : expected.at, name,
            "the configuration of %s does not define the member \"%s\"", codec, name);
    }
}

enum zd_status zd_parameters_status(const struct zd_parameters *parameters)
{
    if (parameters->faults->out_of_memory) {
        return ZD_NO_MEMORY;
    }
    const bool is_refused = count_refusals(parameters->faults) > parameters->n_refusals;
    return is_refused || parameters->is_blind ? ZD_INVALID : ZD_OK;
}

struct zd_pointer zd_parameter_at(const struct zd_parameters *parameters, const char *name)
{
    return zd_pointer_member(&parameters->at, name);
}

const struct zd_json *zd_parameter_find(const struct zd_parameters *parameters, const char *name)
{
    return zd_json_member(parameters->configuration, name);
}

const struct zd_json *zd_parameter_need(
    const struct zd_parameters *parameters, const char *name, const char *expected)
{
    const struct zd_json *member = zd_parameter_find(parameters, name);
    if (member == NULL) {
        const struct zd_pointer at = zd_parameter_at(parameters, name);
        zd_faults_add(parameters->faults, ZD_FAULT_INVALID, "missing_member", name, &at, expected,
            NULL, "the configuration of %s lacks the member \"%s\"", parameters->codec, name);
    }
    return member;
}

void zd_parameter_fault(const struct zd_parameters *parameters, const char *name,
    const struct zd_pointer *at, const char *code, const char *expected,
    const struct zd_json *found)
{
    ZD_SCOPED_TEXT(text, FOUND_BYTES_MAX);
    struct zd_emit emit;
    zd_emit_init(&emit, &text, false);
    zd_emit_json(&emit, found);
    /* Too long to show: what kind of value it is must do. */
    const char *shown = text.status == ZD_OK ? text.at : zd_json_type_name(found);
    zd_faults_add(parameters->faults, ZD_FAULT_INVALID, code, name, at, expected, shown,
        "%s of %s must be %s", name, parameters->codec, expected);
}

bool zd_parameter_i64(const struct zd_parameters *parameters, const char *name, int64_t min,
    int64_t max, int64_t *ret_value)
{
    ZD_SCOPED_TEXT(expected, EXPECTED_BYTES_MAX);
    zd_text_addf(&expected, "an integer from %" PRId64 " to %" PRId64, min, max);
    const struct zd_json *member = zd_parameter_need(parameters, name, expected.at);
    if (member == NULL) {
        return false;
    }
    const struct zd_pointer at = zd_parameter_at(parameters, name);
    int64_t value;
    if (!zd_json_is(member, ZD_JSON_INTEGER)) {
        zd_parameter_fault(parameters, name, &at, "wrong_type", expected.at, member);
        return false;
    }
    if (!zd_json_i64(member, &value) || value < min || value > max) {
        zd_parameter_fault(parameters, name, &at, "out_of_range", expected.at, member);
        return false;
    }
    *ret_value = value;
    return true;
}

bool zd_parameter_bool(const struct zd_parameters *parameters, const char *name, bool *ret_value)
{
    const struct zd_json *member = zd_parameter_need(parameters, name, "true or false");
    if (member == NULL) {
        return false;
    }
    if (!zd_json_is(member, ZD_JSON_BOOL)) {
        const struct zd_pointer at = zd_parameter_at(parameters, name);
        zd_parameter_fault(parameters, name, &at, "wrong_type", "true or false", member);
        return false;
    }
    *ret_value = zd_json_is_true(member);
    return true;
}

bool zd_parameter_choice(const struct zd_parameters *parameters, const char *name,
    const char *const *words, uint32_t *ret_choice)
{
    ZD_SCOPED_TEXT(expected, EXPECTED_BYTES_MAX);
    zd_text_add(&expected, "one of ");
    add_words(&expected, words);
    const struct zd_json *member = zd_parameter_need(parameters, name, expected.at);
    if (member == NULL) {
        return false;
    }
    const struct zd_pointer at = zd_parameter_at(parameters, name);
    const char *word = zd_json_string(member);
    if (word == NULL) {
        zd_parameter_fault(parameters, name, &at, "wrong_type", expected.at, member);
        return false;
    }
    for (uint32_t i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], word) == 0) {
            *ret_choice = i;
            return true;
        }
    }
    zd_parameter_fault(parameters, name, &at, "out_of_range", expected.at, member);
    return false;
}

bool zd_parameter_number(
    const struct zd_parameters *parameters, const char *name, double *ret_value)
{
    const struct zd_json *member = zd_parameter_need(parameters, name, "a number");
    if (member == NULL) {
        return false;
    }
    const struct zd_pointer at = zd_parameter_at(parameters, name);
    double value;
    if (zd_json_is(member, ZD_JSON_NONFINITE) || !zd_json_f64(member, &value)) {
        zd_parameter_fault(parameters, name, &at, "wrong_type", "a number", member);
        return false;
    }
    if (!isfinite(value)) {
        zd_parameter_fault(parameters, name, &at, "out_of_range", "a finite number", member);
        return false;
    }
    *ret_value = value;
    return true;
}

bool zd_parameter_typestr(const struct zd_parameters *parameters, const char *name,
    bool (*is_wanted)(const struct zd_dtype *dtype), const char *wanted, struct zd_dtype *ret_dtype)
{
    const struct zd_json *member = zd_parameter_need(parameters, name, "a NumPy type string");
    const struct zd_pointer at = zd_parameter_at(parameters, name);
    struct zd_typestr found;
    if (member == NULL) {
        return false;
    }
    if (zd_json_string(member) == NULL) {
        zd_parameter_fault(parameters, name, &at, "wrong_type", "a NumPy type string", member);
        return false;
    }
    if (zd_typestr_parse_any(zd_json_string(member), &found, NULL) != ZD_OK ||
        !is_wanted(&found.dtype)) {
        zd_parameter_fault(parameters, name, &at, "out_of_range", wanted, member);
        return false;
    }
    *ret_dtype = found.dtype;
    return true;
}

bool zd_parameter_scalar(const struct zd_parameters *parameters, const char *name,
    const struct zd_pointer *at, const struct zd_dtype *dtype, const struct zd_json *json,
    void *ret_bytes)
{
    struct zd_error err = {0};
    bool is_noted = false;
    bool *tolerance = parameters->judgement == ZD_JUDGE_READ ? &is_noted : NULL;
    const enum zd_status status = zd_scalar_parse(dtype, json, ret_bytes, tolerance, &err);
    if (status == ZD_NO_MEMORY) {
        parameters->faults->out_of_memory = true;
    } else if (status != ZD_OK) {
        zd_parameter_fault(parameters, name, at, "out_of_range", err.facts.expected, json);
    }
    return status == ZD_OK;
}

void zd_parameter_judge_input(const struct zd_parameters *parameters, const char *name,
    const struct zd_repr *decoded, const struct zd_dtype *dtype)
{
    if (!decoded->lacks_dtype && !zd_dtype_equal(&decoded->dtype, dtype)) {
        const struct zd_pointer at = zd_parameter_at(parameters, name);
        zd_faults_add(parameters->faults, ZD_FAULT_INVALID, "out_of_range", parameters->codec, &at,
            decoded->dtype.name, dtype->name, "%s of %s must be the type of its input, %s", name,
            parameters->codec, decoded->dtype.name);
    }
}

void zd_parameters_refuse_input(const struct zd_parameters *parameters,
    const struct zd_codec_config *config, const char *expected)
{
    const char *found = config->decoded->dtype.name;
    zd_faults_add(parameters->faults, ZD_FAULT_INVALID, "wrong_type", parameters->codec,
        &config->at, expected, found, "%s does not support elements of the type %s",
        parameters->codec, found);
}

enum zd_status zd_parameters_size(
    const struct zd_parameters *parameters, const char *name, struct zd_repr *array)
{
    if (!zd_codec_repr_overflows(array, &array->size)) {
        return ZD_OK;
    }
    const struct zd_pointer at = zd_parameter_at(parameters, name);
    zd_faults_add(parameters->faults, ZD_FAULT_INVALID, "too_large", parameters->codec, &at, NULL,
        NULL, "the size of a chunk encoded by %s does not fit in 64 bits", parameters->codec);
    return ZD_INVALID;
}

enum zd_status zd_parameter_set_typestr(
    struct zd_json *json, const char *name, const struct zd_dtype *dtype)
{
    ZD_SCOPED_TEXT(typestr, TYPESTR_BYTES_MAX);
    ZD_TRY(zd_dtype_add_typestr(dtype, &typestr));
    return zd_json_set(json, name, zd_json_new_text(typestr.at));
}

const struct zd_json *zd_parameter_array(const struct zd_parameters *parameters, const char *name)
{
    const struct zd_json *member = zd_parameter_need(parameters, name, "an array");
    if (member == NULL || zd_json_is(member, ZD_JSON_ARRAY)) {
        return member;
    }
    const struct zd_pointer at = zd_parameter_at(parameters, name);
    zd_parameter_fault(parameters, name, &at, "wrong_type", "an array", member);
    return NULL;
}
