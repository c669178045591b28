/* core/store/foreign: formats by the first bytes of a file, and by what lies in a directory. */
#include "core/store/foreign.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/num.h"
#include "core/base/text.h"
#include "tests/support/unit.h"

static char folder[64];

static void make_folder(void)
{
    (void)snprintf(folder, sizeof folder, "/tmp/zarrd-foreign-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_folder(void)
{
    ck_assert_int_eq(rmdir(folder), 0);
}

/* The bytes of a file, what that is, and what a directory of it is. */
static const struct {
    size_t len;
    const char *bytes;
    const char *file;
    const char *content;
} files[] = {
    {8, "\x89HDF\r\n\x1a\n", "an HDF5 or NetCDF-4 file", "a directory of HDF5 or NetCDF-4 files"},
    {7, "\x89HDF\r\n\x1a", NULL, NULL}, /* cut off */
    {4, "CDF\1", "a NetCDF-3 file", "a directory of NetCDF-3 files"},
    {4, "CDF\3", NULL, NULL},
    {4, "MM\0*", "a TIFF file", "a directory of TIFF files"},
    {4, "PK\5\6", "a zip archive without a Zarr hierarchy", "a directory of zip archives"},
    {25, "PK\3\4 and zarr.json at the",
        "a zip archive of a Zarr hierarchy (let its name end in .zip)",
        "a directory of zip archives"},
    {18, "PK\3\4 and a/.zgroup",
        "a zip archive with a Zarr hierarchy in a directory (pack what is in that directory)",
        "a directory of zip archives"},
    {3, "PK\3", NULL, NULL},
    {0, "", NULL, NULL},
};

static void check(const char *found, const char *expected)
{
    ck_assert_str_eq(found == NULL ? "nothing" : found, expected == NULL ? "nothing" : expected);
}

START_TEST(a_file_is_known_by_its_first_bytes)
{
    char bytes[64] = {0};
    ZD_SCOPED_TEXT(path, 100);
    memcpy(bytes, files[_i].bytes, files[_i].len);
    ck_assert_int_eq(zd_text_addf(&path, "%s/data", folder), ZD_OK);
    FILE *file = fopen(path.at, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, files[_i].len, file), files[_i].len);
    ck_assert_int_eq(fclose(file), 0);
    check(zd_foreign_file(path.at), files[_i].file);
    check(zd_foreign_content(folder), files[_i].content);
    check(zd_foreign_store(folder), NULL);
    ck_assert_int_eq(unlink(path.at), 0);
}
END_TEST

START_TEST(what_is_no_file_is_not_waited_for)
{
    ZD_SCOPED_TEXT(path, 100);
    ck_assert_int_eq(zd_text_addf(&path, "%s/zarr.json", folder), ZD_OK);
    ck_assert_int_eq(mkfifo(path.at, 0600), 0);
    check(zd_foreign_file(path.at), NULL);
    check(zd_foreign_content(folder), NULL);
    check(zd_foreign_file(folder), NULL);
    check(zd_foreign_content("/nowhere"), NULL);
    ck_assert_int_eq(unlink(path.at), 0);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_checked_fixture(tests, make_folder, remove_folder);
    tcase_add_loop_test(tests, a_file_is_known_by_its_first_bytes, 0, ZD_COUNT_OF(files));
    tcase_add_test(tests, what_is_no_file_is_not_waited_for);
}
