/* The codec conditional: a chunk says which codecs were applied; the registry's text. */
#include <string.h>

#include "tests/support/codec.h"

#define OF(codecs) "['bytes',{'name':'conditional','configuration':{'codecs':[" codecs "]}}]"
#define BITS(codecs, bits)                                                                         \
    "['bytes',{'name':'conditional','configuration':{'codecs':[" codecs "],'header_bits':" bits    \
    "}}]"
#define CRC    "'numcodecs.crc32'"
#define ZLIB   "{'name':'numcodecs.zlib','configuration':{'level':1}}"
#define INNER  "{'name':'conditional','configuration':{'codecs':[" CRC "]}}"
#define CRC_9  CRC "," CRC "," CRC "," CRC "," CRC "," CRC "," CRC "," CRC "," CRC
#define AS     "616161616161616161616161616161616161616161616161" /* 24 times "a" */
#define PACKED "78014b4cc40e0071c40919"

static const struct zd_unit_stored rows[] = {
    {OF(CRC), 3, "00616263", "616263", NULL},
    {OF(CRC), 3, "01c2412435616263", "616263", NULL},
    {OF(CRC), 3, "01c2412435616264", NULL, "crc32"},
    {OF(ZLIB), 24, "00" AS, AS, NULL},
    {OF(ZLIB), 24, "01" PACKED, AS, NULL},
    {OF(ZLIB), 24, "00" PACKED, NULL, "conditional: 11 bytes decoded, 24 expected"},
    {OF(CRC "," ZLIB), 24, "02" PACKED, AS, NULL}, /* the second one alone */
    {BITS(CRC, "16"), 3, "0000616263", "616263", NULL},
    {BITS(CRC, "16"), 3, "0100c2412435616263", "616263", NULL},
    {BITS(CRC, "16"), 3, "0001616263", NULL, "applies codec 8, but the number of codecs is 1"},
    {OF(CRC), 3, "02616263", NULL, "applies codec 1, but the number of codecs is 1"},
    {OF(CRC_9), 3, "0000616263", "616263", NULL},
    {OF(CRC_9), 3, "0001c2412435616263", "616263", NULL},
    {OF(CRC_9), 3, "0002c2412435616263", NULL, "applies codec 9, but the number of codecs is 9"},
    {OF(CRC_9), 3, "00", NULL, "1 bytes, fewer than its header of 2"},
    {OF(CRC), 3, "", NULL, "0 bytes, fewer than its header of 1"},
    {OF(CRC), 3, "006162", NULL, "2 bytes decoded, 3 expected"},
    {OF(CRC), 3, "0061626364", NULL, "4 bytes decoded, 3 expected"},
    {OF(""), 3, "616263", "616263", NULL},
    {OF(INNER), 3, "0101c2412435616263", "616263", NULL},
};

START_TEST(conditional_decodes_what_the_header_says)
{
    zd_unit_check_stored(&rows[_i]);
}
END_TEST

static const char *const chains[] = {
    OF(CRC), OF(ZLIB), OF(CRC "," ZLIB), OF(CRC_9), OF(INNER), OF(""), BITS(ZLIB, "80")};

START_TEST(conditional_decodes_what_it_encodes)
{
    for (uint64_t n = 1; n < 40; n++) {
        zd_unit_check_round_trip(chains[_i], n);
    }
    zd_unit_check_round_trip(chains[_i], 100000);
    zd_unit_check_damage(chains[_i], 300, false);
}
END_TEST

/* The stored form of a chunk by each chain: the first byte is the header. */
static const struct {
    const char *codecs;
    uint64_t n;
    const char *decoded;
    uint8_t header;
} applied[] = {
    {OF("'numcodecs.lz4'"), 24, AS, 1},
    {OF(ZLIB), 3, "616263", 0}, /* would be longer */
    {OF(CRC), 3, "616263", 1},  /* always is longer */
    {OF("'numcodecs.shuffle'," ZLIB), 4, "61626364", 1},
};

START_TEST(conditional_leaves_out_a_compressor_that_gains_nothing)
{
    struct zd_chain *chain = zd_unit_byte_chain(applied[_i].codecs, applied[_i].n);
    struct zd_buf *elements = zd_unit_hex(applied[_i].decoded);
    struct zd_buf *encoded = NULL;
    ck_assert_int_eq(zd_chain_encode(chain, elements, &encoded, NULL), ZD_OK);
    ck_assert_uint_eq(encoded->data[0], applied[_i].header);
    zd_buf_unref(encoded);
    zd_buf_unref(elements);
    zd_chain_unref(chain);
}
END_TEST

#define AT "/codecs/1/configuration"

static const struct {
    const char *codecs;
    const char *findings;
} judged[] = {
    {OF(CRC), ""},
    {BITS(CRC, "8"), ""},
    {BITS(CRC, "65536"), ""},
    {BITS(CRC, "0"), "invalid out_of_range " AT "/header_bits"},
    {BITS(CRC, "12"), "invalid out_of_range " AT "/header_bits"},
    {BITS(CRC_9, "8"), "invalid out_of_range " AT "/header_bits"},
    {BITS(CRC, "65544"), "invalid out_of_range " AT "/header_bits"},
    {BITS(CRC, "-8"), "invalid out_of_range " AT "/header_bits"},
    {BITS(CRC, "'8'"), "invalid wrong_type " AT "/header_bits"},
    {OF("'bytes'"), "invalid codec_order " AT "/codecs/0"},
    {OF("'no.such'"), "unsupported unsupported_codec " AT "/codecs/0"},
    {OF("'numcodecs.pickle'"), "unsupported unsupported_codec " AT "/codecs/0"},
    {OF("{'name':'gzip','configuration':{'level':10}}"),
        "invalid out_of_range " AT "/codecs/0/configuration/level"},
    {OF("5"), "invalid wrong_type " AT "/codecs/0"},
    {OF(CRC_9 "," CRC_9 "," CRC_9 "," CRC_9), "invalid out_of_range " AT "/codecs"},
    {"['bytes','conditional']", "invalid missing_member " AT "/codecs"},
    {"['bytes',{'name':'conditional','configuration':{'codecs':{}}}]",
        "invalid wrong_type " AT "/codecs"},
    {"['bytes',{'name':'conditional','configuration':{'codecs':[],'x':1}}]",
        "invalid unknown_member " AT "/x"},
};

START_TEST(conditional_judges_its_configuration)
{
    const struct zd_unit_chain what = {
        .codecs = judged[_i].codecs, .dtype = "uint8", .rank = 1, .shape = {3}};
    zd_unit_check_judged(&what, judged[_i].findings);
}
END_TEST

START_TEST(conditional_does_not_nest_for_ever)
{
    const struct zd_unit_chain what = {
        .codecs = OF(CRC), .dtype = "uint8", .rank = 1, .shape = {3}, .depth = ZD_CODEC_DEPTH_MAX};
    zd_unit_check_judged(&what, "unsupported unsupported_codec /codecs/1");
}
END_TEST

START_TEST(conditional_has_no_fixed_size)
{
    const struct zd_unit_chain what = {
        .codecs = OF(CRC), .dtype = "uint8", .rank = 1, .shape = {3}, .fixed = true};
    zd_unit_check_judged(&what, "invalid variable_size /codecs/1");
}
END_TEST

START_TEST(conditional_gives_its_configuration_as_it_was)
{
    struct zd_chain *chain = zd_unit_byte_chain(BITS(CRC "," ZLIB, "16"), 3);
    ZD_AUTO(zd_json) found = zd_chain_json(chain);
    ZD_AUTO(zd_json) expected = zd_unit_json(BITS(CRC "," ZLIB, "16"));
    ck_assert(zd_json_equal(zd_json_element(found, 1), zd_json_element(expected, 1)));
    zd_chain_unref(chain);
}
END_TEST

struct work {
    struct zd_json *codecs;
    struct zd_buf *elements;
};

static enum zd_status work(void *context)
{
    const struct work *work = context;
    struct zd_faults faults = {0};
    ZD_AUTO(zd_chain) chain = NULL;
    const struct zd_unit_chain what = {
        .parsed = work->codecs, .dtype = "uint8", .rank = 1, .shape = {24}};
    const enum zd_status status = zd_unit_chain_open(&what, &chain, &faults);
    zd_faults_done(&faults);
    ZD_TRY(status);
    ZD_AUTO(zd_buf) encoded = NULL;
    ZD_AUTO(zd_buf) again = NULL;
    ZD_TRY(zd_chain_encode(chain, work->elements, &encoded, NULL));
    return zd_chain_decode(chain, encoded, &again, NULL);
}

START_TEST(conditional_says_when_memory_is_short)
{
    struct work context = {.codecs = zd_unit_json(OF(CRC "," ZLIB)), .elements = zd_unit_hex(AS)};
    zd_unit_with_failing_memory(work, &context);
    zd_buf_unref(context.elements);
    zd_json_unref(context.codecs);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, conditional_decodes_what_the_header_says, 0, ZD_COUNT_OF(rows));
    tcase_add_loop_test(tests, conditional_decodes_what_it_encodes, 0, ZD_COUNT_OF(chains));
    tcase_add_loop_test(
        tests, conditional_leaves_out_a_compressor_that_gains_nothing, 0, ZD_COUNT_OF(applied));
    tcase_add_loop_test(tests, conditional_judges_its_configuration, 0, ZD_COUNT_OF(judged));
    tcase_add_test(tests, conditional_does_not_nest_for_ever);
    tcase_add_test(tests, conditional_has_no_fixed_size);
    tcase_add_test(tests, conditional_gives_its_configuration_as_it_was);
    tcase_add_test(tests, conditional_says_when_memory_is_short);
}
