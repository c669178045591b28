/* server/runtime/metrics: every route has a row of its own. */
#include "server/runtime/metrics.h"

#include <netinet/in.h>
#include <stdio.h>

#include "tests/support/unit.h"

#define N_ROUTES 60

static const struct zd_access access_of_last = {
    .http_status = 404, .route_number = N_ROUTES, .body_bytes = 7, .duration_ns = 20000000};

START_TEST(metrics_count_the_last_route_in_its_own_row)
{
    struct zd_metrics metrics = {0};
    ck_assert_int_eq(zd_metrics_init(&metrics, N_ROUTES, NULL), ZD_OK);
    zd_metrics_access(&metrics, &access_of_last);
    const struct zd_metric_requests *requests = &metrics.row[N_ROUTES].class[4];
    ck_assert_uint_eq(requests->n, 1);
    ck_assert_uint_eq(requests->body_bytes, 7);
    ck_assert_uint_eq(requests->bucket[1], 0); /* up to 10 ms */
    ck_assert_uint_eq(requests->bucket[2], 1);
    ck_assert_uint_eq(metrics.row[0].class[4].n, 0);
    zd_metrics_done(&metrics);
}
END_TEST

START_TEST(metrics_count_an_unknown_status_without_a_class)
{
    struct zd_metrics metrics = {0};
    const struct zd_access access = {.http_status = 999};
    ck_assert_int_eq(zd_metrics_init(&metrics, 1, NULL), ZD_OK);
    zd_metrics_access(&metrics, &access);
    ck_assert_uint_eq(metrics.row[0].class[0].n, 1);
    zd_metrics_done(&metrics);
}
END_TEST

START_TEST(metrics_count_so_many_datasets_by_name_and_all_others_together)
{
    struct zd_metrics metrics = {0};
    char name[16];
    ck_assert_int_eq(zd_metrics_init(&metrics, 1, NULL), ZD_OK);
    for (uint32_t i = 0; i < ZD_METRICS_DATASETS + 2; i++) {
        (void)snprintf(name, sizeof name, "d%u", i);
        const uint32_t number = zd_metrics_dataset(&metrics, name);
        ck_assert_uint_eq(number, (i < ZD_METRICS_DATASETS ? i : ZD_METRICS_DATASETS) + 1);
        const struct zd_access access = {.http_status = 200, .dataset_number = number};
        zd_metrics_access(&metrics, &access);
    }
    ck_assert_uint_eq(zd_metrics_dataset(&metrics, "d1"), 2);
    ck_assert_uint_eq(metrics.n_datasets, ZD_METRICS_DATASETS + 1);
    ck_assert_uint_eq(metrics.dataset[1]->requests.class[2].n, 1);
    ck_assert_ptr_null(metrics.dataset[ZD_METRICS_DATASETS]->name);
    ck_assert_uint_eq(metrics.dataset[ZD_METRICS_DATASETS]->requests.class[2].n, 2);
    const struct zd_access of_none = {.http_status = 200};
    zd_metrics_access(&metrics, &of_none);
    zd_metrics_done(&metrics);
}
END_TEST

START_TEST(metrics_add_the_times_of_all_requests)
{
    struct zd_metrics metrics = {0};
    const struct zd_times times = {.ns = {[ZD_TIME_STORE] = 1500000000}};
    const struct zd_access access = {.http_status = 200, .times = &times};
    ck_assert_int_eq(zd_metrics_init(&metrics, 1, NULL), ZD_OK);
    zd_metrics_access(&metrics, &access);
    zd_metrics_access(&metrics, &access);
    ck_assert(
        metrics.phase_seconds[ZD_TIME_STORE] == 3 && metrics.phase_seconds[ZD_TIME_SEND] == 0);
    zd_metrics_done(&metrics);
}
END_TEST

START_TEST(metrics_count_clients_that_are_unknown)
{
    struct zd_metrics metrics = {0};
    const struct sockaddr_in somebody = {.sin_family = AF_INET};
    const struct zd_access known = {
        .http_status = 200, .client = (const struct sockaddr *)&somebody};
    const struct zd_access unknown = {.http_status = 200};
    ck_assert_int_eq(zd_metrics_init(&metrics, 1, NULL), ZD_OK);
    zd_metrics_access(&metrics, &known);
    ck_assert_uint_eq(metrics.n_unknown, 0);
    zd_metrics_access(&metrics, &unknown);
    ck_assert_uint_eq(metrics.n_unknown, 1);
    zd_metrics_done(&metrics);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, metrics_count_clients_that_are_unknown);
    tcase_add_test(tests, metrics_count_so_many_datasets_by_name_and_all_others_together);
    tcase_add_test(tests, metrics_add_the_times_of_all_requests);
    tcase_add_test(tests, metrics_count_the_last_route_in_its_own_row);
    tcase_add_test(tests, metrics_count_an_unknown_status_without_a_class);
}
