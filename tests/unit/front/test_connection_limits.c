/* Connections are counted, together and by address. */
#include "server/front/connection_limits.h"

#include <netinet/in.h>
#include <string.h>

#include "tests/support/unit.h"

#define N_MAX      8
#define N_EACH_MAX 3

static struct sockaddr_in address_of(uint32_t number)
{
    return (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = number};
}

static const char *enter(
    struct zd_connection_limits *visitors, uint32_t number, struct zd_visit *visit)
{
    const struct sockaddr_in address = address_of(number);
    return zd_connection_limits_enter(visitors, (const struct sockaddr *)&address, visit);
}

static bool may_come(const struct zd_connection_limits *visitors, uint32_t number)
{
    const struct sockaddr_in address = address_of(number);
    return zd_connection_limits_may_come(visitors, (const struct sockaddr *)&address);
}

static struct zd_connection_limits visitors_of(uint64_t n_max, uint64_t n_each_max)
{
    struct zd_connection_limits visitors = {.n_max = n_max, .n_each_max = n_each_max};
    zd_map_init(&visitors.by_peer);
    return visitors;
}

START_TEST(each_limit_has_its_code)
{
    struct zd_connection_limits visitors = visitors_of(N_MAX, N_EACH_MAX);
    struct zd_visit visit[N_MAX];
    struct zd_visit late;
    for (uint32_t i = 0; i < N_MAX; i++) {
        ck_assert_ptr_null(enter(&visitors, i / N_EACH_MAX, &visit[i]));
    }
    ck_assert_str_eq(enter(&visitors, 0, &late), "rate_limited");
    zd_connection_limits_leave(&visitors, &late);
    ck_assert_str_eq(enter(&visitors, 99, &late), "overloaded");
    zd_connection_limits_leave(&visitors, &late);
    zd_connection_limits_leave(&visitors, &visit[0]);
    ck_assert_ptr_null(enter(&visitors, 0, &visit[0]));
    for (uint32_t i = 0; i < N_MAX; i++) {
        zd_connection_limits_leave(&visitors, &visit[i]);
    }
    ck_assert_uint_eq(visitors.n + visitors.n_surplus + visitors.by_peer.n_entries, 0);
    zd_map_done(&visitors.by_peer);
}
END_TEST

START_TEST(few_are_told_at_a_time)
{
    struct zd_connection_limits visitors = visitors_of(N_MAX, 1);
    struct zd_visit visit;
    struct zd_visit late[ZD_CONNECTION_LIMITS_SURPLUS_MAX];
    ck_assert_ptr_null(enter(&visitors, 1, &visit));
    for (size_t i = 0; i < ZD_CONNECTION_LIMITS_SURPLUS_MAX; i++) {
        ck_assert(may_come(&visitors, 1));
        ck_assert_ptr_nonnull(enter(&visitors, 1, &late[i]));
    }
    ck_assert(!may_come(&visitors, 1));
    ck_assert(may_come(&visitors, 2)); /* it is within the limits */
    zd_connection_limits_leave(&visitors, &late[0]);
    ck_assert(may_come(&visitors, 1));
    for (size_t i = 1; i < ZD_CONNECTION_LIMITS_SURPLUS_MAX; i++) {
        zd_connection_limits_leave(&visitors, &late[i]);
    }
    zd_connection_limits_leave(&visitors, &visit);
    zd_map_done(&visitors.by_peer);
}
END_TEST

static enum zd_status enter_and_leave(void *context)
{
    (void)context;
    struct zd_connection_limits visitors = visitors_of(N_MAX, 0);
    struct zd_visit visit;
    ck_assert_ptr_null(enter(&visitors, 1, &visit)); /* without memory it comes in uncounted */
    const bool is_counted = visit.visitor != NULL;
    zd_connection_limits_leave(&visitors, &visit);
    zd_map_done(&visitors.by_peer);
    return is_counted ? ZD_OK : ZD_NO_MEMORY;
}

START_TEST(failing_memory_is_survived)
{
    zd_unit_with_failing_memory(enter_and_leave, NULL);
}
END_TEST

static const struct {
    uint8_t address[16];
    uint64_t family;
} peers[] = {
    {{[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1}, AF_INET}, /* IPv4 in IPv6 */
    {{0x20, 0x01, [15] = 1}, AF_INET6},
};

START_TEST(a_prefix_of_ipv6_is_one_client)
{
    struct sockaddr_in6 address = {.sin6_family = AF_INET6};
    struct zd_peer first;
    struct zd_peer second;
    memcpy(&address.sin6_addr, peers[_i].address, sizeof address.sin6_addr);
    zd_connection_limits_peer((const struct sockaddr *)&address, &first);
    ck_assert_uint_eq(first.family, peers[_i].family);
    address.sin6_addr.s6_addr[15]++;
    zd_connection_limits_peer((const struct sockaddr *)&address, &second);
    ck_assert_int_eq(first.prefix == second.prefix, peers[_i].family == AF_INET6);
    zd_connection_limits_peer(NULL, &second);
    ck_assert_uint_eq(second.family, AF_UNSPEC);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, each_limit_has_its_code);
    tcase_add_test(tests, few_are_told_at_a_time);
    tcase_add_test(tests, failing_memory_is_survived);
    tcase_add_loop_test(tests, a_prefix_of_ipv6_is_one_client, 0, ZD_COUNT_OF(peers));
}
