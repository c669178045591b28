/* The codec lz4 of numcodecs: a size and a block, and never more than was expected. */
#include <string.h>

#include "tests/support/codec.h"

#define CODECS "['bytes',{'name':'numcodecs.lz4','configuration':{'acceleration':%d}}]"
#define ABC    "0300000030616263"

static const struct {
    uint64_t n; /* bytes expected */
    const char *encoded;
    const char *decoded; /* or part of the text */
    bool ok;
} blocks[] = {
    {3, ABC, "616263", true}, {4, ABC, "lz4: 3 bytes decoded, 4 expected", false},
    {2, ABC, "lz4: 3 bytes decoded, 2 expected", false},
    {3, "0300000030616263ff", "does not decode to the size", false},
    {3, "03000000306162", "does not decode to the size", false},
    {3, "0300000020616200", "does not decode to the size", false},
    {3, "03000000", "does not decode to the size", false},
    {3, "ffffffff30616263", "4294967295 bytes decoded, 3 expected", false},
    {3, "030000", "expected a size of 4 bytes, then a block; ", false},
    {3, "", "expected a size of 4 bytes, then a block; ", false},
    {3, "04224d186040827300", "407708164 bytes decoded, 3 expected", false}, /* lz4's own frame */
};

static struct zd_chain *open_lz4(int acceleration, uint64_t n)
{
    ZD_SCOPED_TEXT(codecs, 200);
    zd_text_addf(&codecs, CODECS, acceleration);
    const struct zd_unit_chain what = {
        .codecs = codecs.at, .dtype = "uint8", .rank = 1, .shape = {n}};
    return zd_unit_chain(&what);
}

START_TEST(lz4_decodes_a_block_or_says_what_is_corrupt)
{
    struct zd_chain *chain = open_lz4(1, blocks[_i].n);
    struct zd_buf *encoded = zd_unit_hex(blocks[_i].encoded);
    struct zd_buf *found = NULL;
    struct zd_error err = {0};
    const enum zd_status status = zd_chain_decode(chain, encoded, &found, &err);
    if (blocks[_i].ok) {
        struct zd_buf *decoded = zd_unit_hex(blocks[_i].decoded);
        ck_assert_msg(status == ZD_OK, "%s", err.text);
        ck_assert(zd_span_equal(zd_buf_span(found), zd_buf_span(decoded)));
        zd_buf_unref(decoded);
    } else {
        ck_assert_int_eq(status, ZD_CORRUPT);
        ck_assert_msg(strstr(err.text, blocks[_i].decoded) != NULL, "%s", err.text);
    }
    zd_buf_unref(found);
    zd_buf_unref(encoded);
    zd_chain_unref(chain);
}
END_TEST

START_TEST(lz4_decodes_what_it_encodes)
{
    static const uint64_t sizes[] = {1, 2, 1000, 65535, 65536, 300001};
    static const int accelerations[] = {-1, 0, 1, 9, 100000};
    for (size_t i = 0; i < ZD_COUNT_OF(sizes); i++) {
        struct zd_chain *chain = open_lz4(accelerations[_i], sizes[i]);
        struct zd_buf *decoded = zd_unit_elements(sizes[i]);
        struct zd_buf *encoded = NULL;
        struct zd_buf *again = NULL;
        ck_assert_int_eq(zd_chain_encode(chain, decoded, &encoded, NULL), ZD_OK);
        ck_assert_uint_le(encoded->len, zd_chain_encoded(chain)->size);
        ck_assert_int_eq(zd_chain_decode(chain, encoded, &again, NULL), ZD_OK);
        ck_assert(zd_span_equal(zd_buf_span(decoded), zd_buf_span(again)));
        zd_buf_unref(decoded);
        zd_buf_unref(encoded);
        zd_buf_unref(again);
        zd_chain_unref(chain);
    }
}
END_TEST

START_TEST(lz4_refuses_every_block_that_is_cut)
{
    struct zd_chain *chain = open_lz4(1, 500);
    struct zd_buf *decoded = zd_unit_elements(500);
    struct zd_buf *encoded = NULL;
    ck_assert_int_eq(zd_chain_encode(chain, decoded, &encoded, NULL), ZD_OK);
    for (size_t len = 0; len < encoded->len; len++) {
        struct zd_buf *cut = zd_buf_copy((struct zd_span){.ptr = encoded->data, .len = len});
        struct zd_buf *found = NULL;
        ck_assert_int_eq(zd_chain_decode(chain, cut, &found, NULL), ZD_CORRUPT);
        zd_buf_unref(cut);
    }
    zd_buf_unref(decoded);
    zd_buf_unref(encoded);
    zd_chain_unref(chain);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, lz4_decodes_a_block_or_says_what_is_corrupt, 0, ZD_COUNT_OF(blocks));
    tcase_add_loop_test(tests, lz4_decodes_what_it_encodes, 0, 5);
    tcase_add_test(tests, lz4_refuses_every_block_that_is_cut);
}
