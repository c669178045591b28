/* Facts about core/store/contract/turns. */
#include "core/store/contract/turns.h"

#include "tests/support/unit.h"

#define OPS_MAX 300

static struct zd_turns turns;
static struct zd_store_op op[OPS_MAX];
static size_t ran[OPS_MAX]; /* which ones, in order */
static size_t n_ran;

static void run(struct zd_store_op *op_to_run)
{
    ran[n_ran++] = (size_t)(op_to_run - op);
}

static void set_up(void)
{
    zd_turns_init(&turns, run);
    for (size_t i = 0; i < OPS_MAX; i++) {
        op[i] = (struct zd_store_op){0};
    }
    n_ran = 0;
}

START_TEST(turns_run_one_of_a_hash_at_a_time_in_order)
{
    set_up();
    for (size_t i = 0; i < 5; i++) {
        zd_turns_take(&turns, &op[i], 7);
    }
    ck_assert(!zd_turns_are_idle(&turns));
    for (size_t i = 0; i < 5; i++) {
        ck_assert_uint_eq(n_ran, i + 1);
        ck_assert_uint_eq(ran[i], i);
        zd_turns_end(&turns, &op[i]);
    }
    ck_assert(zd_turns_are_idle(&turns));
}
END_TEST

START_TEST(turns_run_different_hashes_side_by_side_up_to_a_limit)
{
    set_up();
    for (size_t i = 0; i < OPS_MAX; i++) {
        if (i % 3 == 0) {
            zd_turns_take_any(&turns, &op[i]);
        } else {
            zd_turns_take(&turns, &op[i], i);
        }
    }
    ck_assert_uint_eq(n_ran, ZD_TURNS_AT_ONCE);
    for (size_t i = 0; i < OPS_MAX; i++) {
        ck_assert_uint_lt(i, n_ran);
        ck_assert_uint_le(n_ran - i, ZD_TURNS_AT_ONCE);
        zd_turns_end(&turns, &op[ran[i]]);
    }
    ck_assert_uint_eq(n_ran, OPS_MAX);
    ck_assert(zd_turns_are_idle(&turns));
}
END_TEST

START_TEST(turns_pass_on_when_one_leaves)
{
    set_up();
    for (size_t i = 0; i < ZD_TURNS_AT_ONCE; i++) {
        zd_turns_take(&turns, &op[i], i);
    }
    struct zd_store_op *const ready = &op[ZD_TURNS_AT_ONCE];
    struct zd_store_op *const behind = ready + 1;
    struct zd_store_op *const last = ready + 2;
    zd_turns_take(&turns, ready, 100); /* has its turn, and no thread */
    zd_turns_take(&turns, behind, 100);
    zd_turns_take(&turns, last, 100);
    ck_assert(!zd_turns_leave(&turns, &op[0])); /* it runs */
    ck_assert(zd_turns_leave(&turns, ready));
    ck_assert(!zd_turns_leave(&turns, ready));
    ck_assert(zd_turns_leave(&turns, behind));
    zd_turns_end(&turns, &op[0]);
    ck_assert_uint_eq(n_ran, ZD_TURNS_AT_ONCE + 1);
    ck_assert_uint_eq(ran[ZD_TURNS_AT_ONCE], ZD_TURNS_AT_ONCE + 2);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, turns_run_one_of_a_hash_at_a_time_in_order);
    tcase_add_test(tests, turns_run_different_hashes_side_by_side_up_to_a_limit);
    tcase_add_test(tests, turns_pass_on_when_one_leaves);
}
