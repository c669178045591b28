/* core/store/file/other_formats: formats by the first bytes of a file, and by what lies in a
 * directory. */
#include "core/store/file/other_formats.h"

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
    {25, "PK\3\4 and zarr.json at the", "a zip archive without a Zarr hierarchy",
        "a directory of zip archives"}, /* no member */
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
    check(zd_other_formats_file(path.at), files[_i].file);
    check(zd_other_formats_content(folder), files[_i].content);
    check(zd_other_formats_store(folder), NULL);
    ck_assert_int_eq(unlink(path.at), 0);
}
END_TEST

#define CENTRAL_BYTES 46
#define END_BYTES     22

/* The directory of an archive, which is all that is looked at: so many other members, then this. */
static void write_directory(const char *path, size_t n_before, const char *name)
{
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite("PK\3\4", 1, 4, file), 4);
    size_t len = 0;
    for (size_t i = 0; i <= n_before; i++) {
        uint8_t entry[CENTRAL_BYTES] = {'P', 'K', 1, 2};
        char own[32];
        (void)snprintf(own, sizeof own, "c/%zu", i);
        const char *written = i == n_before ? name : own;
        entry[28] = (uint8_t)strlen(written);
        len += fwrite(entry, 1, sizeof entry, file) + fwrite(written, 1, strlen(written), file);
    }
    uint8_t end[END_BYTES] = {'P', 'K', 5, 6};
    const uint16_t n = (uint16_t)(n_before + 1);
    memcpy(end + 10, &n, sizeof n);
    zd_store_u32(end + 12, (uint32_t)len);
    zd_store_u32(end + 16, 4);
    ck_assert_uint_eq(fwrite(end, 1, sizeof end, file), sizeof end);
    ck_assert_int_eq(fclose(file), 0);
}

static const struct {
    const char *file_name;
    const char *member;
    bool is_archive; /* one of a hierarchy */
    const char *file;
} archives[] = {
    {"a.zip", "zarr.json", true, NULL},
    {"a.ZIP", ".zgroup", true, NULL},
    {"a.zip", ".zarray", true, NULL},
    {"a.zip", "attributes.json", true, NULL},
    {"a.zarr", "zarr.json", false, "a zip archive of a Zarr hierarchy (rename it to end in .zip)"},
    {"a.zip", "x/.zgroup", false,
        "a zip archive with a Zarr hierarchy in a directory (pack the contents of that directory)"},
    {"a.zip", "x/attributes.json", false, "a zip archive without a Zarr hierarchy"},
    {"a.zip", "xzarr.json", false, "a zip archive without a Zarr hierarchy"},
    {"a.zip", "zarr.json/x", false, "a zip archive without a Zarr hierarchy"},
};

START_TEST(an_archive_is_known_by_its_members)
{
    static const size_t n_before[] = {0, 1, 20000}; /* the last in more than one piece */
    for (size_t i = 0; i < ZD_COUNT_OF(n_before); i++) {
        ZD_SCOPED_TEXT(path, 100);
        ck_assert_int_eq(zd_text_addf(&path, "%s/%s", folder, archives[_i].file_name), ZD_OK);
        write_directory(path.at, n_before[i], archives[_i].member);
        ck_assert_int_eq(zd_other_formats_is_archive(path.at), archives[_i].is_archive);
        check(zd_other_formats_file(path.at), archives[_i].file);
        ck_assert_int_eq(truncate(path.at, 60), 0);
        ck_assert(!zd_other_formats_is_archive(path.at));
        ck_assert_int_eq(unlink(path.at), 0);
    }
}
END_TEST

START_TEST(a_path_that_is_no_file_is_not_waited_for)
{
    ZD_SCOPED_TEXT(path, 100);
    ck_assert_int_eq(zd_text_addf(&path, "%s/zarr.json", folder), ZD_OK);
    ck_assert_int_eq(mkfifo(path.at, 0600), 0);
    check(zd_other_formats_file(path.at), NULL);
    check(zd_other_formats_content(folder), NULL);
    check(zd_other_formats_file(folder), NULL);
    check(zd_other_formats_content("/nowhere"), NULL);
    ck_assert(!zd_other_formats_is_archive("/nowhere/a.zip"));
    ck_assert_int_eq(unlink(path.at), 0);
    ck_assert_int_eq(zd_text_addf(&path, "%s", ".zip"), ZD_OK);
    ck_assert_int_eq(mkfifo(path.at, 0600), 0);
    ck_assert(!zd_other_formats_is_archive(path.at));
    ck_assert_int_eq(unlink(path.at), 0);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_checked_fixture(tests, make_folder, remove_folder);
    tcase_add_loop_test(tests, a_file_is_known_by_its_first_bytes, 0, ZD_COUNT_OF(files));
    tcase_add_loop_test(tests, an_archive_is_known_by_its_members, 0, ZD_COUNT_OF(archives));
    tcase_add_test(tests, a_path_that_is_no_file_is_not_waited_for);
}
