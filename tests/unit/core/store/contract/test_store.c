/* The contract of core/store/contract/store, held against every store of the build. */
#include "core/store/contract/store_impl.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/store.h"
#include "tests/support/unit.h"

static const struct key_fact {
    const char *key;
    bool is_valid;
} key_facts[] = {
    {"zarr.json", true},
    {"a/c/0/1", true},
    {".zgroup", true},
    {"a/..b/...", true},
    {"caf\xc3\xa9", true},
    {"a b%20", true},
    {"", false},
    {"/a", false},
    {"a/", false},
    {"a//b", false},
    {".", false},
    {"..", false},
    {"a/../b", false},
    {"a/.", false},
    {"a\\b", false},
    {"a\nb", false},
    {"a\x7f", false},
    {"\xc0\xaf", false},     /* an overlong slash */
    {"\xed\xa0\x80", false}, /* a surrogate */
    {".zarrd-tmp-", false},  /* names of unfinished writes */
    {"a/.zarrd-tmp-0123", false},
    {"a/.zarrd-tmp", true},
};

START_TEST(key_is_judged_by_its_segments)
{
    ck_assert_int_eq(zd_key_is_valid(key_facts[_i].key), key_facts[_i].is_valid);
}
END_TEST

/* Text of n bytes: 'a', with a slash after every segment_len of them. */
static void fill_key(char *key, size_t n, size_t segment_len)
{
    for (size_t i = 0; i < n; i++) {
        key[i] = (i + 1) % (segment_len + 1) == 0 ? '/' : 'a';
    }
    key[n] = '\0';
}

START_TEST(key_has_a_greatest_length)
{
    char key[ZD_KEY_BYTES_MAX + 2];
    fill_key(key, 255, 255);
    ck_assert(zd_key_is_valid(key));
    fill_key(key, 256, 300);
    ck_assert(!zd_key_is_valid(key));
    fill_key(key, ZD_KEY_BYTES_MAX, 100);
    ck_assert(zd_key_is_valid(key));
    fill_key(key, ZD_KEY_BYTES_MAX + 1, 100);
    ck_assert(!zd_key_is_valid(key));
}
END_TEST

START_TEST(store_refuses_bad_keys_in_done)
{
    ZD_FOR_STORE(test);
    for (size_t i = 0; i < ZD_COUNT_OF(key_facts); i++) {
        const char *key = key_facts[i].key;
        const enum zd_status wanted = key_facts[i].is_valid ? ZD_NOT_FOUND : ZD_INVALID;
        struct zd_store_read read;
        struct zd_store_status status = {0};
        struct zd_store_write erase = {0};
        zd_test_read_init(&read, key);
        snprintf(status.key, sizeof status.key, "%s", key);
        snprintf(erase.key, sizeof erase.key, "%s", key);
        ck_assert_int_eq(zd_test_read(&test, &read), wanted);
        ck_assert_int_eq(zd_test_status(&test, &status), wanted);
        ck_assert_int_eq(zd_test_erase(&test, &erase), wanted);
    }
    zd_test_store_close(&test);
}
END_TEST

static const struct prefix_fact {
    const char *prefix;
    enum zd_status status;
} prefix_facts[] = {
    {"", ZD_OK},
    {"a/", ZD_OK},
    {"a/b/", ZD_NOT_FOUND},
    {"x/", ZD_NOT_FOUND},
    {"key/", ZD_NOT_FOUND}, /* a key is no prefix */
    {"a", ZD_INVALID},
    {"/", ZD_INVALID},
    {"a//", ZD_INVALID},
    {"../", ZD_INVALID},
};

START_TEST(store_lists_what_is_a_prefix)
{
    ZD_FOR_STORE(test);
    zd_test_put(&test, "a/key", "1");
    zd_test_put(&test, "key", "1");
    for (size_t i = 0; i < ZD_COUNT_OF(prefix_facts); i++) {
        struct zd_store_list list = {.n_max = 10};
        snprintf(list.prefix, sizeof list.prefix, "%s", prefix_facts[i].prefix);
        ck_assert_int_eq(zd_test_list(&test, &list), prefix_facts[i].status);
        list.deep = true;
        zd_store_list_done(&list);
        ck_assert_int_eq(zd_test_list(&test, &list), prefix_facts[i].status);
        zd_store_list_done(&list);
    }
    zd_test_store_close(&test);
}
END_TEST

static const struct range_fact {
    struct zd_range range;
    size_t bytes_max;
    enum zd_status status;
    const char *bytes;
} range_facts[] = {
    {{ZD_RANGE_WHOLE, 0, 0}, 10, ZD_OK, "0123456789"},
    {{ZD_RANGE_WHOLE, 5, 1}, SIZE_MAX, ZD_OK, "0123456789"}, /* first and len say nothing */
    {{ZD_RANGE_WHOLE, 0, 0}, 9, ZD_TOO_LARGE, NULL},
    {{ZD_RANGE_WHOLE, 0, 0}, 0, ZD_TOO_LARGE, NULL},
    {{ZD_RANGE_FROM_TO, 0, 0}, 0, ZD_OK, ""},
    {{ZD_RANGE_FROM_TO, 0, 1}, 1, ZD_OK, "0"},
    {{ZD_RANGE_FROM_TO, 3, 4}, 4, ZD_OK, "3456"},
    {{ZD_RANGE_FROM_TO, 3, 4}, 3, ZD_TOO_LARGE, NULL},
    {{ZD_RANGE_FROM_TO, 9, 1}, 10, ZD_OK, "9"},
    {{ZD_RANGE_FROM_TO, 9, 2}, 10, ZD_OK, "9"},
    {{ZD_RANGE_FROM_TO, 10, 1}, 10, ZD_OK, ""},
    {{ZD_RANGE_FROM_TO, 11, 1}, 10, ZD_OK, ""},
    {{ZD_RANGE_FROM_TO, 0, UINT64_MAX}, 10, ZD_OK, "0123456789"},
    {{ZD_RANGE_FROM_TO, 1, UINT64_MAX}, 10, ZD_OK, "123456789"}, /* first + len does not fit */
    {{ZD_RANGE_FROM_TO, UINT64_MAX, UINT64_MAX}, 10, ZD_OK, ""},
    {{ZD_RANGE_SUFFIX, 0, 0}, 10, ZD_OK, ""},
    {{ZD_RANGE_SUFFIX, 0, 1}, 10, ZD_OK, "9"},
    {{ZD_RANGE_SUFFIX, 0, 10}, 10, ZD_OK, "0123456789"},
    {{ZD_RANGE_SUFFIX, 0, 11}, 10, ZD_OK, "0123456789"},
    {{ZD_RANGE_SUFFIX, 0, UINT64_MAX}, 10, ZD_OK, "0123456789"},
    {{ZD_RANGE_SUFFIX, 0, UINT64_MAX}, 9, ZD_TOO_LARGE, NULL},
    {{ZD_RANGE_SUFFIX, 2, 3}, 3, ZD_OK, "567"},
    {{ZD_RANGE_SUFFIX, 2, UINT64_MAX}, 10, ZD_OK, "01234567"},
    {{ZD_RANGE_SUFFIX, 10, 1}, 10, ZD_OK, ""},
    {{ZD_RANGE_SUFFIX, UINT64_MAX, UINT64_MAX}, 10, ZD_OK, ""},
};

static void check_bytes(const struct zd_store_read *read, const struct range_fact *fact)
{
    if (fact->status == ZD_OK) {
        ck_assert_uint_eq(read->bytes->len, strlen(fact->bytes));
        ck_assert_mem_eq(read->bytes->data, fact->bytes, read->bytes->len);
        ck_assert_uint_eq(read->stat.size, 10);
    }
    zd_buf_unref(read->bytes);
}

START_TEST(store_reads_ranges_cut_at_the_end)
{
    ZD_FOR_STORE(test);
    zd_test_put(&test, "a/b", "0123456789");
    for (size_t i = 0; i < ZD_COUNT_OF(range_facts); i++) {
        struct zd_store_read read;
        zd_test_read_init(&read, "a/b");
        read.range = range_facts[i].range;
        read.bytes_max = range_facts[i].bytes_max;
        ck_assert_msg(zd_test_read(&test, &read) == range_facts[i].status, "row %zu: %s", i,
            zd_status_name(read.op.status));
        check_bytes(&read, &range_facts[i]);
        const enum zd_status now = zd_store_read_now(test.store, &read);
        ck_assert_msg(now == range_facts[i].status || now == ZD_AGAIN, "row %zu, now: %s", i,
            zd_status_name(now));
        if (now != ZD_AGAIN) {
            check_bytes(&read, &range_facts[i]);
        }
    }
    zd_test_store_close(&test);
}
END_TEST

START_TEST(store_tells_the_limit_that_was_passed)
{
    ZD_FOR_STORE(test);
    struct zd_store_read read;
    zd_test_put(&test, "a", "0123456789");
    zd_test_read_init(&read, "a");
    read.bytes_max = 9;
    ck_assert_int_eq(zd_test_read(&test, &read), ZD_TOO_LARGE);
    ck_assert_uint_eq(read.op.err.facts.limit, 9);
    ck_assert_uint_eq(read.op.err.facts.requested, 10);
    zd_test_store_close(&test);
}
END_TEST

START_TEST(store_reads_and_writes_an_empty_object)
{
    ZD_FOR_STORE(test);
    const struct zd_stat stat = zd_test_put(&test, "empty", "");
    struct zd_store_read read;
    zd_test_read_init(&read, "empty");
    read.bytes_max = 0;
    ck_assert_uint_eq(stat.size, 0);
    ck_assert_int_eq(zd_test_read(&test, &read), ZD_OK);
    ck_assert_uint_eq(read.bytes->len, 0);
    zd_buf_unref(read.bytes);
    zd_test_store_close(&test);
}
END_TEST

static const char *const missing_keys[] = {"none", "a", "a/none", "a/b/none", "a/key/below"};

START_TEST(store_says_missing_of_absent_keys_and_of_prefixes)
{
    ZD_FOR_STORE(test);
    zd_test_put(&test, "a/key", "1");
    zd_test_put(&test, "a/b/key", "1");
    for (size_t i = 0; i < ZD_COUNT_OF(missing_keys); i++) {
        struct zd_store_read read;
        struct zd_store_status status = {0};
        zd_test_read_init(&read, missing_keys[i]);
        snprintf(status.key, sizeof status.key, "%s", missing_keys[i]);
        ck_assert_int_eq(zd_test_read(&test, &read), ZD_NOT_FOUND);
        ck_assert_int_eq(zd_test_status(&test, &status), ZD_NOT_FOUND);
        const enum zd_status read_now = zd_store_read_now(test.store, &read);
        ck_assert(read_now == ZD_NOT_FOUND || read_now == ZD_AGAIN);
        const enum zd_status status_now = zd_store_status_now(test.store, &status);
        ck_assert(status_now == ZD_NOT_FOUND || status_now == ZD_AGAIN);
    }
    zd_test_store_close(&test);
}
END_TEST

START_TEST(store_status_agrees_with_read_and_write)
{
    ZD_FOR_STORE(test);
    const struct zd_stat written = zd_test_put(&test, "a/key", "123");
    struct zd_store_status status = {.key = "a/key"};
    struct zd_store_read read;
    ck_assert_int_eq(zd_test_status(&test, &status), ZD_OK);
    ck_assert_uint_eq(status.stat.size, 3);
    ck_assert(zd_generation_equal(status.stat.generation, written.generation));
    ck_assert(!zd_generation_equal(status.stat.generation, (struct zd_generation){0}));
    zd_test_read_init(&read, "a/key");
    ck_assert_int_eq(zd_test_read(&test, &read), ZD_OK);
    ck_assert(zd_generation_equal(read.stat.generation, written.generation));
    ck_assert_int_eq(read.stat.mtime_ms, status.stat.mtime_ms);
    zd_buf_unref(read.bytes);
    zd_test_store_close(&test);
}
END_TEST

START_TEST(store_gives_every_rewrite_a_new_generation)
{
    ZD_FOR_STORE(test);
    struct zd_generation seen[64];
    for (size_t n = 0; n < ZD_COUNT_OF(seen); n++) {
        seen[n] = zd_test_put(&test, "key", "same").generation;
        for (size_t i = 0; i < n; i++) {
            ck_assert_msg(!zd_generation_equal(seen[i], seen[n]),
                "write %zu has the generation of write %zu", n, i);
        }
    }
    zd_test_store_close(&test);
}
END_TEST

START_TEST(store_reads_on_condition_of_a_generation)
{
    ZD_FOR_STORE(test);
    const struct zd_generation first = zd_test_put(&test, "key", "1").generation;
    const struct zd_generation second = zd_test_put(&test, "key", "2").generation;
    const struct {
        struct zd_generation unless;
        struct zd_generation only;
        enum zd_status status;
    } facts[] = {
        {first, {{0}}, ZD_OK},
        {second, {{0}}, ZD_NOT_MODIFIED},
        {{{0}}, first, ZD_PRECONDITION},
        {{{0}}, second, ZD_OK},
        {first, second, ZD_OK},
        {second, second, ZD_NOT_MODIFIED},
    };
    for (size_t i = 0; i < ZD_COUNT_OF(facts); i++) {
        struct zd_store_read read;
        zd_test_read_init(&read, "key");
        read.unless_generation = facts[i].unless;
        read.only_generation = facts[i].only;
        ck_assert_int_eq(zd_test_read(&test, &read), facts[i].status);
        if (read.bytes != NULL) {
            ck_assert(zd_span_is(zd_buf_span(read.bytes), "2"));
        }
        if (facts[i].status != ZD_PRECONDITION) {
            ck_assert(zd_generation_equal(read.stat.generation, second));
        }
        zd_buf_unref(read.bytes);
    }
    zd_test_store_close(&test);
}
END_TEST

START_TEST(store_says_missing_even_on_condition)
{
    ZD_FOR_STORE(test);
    struct zd_store_read read;
    zd_test_read_init(&read, "key");
    read.only_generation.word[0] = 1;
    ck_assert_int_eq(zd_test_read(&test, &read), ZD_NOT_FOUND);
    zd_test_store_close(&test);
}
END_TEST

static const char *const listed_keys[] = {
    "zarr.json", "a/zarr.json", "a/c/0/0", "a/c/0/1", "a/c/10", "a.b", "a0", "b/x", "\xc3\xa9/y"};

static const struct list_fact {
    const char *prefix;
    bool deep;
    const char *after; /* or NULL */
    size_t n_max;
    const char *listing;
} list_facts[] = {
    {"", false, NULL, 100, "a/ a.b a0 b/ zarr.json \xc3\xa9/"},
    {"", false, NULL, SIZE_MAX, "a/ a.b a0 b/ zarr.json \xc3\xa9/"},
    {"", false, NULL, 6, "a/ a.b a0 b/ zarr.json \xc3\xa9/"},
    {"", false, NULL, 5, "a/ a.b a0 b/ zarr.json +"},
    {"", false, NULL, 1, "a/ +"},
    {"", false, "a", 2, "a.b a0 +"},
    {"", false, "a.b", 100, "a0 b/ zarr.json \xc3\xa9/"},
    {"", false, "a.", 1, "a.b +"},
    {"", false, "zarr.json", 1, "\xc3\xa9/"},
    {"", false, "\xc3\xa9", 1, ""},
    {"a/", false, NULL, 100, "c/ zarr.json"},
    {"a/c/", false, NULL, 100, "0/ 10"},
    /* All levels: '.' sorts before '/', and '/' before '0'. */
    {"", true, NULL, 100, "a.b a/c/0/0 a/c/0/1 a/c/10 a/zarr.json a0 b/x zarr.json \xc3\xa9/y"},
    {"", true, NULL, SIZE_MAX,
        "a.b a/c/0/0 a/c/0/1 a/c/10 a/zarr.json a0 b/x zarr.json \xc3\xa9/y"},
    {"", true, NULL, 9, "a.b a/c/0/0 a/c/0/1 a/c/10 a/zarr.json a0 b/x zarr.json \xc3\xa9/y"},
    {"", true, NULL, 2, "a.b a/c/0/0 +"},
    {"", true, "a/c/0/0", 2, "a/c/0/1 a/c/10 +"},
    {"", true, "a/c/0", 2, "a/c/0/0 a/c/0/1 +"},
    {"", true, "a/c/0/", 2, "a/c/0/0 a/c/0/1 +"},
    {"", true, "a/c/0/0/0", 1, "a/c/0/1 +"},
    {"", true, "a/", 1, "a/c/0/0 +"},
    {"", true, "a", 1, "a.b +"},
    {"", true, "a0", 5, "b/x zarr.json \xc3\xa9/y"},
    {"", true, "b/x", 1, "zarr.json +"},
    {"", true, "\xc3\xa9/y", 1, ""},
    {"a/", true, NULL, 100, "c/0/0 c/0/1 c/10 zarr.json"},
    {"a/", true, "c/0/1", 1, "c/10 +"},
    {"a/c/0/", true, "0", 1, "1"},
};

START_TEST(store_lists_in_the_order_of_bytes)
{
    ZD_FOR_STORE(test);
    for (size_t i = 0; i < ZD_COUNT_OF(listed_keys); i++) {
        zd_test_put(&test, listed_keys[i], "1");
    }
    for (size_t i = 0; i < ZD_COUNT_OF(list_facts); i++) {
        const struct list_fact *fact = &list_facts[i];
        struct zd_store_list list = {.deep = fact->deep, .n_max = fact->n_max};
        ZD_SCOPED_TEXT(text, 1000);
        snprintf(list.prefix, sizeof list.prefix, "%s", fact->prefix);
        list.after = (char *)fact->after;
        ck_assert_int_eq(zd_test_list(&test, &list), ZD_OK);
        zd_test_list_text(&list, &text);
        ck_assert_msg(strcmp(text.at, fact->listing) == 0, "row %zu: \"%s\"", i, text.at);
        zd_store_list_done(&list);
    }
    zd_test_store_close(&test);
}
END_TEST

/* All pages of a listing one after the other, as one text. */
START_TEST(store_ends_a_listing_after_so_many_visits)
{
    ZD_FOR_STORE(test);
    for (size_t i = 0; i < ZD_COUNT_OF(listed_keys); i++) {
        zd_test_put(&test, listed_keys[i], "1");
    }
    uint32_t n_whole = 0;
    for (uint64_t visits_max = 1; visits_max < 100; visits_max++) {
        for (int deep = 0; deep <= 1; deep++) {
            struct zd_store_list list = {.deep = deep == 1, .n_max = 2, .visits_max = visits_max};
            ck_assert_int_eq(zd_test_list(&test, &list), ZD_OK);
            ck_assert_uint_le(list.n_visited, visits_max);
            ck_assert_uint_le(list.n_entries, 2);
            ck_assert_int_eq(zd_store_list_is_cut(&list), list.n_visited == visits_max);
            ck_assert(!zd_store_list_is_cut(&list) || !list.has_more);
            n_whole += list.has_more ? 1 : 0;
            zd_store_list_done(&list);
        }
    }
    ck_assert_uint_gt(n_whole, 100);
    zd_test_store_close(&test);
}
END_TEST

static void list_by_pages(struct zd_test_store *test, bool deep, size_t n_max, struct zd_text *text)
{
    char after[ZD_KEY_BYTES_MAX + 1] = "";
    bool has_more = true;
    while (has_more) {
        struct zd_store_list list = {.deep = deep, .n_max = n_max, .after = after};
        ck_assert_int_eq(zd_test_list(test, &list), ZD_OK);
        ck_assert_uint_le(list.n_entries, n_max);
        ck_assert(!list.has_more || list.n_entries == n_max);
        has_more = list.has_more;
        list.has_more = false;
        (void)zd_text_add(text, text->len == 0 || list.n_entries == 0 ? "" : " ");
        zd_test_list_text(&list, text);
        if (list.n_entries > 0) {
            snprintf(after, sizeof after, "%s", list.entry[list.n_entries - 1].name);
        }
        zd_store_list_done(&list);
    }
}

/* The same by one operation. */
static void list_in_one_go(
    struct zd_test_store *test, bool deep, size_t n_max, struct zd_text *text)
{
    struct zd_store_list list = {.deep = deep, .n_max = n_max};
    enum zd_status status = zd_test_list(test, &list);
    bool has_more = true;
    while (has_more) {
        ck_assert_int_eq(status, ZD_OK);
        has_more = list.has_more;
        list.has_more = false;
        (void)zd_text_add(text, text->len == 0 || list.n_entries == 0 ? "" : " ");
        zd_test_list_text(&list, text);
        list.has_more = has_more;
        status = has_more ? zd_test_list_next(test, &list) : ZD_OK;
    }
    zd_store_list_done(&list);
}

/* A short random key over few letters, so that keys share prefixes; never both key and prefix. */
static void random_key(char *key, size_t size)
{
    static const char *const directories[] = {"", "a/", "a/b/", "a.b/", "b/", "b/a/a/", "a0/"};
    const uint64_t r = zd_unit_random();
    snprintf(key, size, "%sk%llu", directories[r % ZD_COUNT_OF(directories)],
        (unsigned long long)(r >> 32) % 30);
}

START_TEST(store_lists_the_same_in_pages_of_any_size)
{
    ZD_FOR_STORE(test);
    for (int i = 0; i < 100; i++) {
        char key[64];
        random_key(key, sizeof key);
        zd_test_put(&test, key, "1");
    }
    for (int deep = 0; deep <= 1; deep++) {
        ZD_SCOPED_TEXT(whole, 100000);
        list_by_pages(&test, deep == 1, SIZE_MAX, &whole);
        for (size_t n_max = 1; n_max < 20; n_max += 3) {
            ZD_SCOPED_TEXT(paged, 100000);
            list_by_pages(&test, deep == 1, n_max, &paged);
            ck_assert_str_eq(paged.at, whole.at);
            zd_text_clear(&paged);
            list_in_one_go(&test, deep == 1, n_max, &paged);
            ck_assert_str_eq(paged.at, whole.at);
        }
    }
    zd_test_store_close(&test);
}
END_TEST

struct condition_fact {
    bool erase;
    enum zd_condition condition;
    int generation; /* of the write of that number; 2 = the one stored now */
    bool is_there;  /* the key that is written exists */
    enum zd_status status;
};

static const struct condition_fact condition_facts[] = {
    {false, ZD_CONDITION_NONE, 0, true, ZD_OK},
    {false, ZD_CONDITION_NONE, 0, false, ZD_OK},
    {false, ZD_CONDITION_ABSENT, 0, true, ZD_PRECONDITION},
    {false, ZD_CONDITION_ABSENT, 0, false, ZD_OK},
    {false, ZD_CONDITION_GENERATION, 1, true, ZD_PRECONDITION},
    {false, ZD_CONDITION_GENERATION, 2, true, ZD_OK},
    {false, ZD_CONDITION_GENERATION, 2, false, ZD_PRECONDITION},
    {true, ZD_CONDITION_NONE, 0, true, ZD_OK},
    {true, ZD_CONDITION_NONE, 0, false, ZD_NOT_FOUND},
    {true, ZD_CONDITION_ABSENT, 0, true, ZD_PRECONDITION},
    {true, ZD_CONDITION_GENERATION, 1, true, ZD_PRECONDITION},
    {true, ZD_CONDITION_GENERATION, 2, true, ZD_OK},
    {true, ZD_CONDITION_GENERATION, 2, false, ZD_PRECONDITION},
};

static void check_condition(
    struct zd_test_store *test, const struct condition_fact *fact, const char *key)
{
    struct zd_generation generation[3] = {{{0}}};
    generation[1] = zd_test_put(test, key, "1").generation;
    generation[2] = zd_test_put(test, key, "2").generation;
    struct zd_store_write write = {
        .bytes = fact->erase ? NULL : zd_buf_copy(zd_span_of("3")),
        .condition = fact->condition,
        .generation = generation[fact->generation],
    };
    snprintf(write.key, sizeof write.key, "%s%s", fact->is_there ? "" : "new/", key);
    const enum zd_status status =
        fact->erase ? zd_test_erase(test, &write) : zd_test_write(test, &write);
    ck_assert_msg(status == fact->status, "%s: %s", zd_status_name(status), write.op.err.text);
    struct zd_store_read read;
    zd_test_read_init(&read, write.key);
    const enum zd_status after = zd_test_read(test, &read);
    if (status == ZD_OK) {
        ck_assert_int_eq(after, fact->erase ? ZD_NOT_FOUND : ZD_OK);
    } else {
        ck_assert_int_eq(after, fact->is_there ? ZD_OK : ZD_NOT_FOUND);
    }
    if (read.bytes != NULL) {
        ck_assert(zd_span_is(zd_buf_span(read.bytes), status == ZD_OK ? "3" : "2"));
    }
    if (status == ZD_OK && !fact->erase) {
        ck_assert(zd_generation_equal(write.stat.generation, read.stat.generation));
    }
    zd_buf_unref(read.bytes);
    zd_buf_unref(write.bytes);
}

START_TEST(store_writes_and_erases_on_condition)
{
    ZD_FOR_STORE(test);
    for (size_t i = 0; i < ZD_COUNT_OF(condition_facts); i++) {
        char key[16];
        snprintf(key, sizeof key, "row%zu", i);
        check_condition(&test, &condition_facts[i], key);
    }
    zd_test_store_close(&test);
}
END_TEST

START_TEST(store_lets_one_of_many_creators_win)
{
    ZD_FOR_STORE(test);
    struct zd_store_write write[32];
    int n_won = 0;
    zd_test_count = 0;
    for (size_t i = 0; i < ZD_COUNT_OF(write); i++) {
        write[i] = (struct zd_store_write){
            .op = {.done = zd_test_done},
            .key = "a/b/key",
            .bytes = zd_buf_copy(zd_span_of("1")),
            .condition = ZD_CONDITION_ABSENT,
        };
        zd_store_write(test.store, &write[i]);
    }
    zd_test_wait(&test, ZD_COUNT_OF(write));
    for (size_t i = 0; i < ZD_COUNT_OF(write); i++) {
        n_won += write[i].op.status == ZD_OK;
        ck_assert(write[i].op.status == ZD_OK || write[i].op.status == ZD_PRECONDITION);
        zd_buf_unref(write[i].bytes);
    }
    ck_assert_int_eq(n_won, 1);
    zd_test_store_close(&test);
}
END_TEST

#define CROWD_KEYS   5
#define CROWD_ROUNDS 12
#define CROWD_BYTES  20000

static void check_not_torn(const struct zd_store_read *read)
{
    ck_assert(read->op.status == ZD_OK || read->op.status == ZD_NOT_FOUND);
    if (read->bytes != NULL) {
        ck_assert_uint_eq(read->bytes->len, CROWD_BYTES);
        ck_assert_mem_eq(read->bytes->data, read->bytes->data + 1, CROWD_BYTES - 1);
        zd_buf_unref(read->bytes);
    }
}

/* All at once: each key is written again and again, and read in between. */
START_TEST(store_makes_writes_of_a_key_in_order_and_tears_none)
{
    ZD_FOR_STORE(test);
    static struct zd_store_write write[CROWD_ROUNDS][CROWD_KEYS];
    static struct zd_store_read read[CROWD_ROUNDS][CROWD_KEYS];
    zd_test_count = 0;
    for (size_t round = 0; round < CROWD_ROUNDS; round++) {
        for (size_t key = 0; key < CROWD_KEYS; key++) {
            struct zd_store_write *w = &write[round][key];
            struct zd_store_read *r = &read[round][key];
            *w = (struct zd_store_write){
                .op = {.done = zd_test_done}, .bytes = zd_buf_new(CROWD_BYTES)};
            snprintf(w->key, sizeof w->key, "a%zu/%zu", key % 2, key);
            memset(w->bytes->data, (int)(round + 1), CROWD_BYTES);
            w->bytes->len = CROWD_BYTES;
            zd_store_write(test.store, w);
            zd_test_read_init(r, w->key);
            r->op.done = zd_test_done;
            zd_store_read(test.store, r);
        }
    }
    zd_test_wait(&test, 2 * CROWD_ROUNDS * CROWD_KEYS);
    for (size_t round = 0; round < CROWD_ROUNDS; round++) {
        for (size_t key = 0; key < CROWD_KEYS; key++) {
            ck_assert_int_eq(write[round][key].op.status, ZD_OK);
            zd_buf_unref(write[round][key].bytes);
            check_not_torn(&read[round][key]);
        }
    }
    for (size_t key = 0; key < CROWD_KEYS; key++) {
        struct zd_store_read last;
        zd_test_read_init(&last, write[0][key].key);
        ck_assert_int_eq(zd_test_read(&test, &last), ZD_OK);
        ck_assert_int_eq(last.bytes->data[0], CROWD_ROUNDS);
        check_not_torn(&last);
    }
    zd_test_store_close(&test);
}
END_TEST

START_TEST(store_shows_what_is_staged_when_it_is_committed)
{
    ZD_FOR_STORE(test);
    struct zd_store_write write;
    struct zd_store_list list = {.deep = true, .n_max = 100};
    ZD_SCOPED_TEXT(text, 1000);
    zd_test_put(&test, "key", "old");
    zd_test_stage(&test, "key", "new", &write);
    zd_test_expect(&test, "key", "old");
    write.phase = ZD_PHASE_COMMIT;
    ck_assert_int_eq(zd_test_write(&test, &write), ZD_OK);
    ck_assert_ptr_null(write.staged);
    ck_assert_uint_eq(write.stat.size, 3);
    zd_test_expect(&test, "key", "new");
    zd_test_stage(&test, "a/b/key", "new", &write);
    ck_assert_int_eq(zd_test_list(&test, &list), ZD_OK);
    zd_test_list_text(&list, &text);
    ck_assert_str_eq(text.at, "key"); /* no listing tells of it */
    zd_store_list_done(&list);
    write.phase = ZD_PHASE_COMMIT;
    write.condition = ZD_CONDITION_ABSENT;
    ck_assert_int_eq(zd_test_write(&test, &write), ZD_OK);
    zd_test_expect(&test, "a/b/key", "new");
    zd_test_store_close(&test);
}
END_TEST

START_TEST(store_judges_the_condition_when_it_commits)
{
    ZD_FOR_STORE(test);
    struct zd_store_write write;
    const struct zd_generation first = zd_test_put(&test, "key", "1").generation;
    zd_test_stage(&test, "key", "lost", &write);
    zd_test_put(&test, "key", "2");
    write.phase = ZD_PHASE_COMMIT;
    write.condition = ZD_CONDITION_GENERATION;
    write.generation = first;
    ck_assert_int_eq(zd_test_write(&test, &write), ZD_PRECONDITION);
    ck_assert_ptr_null(write.staged);
    zd_test_stage(&test, "key", "lost", &write);
    write.phase = ZD_PHASE_COMMIT;
    write.condition = ZD_CONDITION_ABSENT;
    ck_assert_int_eq(zd_test_write(&test, &write), ZD_PRECONDITION);
    zd_test_expect(&test, "key", "2");
    zd_test_store_close(&test);
}
END_TEST

START_TEST(store_forgets_what_is_discarded)
{
    ZD_FOR_STORE(test);
    struct zd_store_write write;
    zd_test_stage(&test, "key", "1", &write);
    write.phase = ZD_PHASE_DISCARD;
    ck_assert_int_eq(zd_test_write(&test, &write), ZD_OK);
    ck_assert_ptr_null(write.staged);
    zd_test_expect(&test, "key", NULL);
    zd_test_store_close(&test);
}
END_TEST

static enum zd_status extend(
    struct zd_test_store *test, struct zd_store_write *write, const char *text)
{
    ZD_AUTO(zd_buf) bytes = zd_buf_copy(zd_span_of(text));
    write->phase = ZD_PHASE_EXTEND;
    write->bytes = bytes;
    const enum zd_status status = zd_test_write(test, write);
    write->bytes = NULL;
    return status;
}

START_TEST(store_extends_what_is_staged)
{
    ZD_FOR_STORE(test);
    struct zd_store_write write;
    zd_test_put(&test, "a/key", "old");
    zd_test_stage(&test, "a/key", "one ", &write);
    if (zd_store_extends(test.store)) {
        ck_assert_int_eq(extend(&test, &write, "two "), ZD_OK);
        ck_assert_int_eq(extend(&test, &write, "three"), ZD_OK);
        ck_assert_uint_eq(write.staged->size, strlen("one two three"));
        zd_test_expect(&test, "a/key", "old");
        write.phase = ZD_PHASE_COMMIT;
        ck_assert_int_eq(zd_test_write(&test, &write), ZD_OK);
        ck_assert_uint_eq(write.stat.size, strlen("one two three"));
        zd_test_expect(&test, "a/key", "one two three");
        zd_test_stage(&test, "a/key", "1", &write);
        zd_store_stop_writes(test.store, "the disk");
        ck_assert_int_eq(extend(&test, &write, "2"), ZD_READ_ONLY);
        ck_assert_ptr_null(write.staged);
    } else {
        write.phase = ZD_PHASE_DISCARD;
        ck_assert_int_eq(zd_test_write(&test, &write), ZD_OK);
    }
    zd_test_store_close(&test);
}
END_TEST

/* Starts from `write`, with what was kept, and says how that ended. */
static enum zd_status undo(
    struct zd_test_store *test, struct zd_store_write *write, enum zd_condition condition)
{
    write->keeps_old = false;
    write->condition = condition;
    write->generation = write->stat.generation;
    write->phase = write->staged == NULL ? ZD_PHASE_WHOLE : ZD_PHASE_COMMIT;
    return write->staged == NULL ? zd_test_erase(test, write) : zd_test_write(test, write);
}

START_TEST(store_undoes_what_it_kept)
{
    ZD_FOR_STORE(test);
    struct zd_store_write write;
    const struct zd_generation first = zd_test_put(&test, "key", "old").generation;
    zd_test_stage(&test, "key", "newer", &write);
    write.phase = ZD_PHASE_COMMIT;
    write.keeps_old = true;
    ck_assert_int_eq(zd_test_write(&test, &write), ZD_OK);
    ck_assert_uint_eq(write.staged->size, 3);
    zd_test_expect(&test, "key", "newer");
    const struct zd_generation second = write.stat.generation;
    ck_assert_int_eq(undo(&test, &write, ZD_CONDITION_GENERATION), ZD_OK);
    ck_assert(!zd_generation_equal(write.stat.generation, first));
    ck_assert(!zd_generation_equal(write.stat.generation, second));
    zd_test_expect(&test, "key", "old");
    zd_test_stage(&test, "a/other", "new", &write);
    write.phase = ZD_PHASE_COMMIT;
    write.keeps_old = true;
    ck_assert_int_eq(zd_test_write(&test, &write), ZD_OK);
    ck_assert_ptr_null(write.staged);
    ck_assert_int_eq(undo(&test, &write, ZD_CONDITION_GENERATION), ZD_OK);
    zd_test_expect(&test, "a/other", NULL);
    struct zd_store_write erase = {.key = "key", .keeps_old = true};
    ck_assert_int_eq(zd_test_erase(&test, &erase), ZD_OK);
    zd_test_expect(&test, "key", NULL);
    ck_assert_int_eq(undo(&test, &erase, ZD_CONDITION_ABSENT), ZD_OK);
    zd_test_expect(&test, "key", "old");
    zd_test_store_close(&test);
}
END_TEST

START_TEST(store_keeps_nothing_of_what_it_did_not_change)
{
    ZD_FOR_STORE(test);
    struct zd_store_write write;
    struct zd_store_write erase = {.key = "none", .keeps_old = true};
    zd_test_put(&test, "key", "old");
    zd_test_stage(&test, "key", "new", &write);
    write.phase = ZD_PHASE_COMMIT;
    write.keeps_old = true;
    write.condition = ZD_CONDITION_ABSENT;
    ck_assert_int_eq(zd_test_write(&test, &write), ZD_PRECONDITION);
    ck_assert_ptr_null(write.staged);
    ck_assert_int_eq(zd_test_erase(&test, &erase), ZD_NOT_FOUND);
    ck_assert_ptr_null(erase.staged);
    zd_test_expect(&test, "key", "old");
    zd_test_store_close(&test);
}
END_TEST

START_TEST(store_takes_no_writes_after_a_failed_sync)
{
    ZD_FOR_STORE(test);
    struct zd_store_write staged[2];
    struct zd_store_write write = {.key = "key", .bytes = zd_buf_copy(zd_span_of("1"))};
    zd_test_put(&test, "key", "old");
    zd_test_stage(&test, "key", "1", &staged[0]);
    zd_test_stage(&test, "key", "2", &staged[1]);
    zd_store_stop_writes(test.store, "the first");
    zd_store_stop_writes(test.store, "the second");
    ck_assert_str_eq(test.store->failure, "the first");
    ck_assert_int_eq(zd_test_write(&test, &write), ZD_READ_ONLY);
    ck_assert_ptr_nonnull(strstr(write.op.err.text, "the first"));
    zd_buf_unref(write.bytes);
    write.bytes = NULL;
    ck_assert_int_eq(zd_test_erase(&test, &write), ZD_READ_ONLY);
    staged[0].phase = ZD_PHASE_COMMIT;
    ck_assert_int_eq(zd_test_write(&test, &staged[0]), ZD_READ_ONLY);
    ck_assert_ptr_null(staged[0].staged);
    staged[1].phase = ZD_PHASE_DISCARD;
    ck_assert_int_eq(zd_test_write(&test, &staged[1]), ZD_OK);
    zd_test_expect(&test, "key", "old");
    zd_test_store_close(&test);
}
END_TEST

START_TEST(store_ends_cancelled_commits_once)
{
    ZD_FOR_STORE(test);
    struct zd_store_write write[16];
    for (size_t i = 0; i < ZD_COUNT_OF(write); i++) {
        zd_test_stage(&test, "key", "1", &write[i]);
        write[i].phase = ZD_PHASE_COMMIT;
    }
    zd_test_count = 0;
    for (size_t i = 0; i < ZD_COUNT_OF(write); i++) {
        zd_store_write(test.store, &write[i]);
        zd_store_cancel(&write[i].op);
    }
    zd_test_wait(&test, ZD_COUNT_OF(write));
    for (size_t i = 0; i < ZD_COUNT_OF(write); i++) {
        ck_assert(write[i].op.status == ZD_OK || write[i].op.status == ZD_CANCELLED);
        ck_assert_ptr_null(write[i].staged);
    }
    zd_test_store_close(&test);
}
END_TEST

START_TEST(store_ends_cancelled_operations_once)
{
    ZD_FOR_STORE(test);
    struct zd_store_read read[64];
    struct zd_store_write write[16];
    const int n = ZD_COUNT_OF(read) + ZD_COUNT_OF(write);
    zd_test_put(&test, "key", "123");
    zd_test_count = 0;
    for (size_t i = 0; i < ZD_COUNT_OF(read); i++) {
        zd_test_read_init(&read[i], "key");
        read[i].op.done = zd_test_done;
        zd_store_read(test.store, &read[i]);
    }
    for (size_t i = 0; i < ZD_COUNT_OF(write); i++) {
        write[i] = (struct zd_store_write){
            .op = {.done = zd_test_done},
            .key = "other",
            .bytes = zd_buf_copy(zd_span_of("1")),
        };
        zd_store_write(test.store, &write[i]);
    }
    for (size_t i = 0; i < ZD_COUNT_OF(read); i += 2) {
        zd_store_cancel(&read[i].op);
        zd_store_cancel(&read[i].op); /* twice is once */
    }
    for (size_t i = 0; i < ZD_COUNT_OF(write); i += 2) {
        zd_store_cancel(&write[i].op);
    }
    ck_assert_int_eq(zd_test_count, 0);
    zd_test_wait(&test, n);
    for (size_t i = 0; i < ZD_COUNT_OF(read); i++) {
        ck_assert(read[i].op.status == ZD_OK || (i % 2 == 0 && read[i].op.status == ZD_CANCELLED));
        zd_buf_unref(read[i].bytes);
    }
    for (size_t i = 0; i < ZD_COUNT_OF(write); i++) {
        ck_assert(
            write[i].op.status == ZD_OK || (i % 2 == 0 && write[i].op.status == ZD_CANCELLED));
        zd_buf_unref(write[i].bytes);
    }
    zd_test_store_close(&test);
}
END_TEST

START_TEST(store_counts_what_it_is_asked)
{
    ZD_FOR_STORE(test);
    struct zd_store_read read;
    struct zd_store_status status = {.key = "key"};
    struct zd_store_list list = {.n_max = 1};
    zd_test_put(&test, "key", "0123456789");
    zd_test_read_init(&read, "key");
    read.range = (struct zd_range){.kind = ZD_RANGE_SUFFIX, .len = 4};
    ck_assert_int_eq(zd_test_read(&test, &read), ZD_OK);
    zd_buf_unref(read.bytes);
    ck_assert_int_eq(zd_test_status(&test, &status), ZD_OK);
    ck_assert_int_eq(zd_test_list(&test, &list), ZD_OK);
    zd_store_list_done(&list);
    ck_assert_uint_eq(test.store->n_writes, 1);
    ck_assert_uint_eq(test.store->n_reads, 1);
    ck_assert_uint_eq(test.store->n_read_bytes, 4);
    ck_assert_uint_eq(test.store->n_statuses, 1);
    ck_assert_uint_eq(test.store->n_lists, 1);
    if (zd_store_read_now(test.store, &read) == ZD_OK) {
        ck_assert_uint_eq(test.store->n_reads, 2);
        ck_assert_uint_eq(test.store->n_read_bytes, 8);
        zd_buf_unref(read.bytes);
    }
    zd_test_store_close(&test);
}
END_TEST

START_TEST(store_takes_no_writes_unless_it_is_writable)
{
    ZD_FOR_STORE(test);
    struct zd_store_write write = {.key = "key", .bytes = zd_buf_copy(zd_span_of("1"))};
    zd_test_put(&test, "key", "2");
    test.store->writable = false;
    ck_assert_int_eq(zd_test_write(&test, &write), ZD_READ_ONLY);
    zd_buf_unref(write.bytes);
    write.bytes = NULL;
    ck_assert_int_eq(zd_test_erase(&test, &write), ZD_READ_ONLY);
    zd_test_store_close(&test);
}
END_TEST

struct memory_case {
    struct zd_test_store *test;
    enum { CASE_READ, CASE_LIST, CASE_DEEP, CASE_WRITE } kind;
};

/* With the pool's threads asleep, the allocations of one operation are all there are. */
static enum zd_status work_with_failing_memory(void *context)
{
    const struct memory_case *memory = context;
    struct zd_store_read read;
    struct zd_store_list list = {.deep = memory->kind == CASE_DEEP, .n_max = 3};
    struct zd_store_write write = {.key = "new/key"};
    enum zd_status status = ZD_OK;
    switch (memory->kind) {
    case CASE_READ:
        zd_test_read_init(&read, "a/b");
        read.range = (struct zd_range){.kind = ZD_RANGE_SUFFIX, .len = 1};
        status = zd_test_read(memory->test, &read);
        zd_buf_unref(read.bytes);
        return status;
    case CASE_LIST:
    case CASE_DEEP:
        status = zd_test_list(memory->test, &list);
        zd_store_list_done(&list);
        return status;
    case CASE_WRITE:
        write.bytes = zd_buf_copy(zd_span_of("1"));
        status = write.bytes == NULL ? ZD_NO_MEMORY : zd_test_write(memory->test, &write);
        zd_buf_unref(write.bytes);
        return status;
    }
    return status;
}

START_TEST(store_says_when_memory_is_short)
{
    ZD_FOR_STORE(test);
    zd_test_put(&test, "a/b", "123");
    zd_test_put(&test, "a/c/d", "123");
    for (int kind = CASE_READ; kind <= CASE_WRITE; kind++) {
        struct memory_case memory = {.test = &test};
        memory.kind = kind;
        zd_unit_with_failing_memory(work_with_failing_memory, &memory);
    }
    zd_test_store_close(&test);
}
END_TEST

static enum zd_status open_with_failing_memory(void *context)
{
    uv_loop_t *loop = context;
    const char *const locations[] = {"mem:", "file:///tmp", "/tmp"};
    for (size_t i = 0; i < ZD_COUNT_OF(locations); i++) {
        const struct zd_store_config config = {.location = locations[i], .loop = loop};
        struct zd_store *store = NULL;
        struct zd_error err = {0};
        const enum zd_status status = zd_store_open(&config, &store, &err);
        if (status != ZD_OK) {
            ck_assert_str_ne(err.text, "");
            return status;
        }
        zd_store_close(store);
    }
    return ZD_OK;
}

START_TEST(store_opens_or_says_that_memory_is_short)
{
    uv_loop_t loop;
    ck_assert_int_eq(uv_loop_init(&loop), 0);
    zd_unit_with_failing_memory(open_with_failing_memory, &loop);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
}
END_TEST

static const struct location_fact {
    const char *location;
    enum zd_status status;
} location_facts[] = {
    {"mem:", ZD_OK},
    {"mem:x", ZD_INVALID},
    {"mem", ZD_NOT_FOUND}, /* a path */
    {"/tmp", ZD_OK},
    {"/tmp/", ZD_OK},
    {".", ZD_OK},
    {"file:/tmp", ZD_OK},
    {"file:///tmp", ZD_OK},
    {"file:///%74mp", ZD_OK},
    {"file://localhost/tmp", ZD_OK},
    {"file://elsewhere/tmp", ZD_INVALID},
    {"file:tmp", ZD_INVALID},
    {"file:", ZD_INVALID},
    {"file:///tmp%", ZD_INVALID},
    {"file:///tmp%0", ZD_INVALID},
    {"file:///tmp%00", ZD_INVALID},
    {"file:///tmp%zz", ZD_INVALID},
    {"/dev/null", ZD_NOT_FOUND}, /* no directory */
    {"/nonexistent/zarrd", ZD_NOT_FOUND},
    {"", ZD_NOT_FOUND},
    {"gopher://host/x", ZD_INVALID},
};

START_TEST(store_opens_a_location_by_its_scheme)
{
    uv_loop_t loop;
    struct zd_store *store = NULL;
    struct zd_error err = {0};
    ck_assert_int_eq(uv_loop_init(&loop), 0);
    const struct zd_store_config config = {
        .location = location_facts[_i].location, .loop = &loop, .writable = false};
    const enum zd_status status = zd_store_open(&config, &store, &err);
    ck_assert_msg(status == location_facts[_i].status, "%s: %s", config.location, err.text);
    if (status == ZD_OK) {
        ck_assert_str_eq(store->location, config.location);
    } else {
        ck_assert_str_ne(err.text, "");
    }
    zd_store_close(store);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, key_is_judged_by_its_segments, 0, ZD_COUNT_OF(key_facts));
    tcase_add_test(tests, key_has_a_greatest_length);
    tcase_add_loop_test(
        tests, store_opens_a_location_by_its_scheme, 0, ZD_COUNT_OF(location_facts));
    tcase_add_test(tests, store_opens_or_says_that_memory_is_short);
    tcase_add_loop_test(tests, store_refuses_bad_keys_in_done, 0, ZD_TEST_STORES_MAX);
    tcase_add_loop_test(tests, store_lists_what_is_a_prefix, 0, ZD_TEST_STORES_MAX);
    tcase_add_loop_test(tests, store_reads_ranges_cut_at_the_end, 0, ZD_TEST_STORES_MAX);
    tcase_add_loop_test(tests, store_tells_the_limit_that_was_passed, 0, ZD_TEST_STORES_MAX);
    tcase_add_loop_test(tests, store_reads_and_writes_an_empty_object, 0, ZD_TEST_STORES_MAX);
    tcase_add_loop_test(
        tests, store_says_missing_of_absent_keys_and_of_prefixes, 0, ZD_TEST_STORES_MAX);
    tcase_add_loop_test(tests, store_status_agrees_with_read_and_write, 0, ZD_TEST_STORES_MAX);
    tcase_add_loop_test(tests, store_gives_every_rewrite_a_new_generation, 0, ZD_TEST_STORES_MAX);
    tcase_add_loop_test(tests, store_reads_on_condition_of_a_generation, 0, ZD_TEST_STORES_MAX);
    tcase_add_loop_test(tests, store_says_missing_even_on_condition, 0, ZD_TEST_STORES_MAX);
    tcase_add_loop_test(tests, store_lists_in_the_order_of_bytes, 0, ZD_TEST_STORES_MAX);
    tcase_add_loop_test(tests, store_ends_a_listing_after_so_many_visits, 0, ZD_TEST_STORES_MAX);
    tcase_add_loop_test(tests, store_lists_the_same_in_pages_of_any_size, 0, ZD_TEST_STORES_MAX);
    tcase_add_loop_test(tests, store_writes_and_erases_on_condition, 0, ZD_TEST_STORES_MAX);
    tcase_add_loop_test(tests, store_lets_one_of_many_creators_win, 0, ZD_TEST_STORES_MAX);
    tcase_add_loop_test(
        tests, store_makes_writes_of_a_key_in_order_and_tears_none, 0, ZD_TEST_STORES_MAX);
    tcase_add_loop_test(
        tests, store_shows_what_is_staged_when_it_is_committed, 0, ZD_TEST_STORES_MAX);
    tcase_add_loop_test(tests, store_extends_what_is_staged, 0, ZD_TEST_STORES_MAX);
    tcase_add_loop_test(tests, store_undoes_what_it_kept, 0, ZD_TEST_STORES_MAX);
    tcase_add_loop_test(
        tests, store_keeps_nothing_of_what_it_did_not_change, 0, ZD_TEST_STORES_MAX);
    tcase_add_loop_test(tests, store_judges_the_condition_when_it_commits, 0, ZD_TEST_STORES_MAX);
    tcase_add_loop_test(tests, store_forgets_what_is_discarded, 0, ZD_TEST_STORES_MAX);
    tcase_add_loop_test(tests, store_takes_no_writes_after_a_failed_sync, 0, ZD_TEST_STORES_MAX);
    tcase_add_loop_test(tests, store_ends_cancelled_commits_once, 0, ZD_TEST_STORES_MAX);
    tcase_add_loop_test(tests, store_ends_cancelled_operations_once, 0, ZD_TEST_STORES_MAX);
    tcase_add_loop_test(tests, store_counts_what_it_is_asked, 0, ZD_TEST_STORES_MAX);
    tcase_add_loop_test(tests, store_takes_no_writes_unless_it_is_writable, 0, ZD_TEST_STORES_MAX);
    tcase_add_loop_test(tests, store_says_when_memory_is_short, 0, ZD_TEST_STORES_MAX);
}
