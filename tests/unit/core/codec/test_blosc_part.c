/* Parts of Blosc frames: which have them, and frames that lie about their blocks. */
#include "core/codec/blosc_part.h"

#include "tests/support/unit.h"

#define LZ4      (1U << 5)
#define SHUFFLED (LZ4 | ZD_BLOSC_SHUFFLED)

static const struct {
    struct zd_blosc_header header;
    bool has_parts;
} headers[] = {
    {{1, SHUFFLED, 4, 65536, 4096, 100}, true},
    {{1, LZ4, 4, 65536, 4096, 100}, true},
    {{1, LZ4, 1, 10, 10, 100}, true},
    {{1, SHUFFLED | ZD_BLOSC_UNSPLIT, 200, 65536, 777, 100}, true},
    {{2, SHUFFLED, 4, 65536, 4096, 100}, false}, /* a later LZ4 */
    {{1, SHUFFLED & ~LZ4, 4, 65536, 4096, 100}, false},
    {{1, LZ4 | ZD_BLOSC_BITSHUFFLED, 4, 65536, 4096, 100}, false},
    /* versions of the library do not agree on how these are split */
    {{1, SHUFFLED, 17, 65536, 17 * 256, 100}, false},
    {{1, SHUFFLED, 4, 65536, 4098, 100}, false},
    {{1, SHUFFLED, 4, 65536, 508, 100}, false},
    {{1, SHUFFLED, 4, 65536, 512, 100}, true},
    {{1, LZ4, 4, 4096, 8192, 100}, false}, /* a block longer than all */
    {{9, ZD_BLOSC_STORED | 7U << 5, 0, 4096, 0, 100}, true},
};

START_TEST(frames_have_parts_where_all_libraries_agree)
{
    ck_assert(zd_blosc_has_parts(&headers[_i].header) == headers[_i].has_parts);
}
END_TEST

/* Two blocks of 8 bytes, of which the second is stored as it is: 16 + 8 + 4 + 8 + 4 + 8 bytes. */
#define FRAME(second, len)                                                                         \
    "02012104 10000000 08000000 30000000 18000000" second "08000000 0102030405060708" len          \
    "1112131415161718"

static const struct {
    const char *frame;
    struct zd_byte_range run;
    const char *bytes; /* NULL: corrupt */
} frames[] = {
    {FRAME("24000000", "08000000"), {8, 8}, "1115121613171418"},
    {FRAME("24000000", "08000000"), {9, 3}, "151216"},
    {FRAME("24000000", "08000000"), {3, 7}, "06030704081115"},
    {FRAME("24000000", "08000000"), {5, 1}, "07"},
    {FRAME("00000000", "08000000"), {8, 8}, NULL}, /* within the header */
    {FRAME("0f000000", "08000000"), {8, 8}, NULL},
    {FRAME("30000000", "08000000"), {8, 8}, NULL}, /* at the end, and beyond */
    {FRAME("2f000000", "08000000"), {8, 8}, NULL}, {FRAME("ffffffff", "08000000"), {8, 8}, NULL},
    {FRAME("00000080", "08000000"), {8, 8}, NULL},
    {FRAME("24000000", "09000000"), {8, 8}, NULL}, /* a stream that goes on behind the frame */
    {FRAME("24000000", "ffffffff"), {8, 8}, NULL}, {FRAME("24000000", "00000080"), {8, 8}, NULL},
    {FRAME("24000000", "00000000"), {8, 8}, NULL},               /* of nothing */
    {FRAME("24000000", "07000000"), {8, 1}, NULL},               /* no LZ4 */
    {FRAME("24000000", "ffffffff"), {0, 8}, "0105020603070408"}, /* the fault is not needed */
};

static struct zd_blosc_header header_of(const struct zd_buf *frame)
{
    return (struct zd_blosc_header){
        .compressor_version = frame->data[1],
        .flags = frame->data[2] | ZD_BLOSC_UNSPLIT,
        .typesize = 2,
        .nbytes = zd_load_u32(frame->data + 4),
        .blocksize = zd_load_u32(frame->data + 8),
        .cbytes = (uint32_t)frame->len,
    };
}

START_TEST(the_needed_part_of_a_frame_is_decoded_or_refused)
{
    struct zd_buf *frame = zd_unit_hex(frames[_i].frame);
    const struct zd_blosc_header header = header_of(frame);
    uint8_t found[16];
    struct zd_error err = {0};
    const struct zd_byte_range run = frames[_i].run;
    const enum zd_status status =
        zd_blosc_decode_part(&header, zd_buf_span(frame), run, found, &err);
    if (frames[_i].bytes == NULL) {
        ck_assert_int_eq(status, ZD_CORRUPT);
    } else {
        struct zd_buf *expected = zd_unit_hex(frames[_i].bytes);
        ck_assert_msg(status == ZD_OK, "%s", err.text);
        ck_assert_uint_eq(expected->len, run.len);
        ck_assert_mem_eq(found, expected->data, run.len);
        zd_buf_unref(expected);
    }
    zd_buf_unref(frame);
}
END_TEST

static enum zd_status decode_some(void *context)
{
    struct zd_buf *frame = context;
    const struct zd_blosc_header header = header_of(frame);
    uint8_t found[3];
    return zd_blosc_decode_part(
        &header, zd_buf_span(frame), (struct zd_byte_range){9, 3}, found, NULL);
}

START_TEST(without_memory_there_is_no_part)
{
    struct zd_buf *frame = zd_unit_hex(frames[0].frame);
    zd_unit_with_failing_memory(decode_some, frame);
    zd_buf_unref(frame);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(
        tests, frames_have_parts_where_all_libraries_agree, 0, ZD_COUNT_OF(headers));
    tcase_add_loop_test(
        tests, the_needed_part_of_a_frame_is_decoded_or_refused, 0, ZD_COUNT_OF(frames));
    tcase_add_test(tests, without_memory_there_is_no_part);
}
