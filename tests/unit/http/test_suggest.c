/* Facts about server/http/suggest: how far names are from what was typed, and which come first. */
#include "server/http/suggest.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/unit.h"

#define A64 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static const struct {
    const char *typed;
    const char *name;
    uint32_t distance;
} distances[] = {
    {"", "", 0}, {"", "abc", 3}, {"slice", "slice", 0}, {"slcie", "slice", 1}, /* swapped */
    {"slic", "slice", 1}, {"slicee", "slice", 1}, {"slixe", "slice", 1}, {"formt", "format", 1},
    {"kitten", "sitting", 3}, {"ca", "abc", 3}, /* what was swapped is not changed again */
    {A64, A64, 0}, {A64 "b", A64, 1}, {A64 "bb", A64 "c", 2}, /* all beyond 64 bytes differs */
};

START_TEST(a_distance_counts_slips)
{
    const struct zd_span typed = zd_span_of(distances[_i].typed);
    const struct zd_span name = zd_span_of(distances[_i].name);
    ck_assert_uint_eq(zd_suggest_distance(typed, name), distances[_i].distance);
    ck_assert_uint_eq(zd_suggest_distance(name, typed), distances[_i].distance);
}
END_TEST

static const struct {
    const char *path;
    const char *template;
    uint32_t distance;
} paths[] = {
    {"/v1/datasets", "/v1/datasets", 0},
    {"/v1/dataset", "/v1/datasets", 1},
    {"/v1/datasets/x/slice/a/b", "/v1/datasets/{d}/slices/{path}", 1},
    {"/v1/datasets/anything/slices", "/v1/datasets/{d}/slices/{path}", 0},
    {"/v1/datasets", "/v1/datasets/{d}", 1},
    {"/v1/datasets/x/more", "/v1/datasets/{d}", 4},
    {"/v1/datasets/x/a/bc", "/v1/datasets/{d}", 4}, /* behind the template: as one */
    {"/livex/a/a/a", "/livez", 6},
    {"/", "/v1", 2},
    {"/zar/d/k", "/zarr/{d}/{key}", 1},
};

START_TEST(a_path_is_compared_segment_by_segment)
{
    ck_assert_uint_eq(
        zd_suggest_path_distance(paths[_i].path, paths[_i].template), paths[_i].distance);
}
END_TEST

START_TEST(the_nearest_come_first_and_the_farthest_give_way)
{
    static const char *const names[] = {"n", "m", "l", "k", "j", "i", "h", "g", "f", "e", "d", "c",
        "b", "a", "A", "B", "C", "D", "E", "F"};
    struct zd_suggest nearest = {.n = 0};
    for (uint32_t i = 0; i < 20; i++) {
        zd_suggest_add(&nearest, names[i], 30 - i);
        zd_suggest_add(&nearest, names[i], 0); /* it is there already */
    }
    ck_assert_uint_eq(nearest.n, ZD_SUGGEST_MAX);
    for (uint32_t i = 0; i < ZD_SUGGEST_MAX; i++) {
        ck_assert_str_eq(nearest.name[i], names[19 - i]);
    }
    zd_suggest_add(&nearest, "last of its distance", 11);
    ck_assert_str_eq(nearest.name[0], "F");
    ck_assert_str_eq(nearest.name[1], "last of its distance");
}
END_TEST

START_TEST(a_distant_name_is_not_suggested)
{
    struct zd_suggest nearest = {.n = 0};
    zd_suggest_add_typed(&nearest, "something", "slice");
    zd_suggest_add_typed(&nearest, "", "a");
    zd_suggest_add_typed(&nearest, "b", "a");
    ck_assert_uint_eq(nearest.n, 0);
    zd_suggest_add_typed(&nearest, A64, "a");
    zd_suggest_add_typed(&nearest, "abc", "abcdef"); /* a third, and one: as many as may differ */
    zd_suggest_add_typed(&nearest, "ab", "abcdef");  /* one more than that */
    zd_suggest_add_typed(&nearest, "abcdefghi", "abcdef");
    zd_suggest_add_typed(&nearest, "abcdefghij", "abcdef");
    ck_assert_uint_eq(nearest.n, 1);
    zd_suggest_add_typed(&nearest, "slcie", "slice");
    ck_assert_uint_eq(nearest.n, 2);
}
END_TEST

#define THOUSANDS 10000

START_TEST(among_thousands_little_is_compared)
{
    static char name[THOUSANDS][sizeof A64];
    struct zd_suggest nearest = {.n = 0};
    for (int i = 0; i < THOUSANDS; i++) {
        (void)snprintf(name[i], sizeof name[i], "a-run-of-the-model-%05d", i);
        zd_suggest_add_typed(&nearest, "a-run-of-the-model-x9999", name[i]);
    }
    ck_assert_str_eq(nearest.name[0], "a-run-of-the-model-09999");
    ck_assert_uint_gt(nearest.work, 0);
    nearest = (struct zd_suggest){.n = 0};
    for (int i = 0; i < THOUSANDS; i++) {
        (void)snprintf(name[i], sizeof name[i], "%063d", i); /* nothing in common */
        zd_suggest_add_typed(&nearest, A64, name[i]);
    }
    ck_assert_uint_le(nearest.work, ZD_SUGGEST_WORK_MAX);
}
END_TEST

static enum zd_status suggest(void *context)
{
    ZD_AUTO(zd_json) extra = zd_suggest_json(context);
    return extra == NULL ? ZD_NO_MEMORY : ZD_OK;
}

START_TEST(without_memory_there_are_no_suggestions)
{
    struct zd_suggest nearest = {.name = {"a", "b"}, .n = 2};
    zd_unit_with_failing_memory(suggest, &nearest);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, a_distance_counts_slips, 0, (int)ZD_COUNT_OF(distances));
    tcase_add_loop_test(tests, a_path_is_compared_segment_by_segment, 0, (int)ZD_COUNT_OF(paths));
    tcase_add_test(tests, the_nearest_come_first_and_the_farthest_give_way);
    tcase_add_test(tests, a_distant_name_is_not_suggested);
    tcase_add_test(tests, among_thousands_little_is_compared);
    tcase_add_test(tests, without_memory_there_are_no_suggestions);
}
