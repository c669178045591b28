/* The codec shuffle of numcodecs: bytes by their place in an item. */
#include <string.h>

#include "tests/support/codec.h"

static const struct {
    const char *codecs;
    uint64_t n; /* elements of uint8 */
    const char *decoded;
    const char *encoded;
} facts[] = {
    {"['bytes',{'name':'numcodecs.shuffle','configuration':{'elementsize':2}}]", 6, "000102030405",
        "000204010305"},
    {"['bytes',{'name':'numcodecs.shuffle','configuration':{'elementsize':4}}]", 8,
        "0001020304050607", "0004010502060307"},
    {"['bytes','numcodecs.shuffle']", 8, "0001020304050607", "0004010502060307"},
    {"['bytes',{'name':'numcodecs.shuffle','configuration':{'elementsize':1}}]", 3, "000102",
        "000102"},
    {"['bytes',{'name':'numcodecs.shuffle','configuration':{'elementsize':3}}]", 3, "000102",
        "000102"},
};

START_TEST(shuffle_puts_bytes_of_one_place_together)
{
    const struct zd_unit_chain what = {
        .codecs = facts[_i].codecs, .dtype = "uint8", .rank = 1, .shape = {facts[_i].n}};
    struct zd_chain *chain = zd_unit_chain(&what);
    struct zd_buf *decoded = zd_unit_hex(facts[_i].decoded);
    struct zd_buf *expected = zd_unit_hex(facts[_i].encoded);
    struct zd_buf *encoded = NULL;
    struct zd_buf *again = NULL;
    ck_assert_int_eq(zd_chain_encode(chain, decoded, &encoded, NULL), ZD_OK);
    ck_assert(zd_span_equal(zd_buf_span(encoded), zd_buf_span(expected)));
    ck_assert_int_eq(zd_chain_decode(chain, encoded, &again, NULL), ZD_OK);
    ck_assert(zd_span_equal(zd_buf_span(again), zd_buf_span(decoded)));
    zd_buf_unref(decoded);
    zd_buf_unref(expected);
    zd_buf_unref(encoded);
    zd_buf_unref(again);
    zd_chain_unref(chain);
}
END_TEST

static const struct {
    const char *configuration;
    const char *findings; /* or "" */
} judged[] = {
    {"{'elementsize':0}", "out_of_range /codecs/1/configuration/elementsize"},
    {"{'elementsize':-1}", "out_of_range /codecs/1/configuration/elementsize"},
    {"{'elementsize':'4'}", "wrong_type /codecs/1/configuration/elementsize"},
    {"{'elementsize':5}", "out_of_range /codecs/1/configuration/elementsize"}, /* of 12 bytes */
    {"{'size':4}", "unknown_member /codecs/1/configuration/size"},
    {"{'elementsize':6}", ""},
};

START_TEST(shuffle_wants_items_that_fill_the_chunk)
{
    ZD_SCOPED_TEXT(codecs, 300);
    zd_text_addf(&codecs, "['bytes',{'name':'numcodecs.shuffle','configuration':%s}]",
        judged[_i].configuration);
    const struct zd_unit_chain what = {
        .codecs = codecs.at, .dtype = "uint8", .rank = 1, .shape = {12}};
    struct zd_faults faults = {0};
    struct zd_chain *chain = NULL;
    const enum zd_status status = zd_unit_chain_open(&what, &chain, &faults);
    ck_assert_int_eq(status, judged[_i].findings[0] == '\0' ? ZD_OK : ZD_INVALID);
    char *found = zd_unit_faults(&faults);
    ck_assert_msg(strstr(found, judged[_i].findings) != NULL, "%s", found);
    zd_free(found);
    zd_faults_done(&faults);
    zd_chain_unref(chain);
}
END_TEST

START_TEST(shuffle_refuses_another_length)
{
    const struct zd_unit_chain what = {
        .codecs = "['bytes','numcodecs.shuffle']", .dtype = "uint8", .rank = 1, .shape = {8}};
    struct zd_chain *chain = zd_unit_chain(&what);
    static const char *const stored[] = {"", "00", "00010203040506", "000102030405060708"};
    for (size_t i = 0; i < sizeof stored / sizeof *stored; i++) {
        struct zd_buf *encoded = zd_unit_hex(stored[i]);
        struct zd_buf *found = NULL;
        ck_assert_int_eq(zd_chain_decode(chain, encoded, &found, NULL), ZD_CORRUPT);
        zd_buf_unref(encoded);
    }
    zd_chain_unref(chain);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(
        tests, shuffle_puts_bytes_of_one_place_together, 0, sizeof facts / sizeof *facts);
    tcase_add_loop_test(
        tests, shuffle_wants_items_that_fill_the_chunk, 0, sizeof judged / sizeof *judged);
    tcase_add_test(tests, shuffle_refuses_another_length);
}
