/* Facts about server/request/upload: the window itself. */
#include "server/request/upload.h"

#include "tests/support/unit.h"

static const char letters[] = "abcdefghijklmnopqrstuvwxyz";

static void open_window(struct zd_upload *upload, size_t cap)
{
    *upload = (struct zd_upload){.state = ZD_UPLOAD_OPEN, .window = zd_buf_new(cap)};
    ck_assert_ptr_nonnull(upload->window);
}

START_TEST(upload_gives_the_bytes_in_order_however_they_come_and_go)
{
    for (size_t cap = 1; cap <= 7; cap++) {
        for (size_t n_put = 1; n_put <= 9; n_put++) {
            for (size_t n_take = 1; n_take <= 9; n_take++) {
                struct zd_upload upload;
                char got[sizeof letters] = "";
                size_t n_came = 0;
                size_t n_got = 0;
                open_window(&upload, cap);
                while (n_got < strlen(letters)) {
                    const size_t n =
                        strlen(letters) - n_came < n_put ? strlen(letters) - n_came : n_put;
                    n_came += zd_upload_put(&upload, letters + n_came, n);
                    ck_assert_uint_le(upload.held_bytes, cap);
                    n_got += zd_upload_take(&upload, got + n_got, n_take);
                }
                ck_assert_str_eq(got, letters);
                zd_upload_done(&upload);
            }
        }
    }
}
END_TEST

START_TEST(upload_takes_no_more_than_its_window)
{
    struct zd_upload upload;
    char got[8];
    open_window(&upload, 4);
    ck_assert_uint_eq(zd_upload_put(&upload, "abcdef", 6), 4);
    ck_assert_uint_eq(zd_upload_put(&upload, "ef", 2), 0);
    ck_assert_uint_eq(zd_upload_take(&upload, got, 1), 1);
    ck_assert_uint_eq(zd_upload_put(&upload, "ef", 2), 1);
    ck_assert_uint_eq(zd_upload_take(&upload, got, sizeof got), 4);
    ck_assert_mem_eq(got, "bcde", 4);
    ck_assert_uint_eq(zd_upload_take(&upload, got, sizeof got), 0);
    zd_upload_done(&upload);
}
END_TEST

START_TEST(upload_is_over_when_all_has_come_and_gone)
{
    struct zd_upload upload;
    char got;
    open_window(&upload, 4);
    ck_assert(!zd_upload_is_over(&upload));
    ck_assert_uint_eq(zd_upload_put(&upload, "a", 1), 1);
    upload.state = ZD_UPLOAD_ENDED;
    ck_assert(!zd_upload_is_over(&upload));
    ck_assert_uint_eq(zd_upload_take(&upload, &got, 1), 1);
    ck_assert(zd_upload_is_over(&upload));
    zd_upload_done(&upload);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, upload_gives_the_bytes_in_order_however_they_come_and_go);
    tcase_add_test(tests, upload_takes_no_more_than_its_window);
    tcase_add_test(tests, upload_is_over_when_all_has_come_and_gone);
}
