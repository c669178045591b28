/* Facts about core/base/secret_file. */
#include "core/base/secret_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/unit.h"

static const struct {
    mode_t mode;
    enum zd_status status;
} modes[] = {
    {0600, ZD_OK}, {0400, ZD_OK}, {0640, ZD_OK}, /* a group that the owner has chosen */
    {0644, ZD_INVALID}, {0604, ZD_INVALID},
    {0602, ZD_INVALID}, /* whoever writes it chooses what is sent */
};

START_TEST(a_file_keeps_its_secret_from_others)
{
    char path[] = "/tmp/zarrd-secret-XXXXXX";
    struct zd_error err = {0};
    const int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(fchmod(fd, modes[_i].mode), 0);
    close(fd);
    ck_assert_int_eq(zd_secret_file_judge("headers_file", path, &err), modes[_i].status);
    ck_assert(
        modes[_i].status == ZD_OK || strstr(err.text, "headers_file\x0e /tmp/zarrd-s") != NULL);
    unlink(path);
    ck_assert_int_eq(zd_secret_file_judge("headers_file", path, &err), ZD_OK); /* not there */
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, a_file_keeps_its_secret_from_others, 0, ZD_COUNT_OF(modes));
}
