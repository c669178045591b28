/* Facts about server/slice/slice_blocks: which elements become one. */
#include "server/slice/slice_blocks.h"

#include <string.h>

#include "core/base/num.h"
#include "server/runtime/server.h"
#include "tests/support/codec.h"

#define BODY_BYTES_MAX 256
#define SHOWN_BYTES    256
#define RANK           3

static const struct zd_config config = {.settings.limits_body_bytes = BODY_BYTES_MAX};
static struct zd_server server = {.config = &config};

static char name_t[] = "t";
static char name_y[] = "y";
static char name_x[] = "x";
static char *names[RANK] = {name_t, name_y, name_x};
static const uint64_t shape[RANK] = {10, 64, 100};

/* Queries for an array of 10 x 64 x 100 elements. */
static const struct blocks_fact {
    const char *query;
    const char *stored; /* NULL: it is refused */
    const char *places;
    const char *code; /* of the refusal */
    uint64_t n_level; /* elements of the answer, were it a level */
} facts[] = {
    {"", "0:10:1,0:64:1,0:100:1", "0:10:1,0:64:1,0:100:1", NULL, 64000},
    {"reduce=sum", "0:10:1,0:64:1,0:100:1", "0,0,0", NULL, 1},
    {"reduce=sum&over=t", "0:10:1,0:64:1,0:100:1", "0,0:64:1,0:100:1", NULL, 6400},
    {"reduce=sum&over=0,x", "0:10:1,0:64:1,0:100:1", "0,0:64:1,0", NULL, 64},
    /* Numbers are those of dimensions that are left. */
    {"slice=3&reduce=sum&over=0", "3,0:64:1,0:100:1", "3,0,0:100:1", NULL, 100},
    {"reduce=sum&over=t&coarsen=0:60", "0:10:1,0:64:1,0:100:1", "0,0:61:60,0:100:1", NULL, 200},
    {"coarsen=x:30", "0:10:1,0:64:1,0:100:1", "0:10:1,0:64:1,0:91:30", NULL, 2560},
    {"coarsen=x:18446744073709551615", "0:10:1,0:64:1,0:100:1", "0:10:1,0:64:1,0:1:1", NULL, 640},
    {"coarsen=x:2&agg=nearest", "0:10:1,0:64:1,0:99:2", "0:10:1,0:64:1,0:99:2", NULL, 32000},
    {"slice=:,:,90:10:-2&coarsen=x:3", "0:10:1,0:64:1,90:10:-2", "0:10:1,0:64:1,90:11:-6", NULL,
        8960},
    /* max_size makes blocks of the last two, and none of a level. */
    {"slice=0&max_size=1600", "0,0:63:2,0:99:2", "0,0:63:2,0:99:2", NULL, 6400},
    {"slice=0&max_size=1599&agg=mean", "0,0:64:1,0:100:1", "0,0:61:4,0:97:4", NULL, 6400},
    {"max_size=10", "0:10:1,0:1:1,0:1:1", "0:10:1,0:1:1,0:1:1", NULL, 64000},
    {"max_size=9", NULL, NULL, "too_large", 64000},
    {"over=t", NULL, NULL, "bad_parameter", 64000},
    {"reduce=sum&over=t,0", NULL, NULL, "bad_parameter", 64000},
    {"reduce=sum&over=3", NULL, NULL, "bad_parameter", 64000},
    {"reduce=sum&over=t&coarsen=t:2", NULL, NULL, "bad_parameter", 64000},
    {"coarsen=t:0", NULL, NULL, "bad_parameter", 64000},
    {"coarsen=t", NULL, NULL, "bad_parameter", 64000},
    {"agg=max", NULL, NULL, "bad_parameter", 64000},
    {"skipna=1", NULL, NULL, "bad_parameter", 64000},
};

static void read_query(struct zd_slice_params *ask, const char *query)
{
    struct zd_params params;
    const char *code = NULL;
    zd_slice_params_init(ask, &server);
    ck_assert_int_eq(zd_params_parse(zd_span_of(query), zd_slice_params_of_slices,
                         zd_slice_params_repeated, &params, NULL),
        ZD_OK);
    ck_assert_int_eq(zd_slice_params_query(ask, &params, &code, NULL), ZD_OK);
    zd_params_done(&params);
}

static void check_selection(const struct zd_selection *selection, const char *expected)
{
    ZD_SCOPED_TEXT(shown, SHOWN_BYTES);
    ck_assert_int_eq(zd_selection_add(selection, &shown), ZD_OK);
    ck_assert_str_eq(shown.at, expected);
}

START_TEST(elements_become_one)
{
    const struct blocks_fact *fact = &facts[_i];
    const struct zd_meta meta = {.grid.rank = RANK, .dimension_name = names};
    struct zd_slice_blocks blocks;
    struct zd_slice_params ask;
    struct zd_selection stored;
    const char *code = NULL;
    read_query(&ask, fact->query);
    ck_assert_int_eq(
        zd_selection_parse(zd_text_span(&ask.slice), RANK, shape, &stored, NULL), ZD_OK);
    const enum zd_status status = zd_slice_blocks_plan(&blocks, &meta, &ask, &stored, &code, NULL);
    ck_assert_int_eq(status == ZD_OK, fact->stored != NULL);
    if (status == ZD_OK) {
        check_selection(&blocks.stored, fact->stored);
        check_selection(&blocks.places, fact->places);
    } else {
        ck_assert_str_eq(code, fact->code);
    }
    ck_assert_uint_eq(zd_slice_blocks_count(&meta, &ask, &stored), fact->n_level);
    zd_slice_params_done(&ask);
}
END_TEST

/* The second and third of four blocks of three, the last of which is short. */
START_TEST(a_band_has_the_elements_of_its_blocks)
{
    const struct zd_meta meta = {.grid.rank = 1};
    const uint64_t n = 11;
    struct zd_slice_blocks blocks;
    struct zd_slice_params ask;
    struct zd_selection stored;
    struct zd_selection source;
    const char *code = NULL;
    read_query(&ask, "coarsen=0:3");
    zd_selection_whole(1, &n, &stored);
    ck_assert_int_eq(zd_slice_blocks_plan(&blocks, &meta, &ask, &stored, &code, NULL), ZD_OK);
    struct zd_selection band = blocks.places;
    band.axis[0].start = 3;
    band.axis[0].count = 2;
    zd_slice_blocks_source(&blocks, &band, &source);
    check_selection(&source, "3:9:1");
    band.axis[0].count = 3;
    zd_slice_blocks_source(&blocks, &band, &source);
    check_selection(&source, "3:11:1");
    zd_slice_params_done(&ask);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, elements_become_one, 0, ZD_COUNT_OF(facts));
    tcase_add_test(tests, a_band_has_the_elements_of_its_blocks);
}
