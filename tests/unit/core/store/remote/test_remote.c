/* Remote stores and what stands over them. */
#include "core/store/contract/store_impl.h"
#include "core/store/remote/remote.h"

#include <stdio.h>

#include "core/base/num.h"
#include "core/store/remote/absent_keys.h"
#include "core/store/remote/endpoint.h"
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

/* Nothing is left of an endpoint that nobody asks. */
START_TEST(stores_of_one_endpoint_share_it)
{
    uv_loop_t loop;
    struct zd_remote remote = {.settings = {.connections = 1, .breaker_ms = 1}};
    ck_assert_int_eq(uv_loop_init(&loop), 0);
    struct zd_endpoint *first = zd_endpoint_join(&remote, 7, &loop);
    struct zd_endpoint *second = zd_endpoint_join(&remote, 7, &loop);
    struct zd_endpoint *other = zd_endpoint_join(&remote, 8, &loop);
    struct zd_endpoint *own = zd_endpoint_join(&remote, 0, &loop);
    struct zd_endpoint *alone = zd_endpoint_join(&remote, 0, &loop);
    ck_assert_ptr_eq(first, second);
    ck_assert_ptr_ne(first, other);
    ck_assert_ptr_ne(own, alone);
    struct zd_endpoint *const all[] = {first, second, other, own, alone};
    for (size_t i = 0; i < ZD_COUNT_OF(all); i++) {
        zd_endpoint_unref(all[i]);
    }
    ck_assert(zd_list_is_empty(&remote.endpoints));
    ck_assert_int_eq(uv_run(&loop, UV_RUN_DEFAULT), 0);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
}
END_TEST

static const struct {
    uint64_t at_ms;
    char what;   /* '-' fails, '+' succeeds, '?' asks */
    bool passes; /* of '?' */
} breaks[] = {
    {0, '?', true},
    {0, '-', false},
    {0, '-', false},
    {0, '-', false},
    {0, '-', false},
    {0, '-', false}, /* five, but all at once */
    {10, '?', true},
    {200, '-', false},
    {200, '?', false},
    {1199, '?', false},
    {1200, '?', true}, /* one tries */
    {1201, '?', false},
    {2200, '?', true}, /* it has no answer yet */
    {2210, '-', false},
    {2300, '?', false},
    {3200, '?', true},
    {3201, '+', false},
    {3201, '?', true},
    {3201, '?', true},
};

START_TEST(a_breaker_opens_and_closes)
{
    struct zd_breaker breaker = {0};
    for (size_t i = 0; i < ZD_COUNT_OF(breaks); i++) {
        uint64_t wait_ms = 0;
        if (breaks[i].what == '?') {
            ck_assert_msg(
                zd_breaker_passes(&breaker, breaks[i].at_ms, 1000, &wait_ms) == breaks[i].passes,
                "row %zu", i);
            ck_assert(breaks[i].passes || (wait_ms >= 1 && wait_ms <= 1000));
        } else if (breaks[i].what == '+') {
            zd_breaker_succeed(&breaker);
        } else {
            (void)zd_breaker_fail(&breaker, 0, breaks[i].at_ms, 1000);
        }
    }
}
END_TEST

START_TEST(absent_keys_are_bounded_and_end)
{
    struct zd_absent_keys keys;
    char key[32];
    zd_absent_keys_init(&keys);
    for (int i = 0; i < 100000; i++) {
        (void)snprintf(key, sizeof key, "key/%d", i);
        zd_absent_keys_add(&keys, key, 10);
    }
    ck_assert_uint_le(keys.bytes, 4U << 20);
    ck_assert(zd_absent_keys_has(&keys, "key/99999", 9));
    ck_assert(!zd_absent_keys_has(&keys, "key/99999", 10));
    ck_assert(zd_absent_keys_has(&keys, "key/99998", 9));
    ck_assert(!zd_absent_keys_has(&keys, "key/0", 9)); /* the oldest gave way */
    zd_absent_keys_forget(&keys, "key/99998");
    ck_assert(!zd_absent_keys_has(&keys, "key/99998", 9));
    zd_absent_keys_done(&keys);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, a_location_here_is_opened_as_it_is);
    tcase_add_test(tests, a_location_that_cannot_be_opened_leaves_nothing);
    tcase_add_test(tests, stores_of_one_endpoint_share_it);
    tcase_add_test(tests, a_breaker_opens_and_closes);
    tcase_add_test(tests, absent_keys_are_bounded_and_end);
}
