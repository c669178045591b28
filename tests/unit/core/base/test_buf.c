/* Facts about core/base/buf. */
#include "core/base/buf.h"

#include <string.h>

#include "tests/support/unit.h"

START_TEST(a_new_buffer_has_room_and_no_bytes)
{
    ZD_AUTO(zd_buf) buf = zd_buf_new(100);
    ck_assert_uint_eq(buf->len, 0);
    ck_assert_uint_eq(buf->cap, 100);
    ck_assert_uint_eq((uintptr_t)buf->data % 16, 0); /* aligned for any element */
    memset(buf->data, 0xAA, 100);
}
END_TEST

START_TEST(a_buffer_of_nothing_exists)
{
    ZD_AUTO(zd_buf) buf = zd_buf_new(0);
    ck_assert_ptr_nonnull(buf);
    ZD_AUTO(zd_buf) copy = zd_buf_copy((struct zd_span){0});
    ck_assert_uint_eq(copy->len, 0);
}
END_TEST

START_TEST(a_size_past_all_memory_is_refused)
{
    ck_assert_ptr_null(zd_buf_new(SIZE_MAX));
    ck_assert_ptr_null(zd_buf_new(SIZE_MAX - 10));
}
END_TEST

START_TEST(the_last_reference_frees)
{
    struct zd_buf *buf = zd_buf_copy(zd_span_of("abc"));
    struct zd_buf *other = zd_buf_ref(buf);
    ck_assert_ptr_eq(buf, other);
    zd_buf_unref(buf);
    ck_assert(zd_span_is(zd_buf_span(other), "abc"));
    zd_buf_unref(other);
    zd_buf_unref(NULL);
}
END_TEST

START_TEST(bytes_left_out_at_the_beginning_are_freed)
{
    struct zd_buf *own = zd_buf_copy(zd_span_of("abc"));
    uint8_t *bytes = zd_alloc_zero(3, 1);
    struct zd_buf *taken = zd_buf_take(bytes, 3);
    struct zd_buf *const bufs[] = {own, taken};
    for (int i = 0; i < 2; i++) {
        bufs[i]->data++;
        bufs[i]->len--;
        zd_buf_unref(bufs[i]);
    }
}
END_TEST

static const struct equal_fact {
    const char *a;
    const char *b;
    bool equal;
} equal_facts[] = {
    {"", "", true}, {"a", "a", true}, {"a", "b", false}, {"a", "ab", false}, {"", "a", false}};

START_TEST(spans_compare_by_bytes)
{
    const struct equal_fact *fact = &equal_facts[_i];
    ck_assert_int_eq(zd_span_equal(zd_span_of(fact->a), zd_span_of(fact->b)), fact->equal);
    ck_assert_int_eq(zd_span_is(zd_span_of(fact->a), fact->b), fact->equal);
}
END_TEST

START_TEST(a_span_of_nothing_equals_the_empty_text)
{
    ck_assert(zd_span_is((struct zd_span){0}, ""));
}
END_TEST

static enum zd_status make(void *context)
{
    (void)context;
    ZD_AUTO(zd_buf) buf = zd_buf_new(10);
    if (buf == NULL) {
        return ZD_NO_MEMORY;
    }
    ZD_AUTO(zd_buf) copy = zd_buf_copy(zd_span_of("abc"));
    return copy == NULL ? ZD_NO_MEMORY : ZD_OK;
}

START_TEST(short_memory_is_said_so)
{
    zd_unit_with_failing_memory(make, NULL);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, a_new_buffer_has_room_and_no_bytes);
    tcase_add_test(tests, a_buffer_of_nothing_exists);
    tcase_add_test(tests, a_size_past_all_memory_is_refused);
    tcase_add_test(tests, the_last_reference_frees);
    tcase_add_test(tests, bytes_left_out_at_the_beginning_are_freed);
    tcase_add_loop_test(tests, spans_compare_by_bytes, 0, ZD_COUNT_OF(equal_facts));
    tcase_add_test(tests, a_span_of_nothing_equals_the_empty_text);
    tcase_add_test(tests, short_memory_is_said_so);
}
