/* example.template: how an extension is made; it says which axis of an array is the one that grows.
 *
 * Copy this file to extension_NAME.c and its test to test_extension_NAME.c
 * (tests/unit/core/extension). The build finds both, nothing else changes: documents that name the
 * extension are understood from then on, and /v1/extensions shows it. Then change the table below:
 * keep the hooks that are needed (extension.h says what each may do), leave the others out. */
#include <inttypes.h>

#include "core/extension/extension.h"

#define NAME "example.template"

/* Check the rules that the schema cannot express, since they depend on the node. A fault names its
 * place, the expected and the found value. A hook that needs something later keeps it in
 * *ret_state. */
static ZD_RESULT template_validate(const struct zd_json *configuration, const struct zd_pointer *at,
    const struct zd_subject *subject, void **ret_state, struct zd_faults *faults)
{
    uint64_t axis = UINT64_MAX; /* when it does not even fit */
    (void)ret_state;
    if (zd_json_u64(zd_json_member(configuration, "axis"), &axis) && axis < subject->grid->rank) {
        return ZD_OK;
    }
    ZD_SCOPED_TEXT(expected, ZD_FACT_TEXT_BYTES);
    ZD_SCOPED_TEXT(found, ZD_FACT_TEXT_BYTES);
    zd_text_addf(&expected, "less than the rank, %" PRIu32, subject->grid->rank);
    zd_text_add_u64(&found, axis);
    const struct zd_pointer place = zd_pointer_member(at, "axis");
    zd_faults_add(faults, ZD_FAULT_INVALID, "out_of_range", NAME, &place, expected.at, found.at,
        "the array has no axis %" PRIu64, axis);
    return ZD_INVALID;
}

const struct zd_extension zd_extension_template = {
    .name = NAME,
    .on_array = true,
    .schema = "{\"title\":\"The axis along which the array grows\",\"type\":\"object\","
              "\"properties\":{\"axis\":{\"type\":\"integer\",\"minimum\":0}},"
              "\"required\":[\"axis\"],\"additionalProperties\":false}",
    .validate = template_validate,
};
