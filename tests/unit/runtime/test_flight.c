/* server/runtime/flight: one work for many waiters, newer work for late ones, none for nobody. */
#include "core/base/own.h"
#include "server/runtime/flight.h"
#include "tests/support/unit.h"

static struct zd_cache cache;
static struct zd_cache_entry *entry; /* a reference of the test's own */
static const uint8_t name[] = "name";
static uint32_t n_works; /* begun */
static uint32_t n_freed; /* of those */
static uint32_t n_freed_entries;
static uint32_t stored;    /* what work finds at its end */
static struct work *work;  /* the newest */
static bool is_at_once;    /* work ends inside zd_flight_begin */
static bool stops_at_once; /* cancelled work does not go on to its end */

struct work {
    struct zd_flight flight;
    bool was_asked;
};

struct asker {
    struct zd_wait wait;
    struct zd_flight *flight;
    uint32_t found;
    uint32_t n_done;
    struct asker *leaves; /* leaves when this one is answered */
    struct asker *begins; /* asks anew then */
};

static enum zd_next ask(struct asker *asker, enum zd_freshness freshness);

static enum zd_next step(struct zd_flight *flight)
{
    struct work *self = ZD_CONTAINER(flight, struct work, flight);
    const bool waits = !self->was_asked && !is_at_once;
    self->was_asked = true;
    return waits ? ZD_WAIT : ZD_DONE;
}

static void settle(struct zd_flight *flight)
{
    if (flight->status != ZD_OK) {
        zd_cache_drop(&cache, flight->entry);
    }
}

static void give(struct zd_flight *flight, struct zd_wait *wait)
{
    (void)flight;
    ZD_CONTAINER(wait, struct asker, wait)->found = stored;
    zd_wait_answer(wait, ZD_OK, NULL);
}

static enum zd_next again(struct zd_flight *flight, struct zd_wait *wait)
{
    ck_assert_ptr_eq(flight->entry, entry);
    return ask(ZD_CONTAINER(wait, struct asker, wait), ZD_JOINING);
}

static enum zd_next cancel(struct zd_flight *flight)
{
    ck_assert(!flight->entry->in_table);
    return stops_at_once ? ZD_DONE : ZD_WAIT;
}

static void done(struct zd_flight *flight)
{
    (void)flight;
    n_freed++;
}

static const struct zd_flight_ops ops = {
    .step = step, .give = give, .settle = settle, .again = again, .cancel = cancel, .done = done};
static const struct zd_flight_ops ops_without_cancel = {
    .step = step, .give = give, .settle = settle, .again = again, .done = done};
static const struct zd_flight_ops *ops_used;

static struct work *new_work(const struct zd_flight_ops *chosen, struct asker *asker)
{
    n_works++;
    return zd_flight_new(
        sizeof(struct work), chosen, &cache, zd_cache_ref(entry), 0, &asker->wait, "a test");
}

static enum zd_next ask(struct asker *asker, enum zd_freshness freshness)
{
    if (entry->flight != NULL) {
        asker->flight = entry->flight;
        if (freshness == ZD_FRESH) {
            zd_flight_join_late(entry->flight, &asker->wait);
        } else {
            zd_flight_join(entry->flight, &asker->wait);
        }
        return ZD_WAIT;
    }
    work = new_work(ops_used, asker);
    asker->flight = &work->flight;
    return zd_flight_begin(&work->flight, &asker->wait);
}

static void leave(struct asker *asker)
{
    zd_flight_leave(asker->flight, &asker->wait);
}

static void on_done(struct zd_wait *wait)
{
    struct asker *asker = ZD_CONTAINER(wait, struct asker, wait);
    asker->n_done++;
    if (asker->leaves != NULL) {
        leave(asker->leaves);
    }
    if (asker->begins != NULL) {
        stored++;
        (void)ask(asker->begins, ZD_TRUSTED);
    }
}

static struct asker new_asker(void)
{
    return (struct asker){.wait.done = on_done};
}

static void free_entry(struct zd_cache_entry *freed)
{
    n_freed_entries++;
    zd_free(freed);
}

static void end_work(enum zd_status status)
{
    work->flight.status = status;
    zd_machine_go_on(&work->flight.machine);
}

static void setup(void)
{
    zd_cache_init(&cache, "test", 1000, free_entry);
    entry = zd_alloc_zero(1, sizeof *entry);
    entry->map.key = (struct zd_span){.ptr = name, .len = sizeof name};
    ck_assert_int_eq(zd_cache_put(&cache, entry), ZD_OK);
    ops_used = &ops;
    stored = 1;
}

static void teardown(void)
{
    ck_assert_uint_eq(n_works, n_freed);
    ck_assert_ptr_null(entry->flight);
    zd_cache_unref(&cache, entry);
    zd_cache_done(&cache);
    ck_assert_uint_eq(n_freed_entries, 1);
}

START_TEST(many_who_want_one_thing_cost_one_work)
{
    struct asker asker[3] = {new_asker(), new_asker(), new_asker()};
    for (size_t i = 0; i < ZD_COUNT_OF(asker); i++) {
        ck_assert_int_eq(ask(&asker[i], ZD_TRUSTED), ZD_WAIT);
    }
    end_work(ZD_OK);
    for (size_t i = 0; i < ZD_COUNT_OF(asker); i++) {
        ck_assert_uint_eq(asker[i].n_done, 1);
        ck_assert_uint_eq(asker[i].found, 1);
    }
    ck_assert_uint_eq(n_works, 1);
    ck_assert(entry->in_table);
}
END_TEST

START_TEST(work_that_ends_at_once_answers_without_done)
{
    struct asker asker = new_asker();
    is_at_once = true;
    ck_assert_int_eq(ask(&asker, ZD_TRUSTED), ZD_NEXT);
    ck_assert_int_eq(asker.wait.status, ZD_OK);
    ck_assert_uint_eq(asker.found, 1);
    ck_assert_uint_eq(asker.n_done, 0);
    leave(&asker); /* the flight is gone: it is not looked at */
}
END_TEST

START_TEST(a_late_waiter_gets_what_later_work_finds)
{
    struct asker first = new_asker();
    struct asker late[2] = {new_asker(), new_asker()};
    (void)ask(&first, ZD_TRUSTED);
    ck_assert_int_eq(ask(&late[0], ZD_FRESH), ZD_WAIT);
    ck_assert_int_eq(ask(&late[1], ZD_FRESH), ZD_WAIT);
    end_work(ZD_OK);
    ck_assert_uint_eq(first.n_done, 1);
    ck_assert_uint_eq(late[0].n_done, 0);
    stored = 2;
    end_work(ZD_OK);
    ck_assert_uint_eq(first.found, 1);
    ck_assert_uint_eq(late[0].found, 2);
    ck_assert_uint_eq(late[1].found, 2);
    ck_assert_uint_eq(n_works, 2);
}
END_TEST

START_TEST(a_late_waiter_may_be_answered_at_once)
{
    struct asker first = new_asker();
    struct asker late = new_asker();
    (void)ask(&first, ZD_TRUSTED);
    (void)ask(&late, ZD_FRESH);
    is_at_once = true;
    end_work(ZD_OK);
    ck_assert_uint_eq(late.n_done, 1);
    ck_assert_uint_eq(n_works, 2);
}
END_TEST

START_TEST(a_failure_is_the_answer_of_all_but_late_waiters)
{
    struct asker asker[2] = {new_asker(), new_asker()};
    struct asker late = new_asker();
    (void)ask(&asker[0], ZD_TRUSTED);
    (void)ask(&asker[1], ZD_TRUSTED);
    (void)ask(&late, ZD_FRESH);
    end_work(ZD_STORE);
    ck_assert_int_eq(asker[0].wait.status, ZD_STORE);
    ck_assert_int_eq(asker[1].wait.status, ZD_STORE);
    end_work(ZD_OK);
    ck_assert_int_eq(late.wait.status, ZD_OK);
    ck_assert(!entry->in_table);
}
END_TEST

START_TEST(work_that_has_failed_before_it_begins_runs_no_step)
{
    struct asker asker = new_asker();
    work = new_work(&ops, &asker);
    work->flight.status = ZD_NO_MEMORY;
    ck_assert_int_eq(zd_flight_begin(&work->flight, &asker.wait), ZD_NEXT);
    ck_assert_int_eq(asker.wait.status, ZD_NO_MEMORY);
}
END_TEST

START_TEST(a_filled_entry_stays_when_the_last_waiter_leaves)
{
    struct asker asker = new_asker();
    struct asker next = new_asker();
    zd_cache_charge(&cache, entry, 10);
    (void)ask(&asker, ZD_TRUSTED);
    leave(&asker);
    ck_assert(entry->in_table);
    ck_assert_int_eq(ask(&next, ZD_TRUSTED), ZD_WAIT);
    end_work(ZD_OK);
    ck_assert_uint_eq(asker.n_done, 0);
    ck_assert_uint_eq(next.n_done, 1);
    ck_assert_int_eq(next.wait.status, ZD_OK);
    ck_assert_uint_eq(n_works, 1);
}
END_TEST

START_TEST(a_waiter_that_is_answered_may_make_another_leave)
{
    struct asker asker[3] = {new_asker(), new_asker(), new_asker()};
    asker[0].leaves = &asker[1];
    for (size_t i = 0; i < ZD_COUNT_OF(asker); i++) {
        (void)ask(&asker[i], ZD_TRUSTED);
    }
    end_work(ZD_OK);
    ck_assert_uint_eq(asker[0].n_done, 1);
    ck_assert_uint_eq(asker[1].n_done, 0);
    ck_assert_uint_eq(asker[2].n_done, 1);
}
END_TEST

START_TEST(a_waiter_that_is_answered_may_make_the_last_late_one_leave)
{
    struct asker asker = new_asker();
    struct asker late = new_asker();
    asker.leaves = &late;
    (void)ask(&asker, ZD_TRUSTED);
    (void)ask(&late, ZD_FRESH);
    end_work(ZD_OK);
    ck_assert_uint_eq(late.n_done, 0);
    ck_assert_uint_eq(n_works, 1);
    ck_assert(entry->in_table); /* nothing was cancelled: the work has ended */
}
END_TEST

START_TEST(work_that_begins_meanwhile_changes_no_answer)
{
    struct asker asker[2] = {new_asker(), new_asker()};
    struct asker newer = new_asker();
    asker[0].begins = &newer;
    (void)ask(&asker[0], ZD_TRUSTED);
    (void)ask(&asker[1], ZD_TRUSTED);
    end_work(ZD_OK);
    ck_assert_uint_eq(asker[1].found, 1);
    end_work(ZD_OK);
    ck_assert_uint_eq(newer.found, 2);
}
END_TEST

START_TEST(the_last_waiter_to_leave_cancels)
{
    struct asker asker = new_asker();
    struct asker late = new_asker();
    (void)ask(&asker, ZD_TRUSTED);
    (void)ask(&late, ZD_FRESH);
    leave(&asker);
    ck_assert(entry->in_table);
    leave(&late);
    leave(&late); /* twice is once */
    ck_assert(!entry->in_table);
    ck_assert_uint_eq(n_freed, 0);
    end_work(ZD_CANCELLED);
    ck_assert_uint_eq(asker.n_done + late.n_done, 0);
}
END_TEST

START_TEST(cancelled_work_may_stop_at_once)
{
    struct asker asker = new_asker();
    stops_at_once = true;
    (void)ask(&asker, ZD_TRUSTED);
    leave(&asker);
    ck_assert_uint_eq(n_freed, 1);
    ck_assert(!entry->in_table);
}
END_TEST

START_TEST(work_that_cannot_be_cancelled_goes_on)
{
    struct asker asker = new_asker();
    ops_used = &ops_without_cancel;
    (void)ask(&asker, ZD_TRUSTED);
    leave(&asker);
    ck_assert_ptr_nonnull(entry->flight);
    end_work(ZD_OK);
    ck_assert(entry->in_table);
    ck_assert_uint_eq(asker.n_done, 0);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, many_who_want_one_thing_cost_one_work);
    tcase_add_test(tests, work_that_ends_at_once_answers_without_done);
    tcase_add_test(tests, a_late_waiter_gets_what_later_work_finds);
    tcase_add_test(tests, a_late_waiter_may_be_answered_at_once);
    tcase_add_test(tests, a_failure_is_the_answer_of_all_but_late_waiters);
    tcase_add_test(tests, work_that_has_failed_before_it_begins_runs_no_step);
    tcase_add_test(tests, a_filled_entry_stays_when_the_last_waiter_leaves);
    tcase_add_test(tests, a_waiter_that_is_answered_may_make_another_leave);
    tcase_add_test(tests, a_waiter_that_is_answered_may_make_the_last_late_one_leave);
    tcase_add_test(tests, work_that_begins_meanwhile_changes_no_answer);
    tcase_add_test(tests, the_last_waiter_to_leave_cancels);
    tcase_add_test(tests, cancelled_work_may_stop_at_once);
    tcase_add_test(tests, work_that_cannot_be_cancelled_goes_on);
}
