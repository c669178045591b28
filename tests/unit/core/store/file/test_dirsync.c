/* Facts about core/store/file/dirsync. */
#include "core/store/file/dirsync.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "core/store/file/calls.h"
#include "tests/support/unit.h"

#define THREADS_MAX 8

static struct zd_dirsync dirsync;
static struct zd_calls calls;
static uv_sem_t begun;   /* posted when a sync begins */
static uv_sem_t allowed; /* waited for before it ends */
static int sync_code;    /* errno of all syncs; 0 = none fails */
static _Atomic int n_syncs;
static int dir_fd[2];

/* A thread that wants a sync. */
struct waiter {
    uv_thread_t thread;
    int dir_fd;
    int code;
};

static int slow_sync(int fd)
{
    (void)fd;
    atomic_fetch_add(&n_syncs, 1);
    uv_sem_post(&begun);
    uv_sem_wait(&allowed);
    errno = sync_code;
    return sync_code == 0 ? 0 : -1;
}

static void set_up(int code)
{
    calls = zd_calls_of_kernel;
    calls.sync = slow_sync;
    zd_calls = &calls;
    sync_code = code;
    ck_assert_int_eq(zd_dirsync_init(&dirsync), ZD_OK);
    ck_assert_int_eq(uv_sem_init(&begun, 0), 0);
    ck_assert_int_eq(uv_sem_init(&allowed, 0), 0);
    dir_fd[0] = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    dir_fd[1] = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void tear_down(void)
{
    close(dir_fd[0]);
    close(dir_fd[1]);
    uv_sem_destroy(&begun);
    uv_sem_destroy(&allowed);
    zd_dirsync_done(&dirsync);
}

static void want(void *argument)
{
    struct waiter *waiter = argument;
    waiter->code = zd_dirsync_wait(&dirsync, waiter->dir_fd);
}

static void start(struct waiter *waiter, int fd)
{
    *waiter = (struct waiter){.dir_fd = fd, .code = -1};
    ck_assert_int_eq(uv_thread_create(&waiter->thread, want, waiter), 0);
}

/* Wait until so many threads are in zd_dirsync_wait. */
static void await_users(uint32_t n)
{
    uint32_t n_users = 0;
    while (n_users < n) {
        n_users = 0;
        uv_mutex_lock(&dirsync.mutex);
        for (size_t i = 0; i < ZD_SYNCERS_MAX; i++) {
            n_users += dirsync.group[i].n_users;
        }
        uv_mutex_unlock(&dirsync.mutex);
    }
}

static void join(struct waiter *waiter, size_t n, int code)
{
    for (size_t i = 0; i < n; i++) {
        uv_thread_join(&waiter[i].thread);
        ck_assert_int_eq(waiter[i].code, code);
    }
}

START_TEST(dirsync_serves_all_who_wait_with_one_sync)
{
    struct waiter waiter[THREADS_MAX];
    set_up(0);
    start(&waiter[0], dir_fd[0]);
    uv_sem_wait(&begun);
    for (size_t i = 1; i < THREADS_MAX; i++) { /* too late for the one that runs */
        start(&waiter[i], dir_fd[0]);
    }
    await_users(THREADS_MAX);
    uv_sem_post(&allowed);
    uv_sem_wait(&begun);
    uv_sem_post(&allowed);
    join(waiter, THREADS_MAX, 0);
    ck_assert_int_eq(atomic_load(&n_syncs), 2);
    tear_down();
}
END_TEST

START_TEST(dirsync_syncs_two_directories_side_by_side)
{
    struct waiter waiter[2];
    set_up(0);
    start(&waiter[0], dir_fd[0]);
    start(&waiter[1], dir_fd[1]);
    uv_sem_wait(&begun);
    uv_sem_wait(&begun); /* both run */
    uv_sem_post(&allowed);
    uv_sem_post(&allowed);
    join(waiter, 2, 0);
    ck_assert_int_eq(atomic_load(&n_syncs), 2);
    tear_down();
}
END_TEST

START_TEST(dirsync_tries_no_sync_after_one_that_failed)
{
    struct waiter waiter[3];
    set_up(EIO);
    start(&waiter[0], dir_fd[0]);
    uv_sem_wait(&begun);
    start(&waiter[1], dir_fd[0]);
    start(&waiter[2], dir_fd[0]);
    await_users(3);
    uv_sem_post(&allowed);
    join(waiter, 3, EIO);
    ck_assert_int_eq(zd_dirsync_wait(&dirsync, dir_fd[1]), EIO);
    ck_assert_int_eq(atomic_load(&n_syncs), 1);
    tear_down();
}
END_TEST

static void wait_for_makings(void *argument)
{
    zd_dirsync_wait_for_makings(&dirsync);
    atomic_store((_Atomic bool *)argument, true);
}

START_TEST(dirsync_waits_for_directories_that_are_being_made)
{
    struct zd_making old;
    struct zd_making young;
    uv_thread_t thread;
    _Atomic bool is_past = false;
    set_up(0);
    zd_dirsync_wait_for_makings(&dirsync); /* nobody makes any */
    zd_dirsync_making_begin(&dirsync, &old);
    ck_assert_int_eq(uv_thread_create(&thread, wait_for_makings, &is_past), 0);
    ck_assert(!atomic_load(&is_past));
    zd_dirsync_making_end(&dirsync, &old);
    uv_thread_join(&thread);
    ck_assert(atomic_load(&is_past));
    /* A sync that begins behind another may end before it. */
    zd_dirsync_making_begin(&dirsync, &old);
    zd_dirsync_making_begin(&dirsync, &young);
    zd_dirsync_making_end(&dirsync, &young);
    zd_dirsync_making_end(&dirsync, &old);
    zd_dirsync_wait_for_makings(&dirsync);
    tear_down();
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, dirsync_serves_all_who_wait_with_one_sync);
    tcase_add_test(tests, dirsync_syncs_two_directories_side_by_side);
    tcase_add_test(tests, dirsync_tries_no_sync_after_one_that_failed);
    tcase_add_test(tests, dirsync_waits_for_directories_that_are_being_made);
}
