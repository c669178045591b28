/* The codec v2.struct: fields of two byte orders. */
#include "core/dialect/v2/v2_fields.h"
#include "core/grid/struct_fields.h"
#include "tests/support/codec.h"

#define CODED(endian) "[{'name':'v2.struct','configuration':{'endian':" endian "}}]"

/* [int16, [bool, 2 of uint16]]; as decoded, then as stored. */
#define FIELDS  "[['a','<i2'],['p',[['b','|b1'],['c','<u2',[2]]]]]"
#define DECODED "0102 01 03040506  1112 00 13141516"
#define STORED  "0201 01 03040506  1211 00 13141516"
#define OTHER   "0102 01 04030605  1112 00 14131615"

static struct zd_dtype type_of(const char *text)
{
    static const struct zd_pointer at = {.text = ""};
    struct zd_typestr found;
    struct zd_faults faults = {0};
    ZD_AUTO(zd_json) json = zd_unit_json(text);
    ck_assert_int_eq(zd_v2_fields_parse(json, &at, &found, &faults), ZD_OK);
    return found.dtype;
}

static const struct {
    const char *codecs;
    const char *stored;
    const char *again; /* NULL: as DECODED */
} rows[] = {
    {CODED("['big','little','little','little']"), STORED, NULL},
    {CODED("['little','big','big','big']"), OTHER, NULL},
    {CODED("['little','little','little','little']"), DECODED, NULL},
    {CODED("['big','little','little','little']"), "0201 ff 03040506  1211 00 13141516", DECODED},
};

START_TEST(each_field_has_its_byte_order)
{
    const struct zd_dtype dtype = type_of(FIELDS);
    const struct zd_unit_chain what = {
        .codecs = rows[_i].codecs, .type = &dtype, .rank = 1, .shape = {2}};
    struct zd_chain *chain = zd_unit_chain(&what);
    struct zd_buf *decoded = zd_unit_hex(DECODED);
    struct zd_buf *stored = zd_unit_hex(rows[_i].stored);
    struct zd_buf *encoded = NULL;
    struct zd_buf *again = NULL;
    ck_assert_int_eq(zd_chain_encode(chain, decoded, &encoded, NULL), ZD_OK);
    ck_assert(rows[_i].again != NULL || zd_span_equal(zd_buf_span(encoded), zd_buf_span(stored)));
    ck_assert_int_eq(zd_chain_decode(chain, stored, &again, NULL), ZD_OK);
    ck_assert(zd_span_equal(zd_buf_span(again), zd_buf_span(decoded)));
    stored->len--;
    struct zd_buf *none = NULL;
    struct zd_error err = {0};
    ck_assert_int_eq(zd_chain_decode(chain, stored, &none, &err), ZD_CORRUPT);
    ck_assert_str_eq(err.text, "v2.struct: 13 bytes decoded, 14 expected");
    zd_buf_unref(decoded);
    zd_buf_unref(stored);
    zd_buf_unref(encoded);
    zd_buf_unref(again);
    zd_chain_unref(chain);
    zd_struct_fields_unref(dtype.fields);
}
END_TEST

static const struct {
    const char *codecs;
    const char *findings;
} judged[] = {
    {CODED("['big','little','little','little']"), ""},
    {CODED("['big','little','little']"), "invalid out_of_range /codecs/0/configuration/endian"},
    {CODED("['big','little','little','middle']"),
        "invalid out_of_range /codecs/0/configuration/endian/3"},
    {CODED("'big'"), "invalid wrong_type /codecs/0/configuration/endian"},
    {"['v2.struct']", "invalid missing_member /codecs/0/configuration/endian"},
};

START_TEST(there_is_a_byte_order_for_each_field)
{
    const struct zd_dtype dtype = type_of(FIELDS);
    const struct zd_unit_chain what = {
        .codecs = judged[_i].codecs, .type = &dtype, .rank = 1, .shape = {2}};
    zd_unit_check_judged(&what, judged[_i].findings);
    zd_struct_fields_unref(dtype.fields);
}
END_TEST

START_TEST(only_structures_have_fields)
{
    const struct zd_unit_chain what = {
        .codecs = CODED("['big']"), .dtype = "int16", .rank = 1, .shape = {2}};
    zd_unit_check_judged(&what, "invalid wrong_type /codecs/0");
}
END_TEST

START_TEST(the_configuration_is_as_it_was)
{
    const struct zd_dtype dtype = type_of(FIELDS);
    const struct zd_unit_chain what = {
        .codecs = rows[0].codecs, .type = &dtype, .rank = 1, .shape = {2}};
    struct zd_chain *chain = zd_unit_chain(&what);
    ZD_AUTO(zd_json) found = zd_chain_json(chain);
    ZD_AUTO(zd_json) wanted = zd_unit_json(rows[0].codecs);
    ck_assert(zd_json_equal(found, wanted));
    zd_chain_unref(chain);
    zd_struct_fields_unref(dtype.fields);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, each_field_has_its_byte_order, 0, ZD_COUNT_OF(rows));
    tcase_add_loop_test(tests, there_is_a_byte_order_for_each_field, 0, ZD_COUNT_OF(judged));
    tcase_add_test(tests, only_structures_have_fields);
    tcase_add_test(tests, the_configuration_is_as_it_was);
}
