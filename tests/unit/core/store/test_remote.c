/* Remote stores and what stands over them. */
#include "core/store/remote.h"

#include "tests/support/check.h"
#include "tests/support/store.h"
#include "tests/support/unit.h"

START_TEST(a_location_here_is_opened_as_it_is)
{
    uv_loop_t loop;
    ck_assert_int_eq(uv_loop_init(&loop), 0);
    struct zd_remote remote = {0};
    const struct zd_store_config config = {.location = "mem:", .loop = &loop, .remote = &remote};
    struct zd_store *store = NULL;
    ck_assert_int_eq(zd_remote_open(&config, &store, NULL), ZD_OK);
    ck_assert_str_eq(store->ops->scheme, "mem");
    ck_assert_ptr_null(store->inner);
    zd_store_close(store);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
}
END_TEST

START_TEST(a_location_that_cannot_be_opened_leaves_nothing)
{
    const struct zd_store_config config = {.location = "nope://there"};
    struct zd_store *store = NULL;
    struct zd_error err = {0};
    ck_assert_int_eq(zd_remote_open(&config, &store, &err), ZD_INVALID);
    ck_assert_ptr_null(store);
    ck_assert_str_ne(err.text, "");
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, a_location_here_is_opened_as_it_is);
    tcase_add_test(tests, a_location_that_cannot_be_opened_leaves_nothing);
}
