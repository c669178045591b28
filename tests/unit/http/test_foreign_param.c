/* Facts about server/http/foreign_param: what a name of other servers is called here. */
#include "server/http/foreign_param.h"

#include <string.h>

#include "tests/support/unit.h"

static const char *const by_index[] = {"slice", "format", NULL};
static const char *const by_value[] = {"slice", "sel", "isel", "format", NULL};
static const char *const of_chunks[] = {"index", "slice", NULL};
static const char *const none[] = {NULL};

static const struct {
    const char *name;
    const char *const *allowed;
    const char *ours; /* NULL: nothing is known */
} facts[] = {
    {"selection", by_index, "slice"},
    {"slice_", by_index, "slice"},
    {"bbox", by_value, "sel"},
    {"bbox", by_index, "slice"}, /* a route that does not select by value */
    {"BBOX", by_value, "sel"},   /* as WMS writes it */
    {"time", by_value, "sel"},
    {"block", of_chunks, "index"},
    {"block", by_index, "slice"},
    {"index", of_chunks, NULL}, /* ours already */
    {"bbox", none, NULL},
    {"", by_value, NULL},
    {"something", by_value, NULL},
};

START_TEST(a_name_of_other_servers_is_translated)
{
    const struct zd_foreign_param *usual = zd_foreign_param_find(facts[_i].name, facts[_i].allowed);
    if (facts[_i].ours == NULL) {
        ck_assert_ptr_null(usual);
        return;
    }
    ck_assert_ptr_nonnull(usual);
    ck_assert_str_eq(usual->ours, facts[_i].ours);
    ck_assert_ptr_nonnull(strstr(usual->example, usual->ours)); /* it shows that parameter */
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, a_name_of_other_servers_is_translated, 0, (int)ZD_COUNT_OF(facts));
}
