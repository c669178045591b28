/* The use of rates by each client: by a clock that the tests turn. */
#include "server/request/rate_table.h"

#include "core/base/num.h"
#include "tests/support/unit.h"

#define NS_PER_S UINT64_C(1000000000)
#define BEGIN    (1000 * NS_PER_S)

static struct zd_rate_table table;

static void setup(void)
{
    ck_assert_int_eq(zd_rate_table_init(&table, NULL), ZD_OK);
}

static void teardown(void)
{
    zd_rate_table_done(&table);
}

/* How many requests a client may make at once. */
static uint64_t take_all(uint64_t client, const struct zd_rate_limits *limits, uint64_t now_ns)
{
    uint64_t n = 0;
    while (zd_rate_table_take(&table, client, limits, now_ns)) {
        n++;
        ck_assert_uint_lt(n, UINT64_C(100000000));
    }
    return n;
}

static const uint64_t rates[] = {1, 2, 3, 7, 100, 999, 1000, 12345};

START_TEST(a_client_gets_its_window_at_once_and_then_its_rate)
{
    const struct zd_rate_limits limits = {.requests = rates[_i]};
    ck_assert_uint_eq(take_all(7, &limits, BEGIN), rates[_i] * ZD_RATE_TABLE_WINDOW_S);
    uint64_t n = 0;
    for (uint64_t ms = 1; ms <= 5000; ms++) {
        n += take_all(7, &limits, BEGIN + ms * 1000000);
    }
    ck_assert_uint_ge(n + 1, 5 * rates[_i]);
    ck_assert_uint_le(n, 5 * rates[_i] + 1);
    /* Saved up again, and no more than that. */
    const uint64_t much_later = BEGIN + 100000 * NS_PER_S;
    ck_assert_uint_eq(take_all(7, &limits, much_later), rates[_i] * ZD_RATE_TABLE_WINDOW_S);
}
END_TEST

START_TEST(the_wait_is_honest)
{
    const struct zd_rate_limits limits = {.requests = rates[_i]};
    (void)take_all(7, &limits, BEGIN);
    const struct zd_rate_left left = zd_rate_table_look(&table, 7, &limits, BEGIN);
    ck_assert_uint_eq(left.requests, 0);
    ck_assert_uint_gt(left.requests_wait_ns, 0);
    ck_assert_uint_le(left.requests_wait_ns, NS_PER_S / rates[_i] + 1);
    ck_assert(!zd_rate_table_take(&table, 7, &limits, BEGIN + left.requests_wait_ns - 1));
    ck_assert(zd_rate_table_take(&table, 7, &limits, BEGIN + left.requests_wait_ns));
}
END_TEST

START_TEST(bytes_are_paid_by_the_next_request)
{
    const struct zd_rate_limits limits = {.bytes = 1000};
    ck_assert_uint_eq(zd_rate_table_look(&table, 7, &limits, BEGIN).bytes, 10000);
    ck_assert(zd_rate_table_take(&table, 7, &limits, BEGIN));
    zd_rate_table_pay(&table, 7, &limits, 9999, BEGIN);
    ck_assert_uint_eq(zd_rate_table_look(&table, 7, &limits, BEGIN).bytes, 1);
    ck_assert(zd_rate_table_take(&table, 7, &limits, BEGIN));
    zd_rate_table_pay(&table, 7, &limits, 5001, BEGIN); /* 5 s beyond the window */
    ck_assert(!zd_rate_table_take(&table, 7, &limits, BEGIN));
    const struct zd_rate_left left = zd_rate_table_look(&table, 7, &limits, BEGIN);
    ck_assert_uint_eq(left.bytes, 0);
    ck_assert_uint_eq(left.bytes_wait_ns, 5 * NS_PER_S + 1);
    ck_assert(!zd_rate_table_take(&table, 7, &limits, BEGIN + 5 * NS_PER_S));
    ck_assert(zd_rate_table_take(&table, 7, &limits, BEGIN + 5 * NS_PER_S + 1));
}
END_TEST

static const uint64_t amounts[] = {0, 1, 999, 1000, UINT64_C(1) << 33, UINT64_C(1) << 62,
    UINT64_MAX / 2, UINT64_MAX - 1, UINT64_MAX};

START_TEST(no_amount_is_too_large)
{
    static const uint64_t per_s[] = {1, 999, (UINT64_C(1) << 33) - 1, UINT64_C(1) << 33};
    for (size_t i = 0; i < ZD_COUNT_OF(per_s); i++) {
        const struct zd_rate_limits limits = {.requests = NS_PER_S, .bytes = per_s[i]};
        for (size_t n = 0; n < 3; n++) {
            zd_rate_table_pay(&table, i + 1, &limits, amounts[_i], BEGIN);
        }
        const struct zd_rate_left left = zd_rate_table_look(&table, i + 1, &limits, BEGIN);
        const bool is_over = amounts[_i] / per_s[i] >= ZD_RATE_TABLE_WINDOW_S;
        ck_assert(!is_over || left.bytes_wait_ns > 0);
        ck_assert(amounts[_i] > 0 || left.bytes == per_s[i] * ZD_RATE_TABLE_WINDOW_S);
    }
}
END_TEST

START_TEST(without_limits_nothing_is_counted)
{
    const struct zd_rate_limits none = {0};
    for (size_t i = 0; i < 1000; i++) {
        ck_assert(zd_rate_table_take(&table, 7, &none, BEGIN));
        zd_rate_table_pay(&table, 7, &none, UINT64_MAX, BEGIN);
    }
}
END_TEST

START_TEST(a_flood_of_clients_makes_nobody_forgotten)
{
    const struct zd_rate_limits limits = {.requests = 1};
    const uint64_t n_clients = UINT64_C(4) * ZD_RATE_TABLE_SETS * ZD_RATE_TABLE_PLACES;
    (void)take_all(7, &limits, BEGIN);
    uint64_t n_taken = 0;
    for (uint64_t client = 8; client < 8 + n_clients; client++) {
        n_taken += zd_rate_table_take(&table, client, &limits, BEGIN) ? 1 : 0;
    }
    ck_assert(!zd_rate_table_take(&table, 7, &limits, BEGIN));
    /* Clients without a place of their own shared one in each set. */
    const uint64_t n_alone = (uint64_t)ZD_RATE_TABLE_SETS * (ZD_RATE_TABLE_PLACES - 1) - 1;
    ck_assert_uint_eq(n_taken, n_alone + (uint64_t)ZD_RATE_TABLE_SETS * ZD_RATE_TABLE_WINDOW_S);
    /* When they have paid, there is room for others. */
    const uint64_t later = BEGIN + 11 * NS_PER_S;
    ck_assert_uint_eq(take_all(UINT64_MAX, &limits, later), ZD_RATE_TABLE_WINDOW_S);
}
END_TEST

START_TEST(clients_of_one_set_have_buckets_of_their_own)
{
    const struct zd_rate_limits limits = {.requests = 1};
    for (uint64_t i = 1; i < ZD_RATE_TABLE_PLACES; i++) {
        ck_assert_uint_eq(take_all(i * ZD_RATE_TABLE_SETS, &limits, BEGIN), ZD_RATE_TABLE_WINDOW_S);
    }
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(
        tests, a_client_gets_its_window_at_once_and_then_its_rate, 0, ZD_COUNT_OF(rates));
    tcase_add_loop_test(tests, the_wait_is_honest, 0, ZD_COUNT_OF(rates));
    tcase_add_test(tests, bytes_are_paid_by_the_next_request);
    tcase_add_loop_test(tests, no_amount_is_too_large, 0, ZD_COUNT_OF(amounts));
    tcase_add_test(tests, without_limits_nothing_is_counted);
    tcase_add_test(tests, a_flood_of_clients_makes_nobody_forgotten);
    tcase_add_test(tests, clients_of_one_set_have_buckets_of_their_own);
}
