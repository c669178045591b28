/* Facts about server/accept. */
#include "server/accept.h"

#include "tests/support/unit.h"

static const struct accept_fact {
    const char *accept;
    const char *media_type;
    uint32_t quality;
} accept_facts[] = {
    {NULL, "text/csv", 1000},
    {"", "text/csv", 1000},
    {"*/*", "text/csv", 1000},
    {"text/csv", "text/csv", 1000},
    {"TEXT/CSV", "text/csv", 1000},
    {"text/plain", "text/csv", 0},
    {"text/*", "text/csv", 1000},
    {"application/*", "text/csv", 0},
    {"text/csv;q=0.5", "text/csv", 500},
    {"text/csv ; q=0.123", "text/csv", 123},
    {"text/csv;q=0", "text/csv", 0},
    {"text/csv;q=0, */*", "text/csv", 0}, /* the most specific range decides */
    {"*/*;q=0.1, text/*;q=0.2, text/csv;q=0.3", "text/csv", 300},
    {"*/*;q=0.1, text/*;q=0.2, text/csv;q=0.3", "text/html", 200},
    {"*/*;q=0.1, text/*;q=0.2, text/csv;q=0.3", "image/png", 100},
    {"text/csv;header=absent;q=0.7", "text/csv", 700},
    {"text/csv;q=1.001", "text/csv", 0}, /* malformed: as if it were not there */
    {"text/csv;q=2, */*;q=0.4", "text/csv", 400},
    {"csv, text/csv", "text/csv", 1000},
    {",,, text/csv ,", "text/csv", 1000},
    {"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "application/json", 800},
};

START_TEST(accept_finds_the_quality_of_a_type)
{
    const struct accept_fact *fact = &accept_facts[_i];
    ck_assert_uint_eq(zd_accept_quality(fact->accept, fact->media_type), fact->quality);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, accept_finds_the_quality_of_a_type, 0, ZD_COUNT_OF(accept_facts));
}
