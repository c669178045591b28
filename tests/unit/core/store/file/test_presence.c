/* Facts about core/store/file/presence: a hidden directory that is there while somebody writes. */
#include "core/store/file/presence.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/calls.h"
#include "tests/support/store.h"
#include "tests/support/unit.h"

#define PROCESSES 3
#define ROUNDS    400
#define KEY_BYTE  7 /* which all of them lock */

static struct zd_test_store owner; /* of the directory; it writes only where a test says so */
static struct zd_beneath root;

static void set_up(void)
{
    zd_test_store_open(&owner, "file");
    ck_assert_int_eq(zd_beneath_open(owner.directory, &root, NULL), ZD_OK);
}

static void tear_down(void)
{
    zd_beneath_close(&root);
    zd_test_store_close(&owner);
}

static bool is_there(const char *path)
{
    return faccessat(root.fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void enter(struct zd_presence *presence)
{
    struct zd_error err = {0};
    *presence = ZD_PRESENCE_NONE;
    const enum zd_status status = zd_presence_enter(presence, &root, &err);
    ck_assert_msg(status == ZD_OK, "%s", err.text);
}

START_TEST(presence_ends_with_the_last_one)
{
    struct zd_presence first;
    struct zd_presence second;
    struct zd_presence nobody = ZD_PRESENCE_NONE;
    set_up();
    ck_assert(!zd_presence_join(&nobody, &root)); /* there is nothing to join */
    zd_presence_leave(&nobody, &root);
    enter(&first);
    enter(&second);
    ck_assert(is_there(ZD_PRESENCE_LOCK));
    zd_presence_leave(&first, &root);
    ck_assert_int_eq(first.lock_fd, -1);
    ck_assert(is_there(ZD_PRESENCE_LOCK));
    ck_assert(zd_presence_join(&first, &root));
    zd_presence_leave(&second, &root);
    ck_assert(is_there(ZD_PRESENCE_LOCK));
    zd_presence_leave(&first, &root);
    ck_assert(!is_there(ZD_PRESENCE_DIRECTORY));
    enter(&first); /* and all over again */
    zd_presence_leave(&first, &root);
    ck_assert(!is_there(ZD_PRESENCE_DIRECTORY));
    tear_down();
}
END_TEST

START_TEST(presence_leaves_the_files_of_others)
{
    struct zd_presence presence;
    set_up();
    enter(&presence);
    const int fd = openat(presence.dir_fd, "marker", O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    ck_assert_int_ge(fd, 0);
    close(fd);
    zd_presence_leave(&presence, &root);
    ck_assert(is_there(ZD_PRESENCE_DIRECTORY "/marker"));
    ck_assert(zd_presence_join(&presence, &root));
    ck_assert_int_eq(unlinkat(presence.dir_fd, "marker", 0), 0);
    zd_presence_leave(&presence, &root);
    ck_assert(!is_there(ZD_PRESENCE_DIRECTORY));
    tear_down();
}
END_TEST

/* A user, or a program that makes the store anew: what others have made since is theirs. */
START_TEST(presence_in_a_directory_that_somebody_removed_takes_nothing_of_the_next)
{
    struct zd_presence old;
    struct zd_presence next;
    set_up();
    enter(&old);
    ck_assert_int_eq(unlinkat(old.dir_fd, "lock", 0), 0);
    ck_assert_int_eq(unlinkat(root.fd, ZD_PRESENCE_DIRECTORY, AT_REMOVEDIR), 0);
    enter(&next);
    zd_presence_leave(&old, &root);
    ck_assert(is_there(ZD_PRESENCE_LOCK));
    zd_presence_leave(&next, &root);
    ck_assert(!is_there(ZD_PRESENCE_DIRECTORY));
    tear_down();
}
END_TEST

/* Observations that the processes share. */
struct board {
    _Atomic int n_at_start;
    _Atomic int n_inside; /* with the lock that all want */
    _Atomic int n_faults;
};

static int lock_key(int fd, short type)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = KEY_BYTE, .l_len = 1};
    return fcntl(fd, F_OFD_SETLKW, &lock);
}

/* A process with the lock of a file that is gone would be alone with it. */
static void come_and_go(struct board *board)
{
    for (int i = 0; i < ROUNDS; i++) {
        struct zd_presence presence = ZD_PRESENCE_NONE;
        if (zd_presence_enter(&presence, &root, NULL) != ZD_OK ||
            lock_key(presence.lock_fd, F_WRLCK) != 0) {
            atomic_fetch_add(&board->n_faults, 1);
            return;
        }
        const bool is_alone = atomic_fetch_add(&board->n_inside, 1) == 0;
        const bool is_known = is_there(ZD_PRESENCE_LOCK);
        atomic_fetch_add(&board->n_faults, is_alone && is_known ? 0 : 1);
        atomic_fetch_sub(&board->n_inside, 1);
        (void)lock_key(presence.lock_fd, F_UNLCK);
        zd_presence_leave(&presence, &root);
    }
}

START_TEST(presence_of_several_processes_is_in_one_file)
{
    pid_t child[PROCESSES];
    struct board *board =
        mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert(board != MAP_FAILED);
    set_up();
    for (int i = 0; i < PROCESSES; i++) {
        child[i] = fork();
        if (child[i] == 0) {
            atomic_fetch_add(&board->n_at_start, 1);
            while (atomic_load(&board->n_at_start) < PROCESSES) {
            }
            come_and_go(board);
            _exit(0);
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        ck_assert_int_eq(waitpid(child[i], NULL, 0), child[i]);
    }
    ck_assert_int_eq(atomic_load(&board->n_faults), 0);
    ck_assert(!is_there(ZD_PRESENCE_DIRECTORY)); /* the last one saw to it */
    tear_down();
    munmap(board, sizeof *board);
}
END_TEST

START_TEST(presence_does_not_wait_for_ever_for_one_who_is_leaving)
{
    struct zd_presence leaving;
    struct zd_presence coming = ZD_PRESENCE_NONE;
    struct zd_error err = {0};
    struct flock lock = {.l_type = F_WRLCK,
        .l_whence = SEEK_SET,
        .l_start = (off_t)ZD_PRESENCE_BYTES + 1,
        .l_len = 1};
    set_up();
    enter(&leaving);
    ck_assert_int_eq(fcntl(leaving.lock_fd, F_OFD_SETLK, &lock), 0);
    ck_assert(!zd_presence_join(&coming, &root));
    ck_assert_int_eq(zd_presence_enter(&coming, &root, &err), ZD_TIMEOUT);
    ck_assert_int_eq(coming.lock_fd, -1);
    zd_presence_leave(&leaving, &root);
    enter(&coming);
    zd_presence_leave(&coming, &root);
    tear_down();
}
END_TEST

/* ---- of a store ---- */

static void rest(struct zd_test_store *test)
{
    struct zd_store_op op = {.done = zd_test_done};
    zd_test_count = 0;
    zd_store_rest(test->store, &op);
    zd_test_wait(test, 1);
    ck_assert_int_eq(op.status, ZD_OK);
}

START_TEST(presence_of_a_store_ends_when_nothing_is_written)
{
    set_up();
    zd_test_put(&owner, "a/key", "1");
    ck_assert(is_there(ZD_PRESENCE_DIRECTORY));
    rest(&owner);
    ck_assert(!is_there(ZD_PRESENCE_DIRECTORY));
    rest(&owner); /* there is nothing more to do */
    struct zd_store_write erase = {.key = "a/key"};
    ck_assert_int_eq(zd_test_erase(&owner, &erase), ZD_OK);
    ck_assert(is_there(ZD_PRESENCE_LOCK));
    rest(&owner);
    ck_assert(!is_there(ZD_PRESENCE_DIRECTORY));
    tear_down();
}
END_TEST

/* The first write makes what was removed safe again, and those that follow need not. */
START_TEST(presence_of_a_store_is_synced_each_time_it_comes)
{
    char first[600];
    set_up();
    zd_test_put(&owner, "a/key", "1");
    rest(&owner);
    zd_calls_watch((struct zd_calls_fault){0});
    zd_test_put(&owner, "a/key", "2");
    snprintf(first, sizeof first, "%s", zd_calls_text());
    zd_calls_watch((struct zd_calls_fault){0});
    zd_test_put(&owner, "a/key", "3");
    ck_assert_str_eq(
        zd_calls_text(), "open write set_mtime sync_data close lock stat rename stat sync");
    ck_assert_str_eq(first, "make_directory open lock open sync sync open write set_mtime "
                            "sync_data close lock stat rename stat sync");
    tear_down();
}
END_TEST

START_TEST(presence_of_a_store_lasts_while_something_is_staged_or_held)
{
    struct zd_store_write write;
    uint64_t hash = zd_key_hash("b/key");
    struct zd_store_hold hold = {.op = {.done = zd_test_done}, .hash = &hash, .n_keys = 1};
    set_up();
    zd_test_stage(&owner, "a/key", "new", &write);
    rest(&owner);
    ck_assert(is_there(ZD_PRESENCE_DIRECTORY));
    write.phase = ZD_PHASE_COMMIT;
    ck_assert_int_eq(zd_test_write(&owner, &write), ZD_OK);
    zd_test_expect(&owner, "a/key", "new");
    zd_test_count = 0;
    zd_store_hold(owner.store, &hold);
    zd_test_wait(&owner, 1);
    rest(&owner);
    ck_assert(is_there(ZD_PRESENCE_DIRECTORY));
    zd_test_count = 0;
    zd_store_release(&hold);
    zd_test_wait(&owner, 1);
    rest(&owner);
    ck_assert(!is_there(ZD_PRESENCE_DIRECTORY));
    tear_down();
}
END_TEST

/* A writer of another process is killed: whoever rests next sweeps. */
START_TEST(presence_of_a_store_that_rests_ends_that_of_the_dead)
{
    struct zd_store_write write;
    set_up();
    const pid_t child = fork();
    if (child == 0) {
        struct zd_test_store test;
        zd_test_store_join(&test, &owner, false);
        zd_test_stage(&test, "a/key", "new", &write);
        (void)raise(SIGKILL);
    }
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    ck_assert_int_eq(zd_test_count_temps(&owner), 1);
    zd_test_put(&owner, "b/key", "1");
    rest(&owner);
    while (is_there(ZD_PRESENCE_DIRECTORY)) {
    }
    ck_assert_int_eq(zd_test_count_temps(&owner), 0);
    zd_test_expect(&owner, "a/key", NULL);
    tear_down();
}
END_TEST

START_TEST(presence_of_stores_that_are_opened_and_closed_ends)
{
    struct zd_test_store test;
    set_up();
    const pid_t child = fork();
    if (child == 0) { /* killed before it has a marker */
        struct zd_presence presence;
        enter(&presence);
        (void)raise(SIGKILL);
    }
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    ck_assert(is_there(ZD_PRESENCE_LOCK));
    zd_test_store_join(&test, &owner, true);
    ck_assert(!is_there(ZD_PRESENCE_DIRECTORY));
    zd_test_put(&test, "key", "1");
    ck_assert(is_there(ZD_PRESENCE_DIRECTORY));
    zd_test_store_close(&test);
    ck_assert(!is_there(ZD_PRESENCE_DIRECTORY));
    tear_down();
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, presence_ends_with_the_last_one);
    tcase_add_test(tests, presence_leaves_the_files_of_others);
    tcase_add_test(tests, presence_in_a_directory_that_somebody_removed_takes_nothing_of_the_next);
    tcase_add_test(tests, presence_of_several_processes_is_in_one_file);
    tcase_add_test(tests, presence_does_not_wait_for_ever_for_one_who_is_leaving);
    tcase_add_test(tests, presence_of_a_store_ends_when_nothing_is_written);
    tcase_add_test(tests, presence_of_a_store_is_synced_each_time_it_comes);
    tcase_add_test(tests, presence_of_a_store_lasts_while_something_is_staged_or_held);
    tcase_add_test(tests, presence_of_a_store_that_rests_ends_that_of_the_dead);
    tcase_add_test(tests, presence_of_stores_that_are_opened_and_closed_ends);
}
