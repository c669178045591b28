/* Facts about core/store/contract/listing_pages: the order of names, their pages, and what they
 * hold. */
#include "core/store/contract/listing_pages.h"

#include <string.h>

#include "tests/support/store.h"
#include "tests/support/unit.h"

static struct zd_store_memory all;

static void give(struct zd_store_list *list, const char *page)
{
    ZD_SCOPED_TEXT(text, 200);
    ck_assert_int_eq(zd_listing_pages_give(zd_listing_pages_of(list->cursor), list), ZD_OK);
    zd_test_list_text(list, &text);
    ck_assert_str_eq(text.at, page);
    for (size_t i = 0; i < list->n_entries; i++) {
        zd_free(list->entry[i].name);
    }
    zd_free(ZD_TAKE(list->entry));
    list->n_entries = 0;
}

/* A key comes before a prefix of the same name, and bytes say what is greater. */
START_TEST(names_are_sorted_and_come_once_page_by_page)
{
    static const struct {
        const char *name;
        bool is_prefix;
    } added[] = {{"b", false}, {"a", true}, {"é", false}, {"a", false}, {"b", false}, {"a-", false},
        {"a", true}, {"B", true}};
    struct zd_listing_pages *names = zd_listing_pages_new(&all);
    struct zd_store_list list = {.n_max = 2};
    ck_assert(!zd_listing_pages_has_any(names));
    for (size_t i = 0; i < ZD_COUNT_OF(added); i++) {
        ck_assert_int_eq(
            zd_listing_pages_add(names, added[i].name, added[i].is_prefix, NULL), ZD_OK);
    }
    ck_assert(zd_listing_pages_has_any(names));
    zd_listing_pages_sort(names);
    list.cursor = zd_listing_pages_cursor(names);
    give(&list, "B/ a +");
    give(&list, "a/ a- +");
    give(&list, "b é");
    give(&list, "");
    zd_store_list_done(&list);
}
END_TEST

START_TEST(a_page_begins_behind_a_name)
{
    static char after[] = "b";
    struct zd_listing_pages *names = zd_listing_pages_new(&all);
    struct zd_store_list list = {.n_max = 2, .after = after};
    for (const char *name = "a\0b\0c\0d\0e\0"; *name != '\0'; name += 2) {
        ck_assert_int_eq(zd_listing_pages_add(names, name, false, NULL), ZD_OK);
    }
    zd_listing_pages_sort(names);
    list.cursor = zd_listing_pages_cursor(names);
    give(&list, "c d +");
    give(&list, "e");
    zd_store_list_done(&list);
}
END_TEST

START_TEST(their_memory_is_counted_until_they_are_freed)
{
    struct zd_store_memory little = {.bytes_max = 1 << 20};
    struct zd_listing_pages *names = zd_listing_pages_new(&little);
    ck_assert_int_eq(zd_listing_pages_add(names, "a", false, NULL), ZD_OK);
    ck_assert_int_eq(zd_listing_pages_count(names, 1 << 20, NULL), ZD_TOO_LARGE);
    ck_assert_int_eq(zd_listing_pages_count(names, 1000, NULL), ZD_OK);
    ck_assert_uint_gt(little.bytes, 1000);
    ck_assert_int_eq(zd_listing_pages_count(names, 0, NULL), ZD_OK);
    ck_assert_uint_gt(little.bytes, 0);
    ck_assert_uint_lt(little.bytes, 1 << 16);
    zd_listing_pages_free(names);
    ck_assert_uint_eq(little.bytes, 0);
    zd_listing_pages_free(NULL);
}
END_TEST

static enum zd_status add_some(void *context)
{
    struct zd_listing_pages *names = zd_listing_pages_new(context);
    struct zd_store_list list = {.n_max = 2};
    enum zd_status status = names == NULL ? ZD_NO_MEMORY : ZD_OK;
    for (int i = 0; i < 3 && status == ZD_OK; i++) {
        status = zd_listing_pages_add(names, "name", i == 1, NULL);
    }
    if (status == ZD_OK) {
        zd_listing_pages_sort(names);
        status = zd_listing_pages_give(names, &list);
    }
    zd_store_list_done(&list);
    zd_listing_pages_free(names);
    return status;
}

START_TEST(without_memory_they_say_so)
{
    zd_unit_with_failing_memory(add_some, &all);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, names_are_sorted_and_come_once_page_by_page);
    tcase_add_test(tests, a_page_begins_behind_a_name);
    tcase_add_test(tests, their_memory_is_counted_until_they_are_freed);
    tcase_add_test(tests, without_memory_they_say_so);
}
