/* Facts about server/fields. */
#include "server/http/fields.h"

#include "tests/support/unit.h"

static const char *const known[] = {"path", "metadata", "array", NULL};

static const struct match_fact {
    const char *fields;
    const char *path;
    enum zd_field_match match;
} match_facts[] = {
    {"", "metadata", ZD_FIELD_WHOLE},
    {"path", "path", ZD_FIELD_WHOLE},
    {"path", "metadata", ZD_FIELD_OUT},
    {"metadata.attributes", "metadata", ZD_FIELD_PART},
    {"metadata.attributes", "metadata.attributes", ZD_FIELD_WHOLE},
    {"metadata.attributes", "metadata.attributes.units", ZD_FIELD_WHOLE},
    {"metadata.attributes", "metadata.attribute", ZD_FIELD_OUT},
    {"metadata.attributes", "metadata.shape", ZD_FIELD_OUT},
    {"path,array.shape", "array.shape", ZD_FIELD_WHOLE},
    {"array.shape,array", "array.dtype", ZD_FIELD_WHOLE},
};

START_TEST(field_takes_what_is_below_it)
{
    const struct match_fact *fact = &match_facts[_i];
    struct zd_fields fields;
    ck_assert_int_eq(zd_fields_parse(zd_span_of(fact->fields), known, &fields, NULL), ZD_OK);
    ck_assert_int_eq(zd_fields_match(&fields, fact->path), fact->match);
    zd_fields_done(&fields);
}
END_TEST

static const char *const bad_facts[] = {
    "nothing", "path,", ",path", "metadat",
    "metadata.a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p", /* one name too many */
};

START_TEST(unknown_field_is_a_fault)
{
    struct zd_fields fields;
    struct zd_error err = {0};
    ck_assert_int_eq(zd_fields_parse(zd_span_of(bad_facts[_i]), known, &fields, &err), ZD_INVALID);
    ck_assert(err.facts.set & ZD_FACT_NAME);
}
END_TEST

START_TEST(document_is_cut_to_its_fields)
{
    const struct zd_json_limits limits = {.bytes_max = 1000, .nodes_max = 100, .depth_max = 10};
    ZD_AUTO(zd_json) json = NULL;
    ck_assert_int_eq(zd_json_parse(zd_span_of("{\"attributes\":{\"a\":1,\"b\":{\"c\":2,\"d\":3}},"
                                              "\"shape\":[1]}"),
                         &limits, &json, NULL),
        ZD_OK);
    struct zd_fields fields;
    ck_assert_int_eq(
        zd_fields_parse(zd_span_of("metadata.attributes.b.d,metadata.shape,metadata.absent"), known,
            &fields, NULL),
        ZD_OK);
    ZD_SCOPED_TEXT(text, 1000);
    struct zd_emit emit;
    zd_emit_init(&emit, &text, false);
    zd_emit_object(&emit);
    zd_fields_emit(&fields, "metadata", "metadata", json, &emit);
    zd_emit_object_end(&emit);
    ck_assert_str_eq(text.at, "{\"metadata\":{\"attributes\":{\"b\":{\"d\":3}},\"shape\":[1]}}");
    zd_fields_done(&fields);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, field_takes_what_is_below_it, 0, ZD_COUNT_OF(match_facts));
    tcase_add_loop_test(tests, unknown_field_is_a_fault, 0, ZD_COUNT_OF(bad_facts));
    tcase_add_test(tests, document_is_cut_to_its_fields);
}
