/* Facts about core/store/file/sweep: what killed writers leave behind. */
#include "core/store/file/sweep.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/store/file/calls.h"
#include "tests/support/store.h"
#include "tests/support/unit.h"

static struct zd_test_store owner;

/* In a process that is killed with three temporary files in the store. */
static void leave_litter(void)
{
    const pid_t child = fork();
    if (child == 0) {
        struct zd_test_store test;
        struct zd_store_write write;
        zd_test_store_join(&test, &owner, true);
        zd_test_put(&test, "a/b/key", "old");
        zd_test_stage(&test, "a/b/key", "new", &write);
        zd_test_stage(&test, "a/b/other", "new", &write);
        zd_test_stage(&test, "root", "new", &write);
        (void)raise(SIGKILL);
    }
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status));
}

static int count_markers(void)
{
    char path[200];
    int n = 0;
    snprintf(path, sizeof path, "%s/" ZD_PRESENCE_DIRECTORY, owner.directory);
    DIR *dir = opendir(path);
    if (dir == NULL) {
        return 0; /* the last one who left has removed it */
    }
    const struct dirent *entry;
    while ((entry = readdir(dir)) != NULL) {
        n += zd_writer_id_is_valid(entry->d_name);
    }
    closedir(dir);
    return n;
}

/* A sweep is awaited by what it does: at last it takes the marker away. */
static void await_sweep(int n_markers)
{
    while (count_markers() > n_markers) {
    }
}

START_TEST(sweep_removes_what_a_killed_writer_left)
{
    struct zd_test_store test;
    zd_test_store_open(&owner, "file");
    leave_litter();
    ck_assert_int_eq(zd_test_count_temps(&owner), 3);
    ck_assert_int_eq(count_markers(), 1);
    zd_test_store_join(&test, &owner, true);
    await_sweep(0);
    ck_assert_int_eq(zd_test_count_temps(&owner), 0);
    zd_test_expect(&test, "a/b/key", "old");
    zd_test_expect(&test, "root", NULL);
    zd_test_store_close(&test);
    zd_test_store_close(&owner);
}
END_TEST

START_TEST(sweep_leaves_what_a_living_writer_needs)
{
    struct zd_test_store test;
    struct zd_store_write write;
    zd_test_store_open(&owner, "file");
    leave_litter();
    zd_test_stage(&owner, "a/b/key", "alive", &write);
    ck_assert_int_eq(zd_test_count_temps(&owner), 4);
    ck_assert_int_eq(count_markers(), 2);
    zd_test_store_join(&test, &owner, true);
    await_sweep(1);
    ck_assert_int_eq(zd_test_count_temps(&owner), 1);
    write.phase = ZD_PHASE_COMMIT;
    ck_assert_int_eq(zd_test_write(&owner, &write), ZD_OK);
    zd_test_expect(&test, "a/b/key", "alive");
    zd_test_store_close(&test);
    zd_test_store_close(&owner);
}
END_TEST

#define DESCRIPTORS_MAX 1024

static int marker_fd;

static bool is_marker(int fd)
{
    char link[32];
    char path[200];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t len = readlink(link, path, sizeof path - 1);
    path[len < 0 ? 0 : len] = '\0';
    return strstr(path, "/" ZD_PRESENCE_DIRECTORY "/") != NULL &&
           zd_writer_id_is_valid(strrchr(path, '/') + 1);
}

/* The only writer of this process makes its marker look as it does between open and lock. */
static void unlock_marker(void)
{
    struct flock lock = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
    for (marker_fd = 0; marker_fd < DESCRIPTORS_MAX && !is_marker(marker_fd);) {
        marker_fd++;
    }
    ck_assert_int_eq(fcntl(marker_fd, F_OFD_SETLK, &lock), 0);
}

static int lock_marker_and_unlink(int dir_fd, const char *name, int flags)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(marker_fd, F_OFD_SETLK, &lock) == 0
               ? zd_calls_of_kernel.unlink(dir_fd, name, flags)
               : -1;
}

/* The root's files come before those of other directories: the marker is locked by then. */
START_TEST(sweep_leaves_a_writer_whose_marker_was_not_locked_yet)
{
    struct zd_calls calls = zd_calls_of_kernel;
    struct zd_beneath root;
    struct zd_sweep sweep = {0};
    struct zd_store_write write;
    zd_test_store_open(&owner, "file");
    leave_litter();
    zd_test_stage(&owner, "a/b/key", "alive", &write);
    unlock_marker();
    calls.unlink = lock_marker_and_unlink;
    zd_calls = &calls;
    ck_assert_int_eq(zd_beneath_open(owner.directory, &root, NULL), ZD_OK);
    zd_sweep_start(&sweep, &root);
    ck_assert_uint_eq(sweep.n_dead, 2);
    await_sweep(1);
    zd_sweep_stop(&sweep);
    ck_assert_int_eq(zd_test_count_temps(&owner), 1);
    write.phase = ZD_PHASE_COMMIT;
    ck_assert_int_eq(zd_test_write(&owner, &write), ZD_OK);
    zd_test_expect(&owner, "a/b/key", "alive");
    zd_beneath_close(&root);
    zd_test_store_close(&owner);
}
END_TEST

/* Without descriptors what is staged cannot be reached: it goes when the next one sweeps. */
START_TEST(sweep_finds_what_a_living_writer_could_not_remove)
{
    struct zd_test_store test;
    struct zd_store_write write;
    struct rlimit limit;
    zd_test_store_open(&owner, "file");
    zd_test_store_join(&test, &owner, true);
    zd_test_stage(&test, "a/key", "new", &write);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    const struct rlimit none = {.rlim_cur = 0, .rlim_max = limit.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    write.phase = ZD_PHASE_COMMIT;
    const enum zd_status status = zd_test_write(&test, &write);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    ck_assert_int_eq(status, ZD_STORE);
    ck_assert_ptr_null(write.staged);
    zd_test_store_close(&test);
    ck_assert_int_eq(zd_test_count_temps(&owner), 1);
    ck_assert_int_eq(count_markers(), 1);
    zd_test_store_join(&test, &owner, true);
    await_sweep(0);
    ck_assert_int_eq(zd_test_count_temps(&owner), 0);
    zd_test_store_close(&test);
    zd_test_store_close(&owner);
}
END_TEST

START_TEST(sweep_is_not_begun_when_nobody_was_killed)
{
    struct zd_test_store test;
    struct zd_beneath root;
    struct zd_sweep sweep = {0};
    zd_test_store_open(&owner, "file");
    zd_test_store_join(&test, &owner, true);
    zd_test_put(&test, "key", "1");
    ck_assert_int_eq(count_markers(), 1);
    ck_assert_int_eq(zd_beneath_open(owner.directory, &root, NULL), ZD_OK);
    zd_sweep_start(&sweep, &root);
    ck_assert(!sweep.is_started);
    zd_test_store_close(&test); /* in good order: it takes its marker along */
    ck_assert_int_eq(count_markers(), 0);
    zd_sweep_start(&sweep, &root);
    ck_assert(!sweep.is_started);
    zd_sweep_stop(&sweep);
    zd_beneath_close(&root);
    zd_test_store_close(&owner);
}
END_TEST

START_TEST(sweep_that_is_stopped_keeps_the_marker_for_the_next)
{
    struct zd_beneath root;
    struct zd_sweep sweep = {0};
    zd_test_store_open(&owner, "file");
    leave_litter();
    ck_assert_int_eq(zd_beneath_open(owner.directory, &root, NULL), ZD_OK);
    zd_sweep_start(&sweep, &root);
    ck_assert(sweep.is_started);
    zd_sweep_stop(&sweep); /* it may have come to its end */
    ck_assert_int_eq(count_markers() == 0, zd_test_count_temps(&owner) == 0);
    zd_beneath_close(&root);
    zd_test_store_close(&owner);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, sweep_removes_what_a_killed_writer_left);
    tcase_add_test(tests, sweep_leaves_what_a_living_writer_needs);
    tcase_add_test(tests, sweep_leaves_a_writer_whose_marker_was_not_locked_yet);
    tcase_add_test(tests, sweep_finds_what_a_living_writer_could_not_remove);
    tcase_add_test(tests, sweep_is_not_begun_when_nobody_was_killed);
    tcase_add_test(tests, sweep_that_is_stopped_keeps_the_marker_for_the_next);
}
