/* Prefixes of paths against templates. */
#include "server/request/route_below.h"

#include <string.h>

#include "tests/support/unit.h"

static const struct {
    const char *template;
    const char *prefix;
    const char *dataset; /* NULL: nothing of the template lies there */
    const char *path;
} facts[] = {
    {"/v1/datasets/{d}/slices/{path}", "/v1", "", ""},
    {"/v1/datasets/{d}/slices/{path}", "/v1/datasets", "", ""},
    {"/v1/datasets/{d}/slices/{path}", "/v1/datasets/era", "era", ""},
    {"/v1/datasets/{d}/slices/{path}", "/v1/datasets/era/slices", "era", ""},
    {"/v1/datasets/{d}/slices/{path}", "/v1/datasets/era/slices/a/b", "era", "a/b"},
    {"/v1/datasets/{d}/slices/{path}", "/v1/datasets/era/nodes", NULL, NULL},
    {"/v1/datasets/{d}/slices/{path}", "/v1/datasets/era/slice", NULL, NULL},
    {"/v1/datasets/{d}/slices/{path}", "/v1/dataset", NULL, NULL},
    {"/zarr/{d}/{key}", "/zarr/era", "era", ""},
    {"/zarr/{d}/{key}", "/zarr/era/solar/c", "era", "solar/c"},
    {"/zarr/{d}/{key}", "/v1", NULL, NULL},
    {"/v1/limits", "/v1/limits", "", ""},
    {"/v1/limits", "/v1/limits/x", NULL, NULL},
    {"/", "/x", NULL, NULL},
};

static void expect(struct zd_span span, const char *text)
{
    ck_assert_uint_eq(span.len, strlen(text));
    ck_assert(span.len == 0 || memcmp(span.ptr, text, span.len) == 0);
}

START_TEST(route_lies_below_a_prefix)
{
    struct zd_route_below below = {0};
    const bool is_there = zd_route_below(facts[_i].template, zd_span_of(facts[_i].prefix), &below);
    ck_assert_int_eq(is_there, facts[_i].dataset != NULL);
    if (is_there) {
        expect(below.dataset, facts[_i].dataset);
        expect(below.path, facts[_i].path);
    }
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, route_lies_below_a_prefix, 0, ZD_COUNT_OF(facts));
}
