/* Facts about core/grid/label_order. */
#include "core/grid/label_order.h"

#include <math.h>

#include "tests/support/unit.h"

#define N_MAX 40

static struct zd_labels labels_of(const double *values, uint64_t n)
{
    struct zd_labels labels;
    struct zd_dtype dtype;
    const struct zd_span none = {0};
    ck_assert_int_eq(zd_dtype_find("float64", &dtype), ZD_OK);
    ck_assert_int_eq(zd_labels_init(&labels, &dtype, none, none, NULL), ZD_OK);
    labels.element = (const uint8_t *)values;
    labels.n = n;
    return labels;
}

static void find(struct zd_labels *labels, uint64_t n_steps)
{
    struct zd_label_order order;
    bool has_more = true;
    zd_label_order_init(&order, labels);
    for (uint64_t i = 0; has_more; i++) {
        ck_assert_uint_lt(i, 10000);
        ck_assert_int_eq(zd_label_order_find(&order, n_steps, &has_more, NULL), ZD_OK);
    }
    zd_label_order_done(&order);
}

static const struct fact {
    uint64_t n;
    double values[4];
    bool rises;
    bool falls;
    bool is_strict;
} facts[] = {
    {0, {0}, true, true, true},
    {1, {7}, true, true, true},
    {3, {1, 2, 3}, true, false, true},
    {3, {3, 2, 1}, false, true, true},
    {3, {1, 1, 2}, true, false, false},
    {3, {2, 2, 1}, false, true, false},
    {3, {5, 5, 5}, true, true, false},
    {3, {1, 3, 2}, false, false, true},
    {1, {(double)NAN}, false, false, true},
    {4, {1, 2, (double)NAN, 4}, false, false, true},
    {2, {(double)-INFINITY, (double)INFINITY}, true, false, true},
};

START_TEST(order_is_seen)
{
    const struct fact *fact = &facts[_i];
    struct zd_labels labels = labels_of(fact->values, fact->n);
    find(&labels, 1);
    ck_assert_int_eq(labels.rises, fact->rises);
    ck_assert_int_eq(labels.falls, fact->falls);
    ck_assert((labels.order == NULL) == (fact->rises || fact->falls));
    if (labels.order == NULL) {
        ck_assert_int_eq(labels.is_strict, fact->is_strict);
    }
    zd_labels_done(&labels);
}
END_TEST

START_TEST(labels_without_order_are_sorted_in_pieces_and_equal_ones_stay_as_they_are)
{
    double values[N_MAX];
    const uint64_t n = zd_unit_random() % (N_MAX + 1);
    uint64_t n_values = 0;
    for (uint64_t i = 0; i < n; i++) {
        values[i] = zd_unit_random() % 8 == 0 ? (double)NAN : (double)(zd_unit_random() % 8);
        n_values += isnan(values[i]) ? 0 : 1;
    }
    struct zd_labels labels = labels_of(values, n);
    find(&labels, 1 + zd_unit_random() % 7);
    if (labels.order != NULL) {
        ck_assert_uint_eq(labels.n_ordered, n_values);
        for (uint64_t i = 1; i < n_values; i++) {
            const uint32_t before = labels.order[i - 1];
            const uint32_t here = labels.order[i];
            ck_assert(
                values[before] < values[here] || (values[before] == values[here] && before < here));
        }
    }
    zd_labels_done(&labels);
}
END_TEST

static enum zd_status sort(void *context)
{
    static const double values[] = {3, 1, 2};
    struct zd_labels labels = labels_of(values, ZD_COUNT_OF(values));
    struct zd_label_order order;
    bool has_more = true;
    enum zd_status status = ZD_OK;
    (void)context;
    zd_label_order_init(&order, &labels);
    while (status == ZD_OK && has_more) {
        status = zd_label_order_find(&order, 100, &has_more, NULL);
    }
    zd_label_order_done(&order);
    zd_labels_done(&labels);
    return status;
}

START_TEST(sorting_survives_without_memory)
{
    zd_unit_with_failing_memory(sort, NULL);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, order_is_seen, 0, ZD_COUNT_OF(facts));
    tcase_add_loop_test(
        tests, labels_without_order_are_sorted_in_pieces_and_equal_ones_stay_as_they_are, 0, 200);
    tcase_add_test(tests, sorting_survives_without_memory);
}
