/* Facts about server/data/speed: what is expected of chunks, by those before them. */
#include "server/data/speed.h"

#include "tests/support/unit.h"

START_TEST(unknown_sizes_count_as_foreseen)
{
    const struct zd_speed speed = {0};
    const struct zd_speed_times times = zd_speed_expect(&speed, 10, 700);
    ck_assert(!times.is_measured);
    ck_assert_uint_eq(times.store_ns, 0);
    ck_assert_uint_eq(times.decode_ns, 700);
}
END_TEST

START_TEST(times_are_shared_out_and_grow_with_the_chunks)
{
    struct zd_speed speed = {0};
    zd_speed_add(&speed, 4, 1000, 3000, 1000, 500); /* side by side: a quarter of it decoding */
    const struct zd_speed_times times = zd_speed_expect(&speed, 8, 1000);
    ck_assert(times.is_measured);
    ck_assert_uint_eq(times.store_ns, 1500);
    ck_assert_uint_eq(times.decode_ns, 500);
    ck_assert_uint_eq(zd_speed_expect(&speed, 0, 0).store_ns, 0);
}
END_TEST

START_TEST(chunks_that_were_at_hand_say_nothing)
{
    struct zd_speed speed = {0};
    zd_speed_add(&speed, 4, 1000, 0, 0, 500);
    zd_speed_add(&speed, 0, 1000, 10, 10, 500);
    ck_assert(!zd_speed_expect(&speed, 1, 1).is_measured);
}
END_TEST

START_TEST(chunks_without_codecs_keep_what_was_foreseen)
{
    struct zd_speed speed = {0};
    zd_speed_add(&speed, 2, 1000, 1000, 0, 0);
    const struct zd_speed_times times = zd_speed_expect(&speed, 1, 70);
    ck_assert_uint_eq(times.store_ns, 500);
    ck_assert_uint_eq(times.decode_ns, 70);
}
END_TEST

START_TEST(the_older_a_chunk_the_less_it_counts)
{
    struct zd_speed speed = {0};
    zd_speed_add(&speed, 1024, 1024 * 1000, 1, 0, 0);
    for (int i = 0; i < 20; i++) {
        zd_speed_add(&speed, 1024, 1024, 1, 0, 0);
    }
    ck_assert_uint_le(zd_speed_expect(&speed, 1, 0).store_ns, 1);
}
END_TEST

START_TEST(no_figure_overflows)
{
    struct zd_speed speed = {0};
    zd_speed_add(&speed, 1, UINT64_MAX, UINT64_MAX, UINT64_MAX, 1);
    const struct zd_speed_times times = zd_speed_expect(&speed, UINT64_MAX, UINT64_MAX);
    ck_assert_uint_le(times.store_ns, INT64_MAX);
    ck_assert_uint_le(times.decode_ns, INT64_MAX);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, unknown_sizes_count_as_foreseen);
    tcase_add_test(tests, times_are_shared_out_and_grow_with_the_chunks);
    tcase_add_test(tests, chunks_that_were_at_hand_say_nothing);
    tcase_add_test(tests, chunks_without_codecs_keep_what_was_foreseen);
    tcase_add_test(tests, the_older_a_chunk_the_less_it_counts);
    tcase_add_test(tests, no_figure_overflows);
}
