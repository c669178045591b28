/* Facts about core/store/contract/page. */
#include "core/store/contract/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"

#define N_NAMES_MAX 60
#define NAME_BYTES  8

static int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Different names in a random order; sorted[] holds them in the right one. */
static size_t make_names(char names[][NAME_BYTES], char sorted[][NAME_BYTES])
{
    const size_t n = zd_unit_random() % (N_NAMES_MAX + 1);
    for (size_t i = 0; i < n; i++) {
        /* 37 and 101 are coprime: no number comes twice. */
        snprintf(names[i], NAME_BYTES, "%x", (unsigned)((i * 37 + n) % 101));
    }
    memcpy(sorted, names, N_NAMES_MAX * sizeof *names);
    qsort(sorted, n, sizeof *sorted, compare_names);
    return n;
}

START_TEST(listing_keeps_the_smallest_names_after_a_bound)
{
    char names[N_NAMES_MAX][NAME_BYTES] = {{0}};
    char sorted[N_NAMES_MAX][NAME_BYTES];
    for (int i = 0; i < 500; i++) {
        const size_t n = make_names(names, sorted);
        const size_t n_max = 1 + zd_unit_random() % (N_NAMES_MAX + 2);
        const size_t n_behind = n == 0 ? 0 : zd_unit_random() % (n + 1);
        const size_t n_ahead = n - n_behind;
        struct zd_page listing;
        struct zd_store_list list = {0};
        zd_page_init(&listing, n_behind == 0 ? NULL : sorted[n_behind - 1], n_max);
        for (size_t j = 0; j < n; j++) {
            ck_assert_int_eq(zd_page_offer(&listing, names[j], false), ZD_OK);
            ck_assert_uint_le(listing.n_entries, n_max);
        }
        zd_page_finish(&listing, &list);
        ck_assert_uint_eq(list.n_entries, n_ahead < n_max ? n_ahead : n_max);
        ck_assert_int_eq(list.has_more, n_ahead > n_max);
        for (size_t j = 0; j < list.n_entries; j++) {
            ck_assert_str_eq(list.entry[j].name, sorted[n_behind + j]);
        }
        zd_store_list_done(&list);
        zd_page_done(&listing);
    }
}
END_TEST

START_TEST(listing_puts_a_key_before_a_prefix_of_its_name)
{
    struct zd_page listing;
    zd_page_init(&listing, NULL, 2);
    ck_assert_int_eq(zd_page_offer(&listing, "a", true), ZD_OK);
    ck_assert_int_eq(zd_page_offer(&listing, "b", false), ZD_OK);
    ck_assert_int_eq(zd_page_offer(&listing, "a", false), ZD_OK);
    zd_page_sort(&listing);
    ck_assert(listing.has_more);
    ck_assert(!listing.entry[0].is_prefix);
    ck_assert(listing.entry[1].is_prefix);
    zd_page_done(&listing);
}
END_TEST

static enum zd_status offer_some(void *context)
{
    (void)context;
    struct zd_page listing;
    enum zd_status status = ZD_OK;
    zd_page_init(&listing, NULL, 40);
    for (int i = 0; i < N_NAMES_MAX && status == ZD_OK; i++) {
        char name[NAME_BYTES];
        snprintf(name, sizeof name, "%d", 99 - i);
        status = zd_page_offer(&listing, name, false);
    }
    zd_page_done(&listing);
    return status;
}

START_TEST(listing_says_when_memory_is_short)
{
    zd_unit_with_failing_memory(offer_some, NULL);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, listing_keeps_the_smallest_names_after_a_bound);
    tcase_add_test(tests, listing_puts_a_key_before_a_prefix_of_its_name);
    tcase_add_test(tests, listing_says_when_memory_is_short);
}
