/* Facts about server/picture/picture_params: what clients ask of a picture. */
#include "server/picture/picture_params.h"

#include <string.h>

#include "core/base/num.h"
#include "core/picture/colormap.h"
#include "tests/support/unit.h"

static const struct fact {
    const char *query;
    const char *name; /* of the parameter at fault; NULL: it is good */
} facts[] = {
    {"", NULL},
    {"cmap=RdBu_r&vmin=-1e3&vmax=2.5&stretch=sqrt&flip=y&nan=%23AbCdEf&size=640x480", NULL},
    {"vmin=9&vmax=-9", NULL},
    {"vmin=1&vmax=1e-300&stretch=log", NULL},
    {"max_size=1", NULL},
    {"max_size=18446744073709551615", NULL},
    {"size=2147483647x2147483647", NULL}, /* the handler knows the limit */
    {"tile=0,0,0", NULL},
    {"tile=18446744073709551615,18446744073709551615,18446744073709551615&tile_size=4096", NULL},
    {"nan=transparent", NULL},
    {"slice=0,:&level=3&origin=stored", NULL}, /* not its own */
    {"cmap=", "cmap"},
    {"cmap=viridis_r_r", "cmap"},
    {"vmin=", "vmin"},
    {"vmin=1e400", "vmin"},
    {"vmin=NaN", "vmin"},
    {"vmin=%201", NULL}, /* spaces are JSON's */
    {"vmin=1,2", "vmin"},
    {"vmin=[1]", "vmin"},
    {"vmax=%2B1", "vmax"},
    {"vmax=1.", "vmax"},
    {"vmin=0&stretch=log", "vmin"},
    {"vmax=0&stretch=log", "vmax"},
    {"vmin=1&vmax=-1&stretch=log", "vmax"},
    {"stretch=", "stretch"},
    {"size=", "size"},
    {"size=1", "size"},
    {"size=1x", "size"},
    {"size=x1", "size"},
    {"size=0x1", "size"},
    {"size=1x0", "size"},
    {"size=1X1", "size"},
    {"size=2147483648x1", "size"},
    {"size=1x1 ", "size"},
    {"size=1x1&max_size=1", "max_size"},
    {"max_size=0", "max_size"},
    {"max_size=18446744073709551616", "max_size"},
    {"tile=", "tile"},
    {"tile=0,0", "tile"},
    {"tile=0,0,0,", "tile"},
    {"tile=0,0,18446744073709551616", "tile"},
    {"tile=0, 0,0", "tile"},
    {"tile=0,0,0&size=1x1", "size"},
    {"tile=0,0,0&max_size=1", "max_size"},
    {"tile=0,0,0&tile_size=0", "tile_size"},
    {"tile=0,0,0&tile_size=4097", "tile_size"},
    {"tile_size=256", "tile_size"},
    {"flip=x", "flip"},
    {"flip=", "flip"},
    {"nan=", "nan"},
    {"nan=%23abcde", "nan"},
    {"nan=%23abcdefa", "nan"},
    {"nan=%23abcdeg", "nan"},
    {"nan=abcdef0", "nan"},
};

static void parse(const char *query, struct zd_params *ret_params)
{
    struct zd_error err = {0};
    ck_assert_int_eq(
        zd_params_parse(zd_span_of(query), zd_picture_params_names, NULL, ret_params, &err), ZD_OK);
}

START_TEST(a_query_is_judged)
{
    struct zd_params params;
    struct zd_params rest;
    struct zd_picture_params ask;
    struct zd_error err = {0};
    parse(facts[_i].query, &params);
    const enum zd_status status = zd_picture_params_query(&params, &ask, &rest, &err);
    ck_assert_int_eq(status, facts[_i].name == NULL ? ZD_OK : ZD_INVALID);
    if (facts[_i].name != NULL) {
        ck_assert_str_eq(err.facts.name, facts[_i].name);
    }
    zd_params_done(&params);
}
END_TEST

START_TEST(all_parameters_are_read)
{
    struct zd_params params;
    struct zd_params rest;
    struct zd_picture_params ask;
    struct zd_error err = {0};
    parse("slice=1&cmap=gray_r&vmin=-2&vmax=1e3&stretch=log&tile=3,4,5&tile_size=9&flip=y&"
          "nan=%23AbCdEf&level=7",
        &params);
    ck_assert_int_eq(zd_picture_params_query(&params, &ask, &rest, &err), ZD_INVALID);
    zd_params_done(&params);
    parse("slice=1&cmap=gray_r&vmin=2&vmax=1e3&stretch=log&tile=3,4,5&tile_size=9&flip=y&"
          "nan=%23AbCdEf&level=7",
        &params);
    ck_assert_int_eq(zd_picture_params_query(&params, &ask, &rest, &err), ZD_OK);
    ck_assert_str_eq(zd_colormap_names[ask.colormap], "gray_r");
    ck_assert(ask.has_from && ask.from == 2 && ask.has_to && ask.to == 1000);
    ck_assert_int_eq(ask.stretch, ZD_STRETCH_LOG);
    ck_assert(ask.has_tile && ask.tile.z == 3 && ask.tile.y == 4 && ask.tile.x == 5);
    ck_assert_uint_eq(ask.tile_size, 9);
    ck_assert(ask.is_flipped && ask.has_missing_color);
    ck_assert_uint_eq(ask.missing_color, 0xabcdef);
    ck_assert_uint_eq(rest.n, 2); /* of the slice */
    ck_assert_str_eq(rest.name[0], "slice");
    ck_assert_str_eq(rest.name[1], "level");
    zd_params_done(&params);
}
END_TEST

START_TEST(absent_parameters_have_their_defaults)
{
    struct zd_params params;
    struct zd_params rest;
    struct zd_picture_params ask;
    struct zd_error err = {0};
    parse("", &params);
    ck_assert_int_eq(zd_picture_params_query(&params, &ask, &rest, &err), ZD_OK);
    ck_assert_str_eq(zd_colormap_names[ask.colormap], "viridis");
    ck_assert(!ask.has_from && !ask.has_to && !ask.has_size && !ask.has_tile && !ask.is_flipped);
    ck_assert_uint_eq(ask.max_size, 1048576);
    ck_assert_uint_eq(ask.tile_size, 256);
    ck_assert_int_eq(ask.stretch, ZD_STRETCH_LINEAR);
    zd_params_done(&params);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, a_query_is_judged, 0, ZD_COUNT_OF(facts));
    tcase_add_test(tests, all_parameters_are_read);
    tcase_add_test(tests, absent_parameters_have_their_defaults);
}
