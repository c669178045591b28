/* The codec zfp, and zfpy of numcodecs. */
#include <string.h>

#include "tests/support/codec.h"

/* Written by zarrs 0.23.14: int64, reversible, of 20 elements. */
#define ZARRS_STREAM "0000e0070000000000008040e01f00000000000000028101"

START_TEST(zfp_reads_and_writes_what_zarrs_wrote)
{
    zd_unit_check_coding(
        &(struct zd_unit_coding){.codecs = "[{'name':'zfp','configuration':{'mode':'reversible'}}]",
            .dtype = "int64",
            .rank = 1,
            .shape = {20},
            .decoded =
                "0000000000000000000000000000000000000000000000000000000000000000000000000000000000"
                "0000000000000000000000000000000000000000000000000000000000000000000000000000000000"
                "0000000000000000000000000000000000000000000000000000000000000100000000000000000000"
                "00000000000000000000000000000000000000000001000000000000000000000000000000",
            .encoded = ZARRS_STREAM});
}
END_TEST

static const char *const types[] = {
    "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"};

static void check_round_trip(const struct zd_unit_chain *what)
{
    struct zd_chain *chain = zd_unit_chain(what);
    struct zd_buf *decoded = zd_unit_elements(zd_chain_decoded(chain)->size);
    struct zd_buf *encoded = NULL;
    struct zd_buf *again = NULL;
    ck_assert_int_eq(zd_chain_encode(chain, decoded, &encoded, NULL), ZD_OK);
    ck_assert_uint_le(encoded->len, zd_chain_encoded(chain)->size);
    ck_assert_int_eq(zd_chain_decode(chain, encoded, &again, NULL), ZD_OK);
    ck_assert(zd_span_equal(zd_buf_span(again), zd_buf_span(decoded)));
    zd_buf_unref(decoded);
    zd_buf_unref(encoded);
    zd_buf_unref(again);
    zd_chain_unref(chain);
}

START_TEST(zfp_reversible_gives_every_type_back)
{
    for (uint32_t rank = 0; rank <= 4; rank++) {
        struct zd_unit_chain what = {
            .codecs = "[{'name':'zfp','configuration':{'mode':'reversible'}}]",
            .dtype = types[_i],
            .rank = rank,
            .shape = {3, 5, 1, 9}};
        check_round_trip(&what);
    }
}
END_TEST

START_TEST(zfpy_reversible_gives_its_types_back)
{
    static const char *const zfpy_types[] = {"int32", "int64", "float32", "float64"};
    for (uint32_t rank = 0; rank <= 4; rank++) {
        struct zd_unit_chain what = {
            .codecs = "[{'name':'numcodecs.zfpy','configuration':{'mode':5}}]",
            .dtype = zfpy_types[_i],
            .rank = rank,
            .shape = {3, 5, 1, 9}};
        check_round_trip(&what);
    }
}
END_TEST

/* 32 numbers of float64 that change smoothly, by every lossy mode. */
static const struct {
    const char *codecs;
    double most; /* that a number may be off */
} lossy[] = {
    {"[{'name':'zfp','configuration':{'mode':'fixed_accuracy','tolerance':0.01}}]", 0.01},
    {"[{'name':'zfp','configuration':{'mode':'fixed_rate','rate':24}}]", 0.01},
    {"[{'name':'zfp','configuration':{'mode':'fixed_precision','precision':30}}]", 0.01},
    {"[{'name':'zfp','configuration':{'mode':'expert','minbits':1,'maxbits':1000,'maxprec':40,"
     "'minexp':-20}}]",
        0.01},
    {"[{'name':'numcodecs.zfpy','configuration':{'mode':4,'tolerance':0.001}}]", 0.001},
    {"[{'name':'numcodecs.zfpy','configuration':{'mode':2,'rate':24}}]", 0.01},
    {"[{'name':'numcodecs.zfpy','configuration':{'mode':3,'precision':30}}]", 0.01},
    {"[{'name':'numcodecs.zfpy','configuration':{'tolerance':-1,'rate':-1,'precision':-1}}]", 0},
};

START_TEST(zfp_loses_no_more_than_it_may)
{
    const struct zd_unit_chain what = {
        .codecs = lossy[_i].codecs, .dtype = "float64", .rank = 2, .shape = {4, 8}};
    struct zd_chain *chain = zd_unit_chain(&what);
    double number[32];
    struct zd_buf *encoded = NULL;
    struct zd_buf *again = NULL;
    for (int i = 0; i < 32; i++) {
        number[i] = 10 + 0.3 * i + 0.01 * i * i;
    }
    struct zd_buf *decoded =
        zd_buf_copy((struct zd_span){.ptr = (const uint8_t *)number, .len = sizeof number});
    ck_assert_int_eq(zd_chain_encode(chain, decoded, &encoded, NULL), ZD_OK);
    ck_assert_int_eq(zd_chain_decode(chain, encoded, &again, NULL), ZD_OK);
    ck_assert_uint_eq(again->len, sizeof number);
    for (int i = 0; i < 32; i++) {
        double found;
        memcpy(&found, again->data + (size_t)i * sizeof found, sizeof found);
        ck_assert_double_le(found, number[i] + lossy[_i].most);
        ck_assert_double_ge(found, number[i] - lossy[_i].most);
    }
    zd_buf_unref(decoded);
    zd_buf_unref(encoded);
    zd_buf_unref(again);
    zd_chain_unref(chain);
}
END_TEST

static const struct {
    const char *codecs;
    const char *encoded;
    const char *text;
} damaged[] = {
    {"[{'name':'zfp','configuration':{'mode':'reversible'}}]", "", "ends too early"},
    {"[{'name':'zfp','configuration':{'mode':'reversible'}}]", ZARRS_STREAM "0000000000000000",
        "follow the end of the stream"},
    {"[{'name':'zfp','configuration':{'mode':'fixed_rate','rate':64}}]", ZARRS_STREAM,
        "ends too early"},
    {"[{'name':'numcodecs.zfpy','configuration':{'mode':5}}]", "", "zfp header"},
    {"[{'name':'numcodecs.zfpy','configuration':{'mode':5}}]", "7a", "zfp header"},
    {"[{'name':'numcodecs.zfpy','configuration':{'mode':5}}]", ZARRS_STREAM, "zfp header"},
    {"[{'name':'numcodecs.zfpy','configuration':{'mode':5}}]",
        "7a667005ffffffffffffffffffffffffffffffffffffffff", "zfp"},
};

START_TEST(zfp_refuses_damage)
{
    const struct zd_unit_chain what = {
        .codecs = damaged[_i].codecs, .dtype = "int64", .rank = 1, .shape = {20}};
    zd_unit_check_corrupt(&what, damaged[_i].encoded, damaged[_i].text);
}
END_TEST

static const struct {
    const char *name;
    const char *dtype;
    const char *configuration;
    uint32_t rank;
    const char *findings;
} judged[] = {
    {"zfp", "float32", "{'mode':'fixed_rate','rate':12.5}", 2, ""},
    {"zarrs.zfp", "float32", "{'mode':'reversible'}", 4, ""},
    {"zfp", "float32", "{'mode':'reversible'}", 5, "unsupported unsupported_codec /codecs/0"},
    {"zfp", "float16", "{'mode':'reversible'}", 1, "invalid wrong_type /codecs/0"},
    {"zfp", "bool", "{'mode':'reversible'}", 1, "invalid wrong_type /codecs/0"},
    {"zfp", "float32", "{'mode':'lossless'}", 1,
        "invalid out_of_range /codecs/0/configuration/mode"},
    {"zfp", "float32", "{}", 1, "invalid missing_member /codecs/0/configuration/mode"},
    {"zfp", "float32", "{'mode':'fixed_rate'}", 1,
        "invalid missing_member /codecs/0/configuration/rate"},
    {"zfp", "float32", "{'mode':'fixed_rate','rate':0}", 1,
        "invalid out_of_range /codecs/0/configuration/rate"},
    {"zfp", "float32", "{'mode':'fixed_rate','rate':1e300}", 1,
        "invalid out_of_range /codecs/0/configuration/rate"},
    {"zfp", "float32", "{'mode':'fixed_accuracy','tolerance':-1}", 1,
        "invalid out_of_range /codecs/0/configuration/tolerance"},
    {"zfp", "float32", "{'mode':'reversible','rate':1}", 1,
        "invalid unknown_member /codecs/0/configuration/rate"},
    {"zfp", "float32", "{'mode':'expert','minbits':41,'maxbits':40,'maxprec':8,'minexp':0}", 1,
        "invalid out_of_range /codecs/0/configuration/minbits"},
    {"zfp", "float32", "{'mode':'expert','minbits':0,'maxbits':40,'maxprec':65,'minexp':0}", 1,
        "invalid out_of_range /codecs/0/configuration/maxprec"},
    {"numcodecs.zfpy", "float32", "{}", 2, ""},
    {"numcodecs.zfpy", "uint32", "{}", 2, "invalid wrong_type /codecs/0"},
    {"numcodecs.zfpy", "float32", "{'mode':1}", 2,
        "invalid out_of_range /codecs/0/configuration/mode"},
    {"numcodecs.zfpy", "float32", "{'mode':2,'rate':129}", 2,
        "invalid out_of_range /codecs/0/configuration/rate"},
    {"numcodecs.zfpy", "float32", "{'x':2}", 2, "invalid unknown_member /codecs/0/configuration/x"},
};

START_TEST(zfp_judges_its_modes)
{
    ZD_SCOPED_TEXT(codecs, 300);
    zd_text_addf(
        &codecs, "[{'name':'%s','configuration':%s}]", judged[_i].name, judged[_i].configuration);
    const struct zd_unit_chain what = {.codecs = codecs.at,
        .dtype = judged[_i].dtype,
        .rank = judged[_i].rank,
        .shape = {2, 3, 4, 5, 6}};
    zd_unit_check_judged(&what, judged[_i].findings);
}
END_TEST

/* A block has 256 numbers, of which 4 would be used. */
START_TEST(zfp_refuses_chunks_that_streams_would_dwarf)
{
    struct zd_unit_chain what = {.codecs = "[{'name':'zfp','configuration':{'mode':'reversible'}}]",
        .dtype = "float64",
        .rank = 4,
        .shape = {1000000, 1, 1, 1}};
    zd_unit_check_judged(&what, "unsupported unsupported_codec /codecs/0");
    what.shape[3] = 1000000;
    what.shape[0] = 1;
    zd_unit_check_judged(&what, "unsupported unsupported_codec /codecs/0");
    what.shape[1] = 1000;
    what.shape[3] = 1000;
    zd_unit_check_judged(&what, "");
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, zfp_reads_and_writes_what_zarrs_wrote);
    tcase_add_loop_test(tests, zfp_reversible_gives_every_type_back, 0, ZD_COUNT_OF(types));
    tcase_add_loop_test(tests, zfpy_reversible_gives_its_types_back, 0, 4);
    tcase_add_loop_test(tests, zfp_loses_no_more_than_it_may, 0, ZD_COUNT_OF(lossy));
    tcase_add_loop_test(tests, zfp_refuses_damage, 0, ZD_COUNT_OF(damaged));
    tcase_add_loop_test(tests, zfp_judges_its_modes, 0, ZD_COUNT_OF(judged));
    tcase_add_test(tests, zfp_refuses_chunks_that_streams_would_dwarf);
}
