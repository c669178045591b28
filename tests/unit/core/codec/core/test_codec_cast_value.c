/* The codec cast_value. */
#include <string.h>

#include "tests/support/codec.h"

#define LITTLE "{'name':'bytes','configuration':{'endian':'little'}}"
#define CODECS "[{'name':'cast_value','configuration':%s}," LITTLE "]"

/* Elements, what is stored, and what is read again where that is not the same: computed with exact
 * fractions. */
static const struct {
    const char *configuration;
    const char *dtype;
    uint64_t n;
    const char *decoded;
    const char *encoded;
    const char *again;
} facts[] = {
    {"{'data_type':'int8'}", "float64", 8,
        "000000000000e03f000000000000f83f000000000000e0bf000000000000f8bf3333333333330340cdcccccccc"
        "cc04c00000000000c05f4000000000000060c0",
        "000200fe02fd7f80",
        "00000000000000000000000000000040000000000000000000000000000000c000000000000000400000000000"
        "0008c00000000000c05f4000000000000060c0"},
    {"{'data_type':'float32'}", "float64", 10,
        "9a9999999999b93f9a9999999999b9bf000000100000f03f000000300000f03f000000100000f0bf61552c24ce"
        "4462361180423635677bb60000000000000080000000000000f87f000000000000f07f",
        "cdcccc3dcdccccbd0000803f0200803f000080bf0000000000000080000000800000c07f0000807f",
        "000000a09999b93f000000a09999b9bf000000000000f03f000000400000f03f000000000000f0bf0000000000"
        "00000000000000000000800000000000000080000000000000f87f000000000000f07f"},
    {"{'data_type':'float16','out_of_range':'clamp'}", "float64", 9,
        "9a9999999999b93f9a9999999999b9bf000000000002a040000000000006a040000000000002a0c00000000000"
        "00603e00000000000078be0000000000fcef40000000000000f07f",
        "662e66ae0068026800e800000280ff7b007c",
        "000000000098b93f000000000098b9bf000000000000a040000000000008a040000000000000a0c00000000000"
        "00000000000000000080be0000000000fcef40000000000000f07f"},
    {"{'data_type':'float64'}", "int64", 4,
        "0100000000002000ffffffffffffdfff03000000000020000101000000000040",
        "000000000000404300000000000040c30200000000004043000000000000d043",
        "0000000000002000000000000000e0ff04000000000020000000000000000040"},
    {"{'data_type':'float32'}", "int64", 4,
        "0100000100000000fdfffffeffffffff00000100000100000500000000000000",
        "0000804b020080cb000080530000a040",
        "0000000100000000fcfffffeffffffff00000000000100000500000000000000"},
    {"{'data_type':'float32'}", "uint64", 3, "01000001000000000000000000feffff0100010000010000",
        "0000804bfeff7f5f01008053", "00000001000000000000000000feffff0000020000010000"},
    {"{'data_type':'int8','rounding':'towards-zero'}", "float64", 8,
        "000000000000e03f000000000000f83f000000000000e0bf000000000000f8bf3333333333330340cdcccccccc"
        "cc04c00000000000c05f4000000000000060c0",
        "000100ff02fe7f80",
        "0000000000000000000000000000f03f0000000000000000000000000000f0bf00000000000000400000000000"
        "0000c00000000000c05f4000000000000060c0"},
    {"{'data_type':'float32','rounding':'towards-zero'}", "float64", 10,
        "9a9999999999b93f9a9999999999b9bf000000100000f03f000000300000f03f000000100000f0bf61552c24ce"
        "4462361180423635677bb60000000000000080000000000000f87f000000000000f07f",
        "cccccc3dccccccbd0000803f0100803f000080bf0000000000000080000000800000c07f0000807f",
        "000000809999b93f000000809999b9bf000000000000f03f000000200000f03f000000000000f0bf0000000000"
        "00000000000000000000800000000000000080000000000000f87f000000000000f07f"},
    {"{'data_type':'float16','rounding':'towards-zero','out_of_range':'clamp'}", "float64", 9,
        "9a9999999999b93f9a9999999999b9bf000000000002a040000000000006a040000000000002a0c00000000000"
        "00603e00000000000078be0000000000fcef40000000000000f07f",
        "662e66ae0068016800e800000180ff7b007c",
        "000000000098b93f000000000098b9bf000000000000a040000000000004a040000000000000a0c00000000000"
        "00000000000000000070be0000000000fcef40000000000000f07f"},
    {"{'data_type':'float64','rounding':'towards-zero'}", "int64", 4,
        "0100000000002000ffffffffffffdfff03000000000020000101000000000040",
        "000000000000404300000000000040c30100000000004043000000000000d043",
        "0000000000002000000000000000e0ff02000000000020000000000000000040"},
    {"{'data_type':'float32','rounding':'towards-zero'}", "int64", 4,
        "0100000100000000fdfffffeffffffff00000100000100000500000000000000",
        "0000804b010080cb000080530000a040",
        "0000000100000000fefffffeffffffff00000000000100000500000000000000"},
    {"{'data_type':'float32','rounding':'towards-zero'}", "uint64", 3,
        "01000001000000000000000000feffff0100010000010000", "0000804bfeff7f5f00008053",
        "00000001000000000000000000feffff0000000000010000"},
    {"{'data_type':'int8','rounding':'towards-positive'}", "float64", 8,
        "000000000000e03f000000000000f83f000000000000e0bf000000000000f8bf3333333333330340cdcccccccc"
        "cc04c00000000000c05f4000000000000060c0",
        "010200ff03fe7f80",
        "000000000000f03f00000000000000400000000000000000000000000000f0bf00000000000008400000000000"
        "0000c00000000000c05f4000000000000060c0"},
    {"{'data_type':'float32','rounding':'towards-positive'}", "float64", 10,
        "9a9999999999b93f9a9999999999b9bf000000100000f03f000000300000f03f000000100000f0bf61552c24ce"
        "4462361180423635677bb60000000000000080000000000000f87f000000000000f07f",
        "cdcccc3dccccccbd0100803f0200803f000080bf0100000000000080000000800000c07f0000807f",
        "000000a09999b93f000000809999b9bf000000200000f03f000000400000f03f000000000000f0bf0000000000"
        "00a03600000000000000800000000000000080000000000000f87f000000000000f07f"},
    {"{'data_type':'float16','rounding':'towards-positive','out_of_range':'clamp'}", "float64", 9,
        "9a9999999999b93f9a9999999999b9bf000000000002a040000000000006a040000000000002a0c00000000000"
        "00603e00000000000078be0000000000fcef40000000000000f07f",
        "672e66ae0168026800e801000180ff7b007c",
        "00000000009cb93f000000000098b9bf000000000004a040000000000008a040000000000000a0c00000000000"
        "00703e00000000000070be0000000000fcef40000000000000f07f"},
    {"{'data_type':'float64','rounding':'towards-positive'}", "int64", 4,
        "0100000000002000ffffffffffffdfff03000000000020000101000000000040",
        "010000000000404300000000000040c30200000000004043010000000000d043",
        "0200000000002000000000000000e0ff04000000000020000004000000000040"},
    {"{'data_type':'float32','rounding':'towards-positive'}", "int64", 4,
        "0100000100000000fdfffffeffffffff00000100000100000500000000000000",
        "0100804b010080cb010080530000a040",
        "0200000100000000fefffffeffffffff00000200000100000500000000000000"},
    {"{'data_type':'float32','rounding':'towards-positive'}", "uint64", 3,
        "01000001000000000000000000feffff0100010000010000", "0100804bfeff7f5f01008053",
        "02000001000000000000000000feffff0000020000010000"},
    {"{'data_type':'int8','rounding':'towards-negative'}", "float64", 8,
        "000000000000e03f000000000000f83f000000000000e0bf000000000000f8bf3333333333330340cdcccccccc"
        "cc04c00000000000c05f4000000000000060c0",
        "0001fffe02fd7f80",
        "0000000000000000000000000000f03f000000000000f0bf00000000000000c000000000000000400000000000"
        "0008c00000000000c05f4000000000000060c0"},
    {"{'data_type':'float32','rounding':'towards-negative'}", "float64", 10,
        "9a9999999999b93f9a9999999999b9bf000000100000f03f000000300000f03f000000100000f0bf61552c24ce"
        "4462361180423635677bb60000000000000080000000000000f87f000000000000f07f",
        "cccccc3dcdccccbd0000803f0100803f010080bf0000000001000080000000800000c07f0000807f",
        "000000809999b93f000000a09999b9bf000000000000f03f000000200000f03f000000200000f0bf0000000000"
        "000000000000000000a0b60000000000000080000000000000f87f000000000000f07f"},
    {"{'data_type':'float16','rounding':'towards-negative','out_of_range':'clamp'}", "float64", 9,
        "9a9999999999b93f9a9999999999b9bf000000000002a040000000000006a040000000000002a0c00000000000"
        "00603e00000000000078be0000000000fcef40000000000000f07f",
        "662e67ae0068016801e800000280ff7b007c",
        "000000000098b93f00000000009cb9bf000000000000a040000000000004a040000000000004a0c00000000000"
        "00000000000000000080be0000000000fcef40000000000000f07f"},
    {"{'data_type':'float64','rounding':'towards-negative'}", "int64", 4,
        "0100000000002000ffffffffffffdfff03000000000020000101000000000040",
        "000000000000404301000000000040c30100000000004043000000000000d043",
        "0000000000002000feffffffffffdfff02000000000020000000000000000040"},
    {"{'data_type':'float32','rounding':'towards-negative'}", "int64", 4,
        "0100000100000000fdfffffeffffffff00000100000100000500000000000000",
        "0000804b020080cb000080530000a040",
        "0000000100000000fcfffffeffffffff00000000000100000500000000000000"},
    {"{'data_type':'float32','rounding':'towards-negative'}", "uint64", 3,
        "01000001000000000000000000feffff0100010000010000", "0000804bfeff7f5f00008053",
        "00000001000000000000000000feffff0000000000010000"},
    {"{'data_type':'int8','rounding':'nearest-away'}", "float64", 8,
        "000000000000e03f000000000000f83f000000000000e0bf000000000000f8bf3333333333330340cdcccccccc"
        "cc04c00000000000c05f4000000000000060c0",
        "0102fffe02fd7f80",
        "000000000000f03f0000000000000040000000000000f0bf00000000000000c000000000000000400000000000"
        "0008c00000000000c05f4000000000000060c0"},
    {"{'data_type':'float32','rounding':'nearest-away'}", "float64", 10,
        "9a9999999999b93f9a9999999999b9bf000000100000f03f000000300000f03f000000100000f0bf61552c24ce"
        "4462361180423635677bb60000000000000080000000000000f87f000000000000f07f",
        "cdcccc3dcdccccbd0100803f0200803f010080bf0000000000000080000000800000c07f0000807f",
        "000000a09999b93f000000a09999b9bf000000200000f03f000000400000f03f000000200000f0bf0000000000"
        "00000000000000000000800000000000000080000000000000f87f000000000000f07f"},
    {"{'data_type':'float16','rounding':'nearest-away','out_of_range':'clamp'}", "float64", 9,
        "9a9999999999b93f9a9999999999b9bf000000000002a040000000000006a040000000000002a0c00000000000"
        "00603e00000000000078be0000000000fcef40000000000000f07f",
        "662e66ae0168026801e801000280ff7b007c",
        "000000000098b93f000000000098b9bf000000000004a040000000000008a040000000000004a0c00000000000"
        "00703e00000000000080be0000000000fcef40000000000000f07f"},
    {"{'data_type':'float64','rounding':'nearest-away'}", "int64", 4,
        "0100000000002000ffffffffffffdfff03000000000020000101000000000040",
        "010000000000404301000000000040c30200000000004043000000000000d043",
        "0200000000002000feffffffffffdfff04000000000020000000000000000040"},
    {"{'data_type':'float32','rounding':'nearest-away'}", "int64", 4,
        "0100000100000000fdfffffeffffffff00000100000100000500000000000000",
        "0100804b020080cb010080530000a040",
        "0200000100000000fcfffffeffffffff00000200000100000500000000000000"},
    {"{'data_type':'float32','rounding':'nearest-away'}", "uint64", 3,
        "01000001000000000000000000feffff0100010000010000", "0100804bfeff7f5f01008053",
        "02000001000000000000000000feffff0000020000010000"},
    {"{'data_type':'int8','out_of_range':'clamp'}", "float64", 4,
        "000000000000604000000000002060c09c7500883ce4377e9c7500883ce437fe", "7f807f80",
        "0000000000c05f4000000000000060c00000000000c05f4000000000000060c0"},
    {"{'data_type':'int8','out_of_range':'wrap'}", "float64", 5,
        "000000000000604000000000002060c00000000000c872409c7500883ce437fe003d9160e458e143",
        "807f2c0000",
        "00000000000060c00000000000c05f40000000000000464000000000000000000000000000000000"},
    {"{'data_type':'uint32','out_of_range':'wrap'}", "float64", 3,
        "000000000000f041000000000000f0bf000000000000f043", "00000000ffffffff00000000",
        "00000000000000000000e0ffffffef410000000000000000"},
    {"{'data_type':'uint64','out_of_range':'clamp'}", "float64", 4,
        "000000000000f043000000000000f0bfea8ca039593e2946000000000000e043",
        "ffffffffffffffff0000000000000000ffffffffffffffff0000000000000080",
        "000000000000f0430000000000000000000000000000f043000000000000e043"},
    {"{'data_type':'uint64'}", "float64", 3, "000000000000e043ffffffffffffef430000000000000000",
        "000000000000008000f8ffffffffffff0000000000000000", NULL},
    {"{'data_type':'int64'}", "float64", 2, "000000000000e0c3ffffffffffffdf43",
        "000000000000008000fcffffffffff7f", NULL},
    {"{'data_type':'float32','out_of_range':'clamp'}", "float64", 5,
        "1d4a9cf4878207481d4a9cf4878207c8000000f0ffffef477bcdd3c4f874f047000000000000f87f",
        "0000807f000080ff0000807f0000807f0000c07f",
        "000000000000f07f000000000000f0ff000000000000f07f000000000000f07f000000000000f87f"},
    {"{'data_type':'float16','out_of_range':'clamp'}", "float64", 4,
        "cdccccccfcfdef400000000000feef40000000000000f0c09c7500883ce4377e", "ff7b007c00fc007c",
        "0000000000fcef40000000000000f07f000000000000f0ff000000000000f07f"},
    {"{'data_type':'float16','rounding':'towards-zero'}", "float64", 3,
        "cdccccccfcfdef40cdccccccfcffef40cdccccccfcffefc0", "ff7bff7bfffb",
        "0000000000fcef400000000000fcef400000000000fcefc0"},
    {"{'data_type':'float16','rounding':'towards-positive','out_of_range':'clamp'}", "float64", 3,
        "cdccccccfcffef40cdccccccfcffefc0000000000000f040", "007cfffb007c",
        "000000000000f07f0000000000fcefc0000000000000f07f"},
    {"{'data_type':'float32','rounding':'towards-negative'}", "float64", 1, "000000f0ffffef47",
        "ffff7f7f", "000000e0ffffef47"},
    {"{'data_type':'float32','rounding':'towards-positive'}", "float64", 1, "000000f0ffffefc7",
        "ffff7fff", "000000e0ffffefc7"},
    {"{'data_type':'uint8','out_of_range':'wrap'}", "int32", 4, "ffffffff000100002c010000ff000000",
        "ff002cff", "ff000000000000002c000000ff000000"},
    {"{'data_type':'uint8','out_of_range':'clamp'}", "int32", 4, "ffffffff000100002c010000ff000000",
        "00ffffff", "00000000ff000000ff000000ff000000"},
    {"{'data_type':'int64'}", "uint64", 2, "ffffffffffffff7f0500000000000000",
        "ffffffffffffff7f0500000000000000", NULL},
    {"{'data_type':'int64','out_of_range':'clamp'}", "uint64", 2,
        "0000000000000080ffffffffffffffff", "ffffffffffffff7fffffffffffffff7f",
        "ffffffffffffff7fffffffffffffff7f"},
    {"{'data_type':'int64','out_of_range':'wrap'}", "uint64", 2, "0000000000000080ffffffffffffffff",
        "0000000000000080ffffffffffffffff", NULL},
    {"{'data_type':'uint64','out_of_range':'wrap'}", "int64", 2, "ffffffffffffffff0000000000000080",
        "ffffffffffffffff0000000000000080", NULL},
    {"{'data_type':'int64'}", "int8", 2, "807f", "80ffffffffffffff7f00000000000000", NULL},
    {"{'data_type':'float16'}", "uint16", 2, "e0ff0108", "ff7b0068", "e0ff0008"},
    {"{'data_type':'float64'}", "int32", 2, "00000080ffffff7f", "000000000000e0c10000c0ffffffdf41",
        NULL},
    {"{'data_type':'float64'}", "float16", 3, "662efffb0100",
        "000000000098b93f0000000000fcefc0000000000000703e", NULL},
    {"{'data_type':'int16'}", "float32", 2, "660000c7cdfeff46", "0080ff7f", "000000c700feff46"},
};

START_TEST(cast_value_rounds_and_bounds)
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

/* Configurations for an array of float64 whose fill value is 0. */
static const struct {
    const char *configuration;
    const char *findings; /* or "": none */
} judged[] = {
    {"{'data_type':'int8'}", ""},
    {"{'data_type':'float32','rounding':'nearest-even','out_of_range':'clamp'}", ""},
    {"{'data_type':'uint8','out_of_range':'wrap'}", ""},
    {"{'data_type':'float32','out_of_range':'wrap'}",
        "invalid out_of_range /codecs/0/configuration/out_of_range"},
    {"{}", "invalid missing_member /codecs/0/configuration/data_type"},
    {"{'data_type':'bool'}", "invalid out_of_range /codecs/0/configuration/data_type"},
    {"{'data_type':'r8'}", "invalid out_of_range /codecs/0/configuration/data_type"},
    {"{'data_type':7}", "invalid wrong_type /codecs/0/configuration/data_type"},
    {"{'data_type':'int8','rounding':'up'}",
        "invalid out_of_range /codecs/0/configuration/rounding"},
    {"{'data_type':'int8','out_of_range':null}",
        "invalid wrong_type /codecs/0/configuration/out_of_range"},
    {"{'data_type':'int8','x':1}", "invalid unknown_member /codecs/0/configuration/x"},
    {"{'data_type':'int8','scalar_map':[]}",
        "invalid wrong_type /codecs/0/configuration/scalar_map"},
    {"{'data_type':'int8','scalar_map':{'x':[]}}",
        "invalid unknown_member /codecs/0/configuration/scalar_map/x"},
    {"{'data_type':'int8','scalar_map':{'encode':{}}}", ""},
    {"{'data_type':'int8','scalar_map':{'encode':[['NaN',0],[1]]}}",
        "invalid wrong_type /codecs/0/configuration/scalar_map/encode/1"},
    {"{'data_type':'int8','scalar_map':{'encode':[[0,128]]}}",
        "invalid out_of_range /codecs/0/configuration/scalar_map/encode/0/1"},
    {"{'data_type':'int8','scalar_map':{'decode':[['NaN',0]]}}",
        "invalid out_of_range /codecs/0/configuration/scalar_map/decode/0/0"},
    {"{'data_type':'float32','scalar_map':{'encode':[['+Infinity',1]]}}", ""},
    {"{'data_type':'int8','scalar_map':{'encode':[[0,5]]}}", "invalid bad_fill_value /codecs/0"},
    {"{'data_type':'int8','scalar_map':{'decode':[[0,'NaN']]}}",
        "invalid bad_fill_value /codecs/0"},
    {"{'data_type':'int8','scalar_map':{'encode':[[0,5]],'decode':[[5,-0.0]]}}", ""},
};

START_TEST(cast_value_judges_its_rules)
{
    ZD_SCOPED_TEXT(codecs, 300);
    zd_text_addf(&codecs, CODECS, judged[_i].configuration);
    const struct zd_unit_chain what = {
        .codecs = codecs.at, .dtype = "float64", .rank = 2, .shape = {3, 4}};
    zd_unit_check_judged(&what, judged[_i].findings);
}
END_TEST

/* Values that cannot be stored, and stored bytes that no writer of ours makes. */
static const struct {
    const char *configuration;
    const char *dtype;
    const char *decoded; /* an element that is refused; or NULL */
    const char *encoded; /* a stored one that is corrupt; or NULL */
    const char *text;
} refused[] = {
    {"{'data_type':'int8'}", "float64", "0000000000006040", NULL,
        "element 0 is 128.0, which cannot be cast to int8"},
    {"{'data_type':'int8'}", "float64", "33333333331360c0", NULL, "-128.6"},
    {"{'data_type':'int8'}", "float64", "000000000000f87f", NULL, "NaN"},
    {"{'data_type':'int8'}", "float64", "000000000000f07f", NULL, "Infinity"},
    {"{'data_type':'int8','out_of_range':'clamp'}", "float64", "000000000000f07f", NULL,
        "Infinity"},
    {"{'data_type':'uint8','out_of_range':'wrap'}", "float64", "000000000000f87f", NULL, "NaN"},
    {"{'data_type':'uint8'}", "int32", "ffffffff", NULL, "-1"},
    {"{'data_type':'uint8'}", "int32", "00010000", NULL, "256"},
    {"{'data_type':'int64'}", "uint64", "0000000000000080", NULL, "9223372036854775808"},
    {"{'data_type':'uint64'}", "int64", "0000000000000080", NULL, "-9223372036854775808"},
    {"{'data_type':'float32'}", "float64", "1d4a9cf487820748", NULL, "1e+39"},
    {"{'data_type':'float16','rounding':'towards-zero'}", "float64", "000000000000f040", NULL,
        "65536"},
    {"{'data_type':'float16'}", "float64", "0000000000feef40", NULL, "65520"},
    {"{'data_type':'float16'}", "uint64", "ffffffffffffffff", NULL, "18446744073709551615"},
    {"{'data_type':'float64'}", "int32", NULL, "000000205fa00242", "10000000000.0"},
    {"{'data_type':'float64'}", "int32", NULL, "000000000000f87f", "NaN"},
    {"{'data_type':'float64','out_of_range':'clamp'}", "int32", NULL, "000000000000f0ff",
        "-Infinity"},
    {"{'data_type':'float64'}", "float32", NULL, "9c7500883ce4377e", "1e+300"},
    {"{'data_type':'int64'}", "int8", NULL, "7fffffffffffffff", "-129"},
    {"{'data_type':'uint8','scalar_map':{'encode':[['NaN',0]]}}", "float64", "0000000000007040",
        NULL, "256"},
};

static enum zd_status code_one(int i, const struct zd_chain *chain, struct zd_error *err)
{
    struct zd_buf *made = NULL;
    const bool encodes = refused[i].decoded != NULL;
    struct zd_buf *given = zd_unit_hex(encodes ? refused[i].decoded : refused[i].encoded);
    const enum zd_status status = encodes ? zd_chain_encode(chain, given, &made, err)
                                          : zd_chain_decode(chain, given, &made, err);
    zd_buf_unref(given);
    zd_buf_unref(made);
    return status;
}

START_TEST(cast_value_refuses_what_has_no_place)
{
    ZD_SCOPED_TEXT(codecs, 300);
    zd_text_addf(&codecs, CODECS, refused[_i].configuration);
    const struct zd_unit_chain what = {
        .codecs = codecs.at, .dtype = refused[_i].dtype, .rank = 1, .shape = {1}};
    struct zd_chain *chain = zd_unit_chain(&what);
    struct zd_error err = {0};
    const enum zd_status expected = refused[_i].decoded != NULL ? ZD_INVALID : ZD_CORRUPT;
    ck_assert_int_eq(code_one(_i, chain, &err), expected);
    ck_assert_msg(strstr(err.text, refused[_i].text) != NULL, "%s", err.text);
    zd_chain_unref(chain);
}
END_TEST

START_TEST(cast_value_maps_values_before_it_casts)
{
    /* The first of two equal keys counts; every NaN is the same; 0 and -0 are. */
    zd_unit_check_coding(&(struct zd_unit_coding){
        .codecs =
            "[{'name':'cast_value','configuration':{'data_type':'uint8','out_of_range':"
            "'clamp','scalar_map':{'encode':[['NaN',7],['NaN',8],['-Infinity',9],[3,4],[0,1]],"
            "'decode':[[7,'NaN'],[1,0.0],[9,'-Infinity']]}}},'bytes']",
        .dtype = "float32",
        .rank = 1,
        .shape = {7},
        /* NaN, NaN with a payload, -Infinity, 3, -0, 300, 12.5 */
        .decoded = "0000c07f010080ff000080ff00004040000000800000964300004841",
        .encoded = "0707090401ff0c",
        .again = "0000c07f0000c07f000080ff000080400000000000007f4300004041"});
}
END_TEST

/* A fill value that is mapped, and one that is not the same again. */
static const struct {
    const char *configuration;
    float fill;
    const char *findings;
} fills[] = {
    {"{'data_type':'uint8'}", 255, ""},
    {"{'data_type':'uint8'}", 256, "invalid bad_fill_value /codecs/0"},
    {"{'data_type':'uint8'}", 0.5F, "invalid bad_fill_value /codecs/0"},
    {"{'data_type':'uint8','out_of_range':'wrap'}", 256, "invalid bad_fill_value /codecs/0"},
    {"{'data_type':'float16'}", 0.1F, "invalid bad_fill_value /codecs/0"},
    {"{'data_type':'float16'}", 0.25F, ""},
};

START_TEST(cast_value_needs_a_fill_value_that_stays)
{
    ZD_SCOPED_TEXT(codecs, 300);
    zd_text_addf(&codecs, CODECS, fills[_i].configuration);
    const struct zd_unit_chain what = {
        .codecs = codecs.at, .dtype = "float32", .rank = 1, .shape = {3}, .fill = &fills[_i].fill};
    zd_unit_check_judged(&what, fills[_i].findings);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, cast_value_rounds_and_bounds, 0, ZD_COUNT_OF(facts));
    tcase_add_loop_test(tests, cast_value_judges_its_rules, 0, ZD_COUNT_OF(judged));
    tcase_add_loop_test(tests, cast_value_refuses_what_has_no_place, 0, ZD_COUNT_OF(refused));
    tcase_add_test(tests, cast_value_maps_values_before_it_casts);
    tcase_add_loop_test(tests, cast_value_needs_a_fill_value_that_stays, 0, ZD_COUNT_OF(fills));
}
