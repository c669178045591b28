/* server/data/object_cache: one read for all who want it, none for those who left. */
#include "server/data/object_cache.h"

#include <string.h>

#include "core/base/own.h"
#include "core/store/contract/store_impl.h"
#include "server/runtime/server.h"
#include "tests/support/plane.h"
#include "tests/support/store.h"
#include "tests/support/unit.h"

#define KEY  "a/c/0"
#define TEXT "stored bytes"

struct bench {
    struct zd_test_store store;
    struct zd_store_ops ops; /* as of a store that answers nothing at once */
    struct zd_config config;
    struct zd_server server;
    struct zd_dataset dataset;
};

struct waiter {
    struct zd_object_want want;
    uint32_t n_told;
};

static void told(struct zd_wait *wait)
{
    ZD_CONTAINER(wait, struct waiter, want.wait)->n_told++;
}

static uint32_t n_cancelled;

/* It had begun: it is done all the same. */
static void count_cancel(struct zd_store *store, struct zd_store_op *op)
{
    (void)store;
    (void)op;
    n_cancelled++;
}

static void open_bench(struct bench *bench)
{
    *bench = (struct bench){.dataset = {.id = 1, .refs = 1}};
    zd_test_store_open(&bench->store, "mem");
    (void)zd_test_put(&bench->store, KEY, TEXT);
    bench->ops = *bench->store.store->ops;
    bench->ops.read_now = NULL;
    bench->ops.cancel = count_cancel;
    n_cancelled = 0;
    bench->store.store->ops = &bench->ops;
    bench->config.settings.limits_object_bytes = UINT64_C(1) << 20;
    bench->server.config = &bench->config;
    bench->server.loop = &bench->store.loop;
    zd_cache_init(&bench->server.objects, "objects", 1 << 20, zd_object_free);
    bench->dataset.server = &bench->server;
    bench->dataset.store = bench->store.store;
}

static void close_bench(struct bench *bench)
{
    zd_cache_done(&bench->server.objects);
    zd_test_store_close(&bench->store);
}

static enum zd_next want_bytes(struct bench *bench, struct waiter *waiter)
{
    *waiter = (struct waiter){.want.wait.done = told};
    return zd_objects_want(&bench->dataset, KEY, ZD_OBJECT_BYTES, &waiter->want);
}

static void turn(struct bench *bench)
{
    (void)uv_run(&bench->store.loop, UV_RUN_DEFAULT);
}

START_TEST(a_read_that_nobody_waits_for_is_cancelled)
{
    struct bench bench;
    struct waiter left;
    struct waiter later;
    open_bench(&bench);
    ck_assert_int_eq(want_bytes(&bench, &left), ZD_WAIT);
    zd_objects_release(&left.want);
    ck_assert_int_eq(want_bytes(&bench, &later), ZD_WAIT); /* begins anew */
    turn(&bench);
    ck_assert_uint_eq(left.n_told, 0);
    ck_assert_uint_eq(later.n_told, 1);
    ck_assert_int_eq(later.want.wait.status, ZD_OK);
    ck_assert_uint_eq(n_cancelled, 1);
    ck_assert_uint_eq(later.want.bytes->len, strlen(TEXT));
    zd_objects_release(&later.want);
    close_bench(&bench);
}
END_TEST

START_TEST(a_read_goes_on_for_the_one_who_stays)
{
    struct bench bench;
    struct waiter left;
    struct waiter stays;
    open_bench(&bench);
    ck_assert_int_eq(want_bytes(&bench, &left), ZD_WAIT);
    ck_assert_int_eq(want_bytes(&bench, &stays), ZD_WAIT);
    zd_objects_release(&left.want);
    turn(&bench);
    ck_assert_uint_eq(left.n_told, 0);
    ck_assert_uint_eq(stays.n_told, 1);
    ck_assert_uint_eq(n_cancelled, 0);
    ck_assert_uint_eq(bench.store.store->n_reads, 1);
    ck_assert_uint_eq(stays.want.bytes->len, strlen(TEXT));
    zd_objects_release(&stays.want);
    zd_objects_release(&left.want); /* once more does no harm */
    close_bench(&bench);
}
END_TEST

#define N_WAITERS 8

/* Another process writes while the store's answer is on its way. */
START_TEST(a_read_after_a_write_never_gets_the_old_bytes)
{
    static const uint64_t revalidate_ms[] = {0, 1000000};
    struct zd_test_plane plane;
    struct waiter early = {.want.wait.done = told};
    struct waiter late[N_WAITERS];
    zd_test_plane_open(&plane, revalidate_ms[_i]);
    zd_test_plane_put(&plane, KEY, TEXT);
    zd_test_plane_hold(&plane);
    ck_assert_int_eq(zd_objects_want(&plane.dataset, KEY, ZD_OBJECT_BYTES, &early.want), ZD_WAIT);
    zd_test_plane_run(&plane);
    zd_test_plane_put(&plane, KEY, "other");
    for (int i = 0; i < N_WAITERS; i++) {
        late[i] = (struct waiter){.want.wait.done = told};
        ck_assert_int_eq(
            zd_objects_want(&plane.dataset, KEY, ZD_OBJECT_BYTES, &late[i].want), ZD_WAIT);
    }
    zd_test_plane_release(&plane);
    zd_test_plane_run(&plane);
    ck_assert_uint_eq(early.want.bytes->len, strlen(TEXT));
    for (int i = 0; i < N_WAITERS; i++) {
        ck_assert_uint_eq(late[i].n_told, 1);
        ck_assert_uint_eq(late[i].want.bytes->len, _i == 0 ? strlen("other") : strlen(TEXT));
        zd_objects_release(&late[i].want);
    }
    ck_assert_uint_eq(plane.dataset.store->n_reads, _i == 0 ? 2 : 1); /* one for all of them */
    zd_objects_release(&early.want);
    zd_test_plane_close(&plane);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, a_read_after_a_write_never_gets_the_old_bytes, 0, 2);
    tcase_add_test(tests, a_read_that_nobody_waits_for_is_cancelled);
    tcase_add_test(tests, a_read_goes_on_for_the_one_who_stays);
}
