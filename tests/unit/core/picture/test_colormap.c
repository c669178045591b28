/* Facts about core/picture/colormap. */
#include "core/picture/colormap.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/unit.h"

#define N_MAPS 18

/* Published colours. */
static const struct {
    const char *name;
    uint32_t first;
    uint32_t middle; /* 128 */
    uint32_t last;
} facts[] = {
    {"viridis", 0x440154, 0x21918c, 0xfde725},
    {"magma", 0x000004, 0xb73779, 0xfcfdbf},
    {"inferno", 0x000004, 0xbc3754, 0xfcffa4},
    {"plasma", 0x0d0887, 0xcc4778, 0xf0f921},
    {"cividis", 0x00224e, 0x7d7c78, 0xfee838},
    {"turbo", 0x30123b, 0xa4fc3c, 0x7a0403},
    {"gray", 0x000000, 0x808080, 0xffffff},
    {"coolwarm", 0x3b4cc0, 0xdddcdc, 0xb40426},
    {"RdBu", 0x67001f, 0xf6f7f7, 0x053061},
};

static uint32_t map_of(const char *name)
{
    uint32_t i = 0;
    while (zd_colormap_names[i] != NULL && strcmp(zd_colormap_names[i], name) != 0) {
        i++;
    }
    ck_assert_ptr_nonnull(zd_colormap_names[i]);
    return i;
}

START_TEST(a_map_is_the_published_one)
{
    const uint32_t map = map_of(facts[_i].name);
    ck_assert_uint_eq(zd_colormap_color(map, 0), facts[_i].first);
    ck_assert_uint_eq(zd_colormap_color(map, 128), facts[_i].middle);
    ck_assert_uint_eq(zd_colormap_color(map, ZD_COLORMAP_COLORS - 1), facts[_i].last);
}
END_TEST

START_TEST(each_has_its_reverse)
{
    char name[32];
    (void)snprintf(name, sizeof name, "%s_r", facts[_i].name);
    const uint32_t map = map_of(facts[_i].name);
    const uint32_t reverse = map_of(name);
    for (uint32_t i = 0; i < ZD_COLORMAP_COLORS; i++) {
        ck_assert_uint_eq(
            zd_colormap_color(reverse, i), zd_colormap_color(map, ZD_COLORMAP_COLORS - 1 - i));
        ck_assert_uint_le(zd_colormap_color(map, i), 0xffffff);
    }
}
END_TEST

START_TEST(there_are_no_others)
{
    ck_assert_ptr_null(zd_colormap_names[N_MAPS]);
    ck_assert_uint_eq(N_MAPS, 2 * ZD_COUNT_OF(facts));
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, a_map_is_the_published_one, 0, ZD_COUNT_OF(facts));
    tcase_add_loop_test(tests, each_has_its_reverse, 0, ZD_COUNT_OF(facts));
    tcase_add_test(tests, there_are_no_others);
}
