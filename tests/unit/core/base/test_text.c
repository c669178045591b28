/* Facts about core/base/text. */
#include "core/base/text.h"

#include <string.h>

#include "tests/support/unit.h"

START_TEST(a_new_text_is_empty_and_holds_nothing)
{
    const uint64_t before = zd_alloc_count();
    struct zd_text text;
    zd_text_init(&text, 10);
    ck_assert_str_eq(text.at, "");
    ck_assert_uint_eq(zd_text_span(&text).len, 0);
    zd_text_clear(&text);
    zd_text_done(&text);
    ck_assert_uint_eq(zd_alloc_count(), before);
    struct zd_text zeroed = {0};
    zd_text_done(&zeroed);
}
END_TEST

START_TEST(pieces_follow_each_other)
{
    ZD_SCOPED_TEXT(text, 1000);
    ck_assert_int_eq(zd_text_add(&text, "c"), ZD_OK);
    ck_assert_int_eq(zd_text_add_char(&text, '/'), ZD_OK);
    ck_assert_int_eq(zd_text_add_u64(&text, 0), ZD_OK);
    ck_assert_int_eq(zd_text_addf(&text, "%s%d", "/", -7), ZD_OK);
    ck_assert_int_eq(zd_text_add_bytes(&text, NULL, 0), ZD_OK);
    ck_assert_int_eq(zd_text_add_u64(&text, UINT64_MAX), ZD_OK);
    ck_assert_str_eq(text.at, "c/0/-718446744073709551615");
    ck_assert_uint_eq(text.len, strlen(text.at));
}
END_TEST

START_TEST(the_ceiling_is_exact_and_the_failure_sticks)
{
    ZD_SCOPED_TEXT(text, 5);
    ck_assert_int_eq(zd_text_add(&text, "12345"), ZD_OK);
    ck_assert_int_eq(zd_text_add(&text, ""), ZD_OK);
    ck_assert_int_eq(zd_text_add_char(&text, '6'), ZD_TOO_LARGE);
    ck_assert_str_eq(text.at, "12345");
    ck_assert_int_eq(zd_text_add(&text, ""), ZD_TOO_LARGE);
    ck_assert_int_eq(zd_text_add_bytes(&text, "x", SIZE_MAX), ZD_TOO_LARGE);
    zd_text_clear(&text);
    ck_assert_int_eq(text.status, ZD_OK);
    ck_assert_int_eq(zd_text_addf(&text, "%d", 123456), ZD_TOO_LARGE);
    ck_assert_str_eq(text.at, "");
}
END_TEST

START_TEST(a_text_of_no_bytes_takes_no_byte)
{
    ZD_SCOPED_TEXT(text, 0);
    ck_assert_int_eq(zd_text_add(&text, ""), ZD_OK);
    ck_assert_int_eq(zd_text_add_char(&text, 'x'), ZD_TOO_LARGE);
}
END_TEST

START_TEST(a_long_text_keeps_every_byte)
{
    ZD_SCOPED_TEXT(text, 1 << 20);
    for (unsigned i = 0; i < 100000; i++) {
        ck_assert_int_eq(zd_text_add_char(&text, (char)('a' + i % 26)), ZD_OK);
    }
    ck_assert_uint_eq(text.len, 100000);
    for (unsigned i = 0; i < 100000; i++) {
        ck_assert_int_eq(text.at[i], 'a' + (int)(i % 26));
    }
}
END_TEST

START_TEST(a_text_becomes_a_buffer_without_a_copy)
{
    ZD_SCOPED_TEXT(text, 1000);
    ZD_AUTO(zd_buf) buf = NULL;
    ZD_AUTO(zd_buf) none = NULL;
    for (int i = 0; i < 100; i++) {
        zd_text_addf(&text, "%d,", i);
    }
    const size_t len = text.len;
    ck_assert_int_eq(zd_text_take_buf(&text, &buf), ZD_OK);
    ck_assert_uint_eq(buf->len, len);
    ck_assert(memcmp(buf->data, "0,1,2,", 6) == 0 && memcmp(buf->data + len - 3, "99,", 3) == 0);
    ck_assert(text.len == 0 && text.cap == 0 && text.len_max == 1000 && text.status == ZD_OK);
    ck_assert_int_eq(zd_text_take_buf(&text, &none), ZD_OK); /* of a text that holds nothing */
    ck_assert_uint_eq(none->len, 0);
}
END_TEST

START_TEST(a_text_that_failed_becomes_no_buffer)
{
    ZD_SCOPED_TEXT(text, 4);
    struct zd_buf *buf = NULL;
    zd_text_add(&text, "abcd");
    ck_assert_int_eq(zd_text_add(&text, "e"), ZD_TOO_LARGE);
    ck_assert_int_eq(zd_text_take_buf(&text, &buf), ZD_TOO_LARGE);
    ck_assert_ptr_null(buf);
    ck_assert_str_eq(text.at, "abcd");
}
END_TEST

static enum zd_status build(void *context)
{
    (void)context;
    ZD_SCOPED_TEXT(text, 10000);
    for (int i = 0; i < 500; i++) {
        zd_text_addf(&text, "%d,", i);
    }
    struct zd_buf *made = NULL;
    ZD_TRY(zd_text_buf(&text, &made));
    ZD_AUTO(zd_buf) buf = made;
    ck_assert(zd_span_equal(zd_buf_span(buf), zd_text_span(&text)));
    struct zd_buf *taken = NULL;
    ZD_TRY(zd_text_take_buf(&text, &taken));
    ck_assert(zd_span_equal(zd_buf_span(buf), zd_buf_span(taken)));
    zd_buf_unref(taken);
    return ZD_OK;
}

START_TEST(short_memory_is_said_so)
{
    zd_unit_with_failing_memory(build, NULL);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, a_new_text_is_empty_and_holds_nothing);
    tcase_add_test(tests, pieces_follow_each_other);
    tcase_add_test(tests, the_ceiling_is_exact_and_the_failure_sticks);
    tcase_add_test(tests, a_text_of_no_bytes_takes_no_byte);
    tcase_add_test(tests, a_long_text_keeps_every_byte);
    tcase_add_test(tests, a_text_becomes_a_buffer_without_a_copy);
    tcase_add_test(tests, a_text_that_failed_becomes_no_buffer);
    tcase_add_test(tests, short_memory_is_said_so);
}
