/* The audit file: what is recorded when it cannot be written. */
#include "server/runtime/audit_file.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/num.h"
#include "server/runtime/log.h"
#include "tests/support/unit.h"

#define TEXT_BYTES_MAX (1U << 16)

static char path[] = "/tmp/zarrd-audit-XXXXXX";
static struct zd_log events;
static struct zd_audit_file file;

static void setup(void)
{
    const int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    (void)close(fd);
    (void)unlink(path);
    (void)signal(SIGXFSZ, SIG_IGN);
    events = (struct zd_log){.level = ZD_LOG_INFO, .fd = open("/dev/null", O_WRONLY)};
    zd_text_init(&events.line, TEXT_BYTES_MAX);
    zd_text_init(&events.lines, TEXT_BYTES_MAX);
    file = (struct zd_audit_file){.path = NULL};
    ck_assert_int_eq(zd_audit_file_open(&file, path, &events, NULL), ZD_OK);
}

static void teardown(void)
{
    zd_audit_file_close(&file);
    (void)unlink(path);
    (void)close(events.fd);
    zd_log_done(&events);
}

static void limit(rlim_t bytes)
{
    struct rlimit now;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &now), 0);
    now.rlim_cur = bytes;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &now), 0);
}

static void check_text(const char *expected)
{
    char text[TEXT_BYTES_MAX] = "";
    FILE *from = fopen(path, "re");
    ck_assert_ptr_nonnull(from);
    const size_t n = fread(text, 1, sizeof text - 1, from);
    (void)fclose(from);
    text[n] = '\0';
    ck_assert_str_eq(text, expected);
}

static enum zd_status write_line(const char *line)
{
    return zd_audit_file_write(&file, zd_span_of(line), NULL);
}

START_TEST(lines_are_added_to_what_is_there)
{
    struct stat stat_of = {0};
    ck_assert_int_eq(write_line("one\n"), ZD_OK);
    zd_audit_file_close(&file);
    ck_assert(!zd_audit_file_is_on(&file));
    ck_assert_int_eq(zd_audit_file_open(&file, path, &events, NULL), ZD_OK);
    ck_assert_int_eq(write_line("two\n"), ZD_OK);
    zd_audit_file_owe(&file, zd_span_of("three\n"));
    check_text("one\ntwo\nthree\n");
    ck_assert_int_eq(stat(path, &stat_of), 0);
    ck_assert_uint_eq(stat_of.st_mode & 0777, 0600);
}
END_TEST

START_TEST(a_full_disk_refuses_what_is_to_happen_and_owes_what_has)
{
    struct zd_error err = {0};
    ck_assert_int_eq(write_line("begin\n"), ZD_OK);
    limit(6);
    zd_audit_file_owe(&file, zd_span_of("end\n"));
    ck_assert(file.is_failing);
    ck_assert_int_eq(zd_audit_file_write(&file, zd_span_of("next\n"), &err), ZD_STORE);
    ck_assert_msg(strstr(err.text, "changes are refused") != NULL, "%s", err.text);
    check_text("begin\n");
    limit(RLIM_INFINITY);
    ck_assert_int_eq(write_line("next\n"), ZD_OK);
    ck_assert(!file.is_failing);
    check_text("begin\nend\nnext\n");
}
END_TEST

START_TEST(a_piece_of_a_line_stands_alone)
{
    limit(3);
    ck_assert_int_eq(write_line("begin\n"), ZD_STORE);
    check_text("beg");
    limit(4);
    ck_assert_int_eq(write_line("begin\n"), ZD_STORE);
    check_text("beg\n");
    limit(RLIM_INFINITY);
    ck_assert_int_eq(write_line("next\n"), ZD_OK);
    check_text("beg\nnext\n");
}
END_TEST

START_TEST(a_file_that_was_removed_takes_no_line_until_it_is_opened_anew)
{
    ck_assert_int_eq(write_line("one\n"), ZD_OK);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(write_line("two\n"), ZD_STORE);
    zd_audit_file_owe(&file, zd_span_of("three\n"));
    zd_audit_file_reopen(&file);
    check_text("three\n");
    ck_assert_int_eq(write_line("four\n"), ZD_OK);
    check_text("three\nfour\n");
}
END_TEST

START_TEST(a_file_that_was_moved_takes_lines_until_it_is_opened_anew)
{
    ZD_SCOPED_TEXT(moved, TEXT_BYTES_MAX);
    zd_text_addf(&moved, "%s.1", path);
    ck_assert_int_eq(rename(path, moved.at), 0);
    ck_assert_int_eq(write_line("one\n"), ZD_OK);
    zd_audit_file_reopen(&file);
    ck_assert_int_eq(write_line("two\n"), ZD_OK);
    check_text("two\n");
    ck_assert_int_eq(unlink(moved.at), 0);
    ck_assert_int_eq(write_line("three\n"), ZD_OK);
}
END_TEST

START_TEST(a_name_that_cannot_be_opened_again_refuses)
{
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    zd_audit_file_reopen(&file);
    ck_assert_int_eq(write_line("one\n"), ZD_STORE);
    ck_assert_int_eq(rmdir(path), 0);
    zd_audit_file_reopen(&file);
    ck_assert_int_eq(write_line("one\n"), ZD_OK);
}
END_TEST

static const char *const refused[] = {"/tmp", "/nowhere/audit", "/proc/self/nothing"};

START_TEST(a_path_that_is_no_file_is_refused)
{
    struct zd_error err = {0};
    struct zd_audit_file other = {.path = NULL};
    ck_assert_int_eq(zd_audit_file_open(&other, refused[_i], &events, &err), ZD_INVALID);
    ck_assert_msg(strstr(err.text, "log.audit_file '") != NULL, "%s", err.text);
    ck_assert(!zd_audit_file_is_on(&other));
    zd_audit_file_close(&other);
}
END_TEST

START_TEST(a_pipe_is_refused)
{
    struct zd_audit_file other = {.path = NULL};
    struct zd_error err = {0};
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_eq(zd_audit_file_open(&other, path, &events, &err), ZD_INVALID);
    const int reader = open(path, O_RDONLY | O_NONBLOCK);
    ck_assert_int_eq(zd_audit_file_open(&other, path, &events, &err), ZD_INVALID);
    (void)close(reader);
}
END_TEST

START_TEST(without_a_name_there_is_none)
{
    struct zd_audit_file other = {.path = NULL};
    ck_assert_int_eq(zd_audit_file_open(&other, "", &events, NULL), ZD_OK);
    ck_assert(!zd_audit_file_is_on(&other));
    zd_audit_file_reopen(&other);
    zd_audit_file_close(&other);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, lines_are_added_to_what_is_there);
    tcase_add_test(tests, a_full_disk_refuses_what_is_to_happen_and_owes_what_has);
    tcase_add_test(tests, a_piece_of_a_line_stands_alone);
    tcase_add_test(tests, a_file_that_was_removed_takes_no_line_until_it_is_opened_anew);
    tcase_add_test(tests, a_file_that_was_moved_takes_lines_until_it_is_opened_anew);
    tcase_add_test(tests, a_name_that_cannot_be_opened_again_refuses);
    tcase_add_loop_test(tests, a_path_that_is_no_file_is_refused, 0, ZD_COUNT_OF(refused));
    tcase_add_test(tests, a_pipe_is_refused);
    tcase_add_test(tests, without_a_name_there_is_none);
}
