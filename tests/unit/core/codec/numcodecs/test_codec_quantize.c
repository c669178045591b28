/* The codec quantize of numcodecs. */
#include "tests/support/codec.h"

#define LITTLE "{'name':'bytes','configuration':{'endian':'little'}}"
#define CODECS "[{'name':'numcodecs.quantize','configuration':%s}," LITTLE "]"

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
    {"{'digits':1,'dtype':'<f8'}", "float64", 3, "295c8fc2f528bc3f48e17a14ae47d13f1d5a643bdf4fd5bf",
        "000000000000c03f000000000000d03f000000000000d4bf",
        "000000000000c03f000000000000d03f000000000000d4bf"},
    {"{'digits':2,'dtype':'<f4'}", "float32", 3, "ae47e13d713d8a3efa7eaabe",
        "0000e03d00008c3e0000acbe", "0000e03d00008c3e0000acbe"},
    {"{'digits':2,'dtype':'<f8','astype':'<f4'}", "float64", 3,
        "295c8fc2f528bc3f48e17a14ae47d13f1d5a643bdf4fd5bf", "0000e03d00008c3e0000acbe",
        "000000000000bc3f000000000080d13f000000000080d5bf"},
    {"{'digits':3,'dtype':'<f2'}", "float16", 3, "0a2f523454b5", "102f503454b5", "102f503454b5"},
    {"{'digits':0,'dtype':'<f8'}", "float64", 3, "000000000000e03f000000000000f83f00000000000004c0",
        "0000000000000000000000000000004000000000000000c0",
        "0000000000000000000000000000004000000000000000c0"},
    {"{'digits':-2,'dtype':'<f8'}", "float64", 3,
        "0000000000c062400000000000406f4000000000801cc840",
        "00000000000060400000000000007040000000000020c840",
        "00000000000060400000000000007040000000000020c840"},
    {"{'digits':5,'dtype':'<f4','astype':'<f8'}", "float32", 3, "caf249710000c07fdb0f4940",
        "00000040593e2946000000000000f87f00000000fc210940", "caf249710000c07fe00f4940"},
    {"{'digits':10,'dtype':'<f8','astype':'<f2'}", "float64", 3,
        "95d626e80b2e113e000000000017f140000000000000f07f", "0000007c007c",
        "0000000000000000000000000000f07f000000000000f07f"},
    {"{'digits':7,'dtype':'<f2'}", "float16", 3, "003c40561994", "00fe00fe00fe", "00fe00fe00fe"},
};

START_TEST(quantize_rounds_as_numpy)
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

/* Configurations for an array of float32. */
static const struct {
    const char *configuration;
    const char *findings; /* or "": none */
} judged[] = {
    {"{'digits':2,'dtype':'<f4'}", ""},
    {"{'digits':-300,'dtype':'float32','astype':'>f2'}", ""},
    {"{'digits':301,'dtype':'<f4'}", "invalid out_of_range /codecs/0/configuration/digits"},
    {"{'digits':1.5,'dtype':'<f4'}", "invalid wrong_type /codecs/0/configuration/digits"},
    {"{'digits':2,'dtype':'<f8'}", "invalid out_of_range /codecs/0/configuration/dtype"},
    {"{'digits':2,'dtype':'<f4','astype':'<i4'}",
        "invalid out_of_range /codecs/0/configuration/astype"},
    {"{}", "invalid missing_member /codecs/0/configuration/digits; invalid missing_member "
           "/codecs/0/configuration/dtype"},
    {"{'digits':2,'dtype':'<f4','x':1}", "invalid unknown_member /codecs/0/configuration/x"},
};

START_TEST(quantize_wants_floating_point_numbers)
{
    ZD_SCOPED_TEXT(codecs, 300);
    zd_text_addf(&codecs, CODECS, judged[_i].configuration);
    const struct zd_unit_chain what = {
        .codecs = codecs.at, .dtype = "float32", .rank = 2, .shape = {3, 4}};
    zd_unit_check_judged(&what, judged[_i].findings);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, quantize_rounds_as_numpy, 0, ZD_COUNT_OF(facts));
    tcase_add_loop_test(tests, quantize_wants_floating_point_numbers, 0, ZD_COUNT_OF(judged));
}
