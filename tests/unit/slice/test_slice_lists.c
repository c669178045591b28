/* Facts about server/slice/slice_lists: lists of indices, and points. */
#include "server/slice/slice_lists.h"

#include <string.h>

#include "core/base/num.h"
#include "tests/support/codec.h"

#define RANK        3
#define SHOWN_BYTES 256

static const uint64_t shape[RANK] = {10, 20, 30};
static const uint64_t origin[RANK] = {1, 2, 3};

/* Lists in place of items of `slice`, each of which is ":" there. */
static const struct list_fact {
    const char *slice;
    uint64_t item;
    const char *list;
    enum zd_status status;
    uint32_t dim;       /* that the list, or its fault, is of */
    const char *places; /* as the client counts */
} list_facts[] = {
    {":", 0, "[3,0,3]", ZD_OK, 0, "3 0 3 "},
    {":", 0, "[]", ZD_OK, 0, ""},
    {"1,:", 1, "[-1,-20]", ZD_OK, 1, "19 0 "},
    {"...,:", 1, "[29]", ZD_OK, 2, "29 "},
    {":,...", 0, "[9]", ZD_OK, 0, "9 "},
    {"1,...,:", 2, "[5]", ZD_OK, 2, "5 "},
    {"...,:,1", 1, "[5]", ZD_OK, 1, "5 "},
    {":", 0, "[0,10]", ZD_OUT_OF_BOUNDS, 0, NULL},
    {"...,:", 1, "[-31]", ZD_OUT_OF_BOUNDS, 2, NULL},
    {":", 0, "[-9223372036854775808]", ZD_OUT_OF_BOUNDS, 0, NULL},
};

static void show(struct zd_text *text, const struct zd_axis *axis)
{
    for (uint64_t i = 0; axis->list != NULL && i < axis->count; i++) {
        zd_text_addf(text, "%llu ", (unsigned long long)axis->list[i]);
    }
}

START_TEST(lists_stand_for_dimensions)
{
    const struct list_fact *fact = &list_facts[_i];
    const struct zd_slice_lists_array array = {.rank = RANK, .shape = shape, .origin = origin};
    const struct zd_pointer at = {.text = "/slice/0"};
    struct zd_slice_lists lists = {0};
    struct zd_selection asked;
    struct zd_error err = {0};
    ZD_AUTO(zd_json) json = zd_unit_json(fact->list);
    ZD_SCOPED_TEXT(shown, SHOWN_BYTES);
    ck_assert(!zd_slice_lists_exist(&lists));
    ck_assert_int_eq(zd_slice_lists_add(&lists, json, &at, fact->item, &err), ZD_OK);
    ck_assert(zd_slice_lists_exist(&lists));
    ck_assert_int_eq(zd_selection_parse(zd_span_of(fact->slice), RANK, shape, &asked, NULL), ZD_OK);
    ck_assert_int_eq(
        zd_slice_lists_apply(&lists, zd_span_of(fact->slice), &array, &asked, &err), fact->status);
    if (fact->status == ZD_OK) {
        struct zd_selection stored = asked;
        show(&shown, &asked.axis[fact->dim]);
        ck_assert_str_eq(shown.at, fact->places);
        ck_assert_uint_eq(asked.axis[fact->dim].count, zd_json_count(json));
        zd_slice_lists_store(&lists, &stored);
        for (uint64_t i = 0; i < asked.axis[fact->dim].count; i++) {
            ck_assert_uint_eq(
                stored.axis[fact->dim].list[i], asked.axis[fact->dim].list[i] + origin[fact->dim]);
        }
    } else {
        ck_assert_uint_eq(err.facts.dim, fact->dim);
        ck_assert_uint_eq(err.facts.size, shape[fact->dim]);
    }
    zd_slice_lists_done(&lists);
}
END_TEST

static const struct points_fact {
    const char *points;
    enum zd_status status;
    const char *pointer; /* of a fault of the body; NULL: none, or one of the array */
} points_facts[] = {
    {"[[0,0,0],[9,19,29],[-1,-1,-1]]", ZD_OK, NULL},
    {"[]", ZD_OK, NULL},
    {"[[0,0]]", ZD_INVALID, NULL}, /* the array has three dimensions */
    {"[[0,0,30]]", ZD_OUT_OF_BOUNDS, NULL},
    {"[[]]", ZD_INVALID, "/points"},
    {"1", ZD_INVALID, "/points"},
    {"[1]", ZD_INVALID, "/points/0"},
    {"[[0,0,0],[0,0]]", ZD_INVALID, "/points/1"},
    {"[[0,0,0],[0,0,0.5]]", ZD_INVALID, "/points/1/2"},
};

START_TEST(points_are_joint)
{
    const struct points_fact *fact = &points_facts[_i];
    const struct zd_slice_lists_array array = {.rank = RANK, .shape = shape};
    const struct zd_pointer at = {.text = "/points"};
    struct zd_slice_lists lists = {0};
    struct zd_selection asked;
    struct zd_error err = {0};
    ZD_AUTO(zd_json) json = zd_unit_json(fact->points);
    const enum zd_status status = zd_slice_lists_add_points(&lists, json, &at, &err);
    ck_assert_int_eq(status, fact->pointer != NULL ? ZD_INVALID : ZD_OK);
    zd_selection_whole(RANK, shape, &asked);
    if (status != ZD_OK) {
        ck_assert_str_eq(err.facts.pointer, fact->pointer);
    } else {
        ck_assert_int_eq(
            zd_slice_lists_apply(&lists, zd_span_of(""), &array, &asked, &err), fact->status);
    }
    if (fact->status == ZD_OK) {
        uint64_t result[ZD_RANK_MAX];
        ck_assert_uint_eq(zd_selection_shape(&asked, result), 1);
        ck_assert_uint_eq(result[0], zd_json_count(json));
    }
    zd_slice_lists_done(&lists);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, lists_stand_for_dimensions, 0, ZD_COUNT_OF(list_facts));
    tcase_add_loop_test(tests, points_are_joint, 0, ZD_COUNT_OF(points_facts));
}
