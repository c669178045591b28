/* Facts about the store of files that other stores do not share. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/store/file/beneath.h"
#include "core/store/file/stat.h"
#include "tests/support/store.h"
#include "tests/support/unit.h"

#define PATH_BYTES 512

/* The path of a name in the test's directory. */
static const char *path_in(const struct zd_test_store *test, const char *name, char *path)
{
    snprintf(path, PATH_BYTES, "%s/%s", test->directory, name);
    return path;
}

static void make_link(const struct zd_test_store *test, const char *target, const char *name)
{
    char path[PATH_BYTES];
    ck_assert_int_eq(symlink(target, path_in(test, name, path)), 0);
}

static void make_socket(const struct zd_test_store *test, const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", test->directory, name);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    close(fd);
}

/* A directory with every kind of entry that a store may meet. */
static void make_zoo(struct zd_test_store *test)
{
    char path[PATH_BYTES];
    zd_test_store_open(test, "file");
    zd_test_put(test, "a/key", "123");
    zd_test_put(test, "key", "123");
    make_link(test, "a/key", "link");
    make_link(test, "a", "links");
    make_link(test, "../key", "a/up");
    make_link(test, "/etc/hostname", "absolute");
    make_link(test, "../../../../etc/hostname", "out");
    make_link(test, "/etc", "outs");
    make_link(test, "..", "parent");
    make_link(test, "nowhere", "dangling");
    make_link(test, "loop", "loop");
    make_link(test, "/proc/self/fd/0", "magic");
    snprintf(path, sizeof path, "%s/key", test->directory);
    make_link(test, path, "absolute-inside");
    ck_assert_int_eq(mkfifo(path_in(test, "fifo", path), 0600), 0);
    make_socket(test, "socket");
    ck_assert_int_eq(mkdir(path_in(test, "empty", path), 0700), 0);
    close(open(path_in(test, ".zarrd-tmp-1", path), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    close(open(path_in(test, "bad\xff", path), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    close(open(path_in(test, "bad\nline", path), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

static const struct zoo_fact {
    const char *key;
    enum zd_status status;
    enum zd_status without_links; /* where the kernel cannot keep links inside */
} zoo_facts[] = {
    {"key", ZD_OK, ZD_OK},
    {"a/key", ZD_OK, ZD_OK},
    {"link", ZD_OK, ZD_STORE},
    {"links/key", ZD_OK, ZD_STORE},
    {"links/links/key", ZD_NOT_FOUND, ZD_STORE},
    {"a/up", ZD_OK, ZD_STORE},
    {"absolute", ZD_STORE, ZD_STORE},
    {"absolute-inside", ZD_STORE, ZD_STORE},
    {"out", ZD_STORE, ZD_STORE},
    {"outs/hostname", ZD_STORE, ZD_STORE},
    {"outs/nonexistent", ZD_STORE, ZD_STORE}, /* nothing is told of what lies outside */
    {"parent/x", ZD_STORE, ZD_STORE},
    {"dangling", ZD_NOT_FOUND, ZD_STORE},
    {"loop", ZD_STORE, ZD_STORE},
    {"loop/key", ZD_STORE, ZD_STORE},
    {"magic", ZD_STORE, ZD_STORE},
    {"fifo", ZD_STORE, ZD_STORE},
    {"fifo/key", ZD_NOT_FOUND, ZD_NOT_FOUND},
    {"socket", ZD_STORE, ZD_STORE},
    {"empty", ZD_NOT_FOUND, ZD_NOT_FOUND},
    {"links", ZD_NOT_FOUND, ZD_STORE},
    {"key/below", ZD_NOT_FOUND, ZD_NOT_FOUND},
};

static void check_read(struct zd_test_store *test, const char *key, enum zd_status wanted)
{
    struct zd_store_read read;
    zd_test_read_init(&read, key);
    const enum zd_status status = zd_test_read(test, &read);
    ck_assert_msg(status == wanted, "%s: %s: %s", key, zd_status_name(status), read.op.err.text);
    if (status == ZD_OK) {
        ck_assert(zd_span_is(zd_buf_span(read.bytes), "123"));
    }
    if (status == ZD_STORE) {
        ck_assert_ptr_nonnull(strstr(read.op.err.text, key));
        ck_assert_ptr_null(strstr(read.op.err.text, test->directory));
    }
    zd_buf_unref(read.bytes);
    const enum zd_status now = zd_store_read_now(test->store, &read);
    ck_assert_msg(now == wanted || now == ZD_AGAIN, "%s now: %s", key, zd_status_name(now));
    zd_buf_unref(read.bytes);
}

START_TEST(file_serves_regular_files_inside_and_nothing_else)
{
    struct zd_test_store test;
    make_zoo(&test);
    for (size_t i = 0; i < ZD_COUNT_OF(zoo_facts); i++) {
        struct zd_store_status status = {0};
        check_read(&test, zoo_facts[i].key, zoo_facts[i].status);
        snprintf(status.key, sizeof status.key, "%s", zoo_facts[i].key);
        const enum zd_status got = zd_test_status(&test, &status);
        ck_assert_msg(got == zoo_facts[i].status, "%s: %s: %s", status.key, zd_status_name(got),
            status.op.err.text);
    }
    zd_test_store_close(&test);
}
END_TEST

START_TEST(file_refuses_links_where_the_kernel_cannot_keep_them_inside)
{
    struct zd_test_store test;
    struct zd_beneath root = {.fd = -1};
    make_zoo(&test);
    ck_assert_int_eq(zd_beneath_open(test.directory, &root, NULL), ZD_OK);
    root.resolves_beneath = false;
    for (size_t i = 0; i < ZD_COUNT_OF(zoo_facts); i++) {
        ZD_AUTO_FD fd = -1;
        struct zd_stat stat;
        const char *key = zoo_facts[i].key;
        enum zd_status status = zd_beneath_find(&root, key, O_RDONLY, &fd, NULL);
        if (status == ZD_OK) {
            status = zd_stat_of_object(fd, key, &stat, NULL);
        }
        ck_assert_msg(status == zoo_facts[i].without_links, "%s: %s", key, zd_status_name(status));
    }
    zd_beneath_close(&root);
    zd_test_store_close(&test);
}
END_TEST

START_TEST(file_walks_to_directories_without_openat2)
{
    struct zd_test_store test;
    struct zd_beneath root = {.fd = -1};
    const char *const paths[] = {"", "a", "a/"};
    make_zoo(&test);
    ck_assert_int_eq(zd_beneath_open(test.directory, &root, NULL), ZD_OK);
    root.resolves_beneath = false;
    for (size_t i = 0; i < ZD_COUNT_OF(paths); i++) {
        ZD_AUTO_FD fd = -1;
        ZD_AUTO_FD path_fd = -1;
        ck_assert_int_eq(
            zd_beneath_find(&root, paths[i], O_RDONLY | O_DIRECTORY, &fd, NULL), ZD_OK);
        ck_assert_int_eq(zd_beneath_find(&root, paths[i], O_PATH, &path_fd, NULL), ZD_OK);
    }
    zd_beneath_close(&root);
    zd_test_store_close(&test);
}
END_TEST

static const struct zoo_listing {
    const char *prefix;
    bool deep;
    const char *listing;
} zoo_listings[] = {
    {"", false, "a/ empty/ key link links/"},
    {"", true, "a/key a/up key link links/key links/up"},
    {"a/", false, "key up"},
    {"links/", true, "key up"},
    {"empty/", false, ""},
    {"empty/", true, ""},
};

START_TEST(file_lists_what_it_serves)
{
    struct zd_test_store test;
    make_zoo(&test);
    /* A link to the directory itself, and one to a directory above: deep listings end. */
    make_link(&test, ".", "a/self");
    char path[PATH_BYTES];
    for (size_t i = 0; i < ZD_COUNT_OF(zoo_listings); i++) {
        struct zd_store_list list = {.deep = zoo_listings[i].deep, .n_max = 100};
        ZD_SCOPED_TEXT(text, 1000);
        if (i == 2) {
            ck_assert_int_eq(unlink(path_in(&test, "a/self", path)), 0);
        }
        snprintf(list.prefix, sizeof list.prefix, "%s", zoo_listings[i].prefix);
        ck_assert_int_eq(zd_test_list(&test, &list), ZD_OK);
        zd_test_list_text(&list, &text);
        ck_assert_str_eq(text.at, zoo_listings[i].listing);
        zd_store_list_done(&list);
    }
    zd_test_store_close(&test);
}
END_TEST

START_TEST(file_lists_no_prefix_outside)
{
    struct zd_test_store test;
    make_zoo(&test);
    const char *const outside[] = {"outs/", "parent/", "loop/"};
    for (size_t i = 0; i < ZD_COUNT_OF(outside); i++) {
        struct zd_store_list list = {.n_max = 100};
        snprintf(list.prefix, sizeof list.prefix, "%s", outside[i]);
        ck_assert_int_eq(zd_test_list(&test, &list), ZD_STORE);
    }
    zd_test_store_close(&test);
}
END_TEST

START_TEST(file_lists_past_many_empty_directories)
{
    struct zd_test_store test;
    char path[PATH_BYTES];
    char name[16];
    struct zd_store_list list = {.deep = true, .n_max = 2};
    ZD_SCOPED_TEXT(text, 1000);
    zd_test_store_open(&test, "file");
    for (int i = 0; i < 50; i++) {
        snprintf(name, sizeof name, "e%02d", i);
        ck_assert_int_eq(mkdir(path_in(&test, name, path), 0700), 0);
    }
    zd_test_put(&test, "z/1", "1");
    zd_test_put(&test, "z/2", "1");
    zd_test_put(&test, "z/3", "1");
    ck_assert_int_eq(zd_test_list(&test, &list), ZD_OK);
    zd_test_list_text(&list, &text);
    ck_assert_str_eq(text.at, "z/1 z/2 +");
    zd_store_list_done(&list);
    zd_test_store_close(&test);
}
END_TEST

/* In a child without privileges, since root reads everything. Exit code: 0 as wanted. */
static int read_without_rights(struct zd_test_store *test)
{
    struct zd_store_read read;
    struct zd_store_list list = {.prefix = "closed/", .n_max = 1};
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) {
        return 1;
    }
    zd_test_read_init(&read, "secret");
    if (zd_test_read(test, &read) != ZD_STORE ||
        strcmp(read.op.err.text, "secret: cannot open: Permission denied") != 0) {
        return 2;
    }
    if (zd_store_read_now(test->store, &read) != ZD_AGAIN) {
        return 3;
    }
    zd_test_read_init(&read, "closed/key");
    if (zd_test_read(test, &read) != ZD_STORE) {
        return 4;
    }
    return zd_test_list(test, &list) == ZD_STORE ? 0 : 5;
}

START_TEST(file_that_cannot_be_read_is_no_missing_file)
{
    struct zd_test_store test;
    char path[PATH_BYTES];
    int status = 0;
    zd_test_store_open(&test, "file");
    ck_assert_int_eq(chmod(test.directory, 0755), 0);
    close(open(path_in(&test, "secret", path), O_CREAT | O_WRONLY | O_CLOEXEC, 0));
    ck_assert_int_eq(mkdir(path_in(&test, "closed", path), 0), 0);
    const pid_t child = fork(); /* the pool has no threads yet */
    if (child == 0) {
        _exit(read_without_rights(&test));
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 0);
    zd_test_store_close(&test);
}
END_TEST

/* In a child without privileges. Exit code: 0 as wanted. */
static int write_without_rights(struct zd_test_store *test)
{
    struct zd_store_write write = {.key = "closed/key", .bytes = zd_buf_copy(zd_span_of("new"))};
    struct zd_store_write erase = {.key = "closed/key"};
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) {
        return 1;
    }
    if (zd_test_write(test, &write) != ZD_STORE ||
        strcmp(write.op.err.text, "closed/key: cannot create: Permission denied") != 0) {
        return 2;
    }
    if (zd_test_erase(test, &erase) != ZD_STORE ||
        strcmp(erase.op.err.text, "closed/key: cannot erase: Permission denied") != 0) {
        return 3;
    }
    snprintf(write.key, sizeof write.key, "closed/below/key");
    if (zd_test_write(test, &write) != ZD_STORE || test->store->failure[0] != '\0') {
        return 4;
    }
    zd_test_expect(test, "closed/key", "old");
    snprintf(write.key, sizeof write.key, "open/key");
    return zd_test_write(test, &write) == ZD_OK ? 0 : 5;
}

START_TEST(file_that_may_not_be_written_stays_as_it_was)
{
    struct zd_test_store test;
    char path[PATH_BYTES];
    int status = 0;
    zd_test_store_open(&test, "file");
    ck_assert_int_eq(chmod(test.directory, 0777), 0);
    ck_assert_int_eq(mkdir(path_in(&test, "closed", path), 0755), 0);
    const int fd = open(path_in(&test, "closed/key", path), O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    ck_assert_int_eq(write(fd, "old", 3), 3);
    close(fd);
    const pid_t child = fork(); /* the pool has no threads yet */
    if (child == 0) {
        _exit(write_without_rights(&test));
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 0);
    ck_assert_int_eq(zd_test_count_temps(&test), 0);
    zd_test_store_close(&test);
}
END_TEST

START_TEST(file_fails_when_its_directory_was_removed)
{
    struct zd_test_store test;
    struct zd_store_read read;
    struct zd_store_list list = {.n_max = 1};
    struct zd_store_status status = {.key = "key"};
    ZD_AUTO(zd_buf) bytes = zd_buf_copy(zd_span_of("1"));
    struct zd_store_write write = {.key = "key", .bytes = bytes};
    zd_test_store_open(&test, "file");
    zd_test_read_init(&read, "key");
    ck_assert_int_eq(zd_test_read(&test, &read), ZD_NOT_FOUND);
    ck_assert_int_eq(rmdir(test.directory), 0);
    ck_assert_int_eq(zd_test_read(&test, &read), ZD_GONE);
    ck_assert_int_eq(zd_store_read_now(test.store, &read), ZD_AGAIN);
    ck_assert_int_eq(zd_test_status(&test, &status), ZD_GONE);
    ck_assert_int_eq(zd_test_list(&test, &list), ZD_GONE);
    zd_store_list_done(&list);
    ck_assert_int_eq(zd_test_write(&test, &write), ZD_GONE);
    write.bytes = NULL;
    ck_assert_int_eq(zd_test_erase(&test, &write), ZD_GONE);
    zd_test_store_close(&test);
}
END_TEST

START_TEST(file_reads_one_version_while_it_is_replaced)
{
    struct zd_test_store test;
    const size_t len = 1U << 20;
    struct zd_store_write write = {.key = "key", .bytes = zd_buf_new(len)};
    struct zd_store_read read;
    zd_test_store_open(&test, "file");
    write.bytes->len = len;
    for (int i = 0; i < 50; i++) {
        zd_test_count = 0;
        memset(write.bytes->data, i, len);
        write.op.done = zd_test_done;
        zd_store_write(test.store, &write);
        zd_test_read_init(&read, "key");
        read.op.done = zd_test_done;
        zd_store_read(test.store, &read);
        zd_test_wait(&test, 2);
        ck_assert_int_eq(write.op.status, ZD_OK);
        ck_assert(read.op.status == ZD_OK || (i == 0 && read.op.status == ZD_NOT_FOUND));
        if (read.op.status == ZD_OK) {
            ck_assert_uint_eq(read.bytes->len, len);
            ck_assert(read.bytes->data[0] == i || read.bytes->data[0] == i - 1);
            ck_assert_mem_eq(read.bytes->data, read.bytes->data + 1, len - 1);
        }
        zd_buf_unref(read.bytes);
    }
    zd_buf_unref(write.bytes);
    zd_test_store_close(&test);
}
END_TEST

/* Whether the bytes that a reader has opened are still those, although the key has others. */
START_TEST(file_that_was_replaced_has_the_bytes_it_had)
{
    struct zd_test_store test;
    struct zd_stat before;
    struct zd_stat after;
    char path[PATH_BYTES];
    zd_test_store_open(&test, "file");
    zd_test_put(&test, "key", "123");
    const int fd = open(path_in(&test, "key", path), O_RDWR | O_CLOEXEC);
    ck_assert_int_eq(zd_stat_of_object(fd, "key", &before, NULL), ZD_OK);
    zd_test_put(&test, "key", "456");
    ck_assert_int_eq(zd_stat_of_object(fd, "key", &after, NULL), ZD_OK);
    ck_assert(!zd_generation_equal(before.generation, after.generation)); /* it has no name now */
    ck_assert(zd_stat_has_same_bytes(&before, &after));
    ck_assert_int_eq(pwrite(fd, "7", 1, 0), 1);
    ck_assert_int_eq(zd_stat_of_object(fd, "key", &after, NULL), ZD_OK);
    ck_assert(!zd_stat_has_same_bytes(&before, &after));
    close(fd);
    zd_test_store_close(&test);
}
END_TEST

/* Rewrites a file in place, again and again, as some writers do. */
static void rewrite_in_place(void *argument)
{
    const char *path = argument;
    char bytes[65536];
    for (int i = 0; i < 200; i++) {
        const int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
        memset(bytes, i, sizeof bytes);
        for (int part = 0; part < 16; part++) {
            if (write(fd, bytes, sizeof bytes) != (ssize_t)sizeof bytes) {
                abort();
            }
        }
        close(fd);
    }
}

START_TEST(file_reads_all_or_fails_while_it_is_rewritten_in_place)
{
    struct zd_test_store test;
    char path[PATH_BYTES];
    uv_thread_t thread;
    zd_test_store_open(&test, "file");
    zd_test_put(&test, "key", "1");
    path_in(&test, "key", path);
    ck_assert_int_eq(uv_thread_create(&thread, rewrite_in_place, path), 0);
    for (int i = 0; i < 200; i++) {
        struct zd_store_read read;
        zd_test_read_init(&read, "key");
        const enum zd_status status = zd_test_read(&test, &read);
        ck_assert_msg(status == ZD_OK || status == ZD_STORE, "%s", zd_status_name(status));
        ck_assert(read.bytes == NULL || read.bytes->len == read.stat.size);
        zd_buf_unref(read.bytes);
    }
    uv_thread_join(&thread);
    zd_test_store_close(&test);
}
END_TEST

START_TEST(file_reads_small_cached_files_at_once)
{
    struct zd_test_store test;
    struct zd_store_read read;
    struct zd_store_status status = {.key = "a/key"};
    zd_test_store_open(&test, "file");
    zd_test_put(&test, "a/key", "123");
    zd_test_read_init(&read, "a/key");
    const enum zd_status now = zd_store_read_now(test.store, &read);
    ck_assert(now == ZD_OK || now == ZD_AGAIN); /* the kernel may know neither */
    if (now == ZD_OK) {
        ck_assert(zd_span_is(zd_buf_span(read.bytes), "123"));
        ck_assert_int_eq(zd_store_status_now(test.store, &status), ZD_OK);
        ck_assert(zd_generation_equal(status.stat.generation, read.stat.generation));
        read.unless_generation = read.stat.generation;
        zd_buf_unref(read.bytes);
        ck_assert_int_eq(zd_store_read_now(test.store, &read), ZD_NOT_MODIFIED);
    }
    zd_test_store_close(&test);
}
END_TEST

static const struct write_fact {
    const char *key;
    enum zd_status status;
} write_facts[] = {
    {"a", ZD_STORE},         /* a directory is there */
    {"key/below", ZD_STORE}, /* a file is where a directory is needed */
    {"fifo/below", ZD_STORE}, {"outs/key", ZD_STORE}, {"parent/key", ZD_STORE},
    {"loop/key", ZD_STORE}, {"links/new", ZD_OK}, /* a link to a directory inside */
    {"links/new/deep", ZD_STORE}, {"x/y/z", ZD_OK},
    {"link", ZD_OK}, /* the link is replaced, not what it leads to */
};

START_TEST(file_writes_inside_only_and_leaves_no_temporary_file)
{
    struct zd_test_store test;
    make_zoo(&test);
    const int n_before = zd_test_count_temps(&test);
    for (size_t i = 0; i < ZD_COUNT_OF(write_facts); i++) {
        struct zd_store_write write = {.bytes = zd_buf_copy(zd_span_of("new"))};
        snprintf(write.key, sizeof write.key, "%s", write_facts[i].key);
        const enum zd_status status = zd_test_write(&test, &write);
        ck_assert_msg(status == write_facts[i].status, "%s: %s: %s", write.key,
            zd_status_name(status), write.op.err.text);
        zd_buf_unref(write.bytes);
    }
    ck_assert_int_eq(zd_test_count_temps(&test), n_before);
    check_read(&test, "a/key", ZD_OK);
    zd_test_store_close(&test);
}
END_TEST

/* Many objects are staged before the first takes its name: what is in the way is told in time. */
START_TEST(file_stages_nothing_where_a_directory_or_a_file_is_in_the_way)
{
    struct zd_test_store test;
    make_zoo(&test);
    const int n_before = zd_test_count_temps(&test);
    for (size_t i = 0; i < 2; i++) {
        struct zd_store_write write = {
            .phase = ZD_PHASE_STAGE, .bytes = zd_buf_copy(zd_span_of("new"))};
        snprintf(write.key, sizeof write.key, "%s", write_facts[i].key);
        ck_assert_int_eq(zd_test_write(&test, &write), ZD_STORE);
        ck_assert_ptr_null(write.staged);
        zd_buf_unref(write.bytes);
    }
    ck_assert_int_eq(zd_test_count_temps(&test), n_before);
    zd_test_store_close(&test);
}
END_TEST

START_TEST(file_says_when_the_disk_is_full)
{
    struct zd_test_store test;
    struct zd_store_write write = {.key = "key", .bytes = zd_buf_copy(zd_span_of("1"))};
    struct zd_error err = {0};
    zd_test_store_open(&test, "file");
    ck_assert_int_eq(zd_beneath_fail(&err, ENOSPC, "key", "write"), ZD_NO_SPACE);
    ck_assert_int_eq(zd_beneath_fail(&err, EDQUOT, "key", "write"), ZD_NO_SPACE);
    ck_assert_int_eq(zd_beneath_fail(&err, EIO, "key", "write"), ZD_STORE);
    ck_assert_str_eq(err.text, "key: cannot write: Input/output error");
    ck_assert_int_eq(zd_test_write(&test, &write), ZD_OK);
    zd_buf_unref(write.bytes);
    zd_test_store_close(&test);
}
END_TEST

START_TEST(file_names_too_long_for_the_system_are_faults)
{
    struct zd_error err = {0};
    ck_assert_int_eq(zd_beneath_fail(&err, ENAMETOOLONG, "key", "open"), ZD_STORE);
    ck_assert_int_eq(zd_beneath_fail(&err, EACCES, "key", "open"), ZD_STORE);
    ck_assert_int_eq(zd_beneath_fail(&err, ESTALE, "key", "open"), ZD_STORE);
    ck_assert_int_eq(zd_beneath_fail(&err, EMFILE, "key", "open"), ZD_STORE);
    ck_assert_int_eq(zd_beneath_fail(&err, ENOENT, "key", "open"), ZD_NOT_FOUND);
    ck_assert_int_eq(zd_beneath_fail(&err, ENOTDIR, "key", "open"), ZD_NOT_FOUND);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, file_serves_regular_files_inside_and_nothing_else);
    tcase_add_test(tests, file_refuses_links_where_the_kernel_cannot_keep_them_inside);
    tcase_add_test(tests, file_walks_to_directories_without_openat2);
    tcase_add_test(tests, file_lists_what_it_serves);
    tcase_add_test(tests, file_lists_no_prefix_outside);
    tcase_add_test(tests, file_lists_past_many_empty_directories);
    tcase_add_test(tests, file_that_cannot_be_read_is_no_missing_file);
    tcase_add_test(tests, file_that_may_not_be_written_stays_as_it_was);
    tcase_add_test(tests, file_fails_when_its_directory_was_removed);
    tcase_add_test(tests, file_reads_one_version_while_it_is_replaced);
    tcase_add_test(tests, file_that_was_replaced_has_the_bytes_it_had);
    tcase_add_test(tests, file_reads_all_or_fails_while_it_is_rewritten_in_place);
    tcase_add_test(tests, file_reads_small_cached_files_at_once);
    tcase_add_test(tests, file_writes_inside_only_and_leaves_no_temporary_file);
    tcase_add_test(tests, file_stages_nothing_where_a_directory_or_a_file_is_in_the_way);
    tcase_add_test(tests, file_says_when_the_disk_is_full);
    tcase_add_test(tests, file_names_too_long_for_the_system_are_faults);
}
