/* The abstract store interface of the specification, over every store of the build. */
#include "core/store/abstract.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/store.h"
#include "tests/support/store_fault.h"
#include "tests/support/unit.h"

#define MANY_KEYS 2300 /* more than two pages of a listing */

static bool is_done;
static struct zd_abstract op; /* large, and one at a time */
static struct zd_text found;

static void note_done(struct zd_abstract *done_op)
{
    (void)done_op;
    ck_assert(!is_done);
    is_done = true;
}

static void count_done(struct zd_abstract *done_op)
{
    ++*(int *)done_op->context;
}

static void note_found(struct zd_abstract *op_of_listing, const char *key, bool is_prefix)
{
    (void)op_of_listing;
    ck_assert_int_eq(is_prefix, key[strlen(key) - 1] == '/');
    (void)zd_text_addf(&found, "%s%s", found.len == 0 ? "" : " ", key);
}

static void begin(struct zd_test_store *test)
{
    op = (struct zd_abstract){
        .store = test->store, .bytes_max = 1000, .done = note_done, .found = note_found};
    is_done = false;
    zd_text_init(&found, 1U << 20);
}

static enum zd_status end(struct zd_test_store *test)
{
    ck_assert(!is_done); /* not inside the call */
    ck_assert_int_eq(uv_run(&test->loop, UV_RUN_DEFAULT), 0);
    ck_assert(is_done);
    ck_assert(op.status == ZD_OK || op.err.text[0] != '\0');
    return op.status;
}

static enum zd_status set(struct zd_test_store *test, const char *key, const char *text)
{
    struct zd_buf *value = zd_buf_copy(zd_span_of(text));
    begin(test);
    zd_abstract_set(&op, key, value);
    const enum zd_status status = end(test);
    zd_buf_unref(value);
    return status;
}

static void check_get(struct zd_test_store *test, const char *key, const char *text)
{
    begin(test);
    zd_abstract_get(&op, key);
    ck_assert_int_eq(end(test), ZD_OK);
    if (text == NULL) {
        ck_assert_ptr_null(op.value);
        return;
    }
    ck_assert_ptr_nonnull(op.value);
    ck_assert_uint_eq(op.value->len, strlen(text));
    ck_assert_mem_eq(op.value->data, text, op.value->len);
    zd_buf_unref(op.value);
}

static void check_list(struct zd_test_store *test, const char *keys)
{
    begin(test);
    zd_abstract_list(&op);
    ck_assert_int_eq(end(test), ZD_OK);
    ck_assert_str_eq(found.at, keys);
    zd_text_done(&found);
}

START_TEST(abstract_gets_what_was_set)
{
    ZD_FOR_STORE(test);
    check_get(&test, "a/b", NULL);
    ck_assert_int_eq(set(&test, "a/b", "one"), ZD_OK);
    check_get(&test, "a/b", "one");
    ck_assert_int_eq(set(&test, "a/b", ""), ZD_OK);
    check_get(&test, "a/b", "");
    check_get(&test, "a", NULL);
    zd_test_store_close(&test);
}
END_TEST

START_TEST(abstract_gets_parts_in_the_order_they_were_asked_for)
{
    ZD_FOR_STORE(test);
    struct zd_abstract_range range[] = {
        {.key = "k", .range = {ZD_RANGE_FROM_TO, 2, 3}},
        {.key = "none", .range = {ZD_RANGE_WHOLE, 0, 0}},
        {.key = "k", .range = {ZD_RANGE_FROM_TO, 7, UINT64_MAX}}, /* no length: to the end */
        {.key = "other", .range = {ZD_RANGE_WHOLE, 0, 0}},
        {.key = "k", .range = {ZD_RANGE_SUFFIX, 0, 1}},
    };
    const char *const wanted[] = {"234", NULL, "789", "x", "9"};
    ck_assert_int_eq(set(&test, "k", "0123456789"), ZD_OK);
    ck_assert_int_eq(set(&test, "other", "x"), ZD_OK);
    begin(&test);
    zd_abstract_get_partial_values(&op, range, ZD_COUNT_OF(range));
    ck_assert_int_eq(end(&test), ZD_OK);
    for (size_t i = 0; i < ZD_COUNT_OF(range); i++) {
        ck_assert_int_eq(range[i].value == NULL, wanted[i] == NULL);
        ck_assert(wanted[i] == NULL || zd_span_is(zd_buf_span(range[i].value), wanted[i]));
        zd_buf_unref(range[i].value);
    }
    begin(&test);
    zd_abstract_get_partial_values(&op, range, 0);
    ck_assert_int_eq(end(&test), ZD_OK);
    zd_test_store_close(&test);
}
END_TEST

static const struct parts_fact {
    const char *old; /* or NULL */
    struct {
        uint64_t start;
        const char *text;
    } part[2];
    size_t bytes_max;
    const char *value; /* NULL: ZD_TOO_LARGE, and the old one stays */
} parts_facts[] = {
    {"0123456789", {{2, "ab"}, {6, "c"}}, 10, "01ab45c789"},
    {"0123456789", {{2, "abc"}, {3, "X"}}, 10, "01aXc56789"}, /* in their order */
    {"0123456789", {{8, "abcd"}, {0, "x"}}, 12, "x1234567abcd"},
    {"0123456789", {{8, "abcd"}, {0, "x"}}, 11, NULL},
    {"0123456789", {{0, "x"}, {1, "x"}}, 9, NULL},
    {"0123", {{4, "ab"}, {6, "cd"}}, 100, "0123abcd"}, {NULL, {{0, "ab"}, {2, "cd"}}, 100, "abcd"},
    {"01", {{UINT64_MAX, "a"}, {0, "x"}}, 100, NULL},
    {"01", {{99, ""}, {0, ""}}, 98, NULL}, /* a part without bytes has an end all the same */
};

START_TEST(abstract_sets_parts_of_a_value)
{
    ZD_FOR_STORE(test);
    for (size_t i = 0; i < ZD_COUNT_OF(parts_facts); i++) {
        const struct parts_fact *fact = &parts_facts[i];
        struct zd_abstract_part part[2];
        char key[8];
        snprintf(key, sizeof key, "k%zu", i);
        if (fact->old != NULL) {
            ck_assert_int_eq(set(&test, key, fact->old), ZD_OK);
        }
        for (size_t p = 0; p < 2; p++) {
            part[p] = (struct zd_abstract_part){.key = key,
                .start = fact->part[p].start,
                .bytes = zd_buf_copy(zd_span_of(fact->part[p].text))};
        }
        begin(&test);
        op.bytes_max = fact->bytes_max;
        zd_abstract_set_partial_values(&op, part, 2);
        ck_assert_int_eq(end(&test), fact->value == NULL ? ZD_TOO_LARGE : ZD_OK);
        check_get(&test, key, fact->value == NULL ? fact->old : fact->value);
        zd_buf_unref(part[0].bytes);
        zd_buf_unref(part[1].bytes);
    }
    zd_test_store_close(&test);
}
END_TEST

START_TEST(abstract_fills_what_lies_between_with_zeros)
{
    ZD_FOR_STORE(test);
    struct zd_abstract_part part = {.key = "k", .start = 4, .bytes = zd_buf_copy(zd_span_of("x"))};
    ck_assert_int_eq(set(&test, "k", "01"), ZD_OK);
    begin(&test);
    zd_abstract_set_partial_values(&op, &part, 1);
    ck_assert_int_eq(end(&test), ZD_OK);
    begin(&test);
    zd_abstract_get(&op, "k");
    ck_assert_int_eq(end(&test), ZD_OK);
    ck_assert_uint_eq(op.value->len, 5);
    ck_assert_mem_eq(op.value->data, "01\0\0x", 5);
    zd_buf_unref(op.value);
    zd_buf_unref(part.bytes);
    zd_test_store_close(&test);
}
END_TEST

START_TEST(abstract_sets_parts_of_several_keys)
{
    ZD_FOR_STORE(test);
    struct zd_buf *bytes = zd_buf_copy(zd_span_of("x"));
    const struct zd_abstract_part part[] = {
        {"a", 0, bytes}, {"b", 1, bytes}, {"a", 2, bytes}, {"c", 0, bytes}, {"b", 0, bytes}};
    ck_assert_int_eq(set(&test, "a", "...."), ZD_OK);
    ck_assert_int_eq(set(&test, "b", "...."), ZD_OK);
    const uint64_t n_before = test.store->n_writes;
    begin(&test);
    zd_abstract_set_partial_values(&op, part, ZD_COUNT_OF(part));
    ck_assert_int_eq(end(&test), ZD_OK);
    ck_assert_uint_eq(test.store->n_writes, n_before + 3); /* each key once */
    check_get(&test, "a", "x.x.");
    check_get(&test, "b", "xx..");
    check_get(&test, "c", "x");
    zd_buf_unref(bytes);
    zd_test_store_close(&test);
}
END_TEST

/* Two at once on one value: neither loses what the other has set. */
START_TEST(abstract_keeps_what_others_set_meanwhile)
{
    ZD_FOR_STORE(test);
    static struct zd_abstract many[8];
    struct zd_abstract_part part[8];
    int n_done = 0;
    ck_assert_int_eq(set(&test, "k", "........"), ZD_OK);
    for (size_t i = 0; i < 8; i++) {
        part[i] = (struct zd_abstract_part){
            .key = "k", .start = i, .bytes = zd_buf_copy(zd_span_of("x"))};
        many[i] = (struct zd_abstract){
            .store = test.store, .bytes_max = 100, .done = count_done, .context = &n_done};
        zd_abstract_set_partial_values(&many[i], &part[i], 1);
    }
    ck_assert_int_eq(uv_run(&test.loop, UV_RUN_DEFAULT), 0);
    ck_assert_int_eq(n_done, 8);
    for (size_t i = 0; i < 8; i++) {
        ck_assert_int_eq(many[i].status, ZD_OK);
        zd_buf_unref(part[i].bytes);
    }
    check_get(&test, "k", "xxxxxxxx");
    zd_test_store_close(&test);
}
END_TEST

/* The example of the specification. */
START_TEST(abstract_lists_as_the_specification_does)
{
    ZD_FOR_STORE(test);
    const char *const keys[] = {"a/b", "a/c", "a/d/e", "a/f/g"};
    for (size_t i = 0; i < ZD_COUNT_OF(keys); i++) {
        ck_assert_int_eq(set(&test, keys[i], "1"), ZD_OK);
    }
    check_list(&test, "a/b a/c a/d/e a/f/g");
    begin(&test);
    zd_abstract_list_prefix(&op, "a/");
    ck_assert_int_eq(end(&test), ZD_OK);
    ck_assert_str_eq(found.at, "a/b a/c a/d/e a/f/g");
    zd_text_done(&found);
    begin(&test);
    zd_abstract_list_dir(&op, "a/");
    ck_assert_int_eq(end(&test), ZD_OK);
    ck_assert_str_eq(found.at, "a/b a/c a/d/ a/f/");
    zd_text_done(&found);
    begin(&test);
    zd_abstract_list_dir(&op, "");
    ck_assert_int_eq(end(&test), ZD_OK);
    ck_assert_str_eq(found.at, "a/");
    zd_text_done(&found);
    begin(&test);
    zd_abstract_list_prefix(&op, "none/");
    ck_assert_int_eq(end(&test), ZD_OK);
    ck_assert_str_eq(found.at, "");
    zd_test_store_close(&test);
}
END_TEST

START_TEST(abstract_erases_keys_and_prefixes)
{
    ZD_FOR_STORE(test);
    const char *const keys[] = {"a/b", "a/c/d", "ab", "b/x", "b/y", "c"};
    const char *const erased[] = {"b/x", "none", "c", "b/none/x"};
    for (size_t i = 0; i < ZD_COUNT_OF(keys); i++) {
        ck_assert_int_eq(set(&test, keys[i], "1"), ZD_OK);
    }
    begin(&test);
    zd_abstract_erase_prefix(&op, "a/");
    ck_assert_int_eq(end(&test), ZD_OK);
    check_list(&test, "ab b/x b/y c");
    begin(&test);
    zd_abstract_erase_values(&op, erased, ZD_COUNT_OF(erased));
    ck_assert_int_eq(end(&test), ZD_OK);
    check_list(&test, "ab b/y");
    begin(&test);
    zd_abstract_erase(&op, "b/y");
    ck_assert_int_eq(end(&test), ZD_OK);
    begin(&test);
    zd_abstract_list_dir(&op, "");
    ck_assert_int_eq(end(&test), ZD_OK);
    ck_assert_str_eq(found.at, "ab"); /* prefixes go with their last key */
    zd_text_done(&found);
    begin(&test);
    zd_abstract_erase_prefix(&op, "");
    ck_assert_int_eq(end(&test), ZD_OK);
    check_list(&test, "");
    zd_test_store_close(&test);
}
END_TEST

START_TEST(abstract_goes_through_more_keys_than_a_page_holds)
{
    struct zd_test_store test;
    size_t n_found = 1;
    zd_test_store_open(&test, "mem");
    for (int i = 0; i < MANY_KEYS; i++) {
        char key[16];
        snprintf(key, sizeof key, "a/%05d", i);
        zd_test_put(&test, key, "1");
    }
    begin(&test);
    zd_abstract_list_prefix(&op, "a/");
    ck_assert_int_eq(end(&test), ZD_OK);
    for (const char *at = found.at; *at != '\0'; at++) {
        n_found += *at == ' ';
    }
    ck_assert_uint_eq(n_found, MANY_KEYS);
    zd_text_done(&found);
    begin(&test);
    zd_abstract_erase_prefix(&op, "a/");
    ck_assert_int_eq(end(&test), ZD_OK);
    check_list(&test, "");
    zd_test_store_close(&test);
}
END_TEST

START_TEST(abstract_refuses_bad_keys_and_prefixes)
{
    ZD_FOR_STORE(test);
    char long_key[ZD_KEY_BYTES_MAX + 100];
    memset(long_key, 'a', sizeof long_key);
    for (size_t i = 100; i < sizeof long_key; i += 100) {
        long_key[i] = '/';
    }
    long_key[sizeof long_key - 1] = '\0';
    ck_assert_int_eq(set(&test, "a//b", "1"), ZD_INVALID);
    ck_assert_int_eq(set(&test, long_key, "1"), ZD_INVALID);
    begin(&test);
    zd_abstract_get(&op, long_key);
    ck_assert_int_eq(end(&test), ZD_INVALID);
    begin(&test);
    zd_abstract_erase(&op, "../a");
    ck_assert_int_eq(end(&test), ZD_INVALID);
    begin(&test);
    zd_abstract_list_prefix(&op, "a");
    ck_assert_int_eq(end(&test), ZD_INVALID);
    begin(&test);
    zd_abstract_erase_prefix(&op, "a");
    ck_assert_int_eq(end(&test), ZD_INVALID);
    long_key[sizeof long_key - 2] = '/';
    begin(&test);
    zd_abstract_list_dir(&op, long_key);
    ck_assert_int_eq(end(&test), ZD_INVALID);
    zd_test_store_close(&test);
}
END_TEST

/* Each operation of the store below fails once: the one above says so, and ends once. */
START_TEST(abstract_passes_failures_on)
{
    ZD_FOR_STORE(test);
    struct zd_buf *bytes = zd_buf_copy(zd_span_of("x"));
    struct zd_abstract_part part[] = {{"a/1", 0, bytes}, {"a/2", 0, bytes}};
    struct zd_abstract_range range[] = {{.key = "a/1"}, {.key = "a/2"}};
    zd_store_break(test.store);
    for (int deed = 0; deed < 4; deed++) {
        uint64_t n = 0;
        bool was_hit = true;
        while (was_hit) {
            zd_store_fault_set((struct zd_store_fault){0});
            zd_test_put(&test, "a/1", "1");
            zd_test_put(&test, "a/2", "1");
            zd_store_fault_set((struct zd_store_fault){.n = ++n, .status = ZD_STORE});
            begin(&test);
            switch (deed) {
            case 0:
                zd_abstract_get_partial_values(&op, range, 2);
                break;
            case 1:
                zd_abstract_set_partial_values(&op, part, 2);
                break;
            case 2:
                zd_abstract_list(&op);
                break;
            default:
                zd_abstract_erase_prefix(&op, "a/");
                break;
            }
            const enum zd_status status = end(&test);
            was_hit = zd_store_fault_count() >= n;
            ck_assert_int_eq(status, was_hit ? ZD_STORE : ZD_OK);
            zd_text_done(&found);
            for (size_t i = 0; deed == 0 && i < 2; i++) {
                zd_buf_unref(range[i].value);
            }
        }
        ck_assert_uint_gt(n, 1);
    }
    zd_buf_unref(bytes);
    zd_test_store_close(&test);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, abstract_gets_what_was_set, 0, ZD_TEST_STORES_MAX);
    tcase_add_loop_test(
        tests, abstract_gets_parts_in_the_order_they_were_asked_for, 0, ZD_TEST_STORES_MAX);
    tcase_add_loop_test(tests, abstract_sets_parts_of_a_value, 0, ZD_TEST_STORES_MAX);
    tcase_add_loop_test(tests, abstract_fills_what_lies_between_with_zeros, 0, ZD_TEST_STORES_MAX);
    tcase_add_loop_test(tests, abstract_sets_parts_of_several_keys, 0, ZD_TEST_STORES_MAX);
    tcase_add_loop_test(tests, abstract_keeps_what_others_set_meanwhile, 0, ZD_TEST_STORES_MAX);
    tcase_add_loop_test(tests, abstract_lists_as_the_specification_does, 0, ZD_TEST_STORES_MAX);
    tcase_add_loop_test(tests, abstract_erases_keys_and_prefixes, 0, ZD_TEST_STORES_MAX);
    tcase_add_test(tests, abstract_goes_through_more_keys_than_a_page_holds);
    tcase_add_loop_test(tests, abstract_refuses_bad_keys_and_prefixes, 0, ZD_TEST_STORES_MAX);
    tcase_add_loop_test(tests, abstract_passes_failures_on, 0, ZD_TEST_STORES_MAX);
}
