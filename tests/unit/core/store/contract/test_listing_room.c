/* Facts about core/store/contract/listing_room: who may hold how much, and what is given back. */
#include "core/store/contract/listing_room.h"

#include "tests/support/unit.h"

START_TEST(listings_hold_no_more_than_all_may)
{
    struct zd_store_memory all = {.bytes_max = 10};
    struct zd_listing_room one = {.of = &all};
    struct zd_listing_room other = {.of = &all};
    struct zd_error err = {0};
    ck_assert_int_eq(zd_listing_room_set(&one, 6, &err), ZD_OK);
    ck_assert_int_eq(zd_listing_room_set(&other, 4, &err), ZD_OK);
    ck_assert_int_eq(zd_listing_room_set(&other, 5, &err), ZD_NO_MEMORY);
    ck_assert_uint_eq(all.bytes, 10);
    ck_assert_int_eq(zd_listing_room_set(&one, 5, &err), ZD_OK); /* in place of what it held */
    ck_assert_int_eq(zd_listing_room_set(&other, 5, &err), ZD_OK);
    zd_listing_room_done(&one);
    zd_listing_room_done(&one);
    ck_assert_uint_eq(all.bytes, 5);
    ck_assert_int_eq(zd_listing_room_set(&other, 10, &err), ZD_OK);
    ck_assert_int_eq(zd_listing_room_set(&other, 11, &err), ZD_TOO_LARGE);
    ck_assert_uint_eq(err.facts.limit, 10);
    ck_assert_int_eq(zd_listing_room_set(&other, UINT64_MAX, &err), ZD_TOO_LARGE);
    zd_listing_room_done(&other);
    ck_assert_uint_eq(all.bytes, 0);
}
END_TEST

START_TEST(without_a_bound_they_are_counted)
{
    struct zd_store_memory all = {0};
    struct zd_listing_room room = {.of = &all};
    ck_assert_int_eq(zd_listing_room_set(&room, UINT64_MAX, NULL), ZD_OK);
    ck_assert_uint_eq(all.bytes, UINT64_MAX);
    zd_listing_room_done(&room);
    ck_assert_uint_eq(all.bytes, 0);
    zd_listing_room_done(&(struct zd_listing_room){0});
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, listings_hold_no_more_than_all_may);
    tcase_add_test(tests, without_a_bound_they_are_counted);
}
