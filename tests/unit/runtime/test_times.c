/* server/runtime/times: where the time of a request goes. */
#include "server/runtime/times.h"

#include "tests/support/unit.h"

static const struct {
    uint64_t whole_ns;
    uint64_t read_ns;
    uint64_t decode_ns;
    uint64_t store; /* what is added */
    uint64_t decode;
} shares[] = {
    {100, 0, 0, 0, 0}, /* all chunks were at hand */
    {100, 50, 50, 50, 50},
    {100, 300, 100, 75, 25}, /* four side by side */
    {100, 0, 7, 0, 100},
    {0, 5, 5, 0, 0},
    {1000, UINT64_MAX, UINT64_MAX, 500, 500},
};

START_TEST(times_share_out_what_chunks_took)
{
    struct zd_times times = {0};
    zd_times_add_chunks(&times, shares[_i].whole_ns, shares[_i].read_ns, shares[_i].decode_ns);
    ck_assert_uint_eq(times.ns[ZD_TIME_STORE], shares[_i].store);
    ck_assert_uint_eq(times.ns[ZD_TIME_DECODE], shares[_i].decode);
}
END_TEST

START_TEST(times_count_a_wait_for_what_it_was)
{
    struct zd_times times = {0};
    zd_times_go_on(&times, 5); /* it did not wait */
    times.waits_for = ZD_TIME_QUEUE;
    zd_times_wait(&times, 10);
    zd_times_go_on(&times, 17);
    zd_times_wait(&times, 20); /* for the store, if nobody says otherwise */
    zd_times_go_on(&times, 21);
    times.waits_for = ZD_TIME_NONE;
    zd_times_wait(&times, 30);
    zd_times_go_on(&times, 90);
    for (unsigned i = 0; i < ZD_TIMES; i++) {
        ck_assert_uint_eq(times.ns[i], i == ZD_TIME_QUEUE ? 7 : i == ZD_TIME_STORE ? 1 : 0);
    }
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, times_share_out_what_chunks_took, 0, ZD_COUNT_OF(shares));
    tcase_add_test(tests, times_count_a_wait_for_what_it_was);
}
