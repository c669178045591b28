/* Facts about server/data/ahead. */
#include "server/data/ahead.h"

#include "core/base/num.h"
#include "tests/support/unit.h"

#define MIB 1048576U

/* Ask for nodes, beside the known ones, until no more may be asked for. */
static uint32_t ask(struct zd_ahead *ahead)
{
    while (zd_ahead_may_ask(ahead)) {
        ahead->n_asked++;
    }
    return ahead->n_asked;
}

static const struct {
    uint64_t bytes; /* of each node that was met */
    uint32_t n_met;
    uint32_t n_asked;
} facts[] = {
    {0, 0, 2}, /* nothing is known */
    {0, 1, 3}, /* one more for each small one */
    {16384, 1, 3},
    {16385, 1, 2}, /* no more than fit in 1 MiB */
    {0, 62, 64},
    {0, 100, 64},
    {MIB / 2, 1, 2},
    {MIB / 2 + 1, 1, 1},
    {MIB, 1, 1},
    {UINT64_MAX, 3, 1},
};

START_TEST(small_nodes_are_asked_for_in_larger_numbers)
{
    struct zd_ahead ahead;
    zd_ahead_init(&ahead);
    for (uint32_t i = 0; i < facts[_i].n_met; i++) {
        zd_ahead_learn(&ahead, facts[_i].bytes);
    }
    ck_assert_uint_eq(ask(&ahead), facts[_i].n_asked);
}
END_TEST

START_TEST(known_nodes_leave_less_room)
{
    struct zd_ahead ahead;
    zd_ahead_init(&ahead);
    ck_assert(zd_ahead_has_room(&ahead, UINT64_MAX)); /* one in any case */
    ck_assert_uint_eq(ask(&ahead), 2);
    zd_ahead_know(&ahead, MIB - 10);
    ck_assert(zd_ahead_has_room(&ahead, 10));
    ck_assert(!zd_ahead_has_room(&ahead, 11));
    zd_ahead_know(&ahead, MIB);
    ck_assert(!zd_ahead_has_room(&ahead, 0));
    ck_assert(!zd_ahead_may_ask(&ahead));
    zd_ahead_forget(&ahead, MIB);
    zd_ahead_forget(&ahead, MIB - 10);
    ck_assert_uint_eq(ask(&ahead), 2);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(
        tests, small_nodes_are_asked_for_in_larger_numbers, 0, (int)ZD_COUNT_OF(facts));
    tcase_add_test(tests, known_nodes_leave_less_room);
}
