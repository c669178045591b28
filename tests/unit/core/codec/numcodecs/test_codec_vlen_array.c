/* The codec vlen-array: lists of numbers, whatever their byte order; lengths that are none. */
#include <string.h>

#include "core/grid/variable.h"
#include "tests/support/codec.h"

#define OF(dtype) "[{'name':'numcodecs.vlen-array','configuration':{'dtype':'" dtype "'}}]"

/* Two elements: the bytes of both, or part of the refusal. */
static const struct {
    const char *codecs;
    const char *dtype;
    const char *encoded;
    const char *first;
    const char *second;
    const char *refusal;
} facts[] = {
    {OF("<i2"), "v2.list.int16", "02000000 04000000 01000200 02000000 ffff", "01000200", "ffff",
        NULL},
    {OF(">i2"), "v2.list.int16", "02000000 04000000 00010002 00000000", "01000200", "", NULL},
    {OF("int16"), "v2.list.int16", "02000000 00000000 00000000", "", "", NULL},
    {OF(">c8"), "v2.list.complex64", "02000000 08000000 0102030405060708 00000000",
        "0403020108070605", "", NULL},
    {OF("<i2"), "v2.list.int16", "02000000 03000000 010002 00000000", NULL, NULL,
        "element 0 has 3 bytes, expected a multiple of 2"},
    {OF("<i2"), "v2.list.int16", "02000000 00000000 01000000 01", NULL, NULL,
        "element 1 has 1 bytes, expected a multiple of 2"},
    {OF("<i2"), "v2.list.int16", "02000000 00000000 ffffffff 01", NULL, NULL,
        "numcodecs.vlen-array: bytes left for an element"},
    {OF("<i2"), "v2.list.int16", "03000000", NULL, NULL, "elements: 3, expected 2"},
};

static struct zd_chain *open_lists(const char *codecs, const char *dtype)
{
    const struct zd_unit_chain what = {.codecs = codecs, .dtype = dtype, .rank = 1, .shape = {2}};
    return zd_unit_chain(&what);
}

static void check_element(const struct zd_buf *elements, uint64_t i, const char *hex)
{
    struct zd_buf *bytes = zd_unit_hex(hex);
    ck_assert(zd_span_equal(zd_variable_at(elements->data, i), zd_buf_span(bytes)));
    zd_buf_unref(bytes);
}

START_TEST(lists_are_decoded_and_encoded_in_their_byte_order)
{
    struct zd_chain *chain = open_lists(facts[_i].codecs, facts[_i].dtype);
    struct zd_buf *stored = zd_unit_hex(facts[_i].encoded);
    struct zd_buf *elements = NULL;
    struct zd_buf *again = NULL;
    struct zd_error err = {0};
    const enum zd_status status = zd_chain_decode(chain, stored, &elements, &err);
    if (facts[_i].refusal != NULL) {
        ck_assert_int_eq(status, ZD_CORRUPT);
        ck_assert_msg(strstr(err.text, facts[_i].refusal) != NULL, "%s", err.text);
    } else {
        ck_assert_msg(status == ZD_OK, "%s", err.text);
        check_element(elements, 0, facts[_i].first);
        check_element(elements, 1, facts[_i].second);
        ck_assert_int_eq(zd_chain_encode(chain, elements, &again, NULL), ZD_OK);
        ck_assert(zd_span_equal(zd_buf_span(again), zd_buf_span(stored)));
    }
    zd_buf_unref(again);
    zd_buf_unref(elements);
    zd_buf_unref(stored);
    zd_chain_unref(chain);
}
END_TEST

START_TEST(any_byte_but_0_is_true)
{
    struct zd_chain *chain = open_lists(OF("|b1"), "v2.list.bool");
    struct zd_buf *stored = zd_unit_hex("02000000 03000000 00ff01 00000000");
    struct zd_buf *elements = NULL;
    ck_assert_int_eq(zd_chain_decode(chain, stored, &elements, NULL), ZD_OK);
    check_element(elements, 0, "000101");
    zd_buf_unref(elements);
    zd_buf_unref(stored);
    zd_chain_unref(chain);
}
END_TEST

/* Neighbours that share their bytes, as where one element is written to many places. */
START_TEST(shared_bytes_are_swapped_once)
{
    struct zd_chain *chain = open_lists(OF(">i2"), "v2.list.int16");
    struct zd_buf *elements = zd_buf_new(2 * (size_t)ZD_VARIABLE_BYTES);
    struct zd_buf *wanted = zd_unit_hex("02000000 02000000 0201 02000000 0201");
    struct zd_buf *stored = NULL;
    const struct zd_span bytes = zd_span_of("\x01\x02");
    zd_variable_put(elements->data, 0, bytes);
    zd_variable_put(elements->data, 1, bytes);
    elements->len = elements->cap;
    ck_assert_int_eq(zd_chain_encode(chain, elements, &stored, NULL), ZD_OK);
    ck_assert(zd_span_equal(zd_buf_span(stored), zd_buf_span(wanted)));
    zd_buf_unref(wanted);
    zd_buf_unref(stored);
    zd_buf_unref(elements);
    zd_chain_unref(chain);
}
END_TEST

static const struct {
    const char *codecs;
    const char *dtype;
    const char *findings;
} judged[] = {
    {OF("<i2"), "v2.list.int16", ""},
    {OF("<i2"), "v2.list.uint16", "invalid wrong_type /codecs/0"},
    {OF("<i2"), "bytes", "invalid wrong_type /codecs/0"},
    {OF("<i2"), "int16", "invalid wrong_type /codecs/0"},
    {OF("|S2"), "v2.list.int16", "invalid out_of_range /codecs/0/configuration/dtype"},
    {OF("|O"), "v2.list.int16", "invalid out_of_range /codecs/0/configuration/dtype"},
    {OF("int4"), "v2.list.int16", "invalid out_of_range /codecs/0/configuration/dtype"},
    {"['numcodecs.vlen-array']", "v2.list.int16",
        "invalid missing_member /codecs/0/configuration/dtype"},
    {"['vlen-bytes']", "v2.list.int16", "invalid wrong_data_type /codecs/0"},
    {"['bytes']", "v2.list.int16", "invalid wrong_data_type /codecs/0"},
};

START_TEST(lists_have_the_type_that_the_codec_says)
{
    const struct zd_unit_chain what = {
        .codecs = judged[_i].codecs, .dtype = judged[_i].dtype, .rank = 1, .shape = {2}};
    zd_unit_check_judged(&what, judged[_i].findings);
}
END_TEST

START_TEST(the_configuration_is_as_it_was)
{
    struct zd_chain *chain = open_lists(OF(">i2"), "v2.list.int16");
    ZD_AUTO(zd_json) found = zd_chain_json(chain);
    ZD_AUTO(zd_json) wanted = zd_unit_json(OF(">i2"));
    ck_assert(zd_json_equal(found, wanted));
    zd_chain_unref(chain);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(
        tests, lists_are_decoded_and_encoded_in_their_byte_order, 0, ZD_COUNT_OF(facts));
    tcase_add_test(tests, any_byte_but_0_is_true);
    tcase_add_test(tests, shared_bytes_are_swapped_once);
    tcase_add_loop_test(tests, lists_have_the_type_that_the_codec_says, 0, ZD_COUNT_OF(judged));
    tcase_add_test(tests, the_configuration_is_as_it_was);
}
