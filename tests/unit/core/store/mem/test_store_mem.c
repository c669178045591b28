/* The store in memory: what finding and placing keys takes, and bounds that stores share. */
#include "core/store/contract/store.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/codec.h"
#include "tests/support/store.h"
#include "tests/support/unit.h"

#define N_KEYS         5000
#define PASSED_PER_KEY 64 /* of 5000: four times what is expected of a skip list */
#define SHARED_BYTES   (64U << 10)
#define VALUE_BYTES    (20U << 10)

/* In which order keys come: place i of n. */
enum order {
    ASCENDING,
    DESCENDING,
    SCATTERED,
    ORDERS,
};

static uint64_t number_of(enum order order, uint64_t i)
{
    switch (order) {
    case ASCENDING:
        return i;
    case DESCENDING:
        return N_KEYS - 1 - i;
    case SCATTERED:
        return i * 7919 % N_KEYS; /* coprime: each once */
    case ORDERS:
        break;
    }
    return 0;
}

START_TEST(keys_are_placed_and_taken_out_in_few_steps)
{
    struct zd_test_store test;
    zd_test_store_open(&test, "mem");
    ZD_AUTO(zd_buf) bytes = zd_buf_copy(zd_span_of("1"));
    for (uint64_t i = 0; i < N_KEYS; i++) {
        struct zd_store_write write = {.bytes = bytes};
        snprintf(write.key, sizeof write.key, "c/%06u", (unsigned)number_of(_i, i));
        ck_assert_int_eq(zd_test_write(&test, &write), ZD_OK);
    }
    ck_assert_uint_lt(test.store->n_passed, N_KEYS * PASSED_PER_KEY);
    for (uint64_t i = 0; i < N_KEYS; i += 2) {
        struct zd_store_write erase = {0};
        snprintf(erase.key, sizeof erase.key, "c/%06u", (unsigned)i);
        ck_assert_int_eq(zd_test_erase(&test, &erase), ZD_OK);
        ck_assert_int_eq(zd_test_erase(&test, &erase), ZD_NOT_FOUND);
    }
    ck_assert_uint_lt(test.store->n_passed, 2 * N_KEYS * PASSED_PER_KEY);
    struct zd_store_list list = {.deep = true, .n_max = N_KEYS};
    ck_assert_int_eq(zd_test_list(&test, &list), ZD_OK);
    ck_assert_uint_eq(list.n_entries, N_KEYS / 2);
    for (uint64_t i = 0; i < list.n_entries; i++) {
        char key[16];
        snprintf(key, sizeof key, "c/%06u", (unsigned)(2 * i + 1));
        ck_assert_str_eq(list.entry[i].name, key);
    }
    zd_store_list_done(&list);
    struct zd_store_list level = {.n_max = 1};
    ck_assert_int_eq(zd_test_list(&test, &level), ZD_OK);
    ck_assert_str_eq(level.entry[0].name, "c");
    ck_assert_uint_eq(level.n_visited, 1); /* and not each key below */
    zd_store_list_done(&level);
    zd_test_store_close(&test);
}
END_TEST

#define N_PAGES      50
#define N_PAGE_NAMES (N_KEYS / N_PAGES)

/* Lists one level by pages. @return how many names */
static uint64_t list_level(struct zd_test_store *test, size_t n_max, struct zd_text *names)
{
    char after[ZD_KEY_BYTES_MAX + 1] = "";
    uint64_t n = 0;
    for (bool has_more = true; has_more;) {
        struct zd_store_list list = {.n_max = n_max, .after = after};
        ck_assert_int_eq(zd_test_list(test, &list), ZD_OK);
        ck_assert(!list.has_more || list.n_entries == n_max);
        for (size_t i = 0; i < list.n_entries; i++) {
            ck_assert_int_gt(strcmp(list.entry[i].name, after), 0);
            snprintf(after, sizeof after, "%s", list.entry[i].name);
            zd_text_addf(names, "%s%s ", after, list.entry[i].is_prefix ? "/" : "");
        }
        n += list.n_entries;
        has_more = list.has_more;
        list.after = NULL;
        zd_store_list_done(&list);
    }
    return n;
}

START_TEST(a_level_is_listed_by_pages_in_one_pass)
{
    struct zd_test_store test;
    zd_test_store_open(&test, "mem");
    ZD_SCOPED_TEXT(names, SIZE_MAX);
    for (uint64_t i = 0; i < N_KEYS; i++) {
        char key[32];
        snprintf(key, sizeof key, i % 2 == 0 ? "a-%05u" : "a-%05u/x", (unsigned)i);
        zd_test_put(&test, key, "1");
    }
    zd_test_put(&test, "a/x", "1"); /* behind all others in the store, the first of the names */
    ck_assert_uint_eq(list_level(&test, N_PAGE_NAMES, &names), N_KEYS + 1);
    ck_assert_int_eq(strncmp(names.at, "a/ a-00000 a-00001/ ", 20), 0);
    ck_assert_uint_le(test.store->n_visited, N_KEYS + 4 * N_PAGES);
    zd_test_store_close(&test);
}
END_TEST

#define N_ODD_KEYS 60

/* Names of characters on both sides of the slash: a page of any length has the smallest. */
START_TEST(pages_of_a_level_have_the_smallest_names)
{
    static const char letters[] = "!+-/0a";
    struct zd_test_store test;
    zd_test_store_open(&test, "mem");
    for (uint32_t k = 0; k < N_ODD_KEYS; k++) {
        char key[16] = "";
        const uint64_t len = 1 + zd_unit_random() % 6;
        for (uint64_t i = 0; i < len; i++) {
            key[i] = letters[zd_unit_random() % (sizeof letters - 1)];
        }
        memcpy(key + len, "/k", sizeof "/k"); /* a name is never that of a key and of others */
        if (key[0] != '/' && strstr(key, "//") == NULL) {
            zd_test_put(&test, key, "1");
        }
    }
    ZD_SCOPED_TEXT(whole, SIZE_MAX);
    (void)list_level(&test, N_ODD_KEYS, &whole);
    for (size_t n_max = 1; n_max < 12; n_max++) {
        ZD_SCOPED_TEXT(names, SIZE_MAX);
        (void)list_level(&test, n_max, &names);
        ck_assert_str_eq(names.at, whole.at);
    }
    zd_test_store_close(&test);
}
END_TEST

/* Three stores on one loop: two share their memory, the third has a bound of its own. */
struct shared {
    struct zd_test_store test;
    struct zd_store_memory memory;
    struct zd_store *store[3];
};

static void open_shared(struct shared *shared)
{
    ZD_AUTO(zd_json) own = zd_unit_json("{'bytes':30000}");
    *shared = (struct shared){.memory.bytes_max = SHARED_BYTES};
    ck_assert_int_eq(uv_loop_init(&shared->test.loop), 0);
    for (int i = 0; i < 3; i++) {
        const struct zd_store_config config = {
            .location = "mem:",
            .loop = &shared->test.loop,
            .writable = true,
            .memory = &shared->memory,
            .options = i == 2 ? own : NULL,
        };
        ck_assert_int_eq(zd_store_open(&config, &shared->store[i], NULL), ZD_OK);
    }
}

static enum zd_status put(struct shared *shared, int i, const char *key, struct zd_error *err)
{
    ZD_AUTO(zd_buf) bytes = zd_buf_new(VALUE_BYTES);
    ck_assert_ptr_nonnull(bytes);
    bytes->len = bytes->cap;
    struct zd_store_write write = {.bytes = bytes};
    snprintf(write.key, sizeof write.key, "%s", key);
    shared->test.store = shared->store[i];
    const enum zd_status status = zd_test_write(&shared->test, &write);
    *err = write.op.err;
    return status;
}

START_TEST(stores_share_one_bound_unless_they_have_their_own)
{
    struct shared shared;
    struct zd_error err;
    open_shared(&shared);
    ck_assert_int_eq(put(&shared, 0, "a", &err), ZD_OK);
    ck_assert_int_eq(put(&shared, 1, "a", &err), ZD_OK);
    ck_assert_int_eq(put(&shared, 1, "b", &err), ZD_OK);
    ck_assert_int_eq(put(&shared, 0, "b", &err), ZD_NO_SPACE);
    ck_assert_uint_eq(err.facts.limit, SHARED_BYTES);
    ck_assert_uint_gt(err.facts.requested, SHARED_BYTES);
    ck_assert_int_eq(put(&shared, 0, "a", &err), ZD_OK); /* the old bytes make room */
    ck_assert_int_eq(put(&shared, 2, "a", &err), ZD_OK);
    ck_assert_int_eq(put(&shared, 2, "b", &err), ZD_NO_SPACE);
    ck_assert_uint_eq(err.facts.limit, 30000);
    zd_store_close(shared.store[1]); /* what it held is free again */
    ck_assert_int_eq(put(&shared, 0, "b", &err), ZD_OK);
    struct zd_store_write erase = {.key = "b"};
    ck_assert_int_eq(zd_test_erase(&shared.test, &erase), ZD_OK);
    zd_store_close(shared.store[0]);
    zd_store_close(shared.store[2]);
    ck_assert_uint_eq(shared.memory.bytes, 0);
    ck_assert_int_eq(uv_loop_close(&shared.test.loop), 0);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, keys_are_placed_and_taken_out_in_few_steps, 0, ORDERS);
    tcase_add_test(tests, a_level_is_listed_by_pages_in_one_pass);
    tcase_add_loop_test(tests, pages_of_a_level_have_the_smallest_names, 0, 50);
    tcase_add_test(tests, stores_share_one_bound_unless_they_have_their_own);
}
