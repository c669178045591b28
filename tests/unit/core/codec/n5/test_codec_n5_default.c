/* The codec n5_default: blocks that say their shape, in a v3 array and in an N5 dataset. */
#include <string.h>

#include "tests/support/codec.h"

#define REVERSAL_2 "{'name':'transpose','configuration':{'order':[1,0]}}"
#define REVERSAL_3 "{'name':'transpose','configuration':{'order':[2,1,0]}}"
#define BIG        "{'name':'bytes','configuration':{'endian':'big'}}"
#define LITTLE     "{'name':'bytes','configuration':{'endian':'little'}}"
#define ZSTD       "{'name':'zstd','configuration':{'level':1,'checksum':false}}"
#define GZIP       "{'name':'gzip','configuration':{'level':5}}"
#define OF(codecs) "[{'name':'n5_default','configuration':{'codecs':[" codecs "]}}]"

/* ---- configurations ---- */

static const struct {
    const char *codecs;
    const char *dtype;
    const char *fault; /* a line of zd_unit_faults; NULL: it opens */
} openings[] = {
    {OF(REVERSAL_2 "," BIG), "uint16", NULL},
    {OF(REVERSAL_2 "," BIG "," ZSTD), "float64", NULL},
    {OF(REVERSAL_2 ",'bytes'"), "uint8", NULL},
    {OF(REVERSAL_2 "," LITTLE), "int8", NULL},
    {OF(REVERSAL_2 "," LITTLE), "uint16", "codec_order"},
    {OF(BIG), "uint16", "codec_order"},
    {OF("{'name':'transpose','configuration':{'order':[0,1]}}," BIG), "uint16", "codec_order"},
    {OF(REVERSAL_2 "," BIG "," ZSTD "," ZSTD), "uint16", "codec_order"},
    {OF(REVERSAL_2), "uint8", "codec_order"}, /* `bytes` is not implied here */
    {OF(REVERSAL_2 "," BIG ",{'name':'example.x','must_understand':false}"), "uint16",
        "codec_order"},
    {OF(REVERSAL_2 "," BIG ",'example.x'"), "uint16", "unsupported_codec"},
    {OF(REVERSAL_2 "," BIG), "float16", "out_of_range"},
    {OF(REVERSAL_2 "," BIG), "bool", "out_of_range"},
    {OF(REVERSAL_2 "," BIG), "complex64", "out_of_range"},
    {"['n5_default']", "uint16", "missing_member"},
    {"[{'name':'n5_default','configuration':{'codecs':5}}]", "uint16", "wrong_type"},
    {"[{'name':'n5_default','configuration':{'codecs':[" REVERSAL_2 "," BIG "],'x':1}}]", "uint16",
        "unknown_member"},
};

START_TEST(n5_default_takes_the_codecs_of_n5_alone)
{
    const struct zd_unit_chain what = {
        .codecs = openings[_i].codecs, .dtype = openings[_i].dtype, .rank = 2, .shape = {4, 3}};
    ZD_AUTO(zd_chain) chain = NULL;
    struct zd_faults faults = {0};
    const enum zd_status status = zd_unit_chain_open(&what, &chain, &faults);
    char *found = zd_unit_faults(&faults);
    if (openings[_i].fault == NULL) {
        ck_assert_msg(status == ZD_OK, "%s", found);
    } else {
        ck_assert_int_ne(status, ZD_OK);
        ck_assert_msg(strstr(found, openings[_i].fault) != NULL, "%s", found);
    }
    zd_free(found);
    zd_faults_done(&faults);
}
END_TEST

START_TEST(n5_default_refuses_edges_that_no_block_can_say)
{
    static const uint64_t edges[] = {UINT32_MAX, (uint64_t)UINT32_MAX + 1};
    for (size_t i = 0; i < ZD_COUNT_OF(edges); i++) {
        const struct zd_unit_chain what = {.codecs = OF(REVERSAL_2 ",'bytes'"),
            .dtype = "uint8",
            .rank = 2,
            .shape = {edges[i], 1}};
        ZD_AUTO(zd_chain) chain = NULL;
        struct zd_faults faults = {0};
        ck_assert_int_eq(zd_unit_chain_open(&what, &chain, &faults), i == 0 ? ZD_OK : ZD_INVALID);
        zd_faults_done(&faults);
    }
}
END_TEST

/* ---- blocks ---- */

/* The vector of the reference, section 10: 1 x 2 x 3, and its elements in C order. */
#define BLOCK    "0000 0003 00000001 00000002 00000003 0001 0002 0003 0004 0005 0006"
#define ELEMENTS "0100 0300 0500 0200 0400 0600"
#define GZIPPED                                                                                    \
    "0000 0003 00000001 00000002 00000003 "                                                        \
    "1f8b08000000000000006360646062606660616065600300aaea6dbf0c000000"
#define ZLIBBED  "0000 0003 00000001 00000002 00000003 78014b4c4a4e494d4bcfc8cccace0100"
#define HEAD_123 "0003 00000001 00000002 00000003"

static const struct {
    const char *more; /* codecs behind bytes */
    bool is_n5;
    enum zd_status status;
    const char *encoded;
    const char *decoded; /* or part of the text */
} blocks[] = {
    {"", false, ZD_OK, BLOCK, ELEMENTS},
    {"," GZIP, false, ZD_OK, GZIPPED, ELEMENTS},
    /* smaller ones: what they lack is the fill value, 7 */
    {"", false, ZD_OK, "0000 0003 00000001 00000001 00000001 0009",
        "0900 0700 0700 0700 0700 0700"},
    {"", false, ZD_OK, "0000 0003 00000001 00000002 00000002 0001 0002 0003 0004",
        "0100 0300 0700 0200 0400 0700"},
    {"", false, ZD_OK, "0000 0003 00000001 00000001 00000003 0001 0002 0003",
        "0100 0200 0300 0700 0700 0700"},
    /* headers */
    {"", false, ZD_CORRUPT, "", "ends within its header, after 0 bytes"},
    {"", false, ZD_CORRUPT, "000000", "ends within its header, after 3 bytes"},
    {"", false, ZD_CORRUPT, "0000 0003 00000001 00000002 000000", "ends within its header"},
    {"", false, ZD_CORRUPT, "0000 0002 00000001 00000002 0001 0002", "2 dimensions"},
    {"", false, ZD_CORRUPT, "0000 0004 00000001 00000002 00000003 00000001 0001", "4 dimensions"},
    {"", false, ZD_CORRUPT, "0000 ffff 00000001 00000002 00000003 0001", "65535 dimensions"},
    {"", false, ZD_CORRUPT, "0000 0003 00000002 00000002 00000003 0001",
        "2 elements along dimension 0"},
    {"", false, ZD_CORRUPT, "0000 0003 00000001 00000002 00000004 0001",
        "4 elements along dimension 2"},
    {"", false, ZD_CORRUPT, "0000 0003 ffffffff ffffffff ffffffff 0001", "4294967295 elements"},
    {"", false, ZD_CORRUPT, "0000 0003 00000001 00000000 00000003", "0 elements along dimension 1"},
    /* as many elements as the header says */
    {"", false, ZD_CORRUPT, "0000 0003 00000001 00000001 00000001 000900", "3 bytes decoded, 2"},
    {"", false, ZD_CORRUPT, "0000 0003 00000001 00000001 00000002 0009", "2 bytes decoded, 4"},
    {"", false, ZD_CORRUPT, "0000 0003 00000001 00000001 00000001", "0 bytes decoded, 2"},
    /* modes */
    {"", false, ZD_UNSUPPORTED, "0001" HEAD_123 "00000006 0001 0002 0003 0004 0005 0006", "mode 1"},
    {"", true, ZD_OK, "0001" HEAD_123 "00000006 0001 0002 0003 0004 0005 0006", ELEMENTS},
    {"", true, ZD_UNSUPPORTED, "0001" HEAD_123 "00000005 0001 0002 0003 0004 0005", "mode 1"},
    {"", true, ZD_CORRUPT, "0001" HEAD_123 "0000", "ends within its header"},
    {"", true, ZD_UNSUPPORTED, "0002 00000004 01020304", "mode 2"},
    {"", false, ZD_CORRUPT, "0003" HEAD_123 "0001", "mode 3"},
    {"", true, ZD_CORRUPT, "ffff" HEAD_123 "0001", "mode 65535"},
    /* two compressors under one name, in N5 alone */
    {"," GZIP, false, ZD_CORRUPT, ZLIBBED, "gzip"},
    {"," GZIP, true, ZD_CORRUPT, "0000" HEAD_123 "ff8b08", "gzip"},
    {",{'name':'numcodecs.zlib'}", true, ZD_OK, GZIPPED, ELEMENTS},
    {",{'name':'numcodecs.zlib'}", false, ZD_CORRUPT, GZIPPED, "numcodecs.zlib"},
    {",{'name':'numcodecs.lz4'}", true, ZD_OK,
        "0000" HEAD_123 "4c5a34426c6f636b 16 0c000000 0c000000 90258b06 000100020003000400050006"
        "4c5a34426c6f636b 16 00000000 00000000 00000000",
        ELEMENTS},
    {",{'name':'n5.lz4'}", true, ZD_OK,
        "0000" HEAD_123 "4c5a34426c6f636b 16 0c000000 0c000000 90258b06 000100020003000400050006"
        "4c5a34426c6f636b 16 00000000 00000000 00000000",
        ELEMENTS},
};

static struct zd_chain *open_block(const char *more, bool is_n5)
{
    static const uint16_t fill = 7;
    ZD_SCOPED_TEXT(codecs, 1000);
    zd_text_addf(&codecs, OF(REVERSAL_3 "," BIG "%s"), more);
    const struct zd_unit_chain what = {.codecs = codecs.at,
        .dtype = "uint16",
        .rank = 3,
        .shape = {1, 2, 3},
        .fill = &fill,
        .is_n5 = is_n5};
    return zd_unit_chain(&what);
}

START_TEST(n5_default_decodes_a_block_or_says_what_is_wrong)
{
    ZD_AUTO(zd_chain) chain = open_block(blocks[_i].more, blocks[_i].is_n5);
    ZD_AUTO(zd_buf) encoded = zd_unit_hex(blocks[_i].encoded);
    ZD_AUTO(zd_buf) found = NULL;
    struct zd_error err = {0};
    const enum zd_status status = zd_chain_decode(chain, encoded, &found, &err);
    ck_assert_msg(status == blocks[_i].status, "status %d: %s", status, err.text);
    if (status == ZD_OK) {
        ZD_AUTO(zd_buf) decoded = zd_unit_hex(blocks[_i].decoded);
        ck_assert(zd_span_equal(zd_buf_span(found), zd_buf_span(decoded)));
        return;
    }
    ck_assert_msg(strstr(err.text, blocks[_i].decoded) != NULL, "%s", err.text);
}
END_TEST

/* With useZlib, or without: the first bytes decide. */
START_TEST(n5_default_finds_zlib_under_the_name_of_gzip)
{
    ZD_AUTO(zd_chain) zlib = open_block(",{'name':'numcodecs.zlib'}", true);
    ZD_AUTO(zd_chain) gzip = open_block("," GZIP, true);
    ZD_AUTO(zd_buf) elements = zd_unit_hex(ELEMENTS);
    const struct zd_chain *const chains[] = {zlib, gzip};
    for (size_t i = 0; i < ZD_COUNT_OF(chains); i++) {
        ZD_AUTO(zd_buf) encoded = NULL;
        ck_assert_int_eq(zd_chain_encode(chains[i], elements, &encoded, NULL), ZD_OK);
        for (size_t j = 0; j < ZD_COUNT_OF(chains); j++) {
            ZD_AUTO(zd_buf) again = NULL;
            ck_assert_int_eq(zd_chain_decode(chains[j], encoded, &again, NULL), ZD_OK);
            ck_assert(zd_span_equal(zd_buf_span(elements), zd_buf_span(again)));
        }
    }
}
END_TEST

START_TEST(n5_default_encodes_whole_blocks)
{
    ZD_AUTO(zd_chain) chain = open_block("", false);
    ZD_AUTO(zd_buf) elements = zd_unit_hex(ELEMENTS);
    ZD_AUTO(zd_buf) expected = zd_unit_hex(BLOCK);
    ZD_AUTO(zd_buf) encoded = NULL;
    ck_assert_int_eq(zd_chain_encode(chain, elements, &encoded, NULL), ZD_OK);
    ck_assert(zd_span_equal(zd_buf_span(encoded), zd_buf_span(expected)));
    ck_assert_uint_le(encoded->len, zd_chain_encoded_max(chain));
}
END_TEST

START_TEST(n5_default_has_blocks_of_a_scalar)
{
    const struct zd_unit_chain what = {
        .codecs = OF("{'name':'transpose','configuration':{'order':[]}}," BIG), .dtype = "int16"};
    ZD_AUTO(zd_chain) chain = zd_unit_chain(&what);
    ZD_AUTO(zd_buf) element = zd_unit_hex("0102");
    ZD_AUTO(zd_buf) expected = zd_unit_hex("0000 0000 0201");
    ZD_AUTO(zd_buf) encoded = NULL;
    ZD_AUTO(zd_buf) again = NULL;
    ck_assert_int_eq(zd_chain_encode(chain, element, &encoded, NULL), ZD_OK);
    ck_assert(zd_span_equal(zd_buf_span(encoded), zd_buf_span(expected)));
    ck_assert_int_eq(zd_chain_decode(chain, encoded, &again, NULL), ZD_OK);
    ck_assert(zd_span_equal(zd_buf_span(element), zd_buf_span(again)));
}
END_TEST

struct attempt {
    const struct zd_json *codecs;
    struct zd_buf *encoded;
};

static enum zd_status try_to_decode(void *context)
{
    const struct attempt *attempt = context;
    const struct zd_unit_chain what = {
        .parsed = attempt->codecs, .dtype = "uint16", .rank = 3, .shape = {1, 2, 4}, .is_n5 = true};
    ZD_AUTO(zd_chain) chain = NULL;
    ZD_AUTO(zd_buf) elements = NULL;
    ZD_AUTO(zd_buf) again = NULL;
    struct zd_faults faults = {0};
    enum zd_status status = zd_unit_chain_open(&what, &chain, &faults);
    zd_faults_done(&faults);
    if (status == ZD_OK) {
        status = zd_chain_decode(chain, attempt->encoded, &elements, NULL);
    }
    return status == ZD_OK ? zd_chain_encode(chain, elements, &again, NULL) : status;
}

/* A block that is cut, and of the other compressor. */
START_TEST(n5_default_survives_a_lack_of_memory)
{
    ZD_AUTO(zd_json)
    codecs = zd_unit_json(OF(REVERSAL_3 "," BIG ",{'name':'numcodecs.zlib'}"));
    ZD_AUTO(zd_buf) encoded = zd_unit_hex(GZIPPED);
    struct attempt attempt = {.codecs = codecs, .encoded = encoded};
    zd_unit_with_failing_memory(try_to_decode, &attempt);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, n5_default_takes_the_codecs_of_n5_alone, 0, ZD_COUNT_OF(openings));
    tcase_add_test(tests, n5_default_refuses_edges_that_no_block_can_say);
    tcase_add_loop_test(
        tests, n5_default_decodes_a_block_or_says_what_is_wrong, 0, ZD_COUNT_OF(blocks));
    tcase_add_test(tests, n5_default_finds_zlib_under_the_name_of_gzip);
    tcase_add_test(tests, n5_default_encodes_whole_blocks);
    tcase_add_test(tests, n5_default_has_blocks_of_a_scalar);
    tcase_add_test(tests, n5_default_survives_a_lack_of_memory);
}
