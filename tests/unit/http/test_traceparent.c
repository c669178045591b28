/* server/http/traceparent: what is a traceparent, and what is ignored. */
#include "server/http/traceparent.h"

#include "tests/support/unit.h"

#define TRACE "4bf92f3577b34da6a3ce929d0e0e4736"
#define SPAN  "00f067aa0ba902b7"

static const struct {
    const char *value;
    bool is_read;
    bool is_sampled;
} values[] = {
    {"00-" TRACE "-" SPAN "-01", true, true},
    {"00-" TRACE "-" SPAN "-00", true, false},
    {"00-" TRACE "-" SPAN "-02", true, false}, /* random, not sampled */
    {"00-" TRACE "-" SPAN "-03", true, true},
    {"00-" TRACE "-" SPAN "-ff", true, true},
    {"01-" TRACE "-" SPAN "-01", true, true}, /* a later version */
    {"cc-" TRACE "-" SPAN "-01-what-the-future-has", true, true},
    {"cc-" TRACE "-" SPAN "-01.what-it-has-not", false, false},
    {"00-" TRACE "-" SPAN "-01-more", false, false},
    {"00-" TRACE "-" SPAN "-01 ", false, false},
    {"ff-" TRACE "-" SPAN "-01", false, false},
    {"0-" TRACE "-" SPAN "-01", false, false},
    {"0x-" TRACE "-" SPAN "-01", false, false},
    {"00-" TRACE "-" SPAN "-0", false, false},
    {"00-" TRACE "-" SPAN "-0g", false, false},
    {"00-" TRACE "-" SPAN "-", false, false},
    {"00-" TRACE "-" SPAN, false, false},
    {"00-" TRACE "_" SPAN "-01", false, false},
    {"00_" TRACE "-" SPAN "-01", false, false},
    {"00-" TRACE "-" SPAN "_01", false, false},
    {"00-4BF92F3577B34DA6A3CE929D0E0E4736-" SPAN "-01", false, false}, /* upper case */
    {"00-00000000000000000000000000000000-" SPAN "-01", false, false},
    {"00-" TRACE "-0000000000000000-01", false, false},
    {"00-" TRACE "-00f067aa0ba902b-01", false, false},
    {"00-4bf92f3577b34da6a3ce929d0e0e473-" SPAN "-01", false, false},
    {"00-4bf92f3577b34da6a3ce929d0e0e473\xff-" SPAN "-01", false, false},
    {"00-" TRACE "-" SPAN "-01, 00-" TRACE "-" SPAN "-01", false, false}, /* two lines */
    {"00-" TRACE "-" SPAN "-01\r\nX: y", false, false},
    {"", false, false},
    {"-", false, false},
    {"00", false, false},
};

START_TEST(traceparent_is_read_strictly)
{
    struct zd_traceparent parent;
    ck_assert_int_eq(zd_traceparent_parse(values[_i].value, &parent), values[_i].is_read);
    if (values[_i].is_read) {
        ck_assert_str_eq(parent.trace_id, TRACE);
        ck_assert_str_eq(parent.span_id, SPAN);
        ck_assert_int_eq(parent.is_sampled, values[_i].is_sampled);
    }
}
END_TEST

START_TEST(traceparent_is_written_as_it_is_read)
{
    struct zd_traceparent parent;
    char text[ZD_TRACEPARENT_BYTES];
    ck_assert(zd_traceparent_parse("00-" TRACE "-" SPAN "-01", &parent));
    zd_traceparent_format(&parent, text);
    ck_assert_str_eq(text, "00-" TRACE "-" SPAN "-01");
    parent.is_sampled = false;
    zd_traceparent_format(&parent, text);
    ck_assert_str_eq(text, "00-" TRACE "-" SPAN "-00");
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, traceparent_is_read_strictly, 0, ZD_COUNT_OF(values));
    tcase_add_test(tests, traceparent_is_written_as_it_is_read);
}
