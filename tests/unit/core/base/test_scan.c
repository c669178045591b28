/* Facts about core/base/scan. */
#include "core/base/scan.h"

#include "tests/support/unit.h"

static const struct u64_fact {
    const char *text;
    enum zd_status status;
    uint64_t value;
    size_t n_left; /* bytes not read */
} u64_facts[] = {
    {"0", ZD_OK, 0, 0}, {"7,", ZD_OK, 7, 1}, {"18446744073709551615", ZD_OK, UINT64_MAX, 0},
    {"18446744073709551616", ZD_TOO_LARGE, 0, 20}, /* one past the end */
    {"", ZD_INVALID, 0, 0}, {"+1", ZD_INVALID, 0, 2}, {"-1", ZD_INVALID, 0, 2},
    {" 1", ZD_INVALID, 0, 2}, {"01", ZD_INVALID, 0, 2}, /* chunk keys have no leading zeros */
};

START_TEST(scan_u64_reads_digits_only)
{
    const struct u64_fact *fact = &u64_facts[_i];
    struct zd_scan scan = zd_scan_of(zd_span_of(fact->text));
    uint64_t value = 0;
    ck_assert_int_eq(zd_scan_u64(&scan, UINT64_MAX, &value), fact->status);
    ck_assert_uint_eq(value, fact->value);
    ck_assert_uint_eq((size_t)(scan.end - scan.at), fact->n_left);
}
END_TEST

static const struct utf8_fact {
    const char *hex;
    bool is_utf8;
} utf8_facts[] = {
    {"", true},
    {"41c3a9e282acf09f9880", true},
    {"c0af", false},     /* overlong '/' */
    {"eda080", false},   /* a surrogate */
    {"f4908080", false}, /* beyond U+10FFFF */
    {"e282", false},     /* cut */
    {"80", false},
    {"ff", false},
};

START_TEST(utf8_is_judged_strictly)
{
    ZD_AUTO(zd_buf) bytes = zd_unit_hex(utf8_facts[_i].hex);
    ck_assert_int_eq(zd_scan_is_utf8(zd_buf_span(bytes)), utf8_facts[_i].is_utf8);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, scan_u64_reads_digits_only, 0, ZD_COUNT_OF(u64_facts));
    tcase_add_loop_test(tests, utf8_is_judged_strictly, 0, ZD_COUNT_OF(utf8_facts));
}
