/* Facts about server/slice/selectors: the dimensions that isel and sel name. */
#include "server/slice/selectors.h"

#include <string.h>

#include "core/base/num.h"
#include "tests/support/unit.h"

#define RANK       3
#define TEXT_BYTES 64

static char name_t[] = "t";
static char name_odd[] = "a=b";
static char name_one[] = "1";
static char *names[RANK] = {name_t, name_odd, name_one};
static const uint64_t shape[RANK] = {10, 20, 30};

/* "DIM=TEXT" of a query. */
static const struct find_fact {
    const char *text;
    enum zd_status status;
    uint32_t dim;
    const char *item; /* or, of a refusal, what was found */
} find_facts[] = {
    {"t=0:2", ZD_OK, 0, "0:2"},
    {"t=", ZD_OK, 0, ""},
    {"t=a=b", ZD_OK, 0, "a=b"},
    {"a=b=5", ZD_OK, 1, "5"}, /* the name has an equals sign */
    {"0=5", ZD_OK, 0, "5"},
    {"1=5", ZD_OK, 2, "5"}, /* a name comes before a number */
    {"2=5", ZD_OK, 2, "5"},
    {"3=5", ZD_INVALID, 0, "3"},
    {"a=5", ZD_INVALID, 0, "a"},
    {"x=a=5", ZD_INVALID, 0, "x"},
    {"t", ZD_INVALID, 0, "t"},
    {"", ZD_INVALID, 0, ""},
    {"=5", ZD_INVALID, 0, ""},
};

START_TEST(a_dimension_is_what_stands_before_an_equals_sign)
{
    const struct find_fact *fact = &find_facts[_i];
    const struct zd_meta meta = {.grid.rank = RANK, .dimension_name = names};
    const struct zd_selector pick = {.by_value = true};
    struct zd_selectors picks;
    struct zd_selector_match picked;
    struct zd_error err = {0};
    zd_selectors_init(&picks, TEXT_BYTES);
    ck_assert_int_eq(
        zd_selectors_add(&picks, pick, zd_span_of(""), zd_span_of(fact->text), NULL), ZD_OK);
    ck_assert(zd_selectors_have_values(&picks));
    ck_assert_int_eq(zd_selectors_find(&picks, 0, &meta, &picked, &err), fact->status);
    if (fact->status == ZD_OK) {
        ck_assert_uint_eq(picked.dim, fact->dim);
        ck_assert(zd_span_is(picked.text, fact->item));
    } else {
        ck_assert_str_eq(err.facts.name, "sel");
        ck_assert_str_eq(err.facts.found, fact->item);
    }
    zd_selectors_done(&picks);
}
END_TEST

/* Items of isel, beside `slice`. */
static const struct apply_fact {
    const char *slice;
    const char *isel[2]; /* NULL: none */
    enum zd_status status;
    const char *selection; /* or what the refusal says */
} apply_facts[] = {
    {"", {"t=3", NULL}, ZD_OK, "3,0:20:1,0:30:1"},
    {"", {"t=-1", "2=::-10"}, ZD_OK, "9,0:20:1,29::-10"},
    {"0:10,5", {"t=3", NULL}, ZD_OK, "3,5,0:30:1"}, /* that was all of it */
    {"1:", {"t=3", NULL}, ZD_INVALID, "slice, and by isel"},
    {"::-1", {"t=3", NULL}, ZD_INVALID, "slice, and by isel"},
    {"", {"t=3", "0=3"}, ZD_INVALID, "twice, by isel"},
    {"", {"1=30", NULL}, ZD_OUT_OF_BOUNDS, "index 30 of dimension 2 is out of bounds"},
    {"", {"1=0:1,2", NULL}, ZD_INVALID, ""},
};

START_TEST(items_select_their_dimensions)
{
    const struct apply_fact *fact = &apply_facts[_i];
    const struct zd_meta meta = {.grid.rank = RANK, .dimension_name = names};
    const struct zd_selector pick = {.by_value = false};
    struct zd_selectors picks;
    struct zd_selection selection;
    struct zd_error err = {0};
    ZD_SCOPED_TEXT(shown, TEXT_BYTES);
    zd_selectors_init(&picks, TEXT_BYTES);
    for (size_t i = 0; i < ZD_COUNT_OF(fact->isel) && fact->isel[i] != NULL; i++) {
        ck_assert_int_eq(
            zd_selectors_add(&picks, pick, zd_span_of(""), zd_span_of(fact->isel[i]), NULL), ZD_OK);
    }
    ck_assert(!zd_selectors_have_values(&picks));
    ck_assert_int_eq(
        zd_selection_parse(zd_span_of(fact->slice), RANK, shape, &selection, NULL), ZD_OK);
    ck_assert_int_eq(zd_selectors_apply(&picks, &meta, shape, &selection, &err), fact->status);
    if (fact->status == ZD_OK) {
        ck_assert_int_eq(zd_selection_add(&selection, &shown), ZD_OK);
        ck_assert_str_eq(shown.at, fact->selection);
    } else {
        ck_assert_str_eq(err.facts.name, "isel");
        ck_assert_msg(strstr(err.text, fact->selection) != NULL, "%s", err.text);
    }
    zd_selectors_done(&picks);
}
END_TEST

START_TEST(there_are_not_too_many_of_them)
{
    const struct zd_selector pick = {.by_value = true, .is_split = true};
    struct zd_selectors picks;
    zd_selectors_init(&picks, TEXT_BYTES);
    for (uint32_t i = 0; i < ZD_SELECTORS_MAX; i++) {
        ck_assert_int_eq(
            zd_selectors_add(&picks, pick, zd_span_of(""), zd_span_of(""), NULL), ZD_OK);
    }
    ck_assert_int_eq(
        zd_selectors_add(&picks, pick, zd_span_of(""), zd_span_of(""), NULL), ZD_INVALID);
    zd_selectors_done(&picks);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(
        tests, a_dimension_is_what_stands_before_an_equals_sign, 0, ZD_COUNT_OF(find_facts));
    tcase_add_loop_test(tests, items_select_their_dimensions, 0, ZD_COUNT_OF(apply_facts));
    tcase_add_test(tests, there_are_not_too_many_of_them);
}
