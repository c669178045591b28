/* Facts about core/grid/selection. */
#include "core/grid/selection.h"

#include "tests/support/unit.h"

#define N_RANDOM_CASES 20000
#define HUGE_SHAPE     UINT64_C(9223372036854775807)

/* Canonical forms, as Python's slice.indices gives them. */
static const struct parse_fact {
    const char *text;
    uint32_t rank;
    uint64_t shape[3];
    const char *canonical;
    uint64_t n_elements;
} parse_facts[] = {
    {"", 0, {0}, "", 1},
    {"...", 0, {0}, "", 1},
    {"[]", 0, {0}, "", 1},
    {"()", 0, {0}, "", 1},
    {" ( ... ) ", 0, {0}, "", 1},
    {"", 1, {0}, "0:0:1", 0},
    {"", 1, {1}, "0:1:1", 1},
    {"  ", 2, {3, 4}, "0:3:1,0:4:1", 12},
    {"0:10,::2,5", 3, {20, 50, 9}, "0:10:1,0:50:2,5", 250},
    {"[0:10,::2,5]", 3, {20, 50, 9}, "0:10:1,0:50:2,5", 250},
    {" ( 0 : 10 , : : 2 , - 4 )\t", 3, {20, 50, 9}, "0:10:1,0:50:2,5", 250},
    {"5", 3, {20, 50, 9}, "5,0:50:1,0:9:1", 450},
    {"...,5", 3, {20, 50, 9}, "0:20:1,0:50:1,5", 1000},
    {"5,...", 3, {20, 50, 9}, "5,0:50:1,0:9:1", 450},
    {"1,...,2", 3, {20, 50, 9}, "1,0:50:1,2", 50},
    {"1,...,2,3", 3, {20, 50, 9}, "1,2,3", 1}, /* an ellipsis may stand for nothing */
    {"...,1,2,3", 3, {20, 50, 9}, "1,2,3", 1},
    {"1,2,3,...", 3, {20, 50, 9}, "1,2,3", 1},
    {"-1", 1, {10}, "9", 1},
    {"-10", 1, {10}, "0", 1},
    {"-0", 1, {10}, "0", 1},
    {"::-1", 1, {10}, "9::-1", 10},
    {"::-3", 1, {10}, "9::-3", 4},
    {"9:0:-2", 1, {10}, "9:0:-2", 5},
    {"9:1:-2", 1, {10}, "9:1:-2", 4},
    {"5:5", 1, {10}, "0:0:1", 0},
    {"7:3", 1, {10}, "0:0:1", 0},
    {"3:7:-1", 1, {10}, "0:0:1", 0},
    {"10:", 1, {10}, "0:0:1", 0},
    {"9:", 1, {10}, "9:10:1", 1},
    {"-3:", 1, {10}, "7:10:1", 3},
    {":-3", 1, {10}, "0:7:1", 7},
    {"-100:100", 1, {10}, "0:10:1", 10},
    {"100:-100:-1", 1, {10}, "9::-1", 10},
    {"-100:100:-1", 1, {10}, "0:0:1", 0},
    {"3:7:5", 1, {10}, "3:7:5", 1},
    {"::4", 1, {10}, "0:10:4", 3},
    {":-0:-1", 1, {10}, "9:0:-1", 9},
    {"::", 1, {0}, "0:0:1", 0},
    {"::-1", 1, {0}, "0:0:1", 0},
    {"::-1", 1, {1}, "0::-1", 1},
    /* numbers that no machine integer holds clamp, as Python's do */
    {":99999999999999999999", 1, {10}, "0:10:1", 10},
    {"99999999999999999999:", 1, {10}, "0:0:1", 0},
    {"-99999999999999999999:99999999999999999999", 1, {10}, "0:10:1", 10},
    {"99999999999999999999:-99999999999999999999:-1", 1, {10}, "9::-1", 10},
    {"::99999999999999999999", 1, {10}, "0:10:9223372036854775807", 1},
    {"::-99999999999999999999", 1, {10}, "9::-9223372036854775807", 1},
    {"::9223372036854775807", 1, {HUGE_SHAPE}, "0:9223372036854775807:9223372036854775807", 1},
    {"::9223372036854775806", 1, {HUGE_SHAPE}, "0:9223372036854775807:9223372036854775806", 2},
    {"::9223372036854775808", 1, {10}, "0:10:9223372036854775807", 1},
    {"::-9223372036854775808", 1, {10}, "9::-9223372036854775807", 1},
    {"::18446744073709551615", 1, {10}, "0:10:9223372036854775807", 1},
    {"::18446744073709551616", 1, {10}, "0:10:9223372036854775807", 1},
    {"::-1", 1, {UINT64_MAX}, "18446744073709551614::-1", UINT64_MAX},
    {"", 1, {UINT64_MAX}, "0:18446744073709551615:1", UINT64_MAX},
    {"-18446744073709551615:1", 1, {UINT64_MAX}, "0:1:1", 1},
    {"0:-18446744073709551616:-1", 1, {UINT64_MAX}, "0::-1", 1},
    {"0:-18446744073709551615:-1", 1, {UINT64_MAX}, "0:0:1", 0},
    {"18446744073709551614", 1, {UINT64_MAX}, "18446744073709551614", 1},
    {"-18446744073709551615", 1, {UINT64_MAX}, "0", 1},
};

START_TEST(slices_follow_numpy)
{
    const struct parse_fact *fact = &parse_facts[_i];
    struct zd_selection selection = {0};
    struct zd_error err = {0};
    ck_assert_msg(zd_selection_parse(
                      zd_span_of(fact->text), fact->rank, fact->shape, &selection, &err) == ZD_OK,
        "%s: %s", fact->text, err.text);
    ZD_SCOPED_TEXT(canonical, 200);
    zd_text_add(&canonical, "");
    ck_assert_int_eq(zd_selection_add(&selection, &canonical), ZD_OK);
    ck_assert_str_eq(canonical.at, fact->canonical);
    uint64_t n_elements = 0;
    ck_assert(!zd_selection_overflows(&selection, &n_elements));
    ck_assert_uint_eq(n_elements, fact->n_elements);
}
END_TEST

static const struct bad_fact {
    const char *text;
    uint64_t position;
    const char *expected;
    const char *found;
} bad_facts[] = {
    /* shape 10 x 20 */
    {"x", 0, "a number, ':' or '...'", "'x'"},
    {"0:3,x", 4, "a number, ':' or '...'", "'x'"},
    {",", 0, "a number, ':' or '...'", "','"},
    {"1,", 2, "a number, ':' or '...'", "the end"},
    {"1,,2", 2, "a number, ':' or '...'", "','"},
    {"[1,]", 3, "a number, ':' or '...'", "']'"},
    {"1 0", 2, "',' or the end", "'0'"}, /* spaces part numbers */
    {"1;2", 1, "',' or the end", "';'"},
    {"1:2:3:4", 5, "',' or the end", "':'"},
    {"1:2:0", 4, "a step other than 0", "'0'"},
    {"1:2: -0", 5, "a step other than 0", "'-'"},
    {"--1", 1, "a digit", "'-'"},
    {"-", 1, "a digit", "the end"},
    {"1:-", 3, "a digit", "the end"},
    {"+1", 0, "a number, ':' or '...'", "'+'"},
    {"01", 0, "a number without leading zeros", "'0'"},
    {"1:00", 2, "a number without leading zeros", "'0'"},
    {"1.5", 1, "',' or the end", "'.'"},
    {"1e3", 1, "',' or the end", "'e'"},
    {"..", 0, "a number, ':' or '...'", "'.'"},
    {"....", 3, "',' or the end", "'.'"},
    {"...,...", 4, "at most one '...'", "'.'"},
    {"1,2,3", 4, "at most 2 items", "'3'"},
    {"...,1,2, 3", 9, "at most 2 items", "'3'"},
    {"[1", 2, "',' or ']'", "the end"},
    {"(1]", 2, "',' or ')'", "']'"},
    {"[", 1, "a number, ':' or '...'", "the end"},
    {"]", 0, "a number, ':' or '...'", "']'"},
    {"1]", 1, "',' or the end", "']'"},
    {"[1]]", 3, "the end", "']'"},
    {"[1],2", 3, "the end", "','"},
    {"[[1]]", 1, "a number, ':' or '...'", "'['"},
    {"[1],[2]", 3, "the end", "','"},
    {"None", 0, "a number, ':' or '...'", "'N'"},
    {"1\n", 1, "',' or the end", "byte 0x0a"},
    {"\xc3\xa9", 0, "a number, ':' or '...'", "byte 0xc3"},
};

START_TEST(bad_slices_are_told_with_their_place)
{
    const struct bad_fact *fact = &bad_facts[_i];
    const uint64_t shape[] = {10, 20};
    struct zd_selection selection = {.rank = 7};
    struct zd_error err = {0};
    const struct zd_span text = zd_span_of(fact->text);
    ck_assert_int_eq(zd_selection_parse(text, 2, shape, &selection, &err), ZD_INVALID);
    ck_assert_uint_eq(selection.rank, 7);
    ck_assert_msg(err.facts.position == fact->position, "%s: %s", fact->text, err.text);
    ck_assert_str_eq(err.facts.expected, fact->expected);
    ck_assert_str_eq(err.facts.found, fact->found);
    ck_assert_uint_eq(err.facts.set, ZD_FACT_POSITION | ZD_FACT_EXPECTED | ZD_FACT_FOUND);
}
END_TEST

START_TEST(a_nul_byte_is_no_end)
{
    const uint64_t shape[] = {10};
    struct zd_selection selection = {0};
    struct zd_error err = {0};
    const struct zd_span text = {.ptr = (const uint8_t *)"1\0", .len = 2};
    ck_assert_int_eq(zd_selection_parse(text, 1, shape, &selection, &err), ZD_INVALID);
    ck_assert_uint_eq(err.facts.position, 1);
    ck_assert_str_eq(err.facts.found, "byte 0x00");
}
END_TEST

static const struct outside_fact {
    const char *text;
    uint32_t dim;
    int64_t index;
    uint64_t size;
    uint64_t position;
} outside_facts[] = {
    /* shape 10 x 0 x 2^64-1 */
    {"10", 0, 10, 10, 0},
    {"-11", 0, -11, 10, 0},
    {":, 0", 1, 0, 0, 3},
    {":,-1", 1, -1, 0, 2},
    {"...,18446744073709551615", 2, INT64_MAX, UINT64_MAX, 4},
    {"...,-18446744073709551616", 2, INT64_MIN, UINT64_MAX, 4},
    {"99999999999999999999", 0, INT64_MAX, 10, 0},
    {"-99999999999999999999", 0, INT64_MIN, 10, 0},
    {"9223372036854775807", 0, INT64_MAX, 10, 0},
    {"-9223372036854775808", 0, INT64_MIN, 10, 0},
};

START_TEST(an_index_outside_is_told_with_its_dimension)
{
    const struct outside_fact *fact = &outside_facts[_i];
    const uint64_t shape[] = {10, 0, UINT64_MAX};
    struct zd_selection selection = {0};
    struct zd_error err = {0};
    ck_assert_int_eq(
        zd_selection_parse(zd_span_of(fact->text), 3, shape, &selection, &err), ZD_OUT_OF_BOUNDS);
    ck_assert_uint_eq(err.facts.dim, fact->dim);
    ck_assert_int_eq(err.facts.index, fact->index);
    ck_assert_uint_eq(err.facts.size, fact->size);
    ck_assert_uint_eq(err.facts.position, fact->position);
}
END_TEST

/* A bound as text, or nothing; small enough to meet every edge of a small shape. */
static int64_t random_bound(bool *ret_given)
{
    *ret_given = zd_unit_random() % 4 != 0;
    return (int64_t)(zd_unit_random() % 31) - 15;
}

static void add_bound(struct zd_text *text, bool is_given, int64_t bound)
{
    if (is_given) {
        zd_text_addf(text, "%d", (int)bound);
    }
}

/* CPython's PySlice_AdjustIndices for one bound. */
static int64_t adjust(int64_t bound, int64_t n, int64_t step)
{
    bound += bound < 0 ? n : 0;
    if (bound < 0) {
        return step < 0 ? -1 : 0;
    }
    if (bound >= n) {
        return step < 0 ? n - 1 : n;
    }
    return bound;
}

START_TEST(random_ranges_take_what_python_takes)
{
    for (int round = 0; round < N_RANDOM_CASES; round++) {
        const int64_t n = (int64_t)(zd_unit_random() % 12);
        bool has[3];
        int64_t start = random_bound(&has[0]);
        int64_t stop = random_bound(&has[1]);
        int64_t step = random_bound(&has[2]);
        step = step == 0 ? 1 : step;
        ZD_SCOPED_TEXT(text, 64);
        add_bound(&text, has[0], start);
        zd_text_add(&text, ":");
        add_bound(&text, has[1], stop);
        zd_text_add(&text, has[2] ? ":" : "");
        add_bound(&text, has[2], step);
        step = has[2] ? step : 1;
        start = has[0] ? adjust(start, n, step) : step < 0 ? n - 1 : 0;
        stop = has[1] ? adjust(stop, n, step) : step < 0 ? -1 : n;

        struct zd_selection selection = {0};
        const uint64_t shape[] = {(uint64_t)n};
        ck_assert_int_eq(
            zd_selection_parse(zd_text_span(&text), 1, shape, &selection, NULL), ZD_OK);
        uint64_t count = 0;
        for (int64_t x = start; step > 0 ? x < stop : x > stop; x += step) {
            ck_assert_uint_lt(count, selection.axis[0].count);
            ck_assert_uint_eq(zd_axis_at(&selection.axis[0], count), (uint64_t)x);
            count++;
        }
        ck_assert_uint_eq(count, selection.axis[0].count);
        ck_assert(!selection.axis[0].dropped);

        /* The canonical form is slice.indices, and selects the same. */
        ZD_SCOPED_TEXT(want, 64);
        if (count == 0) {
            zd_text_add(&want, "0:0:1");
        } else if (stop < 0) {
            zd_text_addf(&want, "%d::%d", (int)start, (int)step);
        } else {
            zd_text_addf(&want, "%d:%d:%d", (int)start, (int)stop, (int)step);
        }
        ZD_SCOPED_TEXT(canonical, 64);
        zd_selection_add(&selection, &canonical);
        ck_assert_str_eq(canonical.at, want.at);
        struct zd_selection again = {0};
        ck_assert_int_eq(
            zd_selection_parse(zd_text_span(&canonical), 1, shape, &again, NULL), ZD_OK);
        ck_assert_uint_eq(again.axis[0].start, selection.axis[0].start);
        ck_assert_uint_eq(again.axis[0].count, selection.axis[0].count);
        ck_assert_int_eq(again.axis[0].step, selection.axis[0].step);
    }
}
END_TEST

START_TEST(dropped_dimensions_are_not_in_the_shape)
{
    const uint64_t shape[] = {10, 20, 30};
    struct zd_selection selection = {0};
    ck_assert_int_eq(
        zd_selection_parse(zd_span_of("1:3,4,5:6"), 3, shape, &selection, NULL), ZD_OK);
    uint64_t result[ZD_RANK_MAX];
    ck_assert_uint_eq(zd_selection_shape(&selection, result), 2);
    ck_assert_uint_eq(result[0], 2);
    ck_assert_uint_eq(result[1], 1);
}
END_TEST

START_TEST(element_counts_beyond_64_bits_are_told)
{
    const uint64_t shape[] = {UINT64_MAX, 2, 1};
    struct zd_selection selection = {0};
    uint64_t n_elements = 0;
    zd_selection_whole(3, shape, &selection);
    ck_assert(zd_selection_overflows(&selection, &n_elements));
    selection.axis[2].count = 0;
    ck_assert(!zd_selection_overflows(&selection, &n_elements));
    ck_assert_uint_eq(n_elements, 0);
}
END_TEST

START_TEST(one_item_for_each_dimension_is_accepted)
{
    uint64_t shape[ZD_RANK_MAX];
    ZD_SCOPED_TEXT(text, 2 * ZD_RANK_MAX + 2);
    for (uint32_t d = 0; d < ZD_RANK_MAX; d++) {
        shape[d] = 1;
        zd_text_add(&text, d == 0 ? "0" : ",0");
    }
    struct zd_selection selection = {0};
    ck_assert_int_eq(
        zd_selection_parse(zd_text_span(&text), ZD_RANK_MAX, shape, &selection, NULL), ZD_OK);
    zd_text_add(&text, ",0");
    ck_assert_int_eq(
        zd_selection_parse(zd_text_span(&text), ZD_RANK_MAX, shape, &selection, NULL), ZD_INVALID);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, slices_follow_numpy, 0, ZD_COUNT_OF(parse_facts));
    tcase_add_loop_test(tests, bad_slices_are_told_with_their_place, 0, ZD_COUNT_OF(bad_facts));
    tcase_add_test(tests, a_nul_byte_is_no_end);
    tcase_add_loop_test(
        tests, an_index_outside_is_told_with_its_dimension, 0, ZD_COUNT_OF(outside_facts));
    tcase_add_test(tests, random_ranges_take_what_python_takes);
    tcase_add_test(tests, dropped_dimensions_are_not_in_the_shape);
    tcase_add_test(tests, element_counts_beyond_64_bits_are_told);
    tcase_add_test(tests, one_item_for_each_dimension_is_accepted);
}
