/* Facts about server/slice/slice_format: which format answers. */
#include "server/slice/slice_format.h"

#include "core/base/num.h"
#include "server/runtime/server.h"
#include "tests/support/unit.h"

static const struct choice_fact {
    const char *name;   /* of `format=`, or NULL */
    const char *accept; /* or NULL */
    uint32_t rank;
    const char *format; /* NULL: none */
} choice_facts[] = {
    {NULL, NULL, 1, "raw"},
    {NULL, "*/*", 1, "raw"},
    {NULL, "application/json", 1, "json"},
    {NULL, "application/*", 1, "raw"},
    {NULL, "text/csv, application/json;q=0.9", 2, "csv"},
    {NULL, "text/csv, application/json;q=0.9", 3, "json"}, /* CSV has no third dimension */
    {NULL, "text/csv", 3, NULL},
    {NULL, "image/png", 2, NULL},
    {NULL, "application/octet-stream;q=0.1, application/x-npy;q=0.2", 2, "npy"},
    {"csv", "application/json", 2, "csv"}, /* a name outranks Accept */
    {"csv", NULL, 3, NULL},
    {"CSV", NULL, 1, NULL},
    {"", NULL, 1, NULL},
};

START_TEST(a_name_decides_then_accept)
{
    const struct choice_fact *fact = &choice_facts[_i];
    const struct zd_config config = {.settings.limits_body_bytes = 64};
    const struct zd_server server = {.config = &config};
    struct zd_slice_params params;
    struct zd_dtype dtype;
    ck_assert_int_eq(zd_dtype_find("float32", &dtype), ZD_OK);
    zd_slice_params_init(&params, &server);
    params.has_format = fact->name != NULL;
    zd_text_add(&params.format, fact->name == NULL ? "" : fact->name);
    const struct zd_slice_format_ask ask = {.params = &params, .dtype = &dtype, .rank = fact->rank};
    const struct zd_format *format = zd_slice_format_choose(&ask, fact->accept);
    ck_assert_pstr_eq(format == NULL ? NULL : format->name, fact->format);
    zd_slice_params_done(&params);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, a_name_decides_then_accept, 0, ZD_COUNT_OF(choice_facts));
}
