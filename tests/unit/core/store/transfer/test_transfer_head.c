/* Facts about core/store/transfer/transfer_head: what the lines of an answer's head say. */
#include "core/store/transfer/transfer_head.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/unit.h"

static void add(struct zd_transfer_head *head, const char *line)
{
    zd_transfer_head_add(head, NULL, 0, zd_span_of(line));
}

static const struct range_fact {
    const char *value;
    bool has_range;
    bool is_odd;
    uint64_t first;
    uint64_t len;
    uint64_t size;
} range_facts[] = {
    {"bytes 0-0/1", true, false, 0, 1, 1},
    {"bytes 3-6/10", true, false, 3, 4, 10},
    {"bytes 3-6/*", true, false, 3, 4, ZD_TRANSFER_UNKNOWN},
    {"bytes */10", false, false, 0, 0, 10},
    {"bytes */0", false, false, 0, 0, 0},
    {"bytes */*", false, true, 0, 0, ZD_TRANSFER_UNKNOWN},
    {"bytes 6-3/10", false, true, 0, 0, ZD_TRANSFER_UNKNOWN},
    {"bytes 3-10/10", false, true, 0, 0, ZD_TRANSFER_UNKNOWN},
    {"bytes 3-6/10 ", true, false, 3, 4, 10},
    {"bytes 3-6/10x", false, true, 0, 0, ZD_TRANSFER_UNKNOWN},
    {"bytes 03-6/10", false, true, 0, 0, ZD_TRANSFER_UNKNOWN},
    {"bytes=3-6/10", false, true, 0, 0, ZD_TRANSFER_UNKNOWN},
    {"items 3-6/10", false, true, 0, 0, ZD_TRANSFER_UNKNOWN},
    {"bytes 0-18446744073709551615/18446744073709551615", false, true, 0, 0, ZD_TRANSFER_UNKNOWN},
    {"bytes 3-6", false, true, 0, 0, ZD_TRANSFER_UNKNOWN},
    {"", false, true, 0, 0, ZD_TRANSFER_UNKNOWN},
};

START_TEST(transfer_head_reads_a_content_range)
{
    const struct range_fact *fact = &range_facts[_i];
    char line[200];
    struct zd_transfer_head head;
    zd_transfer_head_init(&head, NULL, 0);
    snprintf(line, sizeof line, "cOntent-range:%s", fact->value);
    add(&head, line);
    ck_assert_int_eq(head.has_range, fact->has_range);
    ck_assert_int_eq(head.has_odd_range, fact->is_odd);
    ck_assert(!fact->has_range || (head.range_first == fact->first && head.range_len == fact->len));
    ck_assert_uint_eq(head.range_size, fact->size);
}
END_TEST

START_TEST(transfer_head_keeps_what_fits)
{
    char line[400];
    char longest[ZD_TRANSFER_FIELD_BYTES_MAX + 2];
    struct zd_transfer_field field[] = {{.name = "x-request-id"}};
    struct zd_transfer_head head;
    zd_transfer_head_init(&head, field, 1);
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    snprintf(line, sizeof line, "ETag: %s", longest);
    add(&head, line);
    ck_assert_str_eq(head.etag, "");
    snprintf(line, sizeof line, "ETag: \t%s \r\n", longest + 1);
    add(&head, line);
    ck_assert_str_eq(head.etag, longest + 1);
    add(&head, "ETag: \"a\rX-Other: b\""); /* it would be sent back */
    ck_assert_str_eq(head.etag, "");
    zd_transfer_head_add(&head, field, 1, zd_span_of("X-Request-ID: 7"));
    ck_assert_str_eq(field[0].value, "7");
    zd_transfer_head_add(&head, field, 1, zd_span_of("HTTP/2 404"));
    ck_assert_str_eq(field[0].value, ""); /* a new head */
    ck_assert_str_eq(head.etag, "");
    ck_assert_uint_eq(head.code, 404);
}
END_TEST

START_TEST(transfer_head_refuses_two_lengths)
{
    struct zd_transfer_head head;
    zd_transfer_head_init(&head, NULL, 0);
    add(&head, "Content-Length: 5");
    add(&head, "Content-Length: 5");
    ck_assert(!head.has_odd_length);
    ck_assert_uint_eq(head.content_length, 5);
    add(&head, "Content-Length: 6");
    ck_assert(head.has_odd_length);
    ck_assert_uint_eq(head.content_length, ZD_TRANSFER_UNKNOWN);
}
END_TEST

static const struct retry_fact {
    const char *value;
    uint32_t ms;
} retry_facts[] = {
    {"0", 0},
    {"7", 7000},
    {"99999", 3600000},
    {"Mon, 01 Jan 2024 00:00:09 GMT", 9000},
    {"Mon, 01 Jan 2023 00:00:00 GMT", 0},
    {"soon", 0},
    {"-1", 0},
};

START_TEST(transfer_head_says_when_to_try_again)
{
    char line[100];
    struct zd_transfer_head head;
    zd_transfer_head_init(&head, NULL, 0);
    add(&head, "HTTP/1.1 429 Slow");
    add(&head, "Date: Mon, 01 Jan 2024 00:00:00 GMT");
    snprintf(line, sizeof line, "Retry-After: %s", retry_facts[_i].value);
    add(&head, line);
    const struct zd_remote_fault fault = zd_transfer_head_fault(&head);
    ck_assert_uint_eq(fault.retry_after_ms, retry_facts[_i].ms);
    ck_assert_uint_eq(fault.kind, ZD_REMOTE_FAULT_THROTTLED);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, transfer_head_reads_a_content_range, 0, ZD_COUNT_OF(range_facts));
    tcase_add_test(tests, transfer_head_keeps_what_fits);
    tcase_add_test(tests, transfer_head_refuses_two_lengths);
    tcase_add_loop_test(tests, transfer_head_says_when_to_try_again, 0, ZD_COUNT_OF(retry_facts));
}
