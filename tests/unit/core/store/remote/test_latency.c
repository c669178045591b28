/* Facts learnt of an endpoint: when a read is late, and which gaps are worth reading. */
#include "core/store/remote/latency.h"

#include "core/base/num.h"
#include "tests/support/check.h"
#include "tests/support/unit.h"

static const struct zd_range whole = {.kind = ZD_RANGE_WHOLE};

static struct zd_range range_of(uint64_t len)
{
    return (struct zd_range){ZD_RANGE_FROM_TO, 0, len};
}

static void note(
    struct zd_latency *latency, const struct zd_range *range, uint64_t bytes, uint64_t us, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        zd_latency_note(latency, range, bytes, us);
    }
}

START_TEST(little_is_said_of_few_reads)
{
    struct zd_latency latency = {0};
    note(&latency, &whole, 10, 30000, 19);
    ck_assert_uint_eq(zd_latency_late_us(&latency, &whole), 0);
    note(&latency, &whole, 10, 30000, 1);
    ck_assert_uint_gt(zd_latency_late_us(&latency, &whole), 0);
}
END_TEST

START_TEST(late_is_what_few_reads_are)
{
    static const uint64_t times_us[] = {1, 64, 65, 999, 30000, 1000000, 3500000000};
    for (size_t i = 0; i < ZD_COUNT_OF(times_us); i++) {
        struct zd_latency latency = {0};
        note(&latency, &whole, 10, times_us[i], 97);
        note(&latency, &whole, 10, 100 * times_us[i], 3);
        const uint64_t late_us = zd_latency_late_us(&latency, &whole);
        ck_assert_uint_ge(late_us, zd_min_u64(times_us[i], 50000000));
        ck_assert_uint_le(late_us, zd_max_u64(64, times_us[i] * 5 / 4 + 1));
    }
}
END_TEST

START_TEST(lengths_are_told_apart)
{
    struct zd_latency latency = {0};
    const struct zd_range little = range_of(1000);
    const struct zd_range much = range_of(8 << 20);
    note(&latency, &little, 1000, 1000, 50);
    note(&latency, &much, 8 << 20, 100000, 50);
    ck_assert_uint_lt(zd_latency_late_us(&latency, &little), 2000);
    ck_assert_uint_ge(zd_latency_late_us(&latency, &much), 100000);
}
END_TEST

START_TEST(old_measurements_are_forgotten)
{
    struct zd_latency latency = {0};
    note(&latency, &whole, 10, 1000000, 500);
    note(&latency, &whole, 10, 1000, 5000);
    ck_assert_uint_lt(zd_latency_late_us(&latency, &whole), 2000);
}
END_TEST

/* 30 ms to begin and 80 MB/s make 2.4 MB; 0.2 ms and 100 MB/s make 20 KB. */
START_TEST(a_gap_is_worth_what_comes_while_a_read_begins)
{
    struct zd_latency slow = {0};
    struct zd_latency quick = {0};
    const struct zd_range little = range_of(1000);
    const struct zd_range much = range_of(4000000);
    note(&slow, &little, 1000, 30000, 50);
    note(&slow, &much, 4000000, 80000, 50);
    note(&quick, &little, 1000, 200, 50);
    note(&quick, &much, 4000000, 40200, 50);
    ck_assert_uint_ge(zd_latency_gap(&slow), 2000000);
    ck_assert_uint_le(zd_latency_gap(&slow), 3500000);
    ck_assert_uint_ge(zd_latency_gap(&quick), 16000);
    ck_assert_uint_le(zd_latency_gap(&quick), 30000);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, little_is_said_of_few_reads);
    tcase_add_test(tests, late_is_what_few_reads_are);
    tcase_add_test(tests, lengths_are_told_apart);
    tcase_add_test(tests, old_measurements_are_forgotten);
    tcase_add_test(tests, a_gap_is_worth_what_comes_while_a_read_begins);
}
