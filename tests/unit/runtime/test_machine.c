/* server/runtime/machine, gather: steps run until one waits; many waits wake a machine once. */
#include "core/base/own.h"
#include "server/runtime/gather.h"
#include "tests/support/unit.h"

#define N_WAITS 3

struct counter {
    struct zd_machine machine;
    struct zd_gather gather;
    struct zd_wait wait[N_WAITS];
    uint32_t n_waits; /* asked for by the second step */
    uint32_t n_steps;
    uint32_t n_ends;
};

/* Three steps; the second waits for n_waits. */
static enum zd_next step(struct zd_machine *machine)
{
    struct counter *counter = ZD_CONTAINER(machine, struct counter, machine);
    counter->n_steps++;
    if (counter->n_steps != 2) {
        return counter->n_steps < 3 ? ZD_NEXT : ZD_DONE;
    }
    zd_gather_begin(&counter->gather);
    for (uint32_t i = 0; i < counter->n_waits; i++) {
        counter->wait[i] = zd_gather_wait(&counter->gather);
        zd_gather_add(&counter->gather, ZD_WAIT);
    }
    zd_gather_add(&counter->gather, ZD_NEXT); /* at hand: not counted */
    return zd_gather_end(&counter->gather);
}

static void end(struct zd_machine *machine)
{
    ZD_CONTAINER(machine, struct counter, machine)->n_ends++;
}

static struct counter counter_of(uint32_t n_waits)
{
    return (struct counter){.machine = {.step = step, .end = end}, .n_waits = n_waits};
}

START_TEST(a_machine_that_never_waits_is_done_at_once_and_does_not_end)
{
    struct counter counter = counter_of(0);
    counter.gather.machine = &counter.machine;
    ck_assert_int_eq(zd_machine_begin(&counter.machine), ZD_DONE);
    ck_assert_uint_eq(counter.n_steps, 3);
    ck_assert_uint_eq(counter.n_ends, 0);
}
END_TEST

START_TEST(the_last_of_many_waits_wakes_the_machine_once)
{
    struct counter counter = counter_of(N_WAITS);
    counter.gather.machine = &counter.machine;
    ck_assert_int_eq(zd_machine_begin(&counter.machine), ZD_WAIT);
    for (uint32_t i = 0; i < N_WAITS; i++) {
        ck_assert_uint_eq(counter.n_steps, 2);
        counter.wait[i].done(&counter.wait[i]);
    }
    ck_assert_uint_eq(counter.n_steps, 3);
    ck_assert_uint_eq(counter.n_ends, 1);
}
END_TEST

START_TEST(a_gather_counts_only_its_own_waits)
{
    struct counter counter = counter_of(1);
    struct zd_gather other = {.machine = &counter.machine};
    counter.gather.machine = &counter.machine;
    ck_assert_int_eq(zd_machine_begin(&counter.machine), ZD_WAIT);
    zd_gather_begin(&other);
    zd_gather_add(&other, ZD_WAIT);
    ck_assert_int_eq(zd_gather_end(&other), ZD_WAIT);
    zd_gather_cancel(&other);
    ck_assert_uint_eq(counter.gather.n, 1);
    counter.wait[0].done(&counter.wait[0]);
    ck_assert_uint_eq(counter.n_ends, 1);
}
END_TEST

START_TEST(a_gather_of_some_at_a_time_has_its_machine_woken_at_each_end)
{
    struct zd_gather gather = {.n_at_once = 2};
    struct counter counter = counter_of(0);
    gather.machine = &counter.machine;
    zd_gather_begin(&gather);
    for (uint32_t i = 0; i < 2; i++) {
        ck_assert(zd_gather_has_room(&gather));
        zd_gather_add(&gather, ZD_WAIT);
    }
    ck_assert(!zd_gather_has_room(&gather));
    ck_assert_int_eq(zd_gather_end(&gather), ZD_WAIT);
    zd_gather_arrived(&gather);
    ck_assert_uint_eq(counter.n_ends, 1);
    zd_gather_begin(&gather);
    ck_assert(zd_gather_has_room(&gather));
    ck_assert_int_eq(zd_gather_end(&gather), ZD_WAIT);
}
END_TEST

START_TEST(a_wait_may_wake_a_machine_by_itself)
{
    struct counter counter = counter_of(1);
    counter.gather.machine = &counter.machine;
    ck_assert_int_eq(zd_machine_begin(&counter.machine), ZD_WAIT);
    zd_gather_cancel(&counter.gather);
    struct zd_wait wait = zd_machine_wait(&counter.machine);
    wait.done(&wait);
    ck_assert_uint_eq(counter.n_ends, 1);
}
END_TEST

START_TEST(a_table_says_which_state_follows)
{
    enum { DONE, FIRST, SECOND };
    enum { NEXT, SKIP, FAILED, N_OUTCOMES };
    static const uint8_t table[][N_OUTCOMES] = {
        [DONE] = {[FAILED] = SECOND},
        [FIRST] = {[NEXT] = SECOND, [SKIP] = FIRST},
        [SECOND] = {[NEXT] = DONE},
    };
    static const struct {
        struct zd_machine_place before;
        uint32_t outcome;
        enum zd_next next;
        struct zd_machine_place after;
    } cases[] = {
        {{.state = FIRST}, NEXT, ZD_NEXT, {.state = FIRST, .has_begun = true}},
        {{.state = FIRST, .waits = true}, NEXT, ZD_WAIT, {.state = FIRST, .has_begun = true}},
        {{.state = FIRST, .has_begun = true}, NEXT, ZD_NEXT, {.state = SECOND}},
        {{.state = FIRST, .waits = true}, SKIP, ZD_WAIT, {.state = FIRST}}, /* begins again */
        {{.state = FIRST}, FAILED, ZD_NEXT, {.state = SECOND}},             /* as row 0 says */
        {{.state = SECOND, .has_begun = true}, NEXT, ZD_DONE, {.state = DONE}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct zd_machine_place place = cases[i].before;
        const enum zd_next next =
            zd_machine_follow(&place, table[place.state], table[DONE], cases[i].outcome);
        ck_assert_int_eq(next, cases[i].next);
        ck_assert_uint_eq(place.state, cases[i].after.state);
        ck_assert_int_eq(place.has_begun, cases[i].after.has_begun);
        ck_assert(!place.waits);
    }
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, a_table_says_which_state_follows);
    tcase_add_test(tests, a_machine_that_never_waits_is_done_at_once_and_does_not_end);
    tcase_add_test(tests, the_last_of_many_waits_wakes_the_machine_once);
    tcase_add_test(tests, a_gather_counts_only_its_own_waits);
    tcase_add_test(tests, a_gather_of_some_at_a_time_has_its_machine_woken_at_each_end);
    tcase_add_test(tests, a_wait_may_wake_a_machine_by_itself);
}
