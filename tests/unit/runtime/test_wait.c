/* server/runtime/wait: each waiter is told once, and may do to the list what it likes. */
#include "server/runtime/wait.h"

#include "core/base/own.h"
#include "tests/support/unit.h"

struct waiter {
    struct zd_wait wait;
    uint32_t n_told;
    struct waiter *cancels; /* when it is told; or NULL */
    struct zd_list *joins;  /* waits again there when it is told; or NULL */
};

static void told(struct zd_wait *wait)
{
    struct waiter *waiter = ZD_CONTAINER(wait, struct waiter, wait);
    ck_assert(!zd_list_is_linked(&wait->link));
    waiter->n_told++;
    if (waiter->cancels != NULL) {
        zd_wait_cancel(&waiter->cancels->wait);
    }
    if (waiter->joins != NULL) {
        zd_list_push_back(waiter->joins, &wait->link);
    }
}

#define N_WAITERS 4

static void all_wait(struct zd_list *list, struct waiter *waiter)
{
    zd_list_init(list);
    for (int i = 0; i < N_WAITERS; i++) {
        waiter[i] = (struct waiter){.wait.done = told};
        zd_list_push_back(list, &waiter[i].wait.link);
    }
}

START_TEST(telling_nobody_does_nothing)
{
    struct zd_list list;
    zd_list_init(&list);
    zd_wait_tell(&list, ZD_OK, NULL);
    ck_assert(zd_list_is_empty(&list));
}
END_TEST

START_TEST(all_who_wait_are_told_once_with_the_error)
{
    struct zd_list list;
    struct waiter waiter[N_WAITERS];
    struct zd_error err = {0};
    all_wait(&list, waiter);
    ck_assert_int_eq(zd_fail(&err, ZD_STORE, "the disk is gone"), ZD_STORE);
    zd_wait_tell(&list, ZD_STORE, &err);
    ck_assert(zd_list_is_empty(&list));
    for (int i = 0; i < N_WAITERS; i++) {
        ck_assert_uint_eq(waiter[i].n_told, 1);
        ck_assert_int_eq(waiter[i].wait.status, ZD_STORE);
        ck_assert_str_eq(waiter[i].wait.err.text, "the disk is gone");
    }
}
END_TEST

START_TEST(a_waiter_may_cancel_others_while_it_is_told)
{
    struct zd_list list;
    struct waiter waiter[N_WAITERS];
    all_wait(&list, waiter);
    waiter[0].cancels = &waiter[1]; /* the next one */
    waiter[2].cancels = &waiter[0]; /* told already */
    zd_wait_tell(&list, ZD_OK, NULL);
    ck_assert_uint_eq(waiter[0].n_told, 1);
    ck_assert_uint_eq(waiter[1].n_told, 0);
    ck_assert_uint_eq(waiter[2].n_told, 1);
    ck_assert_uint_eq(waiter[3].n_told, 1);
}
END_TEST

START_TEST(waiting_again_is_told_the_next_time)
{
    struct zd_list list;
    struct waiter waiter[N_WAITERS];
    all_wait(&list, waiter);
    waiter[1].joins = &list;
    zd_wait_tell(&list, ZD_OK, NULL);
    ck_assert_uint_eq(waiter[1].n_told, 1);
    ck_assert(zd_list_is_linked(&waiter[1].wait.link));
    waiter[1].joins = NULL;
    zd_wait_tell(&list, ZD_OK, NULL);
    ck_assert_uint_eq(waiter[1].n_told, 2);
    ck_assert_uint_eq(waiter[3].n_told, 1);
}
END_TEST

START_TEST(a_reader_that_does_not_wait_may_cancel)
{
    struct zd_wait wait = {0};
    zd_wait_cancel(&wait);
    zd_wait_cancel(&wait);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, telling_nobody_does_nothing);
    tcase_add_test(tests, all_who_wait_are_told_once_with_the_error);
    tcase_add_test(tests, a_waiter_may_cancel_others_while_it_is_told);
    tcase_add_test(tests, waiting_again_is_told_the_next_time);
    tcase_add_test(tests, a_reader_that_does_not_wait_may_cancel);
}
