/* The codec gzip: members, checksums, and never more than was expected. */
#include <string.h>

#include "tests/support/codec.h"

#define CODECS "['bytes',{'name':'gzip','configuration':{'level':%d}}]"
#define ABC    "1f8b08000000000002034b4c4a0600c241243503000000"
#define DEFG   "1f8b08000000000002034b494d4b0700598e6d3b04000000"
#define EMPTY  "1f8b080000000000020303000000000000000000"

static const struct {
    uint64_t n; /* bytes expected */
    const char *encoded;
    const char *decoded; /* or part of the text */
    bool ok;
} members[] = {
    {3, ABC, "616263", true},
    /* 116: members follow each other, empty ones too */
    {7, ABC DEFG, "61626364656667", true}, {7, EMPTY ABC EMPTY DEFG EMPTY, "61626364656667", true},
    {4, ABC, "gzip: 3 bytes decoded, 4 expected", false},
    {2, ABC, "more than the expected 2", false}, {6, ABC DEFG, "more than the expected 6", false},
    /* a wrong checksum, a wrong length */
    {3, "1f8b08000000000002034b4c4a0600c241243403000000", "no valid member at byte 0", false},
    {3, "1f8b08000000000002034b4c4a0600c241243504000000", "no valid member at byte 0", false},
    {7, ABC "1f8b08000000000002034b494d4b0700598e6d3c04000000", "no valid member at byte 23",
        false},
    /* something behind the last member */
    {3, ABC "00", "no valid member at byte 23", false},
    {3, ABC "1f8b", "no valid member at byte 23", false},
    {3, "", "no valid member at byte 0", false},
    {3, "1f8b08000000000002034b4c4a0600c24124350300", "no valid member", false},
    {3, "789c4b4c4a0600024d0127", "no valid member", false}, /* zlib's form */
};

static struct zd_chain *open_gzip(int level, uint64_t n)
{
    ZD_SCOPED_TEXT(codecs, 200);
    zd_text_addf(&codecs, CODECS, level);
    const struct zd_unit_chain what = {
        .codecs = codecs.at, .dtype = "uint8", .rank = 1, .shape = {n}};
    return zd_unit_chain(&what);
}

START_TEST(gzip_decodes_members_or_says_what_is_corrupt)
{
    struct zd_chain *chain = open_gzip(1, members[_i].n);
    struct zd_buf *encoded = zd_unit_hex(members[_i].encoded);
    struct zd_buf *found = NULL;
    struct zd_error err = {0};
    const enum zd_status status = zd_chain_decode(chain, encoded, &found, &err);
    if (members[_i].ok) {
        struct zd_buf *decoded = zd_unit_hex(members[_i].decoded);
        ck_assert_msg(status == ZD_OK, "%s", err.text);
        ck_assert(zd_span_equal(zd_buf_span(found), zd_buf_span(decoded)));
        zd_buf_unref(decoded);
    } else {
        ck_assert_int_eq(status, ZD_CORRUPT);
        ck_assert_msg(strstr(err.text, members[_i].decoded) != NULL, "%s", err.text);
    }
    zd_buf_unref(found);
    zd_buf_unref(encoded);
    zd_chain_unref(chain);
}
END_TEST

START_TEST(gzip_decodes_what_it_encodes_at_every_level)
{
    static const uint64_t sizes[] = {1, 2, 1000, 65535, 65536, 300001};
    for (size_t i = 0; i < ZD_COUNT_OF(sizes); i++) {
        struct zd_chain *chain = open_gzip(_i, sizes[i]);
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

START_TEST(gzip_stops_a_bomb_at_the_expected_size)
{
    struct zd_chain *large = open_gzip(9, 64U << 20);
    struct zd_chain *small = open_gzip(9, 1000);
    struct zd_buf *zeros = zd_buf_new(64U << 20);
    memset(zeros->data, 0, zeros->cap);
    zeros->len = zeros->cap;
    struct zd_buf *bomb = NULL;
    struct zd_buf *found = NULL;
    ck_assert_int_eq(zd_chain_encode(large, zeros, &bomb, NULL), ZD_OK);
    ck_assert_int_eq(zd_chain_decode(small, bomb, &found, NULL), ZD_CORRUPT);
    zd_buf_unref(zeros);
    zd_buf_unref(bomb);
    zd_chain_unref(large);
    zd_chain_unref(small);
}
END_TEST

START_TEST(gzip_refuses_every_damaged_member)
{
    struct zd_chain *chain = open_gzip(5, 500);
    struct zd_buf *decoded = zd_unit_elements(500);
    struct zd_buf *encoded = NULL;
    ck_assert_int_eq(zd_chain_encode(chain, decoded, &encoded, NULL), ZD_OK);
    for (size_t len = 0; len < encoded->len; len++) {
        struct zd_buf *cut = zd_buf_copy((struct zd_span){.ptr = encoded->data, .len = len});
        struct zd_buf *found = NULL;
        ck_assert_int_eq(zd_chain_decode(chain, cut, &found, NULL), ZD_CORRUPT);
        zd_buf_unref(cut);
        struct zd_buf *flipped = zd_buf_copy(zd_buf_span(encoded));
        flipped->data[len] ^= (uint8_t)(1U << zd_unit_random() % 8);
        /* Hints in the header and padding mean nothing; all else is covered by a checksum. */
        const enum zd_status status = zd_chain_decode(chain, flipped, &found, NULL);
        ck_assert(status == ZD_CORRUPT || zd_span_equal(zd_buf_span(found), zd_buf_span(decoded)));
        zd_buf_unref(found);
        zd_buf_unref(flipped);
    }
    zd_buf_unref(decoded);
    zd_buf_unref(encoded);
    zd_chain_unref(chain);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(
        tests, gzip_decodes_members_or_says_what_is_corrupt, 0, ZD_COUNT_OF(members));
    tcase_add_loop_test(tests, gzip_decodes_what_it_encodes_at_every_level, 0, 10);
    tcase_add_test(tests, gzip_stops_a_bomb_at_the_expected_size);
    tcase_add_test(tests, gzip_refuses_every_damaged_member);
}
