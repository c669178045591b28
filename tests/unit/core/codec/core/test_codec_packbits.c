/* The codec packbits of the registry. */
#include "tests/support/codec.h"

#define CODECS "[{'name':'packbits','configuration':%s}]"

/* Elements, their bits, and what those bits are when others were left out. */
static const struct {
    const char *configuration;
    const char *dtype;
    uint64_t n;
    const char *decoded;
    const char *encoded;
    const char *again;
} facts[] = {
    {"{}", "bool", 10, "01000101000000000101", "0d03", NULL},
    {"{'padding_encoding':'first_byte'}", "bool", 10, "01000101000000000101", "060d03", NULL},
    {"{'padding_encoding':'last_byte'}", "bool", 10, "01000101000000000101", "0d0306", NULL},
    {"{'padding_encoding':'first_byte','first_bit':null,'last_bit':null}", "bool", 8,
        "0101010101010101", "00ff", NULL},
    {"{'first_bit':0,'last_bit':11}", "int16", 5, "0100feffff0700f8b80b", "01e0ffff0780b80b",
        "0100feffff0700f8b8fb"},
    {"{'last_bit':3}", "uint8", 5, "010f10ff07", "f1f007", "010f000f07"},
    {"{'first_bit':11,'last_bit':20,'padding_encoding':'first_byte'}", "uint32", 4,
        "00080000ffffffff40e2010000001000", "0001fccf0380", "0008000000f81f0000e0010000001000"},
    {"{}", "int64", 4, "ffffffffffffffff000000000000004000000000000000800500000000000000",
        "ffffffffffffffff000000000000004000000000000000800500000000000000", NULL},
    {"{'first_bit':1}", "int64", 3, "feffffffffffffff02000000000000000000000000000040",
        "ffffffffffffffff00000000000000000000000000000008", NULL},
    {"{'last_bit':60}", "int64", 4,
        "feffffffffffffff020000000000000000000000000000200900000000000000",
        "feffffffffffff5f0000000000000000000000000000800400000000000000",
        "feffffffffffffff020000000000000000000000000000000900000000000000"},
    {"{'first_bit':63}", "uint64", 3, "00000000000000800100000000000000ffffffffffffffff", "05",
        "000000000000008000000000000000000000000000000080"},
    {"{'first_bit':3,'last_bit':3}", "int32", 3, "f8ffffff0700000008000000", "05",
        "f8ffffff00000000f8ffffff"},
    {"{}", "float32", 3, "0000c03f000000c00000c07f", "0000c03f000000c00000c07f", NULL},
    {"{'first_bit':5}", "float16", 2, "003e00c0", "f00130", NULL},
    {"{}", "complex64", 2, "0000803f0000004000000080000040c0", "0000803f0000004000000080000040c0",
        NULL},
    {"{'first_bit':20}", "complex128", 1, "000000000000f03f0000000000000040",
        "00000000ff030000000040", NULL},
};

START_TEST(packbits_packs_from_the_least_significant_bit)
{
    ZD_SCOPED_TEXT(codecs, 300);
    zd_text_addf(&codecs, CODECS, facts[_i].configuration);
    zd_unit_check_coding(&(struct zd_unit_coding){.codecs = codecs.at,
        .dtype = facts[_i].dtype,
        .rank = 1,
        .shape = {facts[_i].n},
        .decoded = facts[_i].decoded,
        .encoded = facts[_i].encoded,
        .again = facts[_i].again});
}
END_TEST

/* Damaged chunks of 10 booleans. */
static const struct {
    const char *padding;
    const char *encoded;
    const char *text;
} damaged[] = {
    {"none", "0d", "1 bytes decoded, 2 expected"},
    {"none", "0d0300", "3 bytes decoded, 2 expected"},
    {"none", "", "0 bytes decoded, 2 expected"},
    {"first_byte", "0d03", "2 bytes decoded, 3 expected"},
    {"first_byte", "050d03", "5 bits of padding, expected 6"},
    {"last_byte", "0d03ff", "255 bits of padding, expected 6"},
};

START_TEST(packbits_refuses_damage)
{
    ZD_SCOPED_TEXT(codecs, 300);
    zd_text_addf(&codecs, "[{'name':'packbits','configuration':{'padding_encoding':'%s'}}]",
        damaged[_i].padding);
    const struct zd_unit_chain what = {
        .codecs = codecs.at, .dtype = "bool", .rank = 2, .shape = {2, 5}};
    zd_unit_check_corrupt(&what, damaged[_i].encoded, damaged[_i].text);
}
END_TEST

static const struct {
    const char *dtype;
    const char *configuration;
    const char *findings;
} judged[] = {
    {"bool", "{}", ""},
    {"uint8", "{'first_bit':7,'last_bit':7,'padding_encoding':'none'}", ""},
    {"uint8", "{'first_bit':8}", "invalid out_of_range /codecs/0/configuration/first_bit"},
    {"uint8", "{'last_bit':8}", "invalid out_of_range /codecs/0/configuration/last_bit"},
    {"bool", "{'last_bit':1}", "invalid out_of_range /codecs/0/configuration/last_bit"},
    {"uint8", "{'first_bit':3,'last_bit':2}",
        "invalid out_of_range /codecs/0/configuration/last_bit"},
    {"uint8", "{'first_bit':-1}", "invalid out_of_range /codecs/0/configuration/first_bit"},
    {"uint8", "{'first_bit':'0'}", "invalid wrong_type /codecs/0/configuration/first_bit"},
    {"complex64", "{'last_bit':31}", ""},
    {"complex64", "{'last_bit':32}", "invalid out_of_range /codecs/0/configuration/last_bit"},
    {"uint8", "{'padding_encoding':'start_byte'}",
        "invalid out_of_range /codecs/0/configuration/padding_encoding"},
    {"uint8", "{'start_bit':0}",
        "invalid unknown_member /codecs/0/configuration/start_bit"}, /* the registry's schema */
    {"r16", "{}", "invalid wrong_type /codecs/0"},
};

START_TEST(packbits_wants_bits_that_there_are)
{
    ZD_SCOPED_TEXT(codecs, 300);
    zd_text_addf(&codecs, CODECS, judged[_i].configuration);
    const struct zd_unit_chain what = {
        .codecs = codecs.at, .dtype = judged[_i].dtype, .rank = 1, .shape = {3}};
    zd_unit_check_judged(&what, judged[_i].findings);
}
END_TEST

/* Types with a configuration: times are integers, text has no bits of its own. */
START_TEST(packbits_takes_times_and_no_text)
{
    struct zd_dtype type;
    struct zd_unit_chain what = {.codecs = "['packbits']", .type = &type, .rank = 1, .shape = {3}};
    ck_assert_int_eq(zd_dtype_of_ticks("numpy.timedelta64", ZD_DTYPE_SECONDS, 1, &type), ZD_OK);
    zd_unit_check_judged(&what, "");
    ck_assert_int_eq(zd_dtype_of_bytes("fixed_length_utf32", 4, &type), ZD_OK);
    zd_unit_check_judged(&what, "invalid wrong_type /codecs/0");
    ck_assert_int_eq(zd_dtype_of_bytes("fixed_length_utf32", 400, &type), ZD_OK);
    zd_unit_check_judged(&what, "invalid wrong_type /codecs/0");
    ck_assert_int_eq(zd_dtype_of_bytes("raw_bytes", 4, &type), ZD_OK);
    zd_unit_check_judged(&what, "invalid wrong_type /codecs/0");
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(
        tests, packbits_packs_from_the_least_significant_bit, 0, ZD_COUNT_OF(facts));
    tcase_add_test(tests, packbits_takes_times_and_no_text);
    tcase_add_loop_test(tests, packbits_refuses_damage, 0, ZD_COUNT_OF(damaged));
    tcase_add_loop_test(tests, packbits_wants_bits_that_there_are, 0, ZD_COUNT_OF(judged));
}
