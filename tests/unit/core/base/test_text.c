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
    tcase_add_test(tests, short_memory_is_said_so);
}
