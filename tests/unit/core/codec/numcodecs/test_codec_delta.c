/* The codec delta of numcodecs; expected bytes are NumPy's: diff, and cumsum of the differences. */
#include <string.h>

#include "tests/support/codec.h"

#define LITTLE "{'name':'bytes','configuration':{'endian':'little'}}"

static const struct {
    const char *data_type;
    const char *dtype;
    const char *astype;
    uint64_t n;
    const char *decoded;
    const char *encoded;
} facts[] = {
    {"int32", "<i4", "<i4", 4, "0500000003000000f9ffffffffffff7f",
        "05000000fefffffff6ffffff06000080"},
    {"int16", "<i2", "<i2", 4, "ff7f008000000100", "ff7f010000800100"},
    {"uint8", "|u1", "|u1", 4, "00ff01c8", "00ff02c7"},
    {"uint64", "<u8", "<u8", 4, "ffffffffffffffff000000000000000005000000000000000000000000000080",
        "ffffffffffffffff01000000000000000500000000000000fbffffffffffff7f"},
    {"int32", "<i4", "<i2", 4, "e8030000840300006c070000feffffff", "e8039cffe80392f8"},
    {"float32", "<f4", "<f4", 4, "0000c03f00001040000040c0cdcccc3d",
        "0000c03f0000403f0000a8c066664640"},
    {"float64", "<f8", "<f8", 4, "9a9999999999b93f9a9999999999c93f333333333333d33f9c7500883ce4377e",
        "9a9999999999b93f9a9999999999b93f989999999999b93f9c7500883ce4377e"},
    {"float64", "<f8", "<f4", 4, "000000000000f83f000000000000044000000000000008c0000000000000e03f",
        "0000c03f0000803f0000b0c000006040"},
};

static struct zd_chain *open_delta(int i)
{
    ZD_SCOPED_TEXT(codecs, 300);
    zd_text_addf(&codecs,
        "[{'name':'numcodecs.delta','configuration':{'dtype':'%s','astype':'%s'}}," LITTLE "]",
        facts[i].dtype, facts[i].astype);
    const struct zd_unit_chain what = {
        .codecs = codecs.at, .dtype = facts[i].data_type, .rank = 1, .shape = {facts[i].n}};
    return zd_unit_chain(&what);
}

START_TEST(delta_stores_differences_and_adds_them_up)
{
    struct zd_chain *chain = open_delta(_i);
    struct zd_buf *decoded = zd_unit_hex(facts[_i].decoded);
    struct zd_buf *expected = zd_unit_hex(facts[_i].encoded);
    struct zd_buf *encoded = NULL;
    struct zd_buf *again = NULL;
    ck_assert_int_eq(zd_chain_encode(chain, decoded, &encoded, NULL), ZD_OK);
    ck_assert(zd_span_equal(zd_buf_span(encoded), zd_buf_span(expected)));
    ck_assert_int_eq(zd_chain_decode(chain, encoded, &again, NULL), ZD_OK);
    ck_assert_uint_eq(again->len, decoded->len);
    /* Sums of floating-point numbers are rounded; integers never. */
    if (facts[_i].data_type[0] != 'f') {
        ck_assert(zd_span_equal(zd_buf_span(again), zd_buf_span(decoded)));
    }
    zd_buf_unref(decoded);
    zd_buf_unref(expected);
    zd_buf_unref(encoded);
    zd_buf_unref(again);
    zd_chain_unref(chain);
}
END_TEST

static const struct {
    const char *configuration;
    const char *findings; /* or "": none */
} judged[] = {
    {"{'dtype':'<i4'}", ""},
    {"{'dtype':'>i4','astype':'>i2'}", ""}, /* in v3 only `bytes` knows a byte order */
    {"{'dtype':'int32','astype':'int16'}", ""},
    {"{}", "missing_member /codecs/0/configuration/dtype"},
    {"{'dtype':4}", "wrong_type /codecs/0/configuration/dtype"},
    {"{'dtype':'x'}", "out_of_range /codecs/0/configuration/dtype"},
    {"{'dtype':'<c8'}", "out_of_range /codecs/0/configuration/dtype"},
    {"{'dtype':'|b1'}", "out_of_range /codecs/0/configuration/dtype"},
    {"{'dtype':'<i2'}", "out_of_range /codecs/0/configuration/dtype"}, /* the input is int32 */
    {"{'dtype':'<i4','astype':'<f2'}", "out_of_range /codecs/0/configuration/astype"},
    {"{'dtype':'<i4','astype':'<f4'}", "unsupported_codec /codecs/0/configuration/astype"},
    {"{'dtype':'<i4','x':1}", "unknown_member /codecs/0/configuration/x"},
};

START_TEST(delta_wants_the_type_of_its_input)
{
    ZD_SCOPED_TEXT(codecs, 300);
    zd_text_addf(&codecs, "[{'name':'numcodecs.delta','configuration':%s}," LITTLE "]",
        judged[_i].configuration);
    const struct zd_unit_chain what = {
        .codecs = codecs.at, .dtype = "int32", .rank = 2, .shape = {3, 4}};
    struct zd_faults faults = {0};
    struct zd_chain *chain = NULL;
    const enum zd_status status = zd_unit_chain_open(&what, &chain, &faults);
    char *found = zd_unit_faults(&faults);
    ck_assert_msg((status == ZD_OK) == (judged[_i].findings[0] == '\0'), "%s", found);
    ck_assert_msg(strstr(found, judged[_i].findings) != NULL, "%s", found);
    zd_free(found);
    zd_faults_done(&faults);
    zd_chain_unref(chain);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(
        tests, delta_stores_differences_and_adds_them_up, 0, sizeof facts / sizeof *facts);
    tcase_add_loop_test(
        tests, delta_wants_the_type_of_its_input, 0, sizeof judged / sizeof *judged);
}
