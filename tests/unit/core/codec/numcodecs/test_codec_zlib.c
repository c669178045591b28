/* The codec zlib: one stream, its checksum, and never more than was expected. */
#include <string.h>

#include <libdeflate.h>

#include "tests/support/codec.h"

#define CODECS "['bytes',{'name':'numcodecs.zlib','configuration':{'level':%d}}]"
#define ABC    "78014b4c4a0600024d0127"
#define EMPTY  "7801030000000001"

static const struct {
    uint64_t n; /* bytes expected */
    const char *encoded;
    const char *decoded; /* or part of the text */
    bool ok;
} streams[] = {
    {3, ABC, "616263", true}, {4, ABC, "zlib: 3 bytes decoded, 4 expected", false},
    {2, ABC, "more than the expected 2", false},
    {3, EMPTY, "zlib: 0 bytes decoded, 3 expected", false},
    /* a wrong checksum, something behind the stream */
    {3, "78014b4c4a0600024d0126", "no valid stream", false},
    {3, ABC "00", "1 bytes follow the stream", false},
    {6, ABC ABC, "bytes follow the stream", false}, {3, "", "no valid stream", false},
    {3, "78", "no valid stream", false},
    {3, "1f8b08000000000002034b4c4a0600c241243503000000", "no valid stream", false}, /* gzip's */
};

static struct zd_chain *open_zlib(int level, uint64_t n)
{
    ZD_SCOPED_TEXT(codecs, 200);
    zd_text_addf(&codecs, CODECS, level);
    const struct zd_unit_chain what = {
        .codecs = codecs.at, .dtype = "uint8", .rank = 1, .shape = {n}};
    return zd_unit_chain(&what);
}

START_TEST(zlib_decodes_a_stream_or_says_what_is_corrupt)
{
    struct zd_chain *chain = open_zlib(1, streams[_i].n);
    struct zd_buf *encoded = zd_unit_hex(streams[_i].encoded);
    struct zd_buf *found = NULL;
    struct zd_error err = {0};
    const enum zd_status status = zd_chain_decode(chain, encoded, &found, &err);
    if (streams[_i].ok) {
        struct zd_buf *decoded = zd_unit_hex(streams[_i].decoded);
        ck_assert_msg(status == ZD_OK, "%s", err.text);
        ck_assert(zd_span_equal(zd_buf_span(found), zd_buf_span(decoded)));
        zd_buf_unref(decoded);
    } else {
        ck_assert_int_eq(status, ZD_CORRUPT);
        ck_assert_msg(strstr(err.text, streams[_i].decoded) != NULL, "%s", err.text);
    }
    zd_buf_unref(found);
    zd_buf_unref(encoded);
    zd_chain_unref(chain);
}
END_TEST

START_TEST(zlib_decodes_what_it_encodes_at_every_level)
{
    static const uint64_t sizes[] = {1, 2, 1000, 65535, 65536, 300001};
    for (size_t i = 0; i < ZD_COUNT_OF(sizes); i++) {
        struct zd_chain *chain = open_zlib(_i, sizes[i]);
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

START_TEST(zlib_stops_a_bomb_at_the_expected_size)
{
    struct zd_chain *large = open_zlib(9, 64U << 20);
    struct zd_chain *small = open_zlib(9, 1000);
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

START_TEST(zlib_refuses_every_damaged_stream)
{
    struct zd_chain *chain = open_zlib(5, 500);
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
        /* Hints in the header and padding mean nothing; all else is covered by a checksum, which
           short texts with small differences share. */
        const enum zd_status status = zd_chain_decode(chain, flipped, &found, NULL);
        ck_assert(status == ZD_CORRUPT || libdeflate_adler32(1, found->data, found->len) ==
                                              libdeflate_adler32(1, decoded->data, decoded->len));
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
        tests, zlib_decodes_a_stream_or_says_what_is_corrupt, 0, ZD_COUNT_OF(streams));
    tcase_add_loop_test(tests, zlib_decodes_what_it_encodes_at_every_level, 0, 10);
    tcase_add_test(tests, zlib_stops_a_bomb_at_the_expected_size);
    tcase_add_test(tests, zlib_refuses_every_damaged_stream);
}
