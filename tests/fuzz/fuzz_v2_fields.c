/* Structures of v2: a line with a list of fields, then an element as JSON. What was understood is
 * said alike by the document of v3 that is made of it; each element that was read can be spelled,
 * and its normal spelling means the same. */
#include <string.h>

#include "core/base/num.h"
#include "core/dialect/v2/v2_fields.h"
#include "core/extension/data_type.h"
#include "core/grid/scalar.h"
#include "core/grid/struct_fields.h"
#include "tests/fuzz/input.h"

#define TEXT_BYTES_MAX (1U << 24)

static const struct zd_json_limits limits = {
    .bytes_max = TEXT_BYTES_MAX, .nodes_max = 200000, .depth_max = 32};
static const struct zd_pointer at = {.text = ""};

/* The document of v3 may have fewer levels than there are dimensions: names are as they were. */
static void check_definition(const struct zd_dtype *dtype)
{
    const struct zd_data_type_rules rules = {.is_translated = true};
    struct zd_definition definition;
    struct zd_faults faults = {0};
    struct zd_dtype again;
    ZD_AUTO(zd_json) json = zd_data_type_json(dtype);
    zd_fuzz_insist(zd_definition_parse(json, &at, false, &definition, &faults) == ZD_OK);
    zd_fuzz_insist(zd_data_type_parse(&definition, &at, &rules, &again, &faults) == ZD_OK);
    zd_fuzz_insist(zd_dtype_equal(dtype, &again));
    zd_faults_done(&faults);
    zd_struct_fields_unref(again.fields);
}

static void check_swap(const struct zd_dtype *dtype, const uint8_t *element)
{
    static uint8_t swapped[ZD_DTYPE_BYTES_MAX];
    static bool all[ZD_STRUCT_FIELDS_MAX];
    memset(all, 1, sizeof all);
    zd_dtype_swap(dtype, swapped, element, 1);
    zd_dtype_swap_fields(dtype, swapped, 1, all);
    zd_fuzz_insist(memcmp(swapped, element, dtype->bytes) == 0);
}

static void check_element(const struct zd_dtype *dtype, const struct zd_json *json)
{
    static uint8_t element[ZD_DTYPE_BYTES_MAX];
    static uint8_t again[ZD_DTYPE_BYTES_MAX];
    const struct zd_scalar_style style = {0};
    bool noted = false;
    if (zd_scalar_read(dtype, json, element, NULL) != ZD_OK) {
        return;
    }
    check_swap(dtype, element);
    ZD_AUTO(zd_json) normal = zd_scalar_json(dtype, element);
    zd_fuzz_insist(zd_scalar_parse(dtype, normal, again, &noted, NULL) == ZD_OK);
    zd_fuzz_insist(memcmp(again, element, dtype->bytes) == 0);
    ZD_SCOPED_TEXT(text, TEXT_BYTES_MAX);
    ZD_AUTO(zd_json) spelled = NULL;
    zd_scalar_add(dtype, element, &style, &text);
    zd_fuzz_insist(text.status == ZD_OK && text.len <= zd_scalar_text_max(dtype));
    zd_fuzz_insist(zd_json_parse(zd_text_span(&text), &limits, &spelled, NULL) == ZD_OK);
    zd_fuzz_insist(zd_scalar_read(dtype, spelled, again, NULL) == ZD_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct zd_span input = {.ptr = data, .len = len};
    struct zd_typestr found;
    struct zd_faults faults = {0};
    ZD_AUTO_TEXT line = zd_fuzz_line(&input);
    ZD_AUTO(zd_json) fields = NULL;
    ZD_AUTO(zd_json) json = NULL;
    if (zd_json_parse(zd_span_of(line), &limits, &fields, NULL) != ZD_OK ||
        !zd_json_is(fields, ZD_JSON_ARRAY)) {
        return 0;
    }
    const enum zd_status status = zd_v2_fields_parse(fields, &at, &found, &faults);
    zd_fuzz_insist(status == ZD_OK || zd_faults_refuse(&faults));
    zd_faults_done(&faults);
    if (status != ZD_OK) {
        return 0;
    }
    check_definition(&found.dtype);
    if (zd_json_parse(input, &limits, &json, NULL) == ZD_OK) {
        check_element(&found.dtype, json);
    }
    zd_struct_fields_unref(found.dtype.fields);
    return 0;
}
