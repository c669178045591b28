/* The directory of the disk tier: which paths may be one, who may use it, and what is found in it.
 */
#include "core/store/disk/disk_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/calls.h"
#include "tests/support/unit.h"

#define COMMAND_BYTES 512

/* The commands run in a fresh directory, D. */
static const struct {
    const char *prepare;
    const char *path;  /* below it */
    const char *fault; /* NULL: it may be one */
} paths[] = {
    {"true", "", NULL},
    {"mkdir -m 700 zarrd-cache", "", NULL},
    {"true", "missing", "there is no such directory"},
    {"touch file", "file", "not a directory"},
    {"mkdir other && ln -s other link", "link", NULL}, /* who configures it may use links */
    {"touch zarrd-cache", "", "it is not a directory"},
    {"mkdir -m 700 other && ln -s other zarrd-cache", "", "it is not a directory"},
    {"mkdir -m 755 zarrd-cache", "", "other users can open it (expected mode 0700)"},
    {"mkdir -m 700 zarrd-cache && chown 1 zarrd-cache", "", "it belongs to another user"},
};

static void make_directory(char path[static 64], const char *prepare)
{
    char command[COMMAND_BYTES];
    snprintf(path, 64, "/tmp/zarrd-files-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(path));
    snprintf(command, sizeof command, "cd %s && %s", path, prepare);
    ck_assert_int_eq(system(command), 0);
}

static void remove_directory(const char *path)
{
    char command[COMMAND_BYTES];
    snprintf(command, sizeof command, "rm -rf %s", path);
    ck_assert_int_eq(system(command), 0);
}

START_TEST(a_path_is_judged_without_changing_it)
{
    struct zd_error err = {0};
    struct zd_disk_files files;
    char directory[64];
    char path[128];
    if (strstr(paths[_i].prepare, "chown") != NULL && geteuid() != 0) {
        return;
    }
    make_directory(directory, paths[_i].prepare);
    snprintf(path, sizeof path, "%s/%s", directory, paths[_i].path);
    const enum zd_status expected = paths[_i].fault == NULL ? ZD_OK : ZD_INVALID;
    ck_assert_int_eq(zd_disk_files_judge(path, &err), expected);
    ck_assert_int_eq(zd_disk_files_open(path, &files, &err), expected);
    if (expected == ZD_OK) {
        zd_disk_files_close(&files);
    } else {
        ck_assert_msg(strstr(err.text, paths[_i].fault) != NULL, "%s", err.text);
        ck_assert_msg(strstr(err.text, "cache.disk_path") != NULL, "%s", err.text);
    }
    remove_directory(directory);
}
END_TEST

START_TEST(processes_use_it_in_turn)
{
    struct zd_disk_files first;
    struct zd_disk_files second;
    struct zd_error err = {0};
    char path[64];
    make_directory(path, "true");
    ck_assert_int_eq(zd_disk_files_open(path, &first, NULL), ZD_OK);
    ck_assert(first.is_new);
    ck_assert_int_eq(zd_disk_files_open(path, &second, &err), ZD_AGAIN);
    ck_assert_msg(strstr(err.text, "another process") != NULL, "%s", err.text);
    const uint64_t seed = first.seed;
    zd_disk_files_close(&first);
    ck_assert_int_eq(zd_disk_files_open(path, &second, NULL), ZD_OK);
    ck_assert(!second.is_new);
    ck_assert_uint_eq(second.seed, seed);
    zd_disk_files_void(&second);
    zd_disk_files_close(&second);
    ck_assert_int_eq(zd_disk_files_open(path, &first, NULL), ZD_OK);
    ck_assert(first.is_new);
    zd_disk_files_close(&first);
    remove_directory(path);
}
END_TEST

static const int codes[] = {EROFS, ENOSPC, EIO, ENOLCK};

START_TEST(a_disk_that_cannot_be_written_is_no_mistake_of_the_configuration)
{
    struct zd_disk_files files;
    struct zd_error err = {0};
    char path[64];
    bool is_over = false;
    for (uint64_t n = 1; !is_over; n++) {
        make_directory(path, "true");
        zd_calls_watch((struct zd_calls_fault){.n = n, .code = codes[_i]});
        const enum zd_status status = zd_disk_files_open(path, &files, &err);
        is_over = zd_calls_count() < n;
        ck_assert_int_ne(status, ZD_INVALID);
        ck_assert((status == ZD_OK) == is_over);
        if (is_over) {
            zd_disk_files_close(&files);
        }
        zd_calls_watch((struct zd_calls_fault){0});
        remove_directory(path);
    }
}
END_TEST

static struct zd_disk_name name_of(const char *key)
{
    return (struct zd_disk_name){.key = zd_span_of(key)};
}

static void put(const struct zd_disk_files *files, const char *key, const char *body)
{
    const struct zd_disk_name name = name_of(key);
    struct zd_disk_entry entry = {
        .name = name, .stat = {.size = strlen(body)}, .body_bytes = strlen(body)};
    ck_assert_int_eq(
        zd_disk_files_put(files, zd_disk_files_name(files, &name), &entry, zd_span_of(body), NULL),
        ZD_OK);
}

static size_t scan(const struct zd_disk_files *files, size_t n_max)
{
    static _Atomic bool must_stop = false;
    struct zd_disk_found *found = NULL;
    size_t n = 0;
    ck_assert_int_eq(zd_disk_files_scan(files, n_max, &must_stop, &found, &n, NULL), ZD_OK);
    for (size_t i = 1; i < n; i++) {
        ck_assert_int_le(found[i - 1].mtime_ns, found[i].mtime_ns);
    }
    zd_free(found);
    return n;
}

START_TEST(a_search_finds_entries_by_their_names_and_leaves_others_alone)
{
    struct zd_disk_files files;
    struct stat file;
    char path[64];
    make_directory(path, "mkdir -m 700 zarrd-cache && cd zarrd-cache && touch notes.txt");
    ck_assert_int_eq(zd_disk_files_open(path, &files, NULL), ZD_OK);
    ck_assert_uint_eq(scan(&files, 10), 0);
    files.is_new = false;
    put(&files, "a", "1");
    put(&files, "b", "22");
    ck_assert_int_eq(
        symlinkat("/etc/passwd", files.dir_fd, "0123456789abcdef-0123456789abcdef"), 0);
    ck_assert_int_eq(symlinkat("/etc/passwd", files.dir_fd, "new"), 0);
    ck_assert_uint_eq(scan(&files, 10), 2);
    ck_assert_int_ne(fstatat(files.dir_fd, "new", &file, AT_SYMLINK_NOFOLLOW), 0);
    ck_assert_int_ne(
        fstatat(files.dir_fd, "0123456789abcdef-0123456789abcdef", &file, AT_SYMLINK_NOFOLLOW), 0);
    ck_assert_uint_eq(scan(&files, 1), 1); /* the other one went */
    ck_assert_uint_eq(scan(&files, 10), 1);
    files.is_new = true;
    ck_assert_uint_eq(scan(&files, 10), 0);
    ck_assert_int_eq(fstatat(files.dir_fd, "notes.txt", &file, 0), 0);
    zd_disk_files_close(&files);
    remove_directory(path);
}
END_TEST

START_TEST(a_touched_entry_says_when_its_store_was_asked)
{
    struct zd_disk_files files;
    struct zd_disk_look look;
    const struct zd_disk_name name = name_of("a");
    char path[64];
    make_directory(path, "true");
    ck_assert_int_eq(zd_disk_files_open(path, &files, NULL), ZD_OK);
    const struct zd_disk_file file = zd_disk_files_name(&files, &name);
    ck_assert_int_eq(zd_disk_files_look(&files, file, &name, &look, NULL), ZD_NOT_FOUND);
    put(&files, "a", "body");
    for (int64_t checked_ms = 1; checked_ms < 3; checked_ms++) {
        struct zd_buf *body = NULL;
        ck_assert_int_eq(zd_disk_files_look(&files, file, &name, &look, NULL), ZD_OK);
        ck_assert_int_eq(look.entry.checked_ms, checked_ms - 1);
        ck_assert_int_eq(zd_disk_files_body(&look, &body, NULL), ZD_OK);
        ck_assert(zd_span_is(zd_buf_span(body), "body"));
        zd_buf_unref(body);
        zd_disk_files_touch(&files, file, &look, checked_ms);
        zd_disk_files_look_done(&look);
    }
    zd_disk_files_close(&files);
    remove_directory(path);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, a_path_is_judged_without_changing_it, 0, ZD_COUNT_OF(paths));
    tcase_add_test(tests, processes_use_it_in_turn);
    tcase_add_loop_test(tests, a_disk_that_cannot_be_written_is_no_mistake_of_the_configuration, 0,
        ZD_COUNT_OF(codes));
    tcase_add_test(tests, a_search_finds_entries_by_their_names_and_leaves_others_alone);
    tcase_add_test(tests, a_touched_entry_says_when_its_store_was_asked);
}
