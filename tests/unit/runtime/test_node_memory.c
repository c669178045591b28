/* Facts about server/runtime/node_memory. */
#include "server/runtime/node_memory.h"

#include "tests/support/unit.h"

#define KIB UINT64_C(1024)

/* 256 of 1024 KiB are reserved for nodes of at most 64 KiB. */
static const struct {
    uint64_t held;     /* KiB */
    uint64_t admitted; /* the same */
    uint64_t bytes;    /* the same */
    enum zd_status status;
} facts[] = {
    {0, 0, 0, ZD_OK}, {0, 0, 768, ZD_OK}, {0, 0, 769, ZD_TOO_LARGE},
    {0, 512, 769, ZD_TOO_LARGE}, /* what requests were admitted for is soon gone */
    {668, 0, 100, ZD_OK}, {669, 0, 100, ZD_AGAIN}, {669, 1, 100, ZD_OK},
    {669, 0, 64, ZD_OK}, /* a small one */
    {960, 0, 64, ZD_OK}, {961, 0, 64, ZD_AGAIN}, {1024, 0, 0, ZD_OK},
    {1025, 0, 0, ZD_AGAIN}, /* an admitted one has taken more than was foreseen */
    {1025, 1, 0, ZD_OK}, {900, 0, 100, ZD_AGAIN}, /* more than large ones may have is held */
};

START_TEST(a_change_without_room_is_refused)
{
    struct zd_node_memory parsed;
    struct zd_node_memory_share share = {0};
    struct zd_error err = {0};
    zd_node_memory_init(&parsed, 1024 * KIB);
    zd_node_memory_take_admitted(&parsed, facts[_i].held * KIB);
    zd_node_memory_admit(&parsed, facts[_i].admitted * KIB, &share);
    ck_assert_int_eq(
        zd_node_memory_take(&parsed, facts[_i].bytes * KIB, "it", &err), facts[_i].status);
    const uint64_t taken = facts[_i].status == ZD_OK ? facts[_i].bytes : 0;
    ck_assert_uint_eq(zd_tally_bytes(&parsed.held), (facts[_i].held + taken) * KIB);
    if (facts[_i].status == ZD_TOO_LARGE) {
        ck_assert_uint_eq(err.facts.limit, 768 * KIB);
        ck_assert_uint_eq(err.facts.requested, facts[_i].bytes * KIB);
    }
    zd_node_memory_leave(&share);
    zd_node_memory_leave(&share);
    ck_assert_uint_eq(parsed.bytes_admitted, 0);
}
END_TEST

START_TEST(a_share_takes_the_place_of_the_one_before)
{
    struct zd_node_memory parsed;
    struct zd_node_memory_share a = {0};
    struct zd_node_memory_share b = {0};
    zd_node_memory_init(&parsed, 1);
    zd_node_memory_admit(&parsed, 10, &a);
    zd_node_memory_admit(&parsed, 5, &b);
    ck_assert_uint_eq(parsed.bytes_admitted, 15);
    zd_node_memory_admit(&parsed, 30, &a);
    ck_assert_uint_eq(parsed.bytes_admitted, 35);
    zd_node_memory_leave(&a);
    zd_node_memory_leave(&b);
    ck_assert_uint_eq(parsed.bytes_admitted, 0);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, a_change_without_room_is_refused, 0, (int)ZD_COUNT_OF(facts));
    tcase_add_test(tests, a_share_takes_the_place_of_the_one_before);
}
