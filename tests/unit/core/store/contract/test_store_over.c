/* A store over a store: what it changes, what it hands on, and the options it takes. */
#include <stdio.h>
#include <string.h>

#include "core/store/contract/store_impl.h"
#include "tests/support/codec.h"
#include "tests/support/store.h"
#include "tests/support/store_tally.h"
#include "tests/support/unit.h"

static enum zd_status open_over(
    struct zd_test_store *test, const char *options, bool writable, struct zd_error *err)
{
    ZD_AUTO(zd_json) json = options == NULL ? NULL : zd_unit_json(options);
    const struct zd_store_config config = {
        .location = "tally:",
        .loop = &test->loop,
        .writable = writable,
        .options = json,
        .inner = test->store,
    };
    return zd_store_open_as(&zd_store_tally_ops, &config, &test->store, err);
}

START_TEST(an_outer_store_sees_what_it_changes_and_hands_on_the_rest)
{
    struct zd_test_store test;
    zd_test_store_open(&test, "mem");
    struct zd_store *const inner = test.store;
    ck_assert_int_eq(open_over(&test, "{'prefix':'a/'}", true, NULL), ZD_OK);
    zd_test_put(&test, "a/x", "1");
    zd_test_expect(&test, "a/x", "1");
    zd_test_expect(&test, "b/x", NULL);
    ck_assert_uint_eq(zd_store_tally_count(test.store), 1);
    ck_assert_uint_eq(test.store->n_reads, 2);
    ck_assert_uint_eq(test.store->n_read_bytes, 1);
    ck_assert_uint_eq(inner->n_writes, 0); /* counts are of what was asked of the store itself */
    ck_assert_uint_eq(inner->n_read_bytes, 1);
    zd_test_store_close(&test);
}
END_TEST

START_TEST(three_stores_stand_over_each_other)
{
    struct zd_test_store test;
    zd_test_store_open(&test, "file");
    ck_assert_int_eq(open_over(&test, NULL, true, NULL), ZD_OK);
    ck_assert_int_eq(open_over(&test, NULL, true, NULL), ZD_OK);
    char key[ZD_KEY_BYTES_MAX + 1];
    ck_assert(zd_store_key_in(test.store, test.store->inner->inner, "a/b", key));
    ck_assert_str_eq(key, "a/b");
    uint64_t place = 0;
    const char *location = test.store->inner->inner->location;
    ck_assert_int_eq(zd_store_find_place(location, &place, NULL), ZD_OK);
    ck_assert_uint_eq(place, test.store->place);
    ck_assert(!zd_store_has_file(test.store, "a")); /* its own reads give bytes */
    zd_test_put(&test, "x", "1");
    zd_test_expect(&test, "x", "1");
    ck_assert_uint_eq(zd_store_tally_count(test.store), 1);
    ck_assert_uint_eq(zd_store_tally_count(test.store->inner), 1);
    zd_test_store_close(&test);
}
END_TEST

START_TEST(a_failed_sync_below_is_the_failure_of_all)
{
    struct zd_test_store test;
    zd_test_store_open(&test, "mem");
    ck_assert_int_eq(open_over(&test, NULL, true, NULL), ZD_OK);
    ck_assert_str_eq(zd_store_failure(test.store), "");
    zd_store_stop_writes(test.store->inner, "no disk");
    ck_assert_str_eq(zd_store_failure(test.store), "no disk");
    struct zd_store_write write = {.key = "x", .bytes = zd_buf_copy(zd_span_of("1"))};
    ck_assert_int_eq(zd_test_write(&test, &write), ZD_READ_ONLY);
    zd_buf_unref(write.bytes);
    zd_test_store_close(&test);
}
END_TEST

START_TEST(an_outer_store_that_is_read_only_protects_the_inner_one)
{
    struct zd_test_store test;
    zd_test_store_open(&test, "mem");
    ck_assert_int_eq(open_over(&test, NULL, false, NULL), ZD_OK);
    struct zd_store_write write = {.key = "x", .bytes = zd_buf_copy(zd_span_of("1"))};
    ck_assert_int_eq(zd_test_write(&test, &write), ZD_READ_ONLY);
    zd_buf_unref(write.bytes);
    zd_test_store_close(&test);
}
END_TEST

static const struct {
    const char *options;
    const char *fault; /* NULL: accepted */
    const char *pointer;
} options[] = {
    {NULL, NULL, NULL},
    {"{}", NULL, NULL},
    {"{'prefix':''}", NULL, NULL},
    {"{'prefix':1}", "a string", "/options/prefix"},
    {"{'prefx':'a'}", "tally does not define the member \"prefx\"; expected one of prefix",
        "/options/prefx"},
};

START_TEST(options_are_judged_before_the_store_opens)
{
    struct zd_test_store test;
    struct zd_error err = {0};
    zd_test_store_open(&test, "mem");
    const enum zd_status status = open_over(&test, options[_i].options, true, &err);
    if (options[_i].fault == NULL) {
        ck_assert_int_eq(status, ZD_OK);
    } else {
        ck_assert_int_eq(status, ZD_INVALID);
        ck_assert_msg(strstr(err.text, options[_i].fault) != NULL, "%s", err.text);
        ck_assert_str_eq(err.facts.pointer, options[_i].pointer);
    }
    zd_test_store_close(&test);
}
END_TEST

static enum zd_status open_with_failing_memory(void *context)
{
    struct zd_test_store *test = context;
    const struct zd_store_config config = {
        .location = "tally:", .loop = &test->loop, .inner = test->store};
    struct zd_store *outer = NULL;
    ZD_TRY(zd_store_open_as(&zd_store_tally_ops, &config, &outer, NULL));
    test->store = outer;
    return ZD_OK;
}

START_TEST(the_inner_store_stays_with_the_caller_when_opening_fails)
{
    struct zd_test_store test;
    zd_test_store_open(&test, "mem");
    zd_unit_with_failing_memory(open_with_failing_memory, &test);
    zd_test_store_close(&test);
}
END_TEST

/* The key of `key` below a base, below another base. */
static const struct {
    const char *base;
    const char *key;
    const char *other;
    const char *found; /* NULL: it is not there */
} keys[] = {
    {"p/", "x/0", "p/", "x/0"},
    {"p/", "x/0", "", "p/x/0"},
    {"", "p/x/0", "p/", "x/0"},
    {"p/", "x/0", "p/x/", "0"},
    {"p/x/", "0", "p/", "x/0"},
    {"", "0", "", "0"},
    {"p/", "x", "p/x/", NULL},
    {"p/", "xy/0", "p/x/", NULL},
    {"", "x", "p/", NULL},
    {"p/x/", "0", "p/y/", NULL},
};

START_TEST(stores_of_one_space_have_what_is_below_their_bases)
{
    char key[ZD_KEY_BYTES_MAX + 1] = "none";
    const struct zd_store store = {.space = 7, .base = keys[_i].base};
    struct zd_store other = {.space = 7, .base = keys[_i].other};
    const bool is_there = zd_store_key_in(&other, &store, keys[_i].key, key);
    ck_assert(is_there == (keys[_i].found != NULL));
    ck_assert_str_eq(key, is_there ? keys[_i].found : "none");
    other.space = 8;
    ck_assert(!zd_store_key_in(&other, &store, keys[_i].key, key));
}
END_TEST

START_TEST(a_key_below_another_base_is_not_there)
{
    char base[ZD_KEY_BYTES_MAX + 2];
    char key[ZD_KEY_BYTES_MAX + 1];
    memset(base, 'b', sizeof base);
    memcpy(base + sizeof base - 2, "/", 2);
    const struct zd_store store = {.space = 7, .base = base};
    const struct zd_store other = {.space = 7, .base = ""};
    ck_assert(!zd_store_key_in(&other, &store, "k", key));
    memcpy(base + ZD_KEY_BYTES_MAX - 2, "/", 2);
    ck_assert(zd_store_key_in(&other, &store, "k", key));
    ck_assert_uint_eq(strlen(key), ZD_KEY_BYTES_MAX);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, an_outer_store_sees_what_it_changes_and_hands_on_the_rest);
    tcase_add_test(tests, three_stores_stand_over_each_other);
    tcase_add_test(tests, a_failed_sync_below_is_the_failure_of_all);
    tcase_add_test(tests, an_outer_store_that_is_read_only_protects_the_inner_one);
    tcase_add_loop_test(tests, options_are_judged_before_the_store_opens, 0, ZD_COUNT_OF(options));
    tcase_add_test(tests, the_inner_store_stays_with_the_caller_when_opening_fails);
    tcase_add_loop_test(
        tests, stores_of_one_space_have_what_is_below_their_bases, 0, (int)ZD_COUNT_OF(keys));
    tcase_add_test(tests, a_key_below_another_base_is_not_there);
}
