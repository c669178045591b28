/* Facts about core/base/map. */
#include "core/base/map.h"

#include <stdio.h>

#include "tests/support/unit.h"

#define N_ENTRIES 1000
#define KEY_BYTES 16

struct word {
    struct zd_map_entry entry;
    char key[KEY_BYTES];
    bool is_in;
};

static struct word words[N_ENTRIES];

static void name_words(void)
{
    for (int i = 0; i < N_ENTRIES; i++) {
        snprintf(words[i].key, sizeof words[i].key, "key%d", i);
        words[i].entry.key = zd_span_of(words[i].key);
        words[i].is_in = false;
    }
}

START_TEST(an_empty_map_finds_nothing)
{
    struct zd_map map;
    zd_map_init(&map);
    ck_assert_ptr_null(zd_map_find(&map, zd_span_of("a")));
    zd_map_done(&map);
}
END_TEST

START_TEST(a_map_agrees_with_a_list)
{
    struct zd_map map;
    zd_map_init(&map);
    name_words();
    size_t n_in = 0;
    for (int step = 0; step < 20 * N_ENTRIES; step++) {
        struct word *word = &words[zd_unit_random() % N_ENTRIES];
        struct zd_map_entry *found = zd_map_find(&map, zd_span_of(word->key));
        ck_assert_ptr_eq(found, word->is_in ? &word->entry : NULL);
        if (word->is_in) {
            zd_map_remove(&map, &word->entry);
            n_in--;
        } else {
            ck_assert_int_eq(zd_map_put(&map, &word->entry), ZD_OK);
            n_in++;
        }
        word->is_in = !word->is_in;
        ck_assert_uint_eq(map.n_entries, n_in);
    }
    for (size_t i = 0; i < N_ENTRIES; i++) {
        if (words[i].is_in) {
            zd_map_remove(&map, &words[i].entry);
        }
    }
    ck_assert_uint_eq(map.n_entries, 0);
    zd_map_done(&map);
}
END_TEST

START_TEST(the_empty_key_and_keys_with_nul_are_keys)
{
    struct zd_map map;
    zd_map_init(&map);
    struct zd_map_entry empty = {.key = {0}};
    struct zd_map_entry nul = {.key = {.ptr = (const uint8_t *)"\0", .len = 1}};
    ck_assert_int_eq(zd_map_put(&map, &empty), ZD_OK);
    ck_assert_int_eq(zd_map_put(&map, &nul), ZD_OK);
    ck_assert_ptr_eq(zd_map_find(&map, zd_span_of("")), &empty);
    ck_assert_ptr_eq(zd_map_find(&map, nul.key), &nul);
    zd_map_done(&map);
}
END_TEST

static enum zd_status fill(void *context)
{
    (void)context;
    struct zd_map map;
    zd_map_init(&map);
    name_words();
    enum zd_status status = ZD_OK;
    for (int i = 0; i < N_ENTRIES && status == ZD_OK; i++) {
        status = zd_map_put(&map, &words[i].entry);
        const bool is_there = zd_map_find(&map, words[i].entry.key) != NULL;
        ck_assert_int_eq(is_there, status == ZD_OK);
    }
    zd_map_done(&map);
    return status;
}

START_TEST(short_memory_puts_nothing_in)
{
    zd_unit_with_failing_memory(fill, NULL);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, an_empty_map_finds_nothing);
    tcase_add_test(tests, a_map_agrees_with_a_list);
    tcase_add_test(tests, the_empty_key_and_keys_with_nul_are_keys);
    tcase_add_test(tests, short_memory_puts_nothing_in);
}
