/* The codec zstd: frames of every kind, and never more than was expected. */
#include <string.h>

#include "tests/support/codec.h"

#define CODECS "['bytes',{'name':'zstd','configuration':{'level':%d,'checksum':%s}}]"
#define ABCD   "28b52ffd045821000061626364cc925dd2" /* with a checksum, without its size */
#define EFG    "28b52ffd0058190000656667"           /* without its size */
#define SIZED  "28b52ffd2003190000656667"           /* with its size, 3 */
#define SKIP   "502a4d1803000000aabbcc"

static const struct {
    uint64_t n; /* bytes expected */
    const char *encoded;
    const char *decoded; /* or part of the text */
    bool ok;
} frames[] = {
    /* 118: a checksum is verified whatever the document says of it; a size may be missing */
    {4, ABCD, "61626364", true},
    {3, EFG, "656667", true},
    {3, SIZED, "656667", true},
    /* frames follow each other, with skippable ones between */
    {7, ABCD EFG, "61626364656667", true},
    {7, SKIP ABCD SKIP SIZED SKIP, "61626364656667", true},
    {5, ABCD, "zstd: 4 bytes decoded, 5 expected", false},
    {3, ABCD, "more than the expected 3", false},
    {6, ABCD EFG, "more than the expected 6", false},
    {2, SIZED, "more than the expected 2", false},
    {4, "28b52ffd045821000061626364cc925dd3", "checksum", false},
    /* a frame that lies about its size */
    {3, "28b52ffd2004190000656667", "bytes expected", false},
    {3, SIZED "00", "bytes expected", false},
    {3, "28b52ffd20031900006566", "bytes expected", false},
    {3, "", "zstd: 0 bytes decoded, 3 expected", false},
    {3, SKIP, "zstd: 0 bytes decoded, 3 expected", false},
    {3, "1f8b08000000000002034b4c4a0600c241243503000000", "bytes expected", false},
};

static struct zd_chain *open_zstd(int level, bool checksum, uint64_t n)
{
    ZD_SCOPED_TEXT(codecs, 200);
    zd_text_addf(&codecs, CODECS, level, checksum ? "true" : "false");
    const struct zd_unit_chain what = {
        .codecs = codecs.at, .dtype = "uint8", .rank = 1, .shape = {n}};
    return zd_unit_chain(&what);
}

START_TEST(zstd_decodes_frames_or_says_what_is_corrupt)
{
    struct zd_chain *chain = open_zstd(1, false, frames[_i].n);
    struct zd_buf *encoded = zd_unit_hex(frames[_i].encoded);
    struct zd_buf *found = NULL;
    struct zd_error err = {0};
    const enum zd_status status = zd_chain_decode(chain, encoded, &found, &err);
    if (frames[_i].ok) {
        struct zd_buf *decoded = zd_unit_hex(frames[_i].decoded);
        ck_assert_msg(status == ZD_OK, "%s", err.text);
        ck_assert(zd_span_equal(zd_buf_span(found), zd_buf_span(decoded)));
        zd_buf_unref(decoded);
    } else {
        ck_assert_int_eq(status, ZD_CORRUPT);
        ck_assert_msg(strstr(err.text, frames[_i].decoded) != NULL, "%s", err.text);
    }
    zd_buf_unref(found);
    zd_buf_unref(encoded);
    zd_chain_unref(chain);
}
END_TEST

START_TEST(zstd_decodes_what_it_encodes)
{
    static const int levels[] = {-131072, -1, 0, 1, 3, 19, 22};
    static const uint64_t sizes[] = {1, 255, 256, 131072, 131073, 300001};
    for (size_t i = 0; i < ZD_COUNT_OF(levels) * ZD_COUNT_OF(sizes); i++) {
        const uint64_t size = sizes[i % ZD_COUNT_OF(sizes)];
        struct zd_chain *chain = open_zstd(levels[i / ZD_COUNT_OF(sizes)], i % 2 == 0, size);
        struct zd_buf *decoded = zd_unit_elements(size);
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

START_TEST(zstd_decodes_parts_of_what_it_encodes)
{
    static const uint64_t sizes[] = {1, 500, 131072, 131073, 700001};
    for (size_t i = 0; i < 2 * ZD_COUNT_OF(sizes); i++) {
        const uint64_t size = sizes[i / 2];
        struct zd_chain *chain = open_zstd((int)i, i % 2 == 0, size);
        struct zd_buf *decoded = zd_unit_elements(size);
        struct zd_buf *encoded = NULL;
        ck_assert_int_eq(zd_chain_encode(chain, decoded, &encoded, NULL), ZD_OK);
        zd_unit_check_parts(chain, encoded, decoded, 30);
        zd_buf_unref(decoded);
        zd_buf_unref(encoded);
        zd_chain_unref(chain);
    }
}
END_TEST

/* Frames that have no parts are decoded whole: all that must be seen of them is seen. */
START_TEST(zstd_cuts_parts_from_frames_of_every_kind)
{
    struct zd_chain *chain = open_zstd(1, false, frames[_i].n);
    struct zd_buf *encoded = zd_unit_hex(frames[_i].encoded);
    const struct zd_byte_range run = {.first = frames[_i].n / 2, .len = 1};
    struct zd_buf *found = NULL;
    const enum zd_status status = zd_chain_decode_part(chain, encoded, run, &found, NULL);
    if (frames[_i].ok) {
        struct zd_buf *decoded = zd_unit_hex(frames[_i].decoded);
        ck_assert_int_eq(status, ZD_OK);
        ck_assert_uint_eq(found->len, 1);
        ck_assert_uint_eq(found->data[0], decoded->data[run.first]);
        zd_buf_unref(decoded);
    } else {
        ck_assert_int_eq(status, ZD_CORRUPT);
    }
    zd_buf_unref(found);
    zd_buf_unref(encoded);
    zd_chain_unref(chain);
}
END_TEST

START_TEST(zstd_writes_a_checksum_when_asked)
{
    struct zd_buf *decoded = zd_unit_elements(100);
    size_t len[2];
    for (int i = 0; i < 2; i++) {
        struct zd_chain *chain = open_zstd(1, i == 1, 100);
        struct zd_buf *encoded = NULL;
        ck_assert_int_eq(zd_chain_encode(chain, decoded, &encoded, NULL), ZD_OK);
        len[i] = encoded->len;
        zd_buf_unref(encoded);
        zd_chain_unref(chain);
    }
    ck_assert_uint_eq(len[1], len[0] + 4); /* RFC 8878, 3.1.1 */
    zd_buf_unref(decoded);
}
END_TEST

START_TEST(zstd_stops_a_bomb_at_the_expected_size)
{
    struct zd_chain *large = open_zstd(1, false, 64U << 20);
    struct zd_chain *small = open_zstd(1, false, 1000);
    struct zd_buf *zeros = zd_buf_new(64U << 20);
    memset(zeros->data, 0, zeros->cap);
    zeros->len = zeros->cap;
    struct zd_buf *bomb = NULL;
    struct zd_buf *found = NULL;
    ck_assert_int_eq(zd_chain_encode(large, zeros, &bomb, NULL), ZD_OK);
    ck_assert_uint_lt(bomb->len, 10000);
    ck_assert_int_eq(zd_chain_decode(small, bomb, &found, NULL), ZD_CORRUPT);
    zd_buf_unref(zeros);
    zd_buf_unref(bomb);
    zd_chain_unref(large);
    zd_chain_unref(small);
}
END_TEST

START_TEST(zstd_refuses_every_damaged_frame)
{
    struct zd_chain *chain = open_zstd(5, true, 500);
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
        const enum zd_status status = zd_chain_decode(chain, flipped, &found, NULL);
        ck_assert(status == ZD_CORRUPT || zd_span_equal(zd_buf_span(found), zd_buf_span(decoded)));
        zd_buf_unref(ZD_TAKE(found));
        const struct zd_byte_range run = {.first = zd_unit_random() % 400, .len = 100};
        const enum zd_status part = zd_chain_decode_part(chain, flipped, run, &found, NULL);
        ck_assert_int_eq(part, status); /* the checksum is always verified */
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
    tcase_add_loop_test(tests, zstd_decodes_frames_or_says_what_is_corrupt, 0, ZD_COUNT_OF(frames));
    tcase_add_test(tests, zstd_decodes_what_it_encodes);
    tcase_add_test(tests, zstd_decodes_parts_of_what_it_encodes);
    tcase_add_loop_test(tests, zstd_cuts_parts_from_frames_of_every_kind, 0, ZD_COUNT_OF(frames));
    tcase_add_test(tests, zstd_writes_a_checksum_when_asked);
    tcase_add_test(tests, zstd_stops_a_bomb_at_the_expected_size);
    tcase_add_test(tests, zstd_refuses_every_damaged_frame);
}
