/* Facts about core/store/file/writers: processes that write to one store of files. */
#include "core/store/file/writers.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/scan.h"
#include "core/store/file/replace.h"
#include "tests/support/store.h"
#include "tests/support/unit.h"

#define PROCESSES  3
#define KEYS       40
#define INCREMENTS 60

/* State that the processes share. */
struct board {
    _Atomic int n_at_start; /* who are there */
    _Atomic int n_won[KEYS];
    _Atomic int n_retries;
};

static struct board *board;
static struct zd_test_store owner; /* of the directory; it writes nothing while others run */

static void set_up(void)
{
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert(board != MAP_FAILED);
    zd_test_store_open(&owner, "file");
}

static void tear_down(void)
{
    ck_assert_int_eq(zd_test_count_temps(&owner), 0);
    zd_test_store_close(&owner);
    munmap(board, sizeof *board);
}

/* The pools have no threads yet: a child may fork, and begin. Exit code: 0 as wanted. */
static void run_processes(int (*work)(struct zd_test_store *test))
{
    pid_t child[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        child[i] = fork();
        if (child[i] == 0) {
            struct zd_test_store test;
            zd_test_store_join(&test, &owner, false);
            atomic_fetch_add(&board->n_at_start, 1);
            while (atomic_load(&board->n_at_start) < PROCESSES) {
            }
            const int code = work(&test);
            zd_test_store_close(&test);
            _exit(code);
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status = 0;
        ck_assert_int_eq(waitpid(child[i], &status, 0), child[i]);
        ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "process %d: %d", i, status);
    }
}

static int create_all(struct zd_test_store *test)
{
    for (int i = 0; i < KEYS; i++) {
        struct zd_store_write write = {
            .bytes = zd_buf_copy(zd_span_of("mine")), .condition = ZD_CONDITION_ABSENT};
        snprintf(write.key, sizeof write.key, "a/%d/key", i);
        const enum zd_status status = zd_test_write(test, &write);
        zd_buf_unref(write.bytes);
        if (status != ZD_OK && status != ZD_PRECONDITION) {
            return 1;
        }
        atomic_fetch_add(&board->n_won[i], status == ZD_OK ? 1 : 0);
    }
    return 0;
}

START_TEST(writers_of_several_processes_create_once)
{
    set_up();
    run_processes(create_all);
    for (int i = 0; i < KEYS; i++) {
        ck_assert_int_eq(atomic_load(&board->n_won[i]), 1);
    }
    tear_down();
}
END_TEST

/* Increment the number under the key, if it is still the one that was read. */
static enum zd_status increment(struct zd_test_store *test)
{
    char text[24];
    uint64_t count = 0;
    struct zd_store_read read;
    struct zd_store_write write = {.key = "a/count", .condition = ZD_CONDITION_GENERATION};
    zd_test_read_init(&read, "a/count");
    if (zd_test_read(test, &read) != ZD_OK ||
        zd_scan_whole_u64(zd_buf_span(read.bytes), UINT64_MAX, &count) != ZD_OK) {
        return ZD_INTERNAL;
    }
    snprintf(text, sizeof text, "%d", (int)count + 1);
    write.generation = read.stat.generation;
    write.bytes = zd_buf_copy(zd_span_of(text));
    const enum zd_status status = zd_test_write(test, &write);
    zd_buf_unref(write.bytes);
    zd_buf_unref(read.bytes);
    return status;
}

static int count_up(struct zd_test_store *test)
{
    for (int n = 0; n < INCREMENTS;) {
        const enum zd_status status = increment(test);
        if (status != ZD_OK && status != ZD_PRECONDITION) {
            return 1;
        }
        n += status == ZD_OK;
        atomic_fetch_add(&board->n_retries, status == ZD_PRECONDITION);
    }
    return 0;
}

START_TEST(writers_of_several_processes_lose_no_update)
{
    char text[24];
    set_up();
    const pid_t child = fork(); /* who writes has threads from then on, and may not fork */
    if (child == 0) {
        struct zd_test_store test;
        zd_test_store_join(&test, &owner, false);
        zd_test_put(&test, "a/count", "100000");
        zd_test_store_close(&test);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    run_processes(count_up);
    snprintf(text, sizeof text, "%d", 100000 + PROCESSES * INCREMENTS);
    zd_test_expect(&owner, "a/count", text);
    tear_down();
}
END_TEST

/* Directories come and go with their only objects, while others are about to write there. */
static int come_and_go(struct zd_test_store *test)
{
    const int me = (int)getpid();
    for (int i = 0; i < INCREMENTS; i++) {
        struct zd_store_write write = {.bytes = zd_buf_copy(zd_span_of("1"))};
        snprintf(write.key, sizeof write.key, "d%d/e/f/%d", i % 2, me);
        const enum zd_status written = zd_test_write(test, &write);
        zd_buf_unref(write.bytes);
        write.bytes = NULL;
        if (written != ZD_OK || zd_test_erase(test, &write) != ZD_OK) {
            return 1;
        }
    }
    return 0;
}

START_TEST(writers_of_several_processes_share_directories_that_vanish)
{
    struct zd_store_list list = {.n_max = 1};
    set_up();
    run_processes(come_and_go);
    ck_assert_int_eq(zd_test_list(&owner, &list), ZD_OK);
    ck_assert_uint_eq(list.n_entries, 0);
    zd_store_list_done(&list);
    tear_down();
}
END_TEST

#define HELD_MAX 12

/* A process that locks keys and does nothing more. */
static pid_t start_holder(const char *const *keys)
{
    int ends[2];
    char byte;
    ck_assert_int_eq(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        struct zd_beneath root;
        struct zd_writer writer;
        struct zd_writer_use use[HELD_MAX];
        int code;
        if (zd_beneath_open(owner.directory, &root, NULL) != ZD_OK ||
            zd_writer_init(&writer) != ZD_OK ||
            zd_writer_enter(&writer, &root, false, &code, NULL) != ZD_OK) {
            _exit(1);
        }
        for (int i = 0; keys[i] != NULL; i++) {
            if (zd_writer_lock(&writer, zd_key_hash(keys[i]), 0, &use[i]) != 0) {
                _exit(1);
            }
        }
        if (write(ends[1], "1", 1) != 1) {
            _exit(1);
        }
        for (;;) {
            pause();
        }
    }
    ck_assert_int_eq(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    close(ends[1]);
    return child;
}

static bool is_locked(const char *key)
{
    char path[200];
    struct flock lock = {.l_type = F_WRLCK,
        .l_whence = SEEK_SET,
        .l_start = (off_t)(zd_key_hash(key) % (UINT64_C(1) << 62)),
        .l_len = 1};
    snprintf(path, sizeof path, "%s/" ZD_PRESENCE_DIRECTORY "/lock", owner.directory);
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(fcntl(fd, F_OFD_GETLK, &lock), 0);
    close(fd);
    return lock.l_type != F_UNLCK;
}

static int n_holds;

static void hold_done(struct zd_store_op *op)
{
    ck_assert_int_eq(op->status, ZD_OK);
    n_holds++;
}

START_TEST(writers_who_hold_keys_keep_them_while_they_write)
{
    set_up();
    uint64_t hash[] = {zd_key_hash("a/2"), zd_key_hash("a/1")};
    struct zd_store_hold hold = {
        .op = {.done = hold_done}, .hash = hash, .n_keys = sizeof hash / sizeof hash[0]};
    struct zd_store_hold next = hold;
    uint64_t own[] = {hash[0]};
    next.hash = own;
    next.n_keys = 1;
    n_holds = 0;
    zd_store_hold(owner.store, &hold);
    zd_store_hold(owner.store, &next);
    while (n_holds < 1) {
        uv_run(&owner.loop, UV_RUN_ONCE);
    }
    zd_test_put(&owner, "a/1", "new");
    zd_test_put(&owner, "a/3", "new");
    ck_assert(is_locked("a/1"));
    ck_assert(is_locked("a/2"));
    ck_assert(!is_locked("a/3"));
    ck_assert_int_eq(n_holds, 1); /* the next one waits */
    zd_store_release(&hold);
    while (n_holds < 3) { /* one is released, the other has them */
        uv_run(&owner.loop, UV_RUN_ONCE);
    }
    ck_assert(!is_locked("a/1"));
    ck_assert(is_locked("a/2"));
    zd_store_release(&next);
    uv_run(&owner.loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(n_holds, 4);
    ck_assert(!is_locked("a/2"));
    tear_down();
}
END_TEST

START_TEST(writers_who_hold_keys_leave_them_to_those_who_write)
{
    set_up();
    struct zd_beneath root;
    struct zd_writer writer;
    struct zd_writer_use use;
    const uint64_t hash = zd_key_hash("a/1");
    ck_assert_int_eq(zd_beneath_open(owner.directory, &root, NULL), ZD_OK);
    ck_assert_int_eq(zd_writer_init(&writer), ZD_OK);
    ck_assert_int_eq(zd_writer_open_lock(&writer, &root, NULL), ZD_OK);
    ck_assert_int_eq(zd_writer_hold(&writer, &hash, 1, 0), 0);
    ck_assert_int_eq(zd_writer_lock(&writer, hash, 0, &use), 0);
    zd_writer_drop(&writer);
    ck_assert(is_locked("a/1"));
    zd_writer_unlock(&writer, &use);
    ck_assert(!is_locked("a/1"));
    zd_writer_done(&writer, &root);
    zd_beneath_close(&root);
    tear_down();
}
END_TEST

START_TEST(writers_wait_for_a_lock_that_dies_with_its_holder)
{
    set_up();
    const pid_t holder = start_holder((const char *const[]){"key", NULL});
    struct zd_store_write write = {
        .op = {.done = zd_test_done}, .key = "key", .bytes = zd_buf_copy(zd_span_of("1"))};
    ck_assert(is_locked("key"));
    ck_assert(!is_locked("other"));
    zd_test_put(&owner, "other", "1"); /* other keys are free */
    zd_test_count = 0;
    zd_store_write(owner.store, &write);
    ck_assert_int_eq(zd_test_count, 0);
    ck_assert_int_eq(kill(holder, SIGKILL), 0);
    ck_assert_int_eq(waitpid(holder, NULL, 0), holder);
    zd_test_wait(&owner, 1);
    ck_assert_int_eq(write.op.status, ZD_OK);
    ck_assert(!is_locked("key"));
    zd_buf_unref(write.bytes);
    zd_test_expect(&owner, "key", "1");
    tear_down();
}
END_TEST

/* The owner's directory, from where others are waited for so long. */
static void open_waiting(struct zd_test_store *test, uint64_t lock_ms)
{
    *test = (struct zd_test_store){.is_joined = true};
    memcpy(test->directory, owner.directory, sizeof test->directory);
    const struct zd_store_config config = {
        .location = owner.directory, .loop = &test->loop, .writable = true, .lock_ms = lock_ms};
    ck_assert_int_eq(uv_loop_init(&test->loop), 0);
    ck_assert_int_eq(zd_store_open(&config, &test->store, NULL), ZD_OK);
}

static void end_holder(pid_t holder)
{
    ck_assert_int_eq(kill(holder, SIGKILL), 0);
    ck_assert_int_eq(waitpid(holder, NULL, 0), holder);
}

START_TEST(writers_give_up_on_one_that_is_stopped)
{
    set_up();
    struct zd_test_store test;
    uint64_t hash[] = {zd_key_hash("key"), zd_key_hash("other")};
    struct zd_store_hold hold = {.op = {.done = zd_test_done}, .hash = hash, .n_keys = 2};
    struct zd_store_write write = {.key = "key", .bytes = zd_buf_copy(zd_span_of("1"))};
    struct zd_store_write erase = {.key = "key"};
    zd_test_put(&owner, "key", "0");
    const pid_t holder = start_holder((const char *const[]){"key", NULL});
    ck_assert_int_eq(kill(holder, SIGSTOP), 0);
    open_waiting(&test, 20);
    ck_assert_int_eq(zd_test_write(&test, &write), ZD_TIMEOUT);
    ck_assert_ptr_nonnull(strstr(write.op.err.text, ZD_PRESENCE_LOCK));
    ck_assert_int_eq(zd_test_erase(&test, &erase), ZD_TIMEOUT);
    zd_test_count = 0;
    zd_store_hold(test.store, &hold);
    zd_test_wait(&test, 1);
    ck_assert_int_eq(hold.op.status, ZD_TIMEOUT);
    ck_assert(!hold.is_held && !is_locked("other"));
    zd_test_put(&test, "other", "1");
    zd_test_expect(&test, "key", "0");
    ck_assert_int_eq(zd_test_count_temps(&owner), 0);
    end_holder(holder);
    ck_assert_int_eq(zd_test_write(&test, &write), ZD_OK);
    zd_buf_unref(write.bytes);
    zd_test_store_close(&test);
    tear_down();
}
END_TEST

/* All threads would wait, and for ever: some of those who wait give up, so that others go on. */
START_TEST(writers_who_wait_leave_threads_to_others)
{
    static const char *const keys[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", NULL};
    enum { N = ZD_COUNT_OF(keys) - 1 };
    ck_assert_int_eq(setenv("UV_THREADPOOL_SIZE", "8", 1), 0);
    set_up();
    struct zd_test_store test;
    struct zd_store_write write[N + 1];
    ZD_AUTO(zd_buf) bytes = zd_buf_copy(zd_span_of("1"));
    const pid_t holder = start_holder(keys);
    open_waiting(&test, 3600000);
    zd_test_count = 0;
    for (int i = 0; i <= N; i++) {
        write[i] = (struct zd_store_write){.op = {.done = zd_test_done}, .bytes = bytes};
        snprintf(write[i].key, sizeof write[i].key, "%s", i < N ? keys[i] : "other");
        zd_store_write(test.store, &write[i]);
    }
    zd_test_wait(&test, N + 1 - 4);
    ck_assert_int_eq(write[N].op.status, ZD_OK);
    end_holder(holder);
    zd_test_wait(&test, N + 1);
    int n_late = 0;
    for (int i = 0; i < N; i++) {
        ck_assert(write[i].op.status == ZD_OK || write[i].op.status == ZD_TIMEOUT);
        n_late += write[i].op.status == ZD_TIMEOUT;
    }
    ck_assert_int_eq(n_late, N - 4);
    zd_test_store_close(&test);
    tear_down();
}
END_TEST

START_TEST(writers_who_are_told_to_give_up_wait_for_nobody)
{
    set_up();
    struct zd_test_store test;
    struct zd_store_write write = {
        .op = {.done = zd_test_done}, .key = "key", .bytes = zd_buf_copy(zd_span_of("1"))};
    const pid_t holder = start_holder((const char *const[]){"key", NULL});
    open_waiting(&test, 0);
    zd_test_count = 0;
    zd_store_write(test.store, &write);
    zd_store_give_up(test.store);
    zd_test_wait(&test, 1);
    ck_assert_int_eq(write.op.status, ZD_TIMEOUT);
    end_holder(holder);
    zd_buf_unref(write.bytes);
    zd_test_store_close(&test);
    tear_down();
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, writers_of_several_processes_create_once);
    tcase_add_test(tests, writers_of_several_processes_lose_no_update);
    tcase_add_test(tests, writers_of_several_processes_share_directories_that_vanish);
    tcase_add_test(tests, writers_who_hold_keys_keep_them_while_they_write);
    tcase_add_test(tests, writers_who_hold_keys_leave_them_to_those_who_write);
    tcase_add_test(tests, writers_wait_for_a_lock_that_dies_with_its_holder);
    tcase_add_test(tests, writers_give_up_on_one_that_is_stopped);
    tcase_add_test(tests, writers_who_wait_leave_threads_to_others);
    tcase_add_test(tests, writers_who_are_told_to_give_up_wait_for_nobody);
}
