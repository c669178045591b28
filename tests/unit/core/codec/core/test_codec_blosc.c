/* The codec blosc: its configuration, its frames, and frames that must not reach the library. */
#include <string.h>

#include "tests/support/codec.h"

#define MEMBERS(text) "['bytes',{'name':'blosc','configuration':{" text "}}]"
#define AT            "/codecs/1/configuration/"

/* Checklist F, 121 to 123 of the reference. */
static const struct {
    const char *codecs;
    const char *read;  /* findings */
    const char *write; /* findings, or NULL: the same */
} judged[] = {
    {MEMBERS("'cname':'lz4','clevel':5,'shuffle':'shuffle','typesize':4,'blocksize':0"), "", NULL},
    {MEMBERS("'cname':'blosclz','clevel':0,'shuffle':'bitshuffle','typesize':255,'blocksize':0"),
        "", NULL},
    {MEMBERS("'cname':'snappy','clevel':9,'shuffle':'shuffle','typesize':256,'blocksize':0"), "",
        NULL},
    {MEMBERS("'cname':'zlib','clevel':1,'shuffle':'noshuffle','blocksize':9007199254740993"), "",
        NULL},
    /* 121: the integers of v2 */
    {MEMBERS("'cname':'zstd','clevel':1,'shuffle':1,'typesize':4,'blocksize':0"),
        "invalid wrong_type " AT "shuffle", "invalid wrong_type " AT "shuffle"},
    {MEMBERS("'cname':'zstd','clevel':1,'shuffle':'shuffle','blocksize':0"),
        "warning implied_parameter " AT "typesize", "invalid missing_member " AT "typesize"},
    {MEMBERS("'cname':'zstd','clevel':1,'shuffle':'bitshuffle','blocksize':0"),
        "warning implied_parameter " AT "typesize", "invalid missing_member " AT "typesize"},
    {MEMBERS("'cname':'zstd','clevel':1,'shuffle':'shuffle','typesize':0,'blocksize':0"),
        "invalid out_of_range " AT "typesize", NULL},
    /* 122: without a shuffle, the type size is nothing */
    {MEMBERS("'cname':'zstd','clevel':1,'shuffle':'noshuffle','blocksize':0"), "", NULL},
    {MEMBERS("'cname':'zstd','clevel':1,'shuffle':'noshuffle','typesize':0,'blocksize':0"), "",
        "invalid out_of_range " AT "typesize"},
    /* 123 */
    {MEMBERS("'cname':'lzma','clevel':10,'shuffle':'noshuffle','blocksize':-1"),
        "invalid out_of_range " AT "cname; invalid out_of_range " AT
        "clevel; invalid out_of_range " AT "blocksize",
        NULL},
    {MEMBERS("'cname':'lz4','clevel':5,'shuffle':'noshuffle'"),
        "warning implied_parameter " AT "blocksize", "invalid missing_member " AT "blocksize"},
    {MEMBERS("'cname':'lz4','clevel':5,'shuffle':'noshuffle','blocksize':0,'id':'blosc'"),
        "invalid unknown_member " AT "id", NULL},
    {"['bytes','blosc']",
        "invalid missing_member " AT "cname; invalid missing_member " AT
        "clevel; invalid missing_member " AT "shuffle; warning implied_parameter " AT "blocksize",
        "invalid missing_member " AT "cname; invalid missing_member " AT
        "clevel; invalid missing_member " AT "shuffle; invalid missing_member " AT "blocksize"},
};

static void judge(const char *codecs, enum zd_judgement judgement, const char *expected)
{
    const struct zd_unit_chain what = {
        .codecs = codecs, .dtype = "uint8", .rank = 1, .shape = {16}, .judgement = judgement};
    struct zd_faults faults = {0};
    struct zd_chain *chain = NULL;
    const enum zd_status status = zd_unit_chain_open(&what, &chain, &faults);
    char *found = zd_unit_faults(&faults);
    ck_assert_msg(strcmp(found, expected) == 0, "%s: %s", codecs, found);
    ck_assert_int_eq(status, strstr(expected, "invalid") == NULL ? ZD_OK : ZD_INVALID);
    zd_free(found);
    zd_chain_unref(chain);
    zd_faults_done(&faults);
}

START_TEST(blosc_judges_its_configuration)
{
    judge(judged[_i].codecs, ZD_JUDGE_READ, judged[_i].read);
    judge(judged[_i].codecs, ZD_JUDGE_WRITE,
        judged[_i].write == NULL ? judged[_i].read : judged[_i].write);
}
END_TEST

#define ANY      MEMBERS("'cname':'lz4','clevel':5,'shuffle':'shuffle','typesize':4,'blocksize':0")
#define ZEROS_16 "00000000000000000000000000000000"

/* Frames, and what they decode to: section 10 of the reference, whole and damaged. */
static const struct {
    const char *encoded;
    uint64_t n;          /* bytes expected */
    const char *decoded; /* or part of the text */
    bool ok;
} frames[] = {
    /* 124 */
    {"0201320104000000040000001400000061626364", 4, "61626364", true},
    {"0201320104000000040000001400000061626364", 3, "4 bytes decoded, 3 expected", false},
    {"0201320104000000040000001500000061626364", 4, "length differs", false},
    {"020132010400000004000000140000006162636465", 4, "length differs", false},
    {"02013201040000000400000013000000616263", 4, "16 bytes", false},
    {"0101320104000000040000001400000061626364", 4, "version must be 2", false},
    {"0301320104000000040000001400000061626364", 4, "version must be 2", false},
    {"02013a0104000000040000001400000061626364", 4, "flags", false},
    {"0201b20104000000040000001400000061626364", 4, "flags", false},
    {"0201320004000000040000001400000061626364", 4, "type size", false},
    {"020132010400000004000000140000", 4, "at least 16", false},
    {"", 4, "at least 16", false},
    /* 64 x uint32 0, lz4 + shuffle */
    {"02013104000100000001000023000000140000000b0000001f000100e7500000000000", 256,
        ZEROS_16 ZEROS_16 ZEROS_16 ZEROS_16 ZEROS_16 ZEROS_16 ZEROS_16 ZEROS_16 ZEROS_16 ZEROS_16
            ZEROS_16 ZEROS_16 ZEROS_16 ZEROS_16 ZEROS_16 ZEROS_16,
        true},
    /* 125: uint32 0..63, lz4 + bitshuffle; only its beginning is compared */
    {"02013404000100000001000042000000140000002a00000013aa010013cc010013f001002300ff02002300ff0400"
     "700000ffffffff0009000f0200b3500000000000",
        256, "000000000100000002000000", true},
    /* 126 */
    {"02013301000000000000010010000000", 1, "0 bytes decoded, 1 expected", false},
    /* a block that begins outside of the frame */
    {"02013104000100000001000023000000ff0000000b0000001f000100e7500000000000", 256, "decode",
        false},
    {"0201310400010000000100002300000014000000ff0000001f000100e7500000000000", 256, "decode",
        false},
    /* block sizes of 0 and 2^31 */
    {"02013104000100000000000023000000140000000b0000001f000100e7500000000000", 256, "block size",
        false},
    {"02013104000100000000008023000000140000000b0000001f000100e7500000000000", 256, "block size",
        false},
};

START_TEST(blosc_decodes_frames_or_says_what_is_corrupt)
{
    const struct zd_unit_chain what = {
        .codecs = ANY, .dtype = "uint8", .rank = 1, .shape = {frames[_i].n}};
    struct zd_chain *chain = zd_unit_chain(&what);
    struct zd_buf *encoded = zd_unit_hex(frames[_i].encoded);
    struct zd_buf *found = NULL;
    struct zd_error err = {0};
    const enum zd_status status = zd_chain_decode(chain, encoded, &found, &err);
    if (frames[_i].ok) {
        struct zd_buf *decoded = zd_unit_hex(frames[_i].decoded);
        ck_assert_msg(status == ZD_OK, "%s", err.text);
        ck_assert_uint_eq(found->len, frames[_i].n);
        ck_assert_mem_eq(found->data, decoded->data, decoded->len);
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

/* Every compressor with every shuffle, over sizes around a block's. */
START_TEST(blosc_decodes_what_it_encodes)
{
    static const char *const cnames[] = {"blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"};
    static const char *const shuffles[] = {"noshuffle", "shuffle", "bitshuffle"};
    static const uint64_t sizes[] = {1, 2, 127, 128, 129, 4096, 65537, 1000003};
    for (size_t s = 0; s < ZD_COUNT_OF(sizes); s++) {
        ZD_SCOPED_TEXT(codecs, 400);
        zd_text_addf(&codecs,
            MEMBERS("'cname':'%s','clevel':%llu,'shuffle':'%s','typesize':%llu,'blocksize':%llu"),
            cnames[_i / 3], (unsigned long long)(zd_unit_random() % 10), shuffles[_i % 3],
            (unsigned long long)(1 + zd_unit_random() % 300),
            (unsigned long long)(zd_unit_random() % 3 * 5000));
        const struct zd_unit_chain what = {
            .codecs = codecs.at, .dtype = "uint8", .rank = 1, .shape = {sizes[s]}};
        struct zd_chain *chain = zd_unit_chain(&what);
        struct zd_buf *decoded = zd_unit_elements(sizes[s]);
        struct zd_buf *encoded = NULL;
        struct zd_buf *again = NULL;
        struct zd_error err = {0};
        ck_assert_int_eq(zd_chain_encode(chain, decoded, &encoded, &err), ZD_OK);
        ck_assert_uint_le(encoded->len, zd_chain_encoded(chain)->size);
        const enum zd_status status = zd_chain_decode(chain, encoded, &again, &err);
        ck_assert_msg(status == ZD_OK, "%s: %s", codecs.at, err.text);
        ck_assert(zd_span_equal(zd_buf_span(decoded), zd_buf_span(again)));
        zd_unit_check_parts(chain, encoded, decoded, 20);
        zd_buf_unref(decoded);
        zd_buf_unref(encoded);
        zd_buf_unref(again);
        zd_chain_unref(chain);
    }
}
END_TEST

/* Noise that blosclz can just about compress: every byte pair repeats once. */
static void fill_with_weak_noise(struct zd_buf *buf)
{
    for (size_t i = 0; i + 64 <= buf->cap; i += 64) {
        for (size_t j = 0; j < 40; j += sizeof(uint64_t)) {
            zd_store_u64(buf->data + i + j, zd_unit_random());
        }
        memcpy(buf->data + i + 40, buf->data + i, 24);
    }
    buf->len = buf->cap;
}

START_TEST(blosc_never_gives_large_blosclz_frames_to_the_library)
{
    const struct zd_unit_chain what = {
        .codecs = MEMBERS("'cname':'blosclz','clevel':9,'shuffle':'noshuffle','blocksize':0"),
        .dtype = "uint8",
        .rank = 1,
        .shape = {12U << 20}};
    struct zd_chain *chain = zd_unit_chain(&what);
    struct zd_buf *decoded = zd_buf_new(12U << 20);
    fill_with_weak_noise(decoded);
    /* Every frame we write can be read: a frame that is too large is stored instead. */
    struct zd_buf *encoded = NULL;
    struct zd_buf *again = NULL;
    struct zd_error err = {0};
    ck_assert_int_eq(zd_chain_encode(chain, decoded, &encoded, &err), ZD_OK);
    const enum zd_status status = zd_chain_decode(chain, encoded, &again, &err);
    ck_assert_msg(status == ZD_OK, "%s", err.text);
    ck_assert(zd_span_equal(zd_buf_span(decoded), zd_buf_span(again)));
    /* The same frame, said to be compressed, is refused without a try. */
    ck_assert_uint_ge(encoded->len, 8U << 20);
    encoded->data[2] &= (uint8_t)~0x02U;
    zd_buf_unref(again);
    again = NULL;
    ck_assert_int_eq(zd_chain_decode(chain, encoded, &again, &err), ZD_UNSUPPORTED);
    zd_buf_unref(decoded);
    zd_buf_unref(encoded);
    zd_chain_unref(chain);
}
END_TEST

START_TEST(blosc_decodes_or_refuses_every_damaged_frame)
{
    static const char *const cnames[] = {"blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"};
    ZD_SCOPED_TEXT(codecs, 400);
    zd_text_addf(&codecs,
        MEMBERS("'cname':'%s','clevel':5,'shuffle':'shuffle','typesize':4,'blocksize':512"),
        cnames[_i]);
    const struct zd_unit_chain what = {
        .codecs = codecs.at, .dtype = "uint8", .rank = 1, .shape = {3000}};
    struct zd_chain *chain = zd_unit_chain(&what);
    struct zd_buf *decoded = zd_unit_elements(3000);
    struct zd_buf *encoded = NULL;
    ck_assert_int_eq(zd_chain_encode(chain, decoded, &encoded, NULL), ZD_OK);
    for (int n = 0; n < 4000; n++) {
        struct zd_buf *damaged = zd_buf_copy(zd_buf_span(encoded));
        damaged->data[zd_unit_random() % damaged->len] ^= (uint8_t)(1U << zd_unit_random() % 8);
        if (n % 4 == 0) {
            damaged->len = zd_unit_random() % damaged->len;
        }
        if (n % 8 == 0 && damaged->len >= 16) {
            zd_store_u32(damaged->data + 12, (uint32_t)damaged->len);
        }
        struct zd_buf *found = NULL;
        struct zd_error err = {0};
        const enum zd_status status = zd_chain_decode(chain, damaged, &found, &err);
        ck_assert_msg(status == ZD_OK || status == ZD_CORRUPT, "%s", err.text);
        zd_buf_unref(ZD_TAKE(found));
        const struct zd_byte_range run = {.first = zd_unit_random() % 2990, .len = 10};
        const enum zd_status part = zd_chain_decode_part(chain, damaged, run, &found, &err);
        ck_assert_msg(part == ZD_OK || part == ZD_CORRUPT, "%s", err.text);
        ck_assert(part == ZD_OK || status != ZD_OK); /* what is needed of a good frame is good */
        zd_buf_unref(found);
        zd_buf_unref(damaged);
    }
    zd_buf_unref(decoded);
    zd_buf_unref(encoded);
    zd_chain_unref(chain);
}
END_TEST

START_TEST(blosc_writes_its_configuration_back)
{
    const char *codecs =
        MEMBERS("'cname':'zstd','clevel':3,'shuffle':'bitshuffle','typesize':8,'blocksize':7");
    const struct zd_unit_chain what = {.codecs = codecs, .dtype = "uint8", .rank = 1, .shape = {8}};
    struct zd_chain *chain = zd_unit_chain(&what);
    struct zd_json *json = zd_chain_json(chain);
    struct zd_json *expected =
        zd_unit_json("[{'name':'bytes'},{'name':'blosc','configuration':{'cname':'zstd','clevel':3,"
                     "'shuffle':'bitshuffle','typesize':8,'blocksize':7}}]");
    ck_assert(zd_json_equal(json, expected));
    zd_json_unref(json);
    zd_json_unref(expected);
    zd_chain_unref(chain);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, blosc_judges_its_configuration, 0, ZD_COUNT_OF(judged));
    tcase_add_loop_test(
        tests, blosc_decodes_frames_or_says_what_is_corrupt, 0, ZD_COUNT_OF(frames));
    tcase_add_loop_test(tests, blosc_decodes_what_it_encodes, 0, 18);
    tcase_add_test(tests, blosc_never_gives_large_blosclz_frames_to_the_library);
    tcase_add_loop_test(tests, blosc_decodes_or_refuses_every_damaged_frame, 0, 6);
    tcase_add_test(tests, blosc_writes_its_configuration_back);
}
