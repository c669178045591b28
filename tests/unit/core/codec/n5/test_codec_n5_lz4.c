/* The codec n5.lz4: the frames of Java, the block of z5, and never more than was expected. */
#include <string.h>

#include "tests/support/codec.h"

#define CODECS "['bytes',{'name':'n5.lz4'}]"
#define MAGIC  "4c5a34426c6f636b"
#define END    MAGIC "16 00000000 00000000 00000000"

/* The vectors of the reference, section 10. */
#define STORED  MAGIC "16 0c000000 0c000000 90258b06 000100020003000400050006"
#define ZEROS   MAGIC "26 0b000000 30000000 cb38cf0b 1f00010017500000000000"
#define BLOCK   "1f00010017500000000000"
#define ZEROS_8 "0000000000000000"
#define ZERO_48 ZEROS_8 ZEROS_8 ZEROS_8 ZEROS_8 ZEROS_8 ZEROS_8

static const struct {
    uint64_t n; /* bytes expected */
    const char *encoded;
    const char *decoded; /* or part of the text */
    bool ok;
} facts[] = {
    {12, STORED END, "000100020003000400050006", true}, {48, ZEROS END, ZERO_48, true},
    {48, BLOCK, ZERO_48, true},
    {24, STORED STORED END, "000100020003000400050006000100020003000400050006", true},
    {13, STORED END, "12 bytes decoded, 13 expected", false},
    {11, STORED END, "12 bytes decoded, 11 expected", false},
    {12, STORED, "no frame at byte 33", false},
    {12, STORED END "00", "bytes after the last frame at byte 54", false},
    {12, STORED END END, "bytes after the last frame", false},
    {12, MAGIC "16 0c000000 0c000000 91258b06 000100020003000400050006" END, "a wrong checksum",
        false},
    {12, MAGIC "16 0c000000 0c000000 90258b06 000100020003000400050007" END, "a wrong checksum",
        false},
    {48, MAGIC "26 0b000000 30000000 cb38cf1b" BLOCK END, "a wrong checksum", false},
    /* heads that no frame has */
    {12, MAGIC "36 0c000000 0c000000 90258b06 000100020003000400050006" END, "an invalid frame",
        false},
    {12, MAGIC "16 0c000000 0d000000 90258b06 000100020003000400050006" END, "an invalid frame",
        false},
    {12, MAGIC "16 00000000 0c000000 90258b06" END, "an invalid frame", false},
    {12, MAGIC "16 0c000000 00000000 90258b06 000100020003000400050006" END, "an invalid frame",
        false},
    {12, STORED MAGIC "16 00000000 00000000 01000000", "an invalid frame", false},
    {12, STORED MAGIC "26 00000000 00000000 00000000", "an invalid frame", false},
    {12, MAGIC "26 ffffffff 0c000000 90258b06 0001", "an invalid frame", false},
    {12, MAGIC "20 02000000 01040000 90258b06 0001" END, "an invalid frame",
        false}, /* 1025 of 1024 */
    {12, MAGIC "16 0c000000 0c000000 90258b06 0001", "an invalid frame", false},
    {12, MAGIC, "no frame at byte 0", false},
    {12, MAGIC "16 0c000000 0c000000 90258b", "no frame at byte 0", false},
    {48, MAGIC "26 0b000000 30000000 cb38cf0b 1f00010017500000000001" END, "checksum", false},
    {48, MAGIC "26 0b000000 30000000 cb38cf0b 1f00020017500000000000" END,
        "decodes to a wrong size", false},
    /* no frames, and no block of that size */
    {47, BLOCK, "neither frames nor a block", false},
    {49, BLOCK, "neither frames nor a block", false},
    {48, BLOCK "00", "neither frames nor a block", false},
    {48, "", "neither frames nor a block", false},
    {48, "30000000" BLOCK, "neither frames nor a block", false}, /* the form of numcodecs */
};

static struct zd_chain *open_lz4(uint64_t n)
{
    const struct zd_unit_chain what = {.codecs = CODECS, .dtype = "uint8", .rank = 1, .shape = {n}};
    return zd_unit_chain(&what);
}

START_TEST(n5_lz4_decodes_both_forms_or_says_what_is_corrupt)
{
    ZD_AUTO(zd_chain) chain = open_lz4(facts[_i].n);
    ZD_AUTO(zd_buf) encoded = zd_unit_hex(facts[_i].encoded);
    ZD_AUTO(zd_buf) found = NULL;
    struct zd_error err = {0};
    const enum zd_status status = zd_chain_decode(chain, encoded, &found, &err);
    if (facts[_i].ok) {
        ZD_AUTO(zd_buf) decoded = zd_unit_hex(facts[_i].decoded);
        ck_assert_msg(status == ZD_OK, "%s", err.text);
        ck_assert(zd_span_equal(zd_buf_span(found), zd_buf_span(decoded)));
        return;
    }
    ck_assert_int_eq(status, ZD_CORRUPT);
    ck_assert_msg(strstr(err.text, facts[_i].decoded) != NULL, "%s", err.text);
    ck_assert_msg(strstr(err.text, "n5.lz4") != NULL, "%s", err.text);
}
END_TEST

START_TEST(n5_lz4_decodes_what_it_encodes)
{
    static const uint64_t sizes[] = {1, 2, 1000, 65535, 65536, 65537, 300001};
    ZD_AUTO(zd_chain) chain = open_lz4(sizes[_i]);
    ZD_AUTO(zd_buf) decoded = zd_unit_elements(sizes[_i]);
    ZD_AUTO(zd_buf) encoded = NULL;
    ZD_AUTO(zd_buf) again = NULL;
    ck_assert_int_eq(zd_chain_encode(chain, decoded, &encoded, NULL), ZD_OK);
    ck_assert_uint_le(encoded->len, zd_chain_encoded(chain)->size);
    ck_assert_int_eq(zd_chain_decode(chain, encoded, &again, NULL), ZD_OK);
    ck_assert(zd_span_equal(zd_buf_span(decoded), zd_buf_span(again)));
}
END_TEST

START_TEST(n5_lz4_refuses_frames_that_are_cut)
{
    ZD_AUTO(zd_chain) chain = open_lz4(500);
    ZD_AUTO(zd_buf) decoded = zd_unit_elements(500);
    ZD_AUTO(zd_buf) encoded = NULL;
    ck_assert_int_eq(zd_chain_encode(chain, decoded, &encoded, NULL), ZD_OK);
    for (size_t len = 0; len < encoded->len; len++) {
        ZD_AUTO(zd_buf) cut = zd_buf_copy((struct zd_span){.ptr = encoded->data, .len = len});
        struct zd_buf *found = NULL;
        ck_assert_int_eq(zd_chain_decode(chain, cut, &found, NULL), ZD_CORRUPT);
    }
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(
        tests, n5_lz4_decodes_both_forms_or_says_what_is_corrupt, 0, ZD_COUNT_OF(facts));
    tcase_add_loop_test(tests, n5_lz4_decodes_what_it_encodes, 0, 7);
    tcase_add_test(tests, n5_lz4_refuses_frames_that_are_cut);
}
