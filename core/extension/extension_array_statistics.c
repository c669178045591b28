/* example.array-statistics: bounds of the elements, which writes keep true. */
#include <math.h>

#include "core/extension/extension.h"
#include "core/grid/scalar.h"

#define NAME "example.array-statistics"

/** Elements of the data type. */
struct bounds {
    uint8_t min[ZD_SUMMARY_ELEMENT_BYTES];
    uint8_t max[ZD_SUMMARY_ELEMENT_BYTES];
};

static void judge_bound(const struct zd_json *configuration, const char *member,
    const struct zd_pointer *at, const struct zd_subject *subject, void *ret_bound,
    struct zd_faults *faults)
{
    struct zd_error err = {0};
    bool is_noted = false;
    const struct zd_dtype *dtype = subject->dtype;
    const struct zd_pointer place = zd_pointer_member(at, member);
    const struct zd_json *json = zd_json_member(configuration, member);
    const enum zd_status status =
        zd_scalar_parse(dtype, json, ret_bound, subject->is_stored ? &is_noted : NULL, &err);
    if (status == ZD_NO_MEMORY) {
        faults->out_of_memory = true;
    } else if (status != ZD_OK) {
        zd_faults_add(faults, ZD_FAULT_INVALID, "out_of_range", NAME, &place, err.facts.expected,
            err.facts.found, "%s of %s: %s", member, NAME, err.text);
    } else if (zd_element_is_nan(dtype, ret_bound)) {
        zd_faults_add(faults, ZD_FAULT_INVALID, "out_of_range", NAME, &place,
            "a value that has an order", "NaN", "NaN cannot be a bound; bounds ignore NaN");
    } else if (is_noted) {
        zd_faults_add(faults, ZD_FAULT_WARNING, "legacy_spelling", NAME, &place,
            "a spelling of fill values, within the type's range", NULL,
            "a writer must not use this spelling of %s", member);
    }
}

static ZD_RESULT statistics_validate(const struct zd_json *configuration,
    const struct zd_pointer *at, const struct zd_subject *subject, void **ret_state,
    struct zd_faults *faults)
{
    const size_t n_before = faults->n_invalid;
    const struct zd_dtype *dtype = subject->dtype;
    struct bounds bounds = {0};
    if (!zd_dtype_is_ordered(dtype)) {
        zd_faults_add(faults, ZD_FAULT_INVALID, "wrong_type", NAME, at,
            "an array of booleans, integers or floats", dtype->name,
            "elements of %s have no order and therefore no bounds", dtype->name);
        return ZD_INVALID;
    }
    judge_bound(configuration, "min", at, subject, bounds.min, faults);
    judge_bound(configuration, "max", at, subject, bounds.max, faults);
    if (faults->n_invalid == n_before && zd_element_compare(dtype, bounds.min, bounds.max) > 0) {
        const struct zd_pointer place = zd_pointer_member(at, "max");
        zd_faults_add(faults, ZD_FAULT_INVALID, "out_of_range", NAME, &place, "at least min",
            "less than min", "max must not be less than min");
    }
    if (faults->n_invalid > n_before) {
        return ZD_INVALID;
    }
    struct bounds *state = zd_alloc(sizeof *state);
    if (state == NULL || faults->out_of_memory) {
        zd_free(state);
        return ZD_NO_MEMORY;
    }
    *state = bounds;
    *ret_state = state;
    return ZD_OK;
}

static void statistics_view(
    const void *state, const struct zd_subject *subject, struct zd_view *view)
{
    const struct bounds *bounds = state;
    (void)subject;
    view->min = bounds->min;
    view->max = bounds->max;
}

/* A float as the double that it is: the shortest spelling of the float may be less when it is read
 * as a double. */
static struct zd_json *bound_json(const struct zd_dtype *dtype, const void *bound)
{
    const double value = zd_dtype_is_float(dtype) ? zd_element_f64(dtype, bound) : INFINITY;
    return isfinite(value) ? zd_json_new_f64(value) : zd_scalar_json(dtype, bound);
}

static ZD_RESULT statistics_before_write(const void *state, const struct zd_subject *subject,
    const struct zd_summary *written, struct zd_json **ret_configuration, struct zd_error *err)
{
    const struct bounds *bounds = state;
    const struct zd_dtype *dtype = subject->dtype;
    const bool is_lower =
        written->count > 0 && zd_element_compare(dtype, written->min, bounds->min) < 0;
    const bool is_higher =
        written->count > 0 && zd_element_compare(dtype, written->max, bounds->max) > 0;
    if (!is_lower && !is_higher) {
        *ret_configuration = NULL;
        return ZD_OK;
    }
    const void *min = is_lower ? written->min : bounds->min;
    const void *max = is_higher ? written->max : bounds->max;
    ZD_AUTO(zd_json) configuration = zd_json_new_object();
    if (configuration == NULL ||
        zd_json_set(configuration, "min", bound_json(dtype, min)) != ZD_OK ||
        zd_json_set(configuration, "max", bound_json(dtype, max)) != ZD_OK) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for the bounds of an array");
    }
    *ret_configuration = ZD_TAKE(configuration);
    return ZD_OK;
}

const struct zd_extension zd_extension_array_statistics = {
    .name = NAME,
    .on_array = true,
    .schema = "{\"title\":\"Bounds of the elements, without NaN and the fill value\","
              "\"type\":\"object\",\"properties\":{"
              "\"min\":{\"description\":\"spelled like a fill value\","
              "\"type\":[\"number\",\"string\",\"boolean\"]},"
              "\"max\":{\"description\":\"spelled like a fill value\","
              "\"type\":[\"number\",\"string\",\"boolean\"]}},"
              "\"required\":[\"min\",\"max\"],\"additionalProperties\":false}",
    .validate = statistics_validate,
    .view = statistics_view,
    .before_write = statistics_before_write,
};
