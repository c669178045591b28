/* The codec astype of numcodecs. */
#include "tests/support/codec.h"

#define LITTLE "{'name':'bytes','configuration':{'endian':'little'}}"
#define CODECS "[{'name':'numcodecs.astype','configuration':%s}," LITTLE "]"

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
    {"{'encode_dtype':'<i2','decode_dtype':'<i4'}", "int32", 4, "01000000feffffff70110100409c0000",
        "0100feff7011409c", "01000000feffffff70110000409cffff"},
    {"{'encode_dtype':'<f4','decode_dtype':'<f8'}", "float64", 4,
        "9a9999999999b93f9c7500883ce4377e000000000000f0ff000000000000f87f",
        "cdcccc3d0000807f000080ff0000c07f",
        "000000a09999b93f000000000000f07f000000000000f0ff000000000000f87f"},
    {"{'encode_dtype':'|i1','decode_dtype':'<f8'}", "float64", 4,
        "666666666666fe3f666666666666febf0000000000c05f4000000000000060c0", "01ff7f80",
        "000000000000f03f000000000000f0bf0000000000c05f4000000000000060c0"},
    {"{'encode_dtype':'<f8','decode_dtype':'<i8'}", "int64", 3,
        "010000000000200001000000000000c00500000000000000",
        "0000000000004043000000000000d0c30000000000001440",
        "000000000000200000000000000000c00500000000000000"},
    {"{'encode_dtype':'<f4','decode_dtype':'<i8'}", "int64", 3,
        "0100010000010000f9ffffffffffffff0500000000000000", "010080530000e0c00000a040",
        "0000020000010000f9ffffffffffffff0500000000000000"},
    {"{'encode_dtype':'<f4','decode_dtype':'<u8'}", "uint64", 2, "ffffffffffffffff0100010000010000",
        "0000805f01008053", "00000000000000000000020000010000"},
    {"{'encode_dtype':'<f2','decode_dtype':'<i8'}", "int64", 3,
        "0108000000000000efff000000000000f0ff000000000000", "0068ff7b007c",
        "0008000000000000e0ff0000000000000000000000000080"},
    {"{'encode_dtype':'|b1','decode_dtype':'<i4'}", "int32", 3, "0000000000010000ffffffff",
        "000101", "000000000100000001000000"},
    {"{'encode_dtype':'|b1','decode_dtype':'<f4'}", "float32", 3, "00000000cdcccc3d0000c07f",
        "000101", "000000000000803f0000803f"},
    {"{'encode_dtype':'|u1','decode_dtype':'|b1'}", "bool", 3, "000101", "000101", NULL},
    {"{'encode_dtype':'<f4','decode_dtype':'|b1'}", "bool", 3, "000101", "000000000000803f0000803f",
        NULL},
    {"{'encode_dtype':'<u8','decode_dtype':'<i4'}", "int32", 2, "ffffffff05000000",
        "ffffffffffffffff0500000000000000", NULL},
    {"{'encode_dtype':'<i8','decode_dtype':'|u1'}", "uint8", 2, "ff00",
        "ff000000000000000000000000000000", NULL},
    {"{'encode_dtype':'<f2','decode_dtype':'<f8'}", "float64", 4,
        "555555555555d53fcdccccccfcfdef400000000000feef40295c8fc2f528603e", "5535ff7b007c0100",
        "000000000054d53f0000000000fcef40000000000000f07f000000000000703e"},
    {"{'encode_dtype':'<i8','decode_dtype':'<f4'}", "float32", 2, "f9021550000020c0",
        "00e40b5402000000feffffffffffffff", "f9021550000000c0"},
    {"{'encode_dtype':'<u2','decode_dtype':'<f4'}", "float32", 2, "e6ff7f4700000000", "ffff0000",
        "00ff7f4700000000"},
    {"{'encode_dtype':'<u4','decode_dtype':'<f8'}", "float64", 2,
        "0000f0ffffffef41000000000000e041", "ffffffff00000080", "0000e0ffffffef41000000000000e041"},
    {"{'encode_dtype':'<u8','decode_dtype':'<f8'}", "float64", 2,
        "000000000000e04300a138149b39ef43", "0000000000000080000008c5a1d8ccf9", NULL},
    {"{'encode_dtype':'<i4','decode_dtype':'<f2'}", "float16", 2, "003e53fb", "01000000a015ffff",
        "003c53fb"},
};

START_TEST(astype_casts_as_numpy)
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
    {"{'encode_dtype':'<i2','decode_dtype':'<f4'}", ""},
    {"{'encode_dtype':'>i8','decode_dtype':'float32'}", ""},
    {"{'encode_dtype':'|b1','decode_dtype':'<f4'}", ""},
    {"{'encode_dtype':'<i2','decode_dtype':'<i4'}",
        "invalid out_of_range /codecs/0/configuration/decode_dtype"},
    {"{'encode_dtype':'<c8','decode_dtype':'<f4'}",
        "invalid out_of_range /codecs/0/configuration/encode_dtype"},
    {"{'encode_dtype':'|V4','decode_dtype':'<f4'}",
        "invalid out_of_range /codecs/0/configuration/encode_dtype"},
    {"{'encode_dtype':4}", "invalid wrong_type /codecs/0/configuration/encode_dtype; invalid "
                           "missing_member /codecs/0/configuration/decode_dtype"},
    {"{'encode_dtype':'<i2','decode_dtype':'<f4','dtype':'<f4'}",
        "invalid unknown_member /codecs/0/configuration/dtype"},
};

START_TEST(astype_wants_real_numbers)
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
    tcase_add_loop_test(tests, astype_casts_as_numpy, 0, ZD_COUNT_OF(facts));
    tcase_add_loop_test(tests, astype_wants_real_numbers, 0, ZD_COUNT_OF(judged));
}
