/* Archives written in one pass, byte by byte (APPNOTE.TXT 6.3.10), and their lengths. */
#include "server/format/zip_writer.h"

#include <string.h>

#include "tests/support/unit.h"

#define TEXT_BYTES_MAX 65536

/* A member "a" with the bytes "123456789", whose CRC-32 is cbf43926. */
static const char small[] = "504b0304" /* 4.3.7 */
                            "1400"
                            "0808"
                            "0000" /* version 2.0; 4.4.4: bits 3 and 11; stored */
                            "0000"
                            "2100"
                            "00000000" /* 1980-01-01; checksum and lengths follow */
                            "00000000"
                            "00000000"
                            "0100"
                            "0000"
                            "61"
                            "313233343536373839"
                            "504b0708"
                            "2639f4cb"
                            "09000000"
                            "09000000" /* 4.3.9 */
                            "504b0102" /* 4.3.12 */
                            "1400"
                            "1400"
                            "0808"
                            "0000"
                            "0000"
                            "2100"
                            "2639f4cb"
                            "09000000"
                            "09000000"
                            "0100"
                            "0000"
                            "0000"
                            "0000"
                            "0000"
                            "00000000"
                            "00000000"
                            "61"
                            "504b0506"
                            "0000"
                            "0000"
                            "0100"
                            "0100" /* 4.3.16 */
                            "2f000000"
                            "38000000"
                            "0000";

START_TEST(an_archive_is_what_the_specification_says)
{
    static const char bytes[] = "123456789";
    ZD_AUTO(zd_buf) expected = zd_unit_hex(small);
    ZD_SCOPED_TEXT(text, TEXT_BYTES_MAX);
    struct zd_zip_file file = {.name = zd_span_of("a"), .bytes = strlen(bytes)};
    struct zd_zip_writer zip = {.file = &file, .n = 1};
    uint64_t size;
    ck_assert(zd_zip_writer_size(&zip, &size));
    ck_assert_uint_eq(size, expected->len);
    zd_zip_writer_begin(&zip, &text);
    zd_text_add(&text, bytes);
    zd_zip_writer_count(&zip, (struct zd_span){.ptr = (const uint8_t *)bytes, .len = 4});
    zd_zip_writer_count(&zip, (struct zd_span){.ptr = (const uint8_t *)bytes + 4, .len = 5});
    zd_zip_writer_end(&zip, &text);
    zd_zip_writer_finish(&zip, &text);
    ck_assert_int_eq(text.status, ZD_OK);
    ck_assert_uint_eq(text.len, expected->len);
    ck_assert_mem_eq(text.at, expected->data, text.len);
}
END_TEST

#define FIXED     (30 + 16 + 46 + 22) /* around the bytes of a member, without its names */
#define END64     (56 + 20)
#define LOCAL64   (20 + 8) /* more in its local header and its descriptor */
#define LENGTHS64 20       /* more in the directory: two lengths, */
#define PLACE64   12       /* one place, */
#define ALL64     28       /* or all three */
#define FOUR_GIB  UINT64_C(0xffffffff)

static const struct {
    uint32_t n;
    uint64_t bytes[2];
    bool fits;
    uint64_t size;
} sizes[] = {
    {0, {0}, true, 22},
    {1, {0}, true, FIXED + 2},
    {1, {FOUR_GIB - 200}, true, FOUR_GIB - 200 + FIXED + 2},
    {1, {FOUR_GIB - 1}, true, FOUR_GIB - 1 + FIXED + 2 + END64}, /* the directory lies behind */
    {1, {FOUR_GIB}, true, FOUR_GIB + FIXED + 2 + LOCAL64 + LENGTHS64 + END64},
    {2, {FOUR_GIB, 1}, true, /* of the second member the place is long */
        FOUR_GIB + 1 + FIXED + (FIXED - 22) + 4 + LOCAL64 + LENGTHS64 + PLACE64 + END64},
    {2, {FOUR_GIB, FOUR_GIB}, true,
        2 * FOUR_GIB + FIXED + (FIXED - 22) + 4 + 2 * LOCAL64 + LENGTHS64 + ALL64 + END64},
    {1, {UINT64_MAX - 250}, true, UINT64_MAX - 250 + FIXED + 2 + LOCAL64 + LENGTHS64 + END64},
    {1, {UINT64_MAX - 200}, false, 0},
    {2, {UINT64_MAX - 250, 200}, false, 0},
    {1, {UINT64_MAX}, false, 0},
};

START_TEST(the_length_is_known_before)
{
    struct zd_zip_file files[2];
    struct zd_zip_writer zip = {.file = files, .n = sizes[_i].n};
    uint64_t size = 0;
    for (uint32_t i = 0; i < 2; i++) {
        files[i] = (struct zd_zip_file){.name = zd_span_of("m"), .bytes = sizes[_i].bytes[i]};
    }
    ck_assert_int_eq(zd_zip_writer_size(&zip, &size), sizes[_i].fits);
    ck_assert_uint_eq(size, sizes[_i].size);
}
END_TEST

/* Whatever is written, it is as long as was said; members of 4 GiB are only counted here. */
START_TEST(long_members_are_as_long_as_said)
{
    for (uint64_t i = 0; i < 3; i++) {
        ZD_SCOPED_TEXT(text, TEXT_BYTES_MAX);
        struct zd_zip_file files[2] = {
            {.name = zd_span_of("a"), .bytes = i == 0 ? 0 : FOUR_GIB - 1 + i},
            {.name = zd_span_of("bc"), .bytes = i}};
        struct zd_zip_writer zip = {.file = files, .n = 2};
        uint64_t size = 0;
        uint64_t missing = 0;
        ck_assert(zd_zip_writer_size(&zip, &size));
        for (uint32_t k = 0; k < 2; k++) {
            zd_zip_writer_begin(&zip, &text);
            zip.position += files[k].bytes;
            missing += files[k].bytes;
            zd_zip_writer_end(&zip, &text);
        }
        zd_zip_writer_finish(&zip, &text);
        ck_assert_uint_eq(text.len + missing, size);
    }
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, an_archive_is_what_the_specification_says);
    tcase_add_loop_test(tests, the_length_is_known_before, 0, ZD_COUNT_OF(sizes));
    tcase_add_test(tests, long_members_are_as_long_as_said);
}
