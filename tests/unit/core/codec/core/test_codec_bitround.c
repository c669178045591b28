/* The codec bitround. */
#include "tests/support/codec.h"

#define LITTLE "{'name':'bytes','configuration':{'endian':'little'}}"
#define CODECS "[{'name':'bitround','configuration':%s}," LITTLE "]"

/* Made by numcodecs 0.16.5 with NumPy 2.3.4: elements, what is stored, and what is read again where
 * that is not the same. */
static const struct {
    const char *configuration;
    const char *dtype;
    uint64_t n;
    const char *decoded;
    const char *encoded;
    const char *again;
} facts[] = {
    {"{'keepbits':3}", "float32", 4, "cdcc8c3f560e4940cdccccbdf9021550",
        "0000903f000050400000d0bd00001050", "0000903f000050400000d0bd00001050"},
    {"{'keepbits':3}", "float32", 4, "cdcc8c3fd00f4940cdccccbdf9021550",
        "0000903f000050400000d0bd00001050", "0000903f000050400000d0bd00001050"},
    {"{'keepbits':5}", "float16", 4, "663cff7b66ae0100", "603c007c60ae0000", "603c007c60ae0000"},
    {"{'keepbits':11}", "float64", 4,
        "9a9999999999f13f182d4454fb210940000000000000f07f2be6708b68120000",
        "00000000009af13f0000000000220940000000000000f07f0000000000120000",
        "00000000009af13f0000000000220940000000000000f07f0000000000120000"},
    {"{'keepbits':0}", "float32", 3, "0000c03f9a993940333333bf", "0000004000000040000000bf",
        "0000004000000040000000bf"},
    {"{'keepbits':23}", "float32", 2, "cdcc8c3f9a99993e", "cdcc8c3f9a99993e", NULL},
    {"{'keepbits':1}", "float32", 4, "52b8fe3f0000a03f0000e03f0000c07f",
        "000000400000803f000000400000c07f", "000000400000803f000000400000c07f"},
    {"{'keepbits':52}", "float64", 2, "9a9999999999f13f333333333333d33f",
        "9a9999999999f13f333333333333d33f", NULL},
    {"{'keepbits':10}", "float16", 2, "663ccd34", "663ccd34", NULL},
    {"{'keepbits':22}", "float32", 2, "cdcc8c3f9a99993e", "cccc8c3f9a99993e", "cccc8c3f9a99993e"},
    /* By the registry's rule for integers; numcodecs has none. */
    {"{'keepbits':3}", "int32", 5, "0b0000000d0000000f00000000000000fcffffff",
        "0c0000000c0000001000000000000000000000e0", "0c0000000c0000001000000000000000000000e0"},
    {"{'keepbits':4}", "uint8", 4, "ff888c07", "f0809007", "f0809007"},
    {"{'keepbits':1}", "uint64", 2, "ffffffffffffffff0300000000000000",
        "00000000000000800400000000000000", "00000000000000800400000000000000"},
    {"{'keepbits':0}", "int16", 2, "0300ffff", "04000080", "04000080"},
    {"{'keepbits':3}", "complex64", 2, "cdcc8c3fd00f4940cdccccbdf9021550",
        "0000903f000050400000d0bd00001050", "0000903f000050400000d0bd00001050"},
    /* No payload of a NaN becomes an infinity. */
    {"{'keepbits':3}", "float32", 2, "0100807f000080ff", "0100807f000080ff", NULL},
};

START_TEST(bitround_keeps_the_first_bits)
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

/* An array of float32 to be read; an array to be written is judged more strictly. */
static const struct {
    const char *configuration;
    const char *findings; /* or "": none */
} judged[] = {
    {"{'keepbits':3}", ""},
    {"{'keepbits':0}", ""},
    {"{'keepbits':40}", ""},
    {"{'keepbits':-1}", "invalid out_of_range /codecs/0/configuration/keepbits"},
    {"{'keepbits':65}", "invalid out_of_range /codecs/0/configuration/keepbits"},
    {"{'keepbits':1.5}", "invalid wrong_type /codecs/0/configuration/keepbits"},
    {"{}", "invalid missing_member /codecs/0/configuration/keepbits"},
    {"{'keepbits':3,'x':1}", "invalid unknown_member /codecs/0/configuration/x"},
};

START_TEST(bitround_judges_keepbits)
{
    ZD_SCOPED_TEXT(codecs, 300);
    zd_text_addf(&codecs, CODECS, judged[_i].configuration);
    const struct zd_unit_chain what = {
        .codecs = codecs.at, .dtype = "float32", .rank = 2, .shape = {3, 4}};
    zd_unit_check_judged(&what, judged[_i].findings);
}
END_TEST

static const struct {
    const char *dtype;
    const char *codecs;
    const char *findings;
} written[] = {
    {"float32", "[{'name':'bitround','configuration':{'keepbits':23}}," LITTLE "]", ""},
    {"float32", "[{'name':'numcodecs.bitround','configuration':{'keepbits':1}}," LITTLE "]", ""},
    {"float32", "[{'name':'bitround','configuration':{'keepbits':24}}," LITTLE "]",
        "invalid out_of_range /codecs/0/configuration/keepbits"},
    {"complex64", "[{'name':'bitround','configuration':{'keepbits':24}}," LITTLE "]",
        "invalid out_of_range /codecs/0/configuration/keepbits"},
    {"float32", "[{'name':'bitround','configuration':{'keepbits':0}}," LITTLE "]",
        "invalid out_of_range /codecs/0/configuration/keepbits"},
    {"int32", "[{'name':'bitround','configuration':{'keepbits':30}}," LITTLE "]", ""},
    {"bool", "[{'name':'bitround','configuration':{'keepbits':1}},'bytes']",
        "invalid wrong_type /codecs/0"},
    {"r16", "[{'name':'bitround','configuration':{'keepbits':1}},'bytes']",
        "invalid wrong_type /codecs/0"},
};

START_TEST(bitround_is_written_with_bits_that_there_are)
{
    const struct zd_unit_chain what = {.codecs = written[_i].codecs,
        .dtype = written[_i].dtype,
        .rank = 1,
        .shape = {4},
        .judgement = ZD_JUDGE_WRITE};
    zd_unit_check_judged(&what, written[_i].findings);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, bitround_keeps_the_first_bits, 0, ZD_COUNT_OF(facts));
    tcase_add_loop_test(tests, bitround_judges_keepbits, 0, ZD_COUNT_OF(judged));
    tcase_add_loop_test(
        tests, bitround_is_written_with_bits_that_there_are, 0, ZD_COUNT_OF(written));
}
