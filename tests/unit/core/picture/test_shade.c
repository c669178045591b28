/* Facts about core/picture/shade. */
#include "core/picture/shade.h"

#include <float.h>
#include <math.h>

#include "tests/support/unit.h"

#define LAST    (ZD_SHADE_COLORS - 1)
#define MISSING ZD_SHADE_MISSING

static const struct fact {
    double from;
    double to;
    enum zd_stretch stretch;
    double value;
    int color;
} facts[] = {
    {0, 255, ZD_STRETCH_LINEAR, 0, 0},
    {0, 255, ZD_STRETCH_LINEAR, 0.999, 0},
    {0, 255, ZD_STRETCH_LINEAR, 1, 1},
    {0, 255, ZD_STRETCH_LINEAR, 254.5, LAST},
    {0, 255, ZD_STRETCH_LINEAR, 255, LAST}, /* the end is in the last colour */
    {0, 255, ZD_STRETCH_LINEAR, -1, 0},
    {0, 255, ZD_STRETCH_LINEAR, 256, LAST},
    {0, 255, ZD_STRETCH_LINEAR, INFINITY, LAST},
    {0, 255, ZD_STRETCH_LINEAR, -INFINITY, 0},
    {0, 255, ZD_STRETCH_LINEAR, NAN, MISSING},
    {255, 0, ZD_STRETCH_LINEAR, 0, LAST}, /* turned round */
    {255, 0, ZD_STRETCH_LINEAR, 255, 0},
    {255, 0, ZD_STRETCH_LINEAR, 1, LAST - 1},
    {255, 0, ZD_STRETCH_LINEAR, INFINITY, 0},
    {255, 0, ZD_STRETCH_LINEAR, NAN, MISSING},
    {5, 5, ZD_STRETCH_LINEAR, 5, 0}, /* no distance */
    {5, 5, ZD_STRETCH_LINEAR, 6, LAST},
    {5, 5, ZD_STRETCH_LINEAR, 4, 0},
    {5, 5, ZD_STRETCH_SQRT, 5, 0},
    {5, 5, ZD_STRETCH_LOG, 5, 0},
    {-DBL_MAX, DBL_MAX, ZD_STRETCH_LINEAR, 0, 127}, /* further than a double can say */
    {-DBL_MAX, DBL_MAX, ZD_STRETCH_LINEAR, DBL_MAX, LAST},
    {-DBL_MAX, DBL_MAX, ZD_STRETCH_SQRT, -DBL_MAX, 0},
    {-DBL_MAX, DBL_MAX, ZD_STRETCH_SQRT, 0, 180},
    {DBL_MAX, -DBL_MAX, ZD_STRETCH_LINEAR, DBL_MAX, 0},
    {0, 1, ZD_STRETCH_SQRT, 0.25, 127},
    {0, 1, ZD_STRETCH_SQRT, -1, 0},
    {0, 1, ZD_STRETCH_SQRT, 2, LAST},
    {0, 1, ZD_STRETCH_SQRT, INFINITY, LAST},
    {0, 1, ZD_STRETCH_SQRT, -INFINITY, 0},
    {0, 1, ZD_STRETCH_SQRT, NAN, MISSING},
    {1, 1e10, ZD_STRETCH_LOG, 1e5, 127},
    {1, 1e10, ZD_STRETCH_LOG, 1e10, LAST},
    {1, 1e10, ZD_STRETCH_LOG, 1, 0},
    {1, 1e10, ZD_STRETCH_LOG, 0.5, 0},
    {1, 1e10, ZD_STRETCH_LOG, 0, 0},
    {1, 1e10, ZD_STRETCH_LOG, -5, 0},
    {1, 1e10, ZD_STRETCH_LOG, INFINITY, LAST},
    {1, 1e10, ZD_STRETCH_LOG, -INFINITY, 0},
    {1, 1e10, ZD_STRETCH_LOG, NAN, MISSING},
    {DBL_MIN, DBL_MAX, ZD_STRETCH_LOG, 1, 127},
};

START_TEST(a_number_has_its_colour)
{
    const struct fact *fact = &facts[_i];
    const struct zd_shade shade = {.from = fact->from, .to = fact->to, .stretch = fact->stretch};
    uint8_t color;
    zd_shade_colors(&shade, &fact->value, 1, &color);
    ck_assert_int_eq(color, fact->color);
}
END_TEST

/* Whatever the stretch, a greater number never has a lower colour, nor a higher one turned round.
 */
START_TEST(colours_rise_with_numbers)
{
    struct zd_shade shade = {.from = 1e-3, .to = 7, .stretch = (enum zd_stretch)(_i / 2)};
    double value[1000];
    uint8_t color[1000];
    if (_i % 2 == 1) {
        shade = (struct zd_shade){.from = 7, .to = 1e-3, .stretch = shade.stretch};
    }
    for (int i = 0; i < 1000; i++) {
        value[i] = 1e-3 + (7 - 1e-3) * i / 999;
    }
    zd_shade_colors(&shade, value, 1000, color);
    ck_assert_int_eq(color[0], _i % 2 == 0 ? 0 : LAST);
    ck_assert_int_eq(color[999], _i % 2 == 0 ? LAST : 0);
    for (int i = 1; i < 1000; i++) {
        ck_assert(_i % 2 == 0 ? color[i] >= color[i - 1] : color[i] <= color[i - 1]);
    }
}
END_TEST

START_TEST(a_range_is_of_finite_numbers)
{
    const double value[] = {NAN, 3, -INFINITY, -2, INFINITY, -0.0};
    struct zd_shade_range range = zd_shade_no_range();
    ck_assert(range.min > range.max && !range.has_missing);
    zd_shade_range_add(&range, value + 1, 5);
    ck_assert(range.min == -2 && range.max == 3 && !range.has_missing);
    zd_shade_range_add(&range, value, 1);
    ck_assert(range.min == -2 && range.max == 3 && range.has_missing);
    zd_shade_range_add(&range, value + 1, 1);
    ck_assert(range.has_missing);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, a_number_has_its_colour, 0, ZD_COUNT_OF(facts));
    tcase_add_loop_test(tests, colours_rise_with_numbers, 0, 2 * 3);
    tcase_add_test(tests, a_range_is_of_finite_numbers);
}
