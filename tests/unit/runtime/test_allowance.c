/* Facts about server/runtime/allowance. */
#include "server/runtime/allowance.h"

#include "tests/support/unit.h"

static char order[8]; /* who went on, one letter each */
static size_t n_done;

static void done(struct zd_wait *wait)
{
    order[n_done++] = *(const char *)wait->context;
}

static struct zd_allowance_want want_of(const char *name)
{
    return (struct zd_allowance_want){.wait = {.done = done, .context = (void *)(uintptr_t)name}};
}

START_TEST(requests_wait_in_line)
{
    struct zd_allowance allowance;
    struct zd_allowance_want a = want_of("a");
    struct zd_allowance_want b = want_of("b");
    struct zd_allowance_want c = want_of("c");
    zd_allowance_init(&allowance, 10);
    ck_assert_int_eq(zd_allowance_want(&allowance, 6, "a", &a), ZD_NEXT);
    ck_assert_int_eq(zd_allowance_want(&allowance, 6, "b", &b), ZD_WAIT);
    ck_assert_int_eq(zd_allowance_want(&allowance, 4, "c", &c), ZD_WAIT); /* not before b */
    ck_assert_uint_eq(n_done, 0);
    zd_allowance_release(&a);
    ck_assert_str_eq(order, "bc");
    zd_allowance_release(&b);
    zd_allowance_release(&c);
    ck_assert_uint_eq(allowance.bytes, 0);
}
END_TEST

START_TEST(leaving_the_line_lets_others_pass)
{
    struct zd_allowance allowance;
    struct zd_allowance_want a = want_of("a");
    struct zd_allowance_want b = want_of("b");
    struct zd_allowance_want c = want_of("c");
    zd_allowance_init(&allowance, 10);
    ck_assert_int_eq(zd_allowance_want(&allowance, 6, "a", &a), ZD_NEXT);
    ck_assert_int_eq(zd_allowance_want(&allowance, 6, "b", &b), ZD_WAIT);
    ck_assert_int_eq(zd_allowance_want(&allowance, 4, "c", &c), ZD_WAIT);
    zd_allowance_release(&b);
    ck_assert_str_eq(order, "c");
    zd_allowance_release(&b); /* has nothing any more */
    zd_allowance_release(&a);
    zd_allowance_release(&c);
    ck_assert_uint_eq(allowance.bytes, 0);
}
END_TEST

START_TEST(a_request_that_never_fits_is_refused_with_the_figures)
{
    struct zd_allowance allowance;
    struct zd_allowance_want want = {0};
    zd_allowance_init(&allowance, 10);
    ck_assert_int_eq(zd_allowance_want(&allowance, 11, "it", &want), ZD_NEXT);
    ck_assert_int_eq(want.wait.status, ZD_TOO_LARGE);
    ck_assert_uint_eq(want.wait.err.facts.limit, 10);
    ck_assert_uint_eq(want.wait.err.facts.requested, 11);
    zd_allowance_release(&want);
    ck_assert_uint_eq(allowance.bytes, 0);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, requests_wait_in_line);
    tcase_add_test(tests, leaving_the_line_lets_others_pass);
    tcase_add_test(tests, a_request_that_never_fits_is_refused_with_the_figures);
}
