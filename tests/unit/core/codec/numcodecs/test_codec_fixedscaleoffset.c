/* The codec fixedscaleoffset of numcodecs. */
#include <string.h>

#include "tests/support/codec.h"

#define LITTLE "{'name':'bytes','configuration':{'endian':'little'}}"
#define CODECS "[{'name':'numcodecs.fixedscaleoffset','configuration':%s}," LITTLE "]"

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
    {"{'offset':1000,'scale':10,'dtype':'<f8','astype':'|u1'}", "float64", 4,
        "0000000000408f40cdcccccccc408f400000000000428f40cdcccccccc428f40", "00010204",
        "0000000000408f40cdcccccccc408f409a99999999418f403333333333438f40"},
    {"{'offset':10,'scale':10,'dtype':'<f8','astype':'<i2'}", "float64", 4,
        "9a999999999909c09a99999999192440cdcccccccc4c2440000000000088c340", "7cff010002003c86",
        "98999999999909c033333333333324406666666666662440666666666646a8c0"},
    {"{'offset':-3.5,'scale':100,'dtype':'<f8','astype':'<i4'}", "float64", 3,
        "14ae47e17a14f03f0000000080842ec16e861bf0f9210940", "c20100005e200afa98020000",
        "000000000000f03f0000000080842ec11e85eb51b81e0940"},
    {"{'offset':0,'scale':0.5,'dtype':'<f8','astype':'<i8'}", "float64", 3,
        "00003426f56b0c430000000000001cc00000000000000840",
        "00406352bfc60100fcffffffffffffff0200000000000000",
        "00003426f56b0c4300000000000020c00000000000001040"},
    {"{'offset':0,'scale':10,'dtype':'<f4','astype':'|u1'}", "float32", 3,
        "0000803e3333b33e0000cc41", "0204ff", "cdcc4c3ecdcccc3e0000cc41"},
    {"{'offset':273.15,'scale':100,'dtype':'<f4','astype':'<i2'}", "float32", 3,
        "4210964300807a43db0f4940", "8a0a27f78796", "a410964300807a43c3f54840"},
    {"{'offset':1,'scale':3,'dtype':'<f4'}", "float32", 3, "cdcccc3dec78ad60333333bf",
        "000040c0b11a82610000a0c0", "00000000ec78ad60aaaa2abf"},
    {"{'offset':1,'scale':3,'dtype':'<f4','astype':'<f2'}", "float32", 3,
        "cdcccc3d00002040333333bf", "00c2004400c5", "000000000040154000c02abf"},
    {"{'offset':0.1,'scale':7,'dtype':'<f2','astype':'|i1'}", "float16", 3, "0038804280c8",
        "0316c0", "3b387c4285c8"},
    {"{'offset':1,'scale':3,'dtype':'<f8','astype':'<f4'}", "float64", 3,
        "9a9999999999b93f408cb5781daf1544666666666666e6bf", "000040c0b11a82610000a0c0",
        "0000000000000000000000801daf1544000000405555e5bf"},
    {"{'offset':1,'scale':3,'dtype':'<f8','astype':'<f2'}", "float64", 3,
        "9a9999999999b93f0000000000408f40666666666666e6bf", "00c2da6900c5",
        "000000000000000000000000003c8f40000000000058e5bf"},
    {"{'offset':10,'scale':3,'dtype':'<i4','astype':'|i1'}", "int32", 3, "0b0000006e000000e2ffffff",
        "032c88", "0b00000018000000e2ffffff"},
    {"{'offset':10,'scale':2.5,'dtype':'<i4','astype':'|i1'}", "int32", 3,
        "0b0000000d000000e2ffffff", "02089c", "0a0000000d000000e2ffffff"},
    {"{'offset':2.5,'scale':3,'dtype':'<i4','astype':'|i1'}", "int32", 3,
        "0300000014000000e2ffffff", "02349e", "0300000013000000e2ffffff"},
    {"{'offset':1,'scale':3,'dtype':'<u2','astype':'<u8'}", "uint16", 3, "00000100409c",
        "fdff0000000000000000000000000000bdd4000000000000", "55550100ea46"},
    {"{'offset':0,'scale':2,'dtype':'<i8','astype':'<i8'}", "int64", 3,
        "0000000000000020fdffffffffffffff0000000000000040",
        "0000000000000040faffffffffffffff0000000000000080",
        "0000000000000020fdffffffffffffff00000000000000c0"},
    {"{'offset':1,'scale':1,'dtype':'<f8','astype':'<u4'}", "float64", 3,
        "000000000000f041000000000000f03f0000000000000440", "ffffffff0000000002000000",
        "000000000000f041000000000000f03f0000000000000840"},
    {"{'offset':0,'scale':1,'dtype':'<f8','astype':'<u8'}", "float64", 3,
        "80b4c33d847ded43000000000000e0430000000000000440",
        "0000a41dee21eceb00000000000000800200000000000000",
        "80b4c33d847ded43000000000000e0430000000000000040"},
    {"{'offset':0,'scale':1,'dtype':'<f8','astype':'|i1'}", "float64", 3,
        "0000000000c072400000000000c072c0000000000017f140", "2cd470",
        "000000000000464000000000000046c00000000000005c40"},
    {"{'offset':0,'scale':1,'dtype':'<f8','astype':'<i4'}", "float64", 3,
        "000000000000f87f000000000000f07f000000000000f0ff", "000000800000008000000080",
        "000000000000e0c1000000000000e0c1000000000000e0c1"},
    {"{'offset':0,'scale':1,'dtype':'<f8','astype':'<f4'}", "float64", 3,
        "000000000000f87f000000000000f07f000000000000f0ff", "0000c07f0000807f000080ff", NULL},
};

START_TEST(fixedscaleoffset_computes_as_numpy)
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
    {"{'offset':0,'scale':1,'dtype':'<f4'}", ""},
    {"{'offset':-1.5,'scale':1e3,'dtype':'float32','astype':'>i2'}", ""},
    {"{'offset':0,'scale':0,'dtype':'<f4'}", "invalid out_of_range /codecs/0/configuration/scale"},
    {"{'offset':0,'scale':-0.0,'dtype':'<f4'}",
        "invalid out_of_range /codecs/0/configuration/scale"},
    {"{'offset':0,'scale':'1','dtype':'<f4'}", "invalid wrong_type /codecs/0/configuration/scale"},
    {"{'offset':1e999,'scale':1,'dtype':'<f4'}",
        "invalid out_of_range /codecs/0/configuration/offset"},
    {"{'offset':null,'scale':true,'dtype':'<f4'}",
        "invalid wrong_type /codecs/0/configuration/offset; invalid wrong_type "
        "/codecs/0/configuration/scale"},
    {"{}", "invalid missing_member /codecs/0/configuration/offset; invalid missing_member "
           "/codecs/0/configuration/scale; invalid missing_member /codecs/0/configuration/dtype"},
    {"{'offset':0,'scale':1,'dtype':'<f8'}", "invalid out_of_range /codecs/0/configuration/dtype"},
    {"{'offset':0,'scale':1,'dtype':7}", "invalid wrong_type /codecs/0/configuration/dtype"},
    {"{'offset':0,'scale':1,'dtype':'<f4','astype':'|b1'}",
        "invalid out_of_range /codecs/0/configuration/astype"},
    {"{'offset':0,'scale':1,'dtype':'<f4','astype':'<c8'}",
        "invalid out_of_range /codecs/0/configuration/astype"},
    {"{'offset':0,'scale':1,'dtype':'<f4','astype':'|V2'}",
        "invalid out_of_range /codecs/0/configuration/astype"},
    {"{'offset':0,'scale':1,'dtype':'<f4','x':1}",
        "invalid unknown_member /codecs/0/configuration/x"},
};

START_TEST(fixedscaleoffset_can_be_undone_or_is_refused)
{
    ZD_SCOPED_TEXT(codecs, 300);
    zd_text_addf(&codecs, CODECS, judged[_i].configuration);
    const struct zd_unit_chain what = {
        .codecs = codecs.at, .dtype = "float32", .rank = 2, .shape = {3, 4}};
    zd_unit_check_judged(&what, judged[_i].findings);
}
END_TEST

START_TEST(fixedscaleoffset_takes_many_lots)
{
    const uint64_t n = 3 * 512 + 7;
    const struct zd_unit_chain what = {
        .codecs = "[{'name':'numcodecs.fixedscaleoffset','configuration':{'offset':100,'scale':4,"
                  "'dtype':'<f8','astype':'<u2'}}," LITTLE "]",
        .dtype = "float64",
        .rank = 1,
        .shape = {n}};
    struct zd_chain *chain = zd_unit_chain(&what);
    struct zd_buf *decoded = zd_buf_new(n * sizeof(double));
    struct zd_buf *encoded = NULL;
    struct zd_buf *again = NULL;
    ck_assert_ptr_nonnull(decoded);
    decoded->len = decoded->cap;
    for (uint64_t i = 0; i < n; i++) {
        const double number = 100 + 0.25 * (double)i;
        memcpy(decoded->data + i * sizeof number, &number, sizeof number);
    }
    ck_assert_int_eq(zd_chain_encode(chain, decoded, &encoded, NULL), ZD_OK);
    for (uint64_t i = 0; i < n; i++) {
        ck_assert_uint_eq(zd_load_u16(encoded->data + i * 2), i);
    }
    ck_assert_int_eq(zd_chain_decode(chain, encoded, &again, NULL), ZD_OK);
    ck_assert(zd_span_equal(zd_buf_span(again), zd_buf_span(decoded)));
    zd_buf_unref(decoded);
    zd_buf_unref(encoded);
    zd_buf_unref(again);
    zd_chain_unref(chain);
}
END_TEST

/* An inner chunk that is missing is one of encoded fill values. */
START_TEST(fixedscaleoffset_stores_the_fill_value_too)
{
    const float fill = 2.5F;
    const struct zd_unit_chain what = {
        .codecs = "[{'name':'numcodecs.fixedscaleoffset','configuration':{'offset':1,'scale':10,"
                  "'dtype':'<f4','astype':'|u1'}},{'name':'sharding_indexed','configuration':{"
                  "'chunk_shape':[1],'codecs':['bytes'],'index_codecs':[" LITTLE "]}}]",
        .dtype = "float32",
        .rank = 1,
        .shape = {2},
        .fill = &fill};
    struct zd_chain *chain = zd_unit_chain(&what);
    struct zd_buf *decoded = zd_unit_hex("0000204000000040"); /* 2.5, 2 */
    struct zd_buf *again = NULL;
    struct zd_buf *encoded = NULL;
    ck_assert_int_eq(zd_chain_encode(chain, decoded, &encoded, NULL), ZD_OK);
    ck_assert_uint_eq(encoded->len, 1 + 2 * 16);
    ck_assert_uint_eq(encoded->data[0], 10);
    ck_assert_int_eq(zd_chain_decode(chain, encoded, &again, NULL), ZD_OK);
    ck_assert(zd_span_equal(zd_buf_span(again), zd_buf_span(decoded)));
    zd_buf_unref(decoded);
    zd_buf_unref(encoded);
    zd_buf_unref(again);
    zd_chain_unref(chain);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, fixedscaleoffset_computes_as_numpy, 0, ZD_COUNT_OF(facts));
    tcase_add_loop_test(
        tests, fixedscaleoffset_can_be_undone_or_is_refused, 0, ZD_COUNT_OF(judged));
    tcase_add_test(tests, fixedscaleoffset_takes_many_lots);
    tcase_add_test(tests, fixedscaleoffset_stores_the_fill_value_too);
}
