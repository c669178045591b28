/* Which ranges are read together: a table, then cases against what must hold of all. */
#include "core/store/remote/range_merge.h"

#include <stdlib.h>

#include "core/base/num.h"
#include "tests/support/check.h"
#include "tests/support/unit.h"

#define RANGES_MAX 8

static const struct {
    struct zd_byte_range range[RANGES_MAX];
    size_t n;
    struct zd_range_merge_limits limits;
    const char *next; /* '+' read with the next one, '|' not */
} cases[] = {
    {{{0, 10}}, 1, {100, 1000, 10}, "|"},
    {{{0, 10}, {10, 10}}, 2, {0, 1000, 0}, "+|"},       /* they touch */
    {{{0, 10}, {5, 10}}, 2, {0, 1000, 0}, "+|"},        /* overlap */
    {{{0, 10}, {0, 10}}, 2, {0, 10, 0}, "+|"},          /* are the same */
    {{{0, 100}, {110, 100}}, 2, {100, 1000, 10}, "+|"}, /* 10 of 200 */
    {{{0, 100}, {121, 100}}, 2, {100, 1000, 10}, "||"}, /* 21 of 200 */
    {{{0, 100}, {110, 100}}, 2, {9, 1000, 10}, "||"},   /* one more read begins sooner */
    {{{0, 100}, {100, 100}}, 2, {100, 199, 10}, "||"},  /* too long */
    {{{0, 100}, {126, 100}, {231, 100}}, 3, {100, 1000, 10}, "|+|"}, /* the smaller gap first */
    {{{0, 50}, {10, 5}, {60, 50}}, 3, {100, 1000, 10}, "++|"},       /* one lies in another */
    {{{0, 100}, {50, 100}, {140, 100}}, 3, {0, 150, 0}, "+||"},
    {{{UINT64_MAX - 20, 10}, {UINT64_MAX - 10, 10}}, 2, {0, 100, 10}, "+|"},
    {{{0, UINT64_MAX}, {1, 1}}, 2, {0, UINT64_MAX, 100}, "+|"},
    {{{0, 0}, {0, 0}, {7, 0}}, 3, {100, 100, 10}, "+||"}, /* nothing is wanted */
};

START_TEST(each_case_is_as_the_table_says)
{
    bool next[RANGES_MAX];
    ck_assert_int_eq(zd_range_merge(cases[_i].range, cases[_i].n, &cases[_i].limits, next), ZD_OK);
    for (size_t i = 0; i < cases[_i].n; i++) {
        ck_assert_msg(next[i] == (cases[_i].next[i] == '+'), "row %d, range %zu", _i, i);
    }
}
END_TEST

static uint64_t random_state;

static uint64_t random_below(uint64_t n)
{
    random_state = random_state * 6364136223846793005U + 1442695040888963407U;
    return (random_state >> 33) % n;
}

static int compare(const void *a, const void *b)
{
    const struct zd_byte_range *x = a;
    const struct zd_byte_range *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

/* Reads cover what is wanted, none is too long, and little is read for nothing. */
START_TEST(whatever_is_asked_the_bounds_hold)
{
    random_state = (uint64_t)_i;
    struct zd_byte_range range[RANGES_MAX];
    bool next[RANGES_MAX];
    const size_t n = 1 + random_below(RANGES_MAX);
    const struct zd_range_merge_limits limits = {random_below(20), 1 + random_below(80), 10};
    uint64_t wanted = 0;
    uint64_t n_read = 0;
    for (size_t i = 0; i < n; i++) {
        range[i] = (struct zd_byte_range){random_below(100), random_below(20)};
    }
    qsort(range, n, sizeof *range, compare);
    for (uint64_t at = 0, end = 0; at < 200; at++, end = 0) {
        for (size_t i = 0; i < n; i++) {
            end += at >= range[i].first && at < range[i].first + range[i].len;
        }
        wanted += end > 0;
    }
    ck_assert_int_eq(zd_range_merge(range, n, &limits, next), ZD_OK);
    ck_assert(!next[n - 1]);
    for (size_t first = 0, i = 0; i < n; i++) {
        uint64_t end = 0;
        if (next[i]) {
            continue;
        }
        for (size_t k = first; k <= i; k++) {
            end = zd_max_u64(end, range[k].first + range[k].len);
        }
        ck_assert(first == i || end - range[first].first <= limits.bytes_max);
        n_read += end - range[first].first;
        first = i + 1;
    }
    uint64_t asked = 0;
    for (size_t i = 0; i < n; i++) {
        asked += range[i].len;
    }
    ck_assert_uint_le(n_read, asked + wanted / 10);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, each_case_is_as_the_table_says, 0, ZD_COUNT_OF(cases));
    tcase_add_loop_test(tests, whatever_is_asked_the_bounds_hold, 0, 200);
}
