/* Facts about core/grid/label_select and core/grid/labels. */
#include "core/grid/label_select.h"

#include <math.h>
#include <stdio.h>

#include "core/base/half.h"
#include "core/grid/label_order.h"
#include "core/grid/variable.h"
#include "tests/support/unit.h"

#define N_MAX 12

/* Kinds of coordinates; their elements are converted from doubles. */
static const struct kind {
    const char *name;
    const char *units;
    const char *calendar;
} kinds[] = {
    {"float64", "", ""},
    {"float32", "", ""},
    {"int16", "", ""},
    {"uint64", "", ""},
    {"int32", "days since 2001-01-01", "noleap"},
    {"float64", "hours since 2000-02-28", ""},
};

enum {
    F64,
    F32,
    I16,
    U64,
    DAYS,
    HOURS,
};

static void put(const struct zd_dtype *dtype, double value, uint8_t *element)
{
    const float narrow = (float)value;
    const int64_t whole = (int64_t)value;
    const uint64_t unsigned_whole = value < 0 ? 0 : (uint64_t)value;
    if (dtype->kind == ZD_DTYPE_FLOAT) {
        memcpy(element, dtype->bytes == 4 ? (const void *)&narrow : (const void *)&value,
            dtype->bytes);
    } else {
        memcpy(element,
            dtype->kind == ZD_DTYPE_UINT ? (const void *)&unsigned_whole : (const void *)&whole,
            dtype->bytes);
    }
}

static void find_order(struct zd_labels *labels)
{
    struct zd_label_order order;
    bool has_more = true;
    zd_label_order_init(&order, labels);
    while (has_more) {
        ck_assert_int_eq(zd_label_order_find(&order, 1000, &has_more, NULL), ZD_OK);
    }
    zd_label_order_done(&order);
}

static struct zd_labels labels_of(
    const struct kind *kind, const double *values, uint64_t n, uint8_t *elements)
{
    struct zd_labels labels;
    struct zd_dtype dtype;
    ck_assert_int_eq(zd_dtype_find(kind->name, &dtype), ZD_OK);
    ck_assert_int_eq(
        zd_labels_init(&labels, &dtype, zd_span_of(kind->units), zd_span_of(kind->calendar), NULL),
        ZD_OK);
    for (uint64_t i = 0; i < n; i++) {
        put(&dtype, values[i], elements + i * dtype.bytes);
    }
    labels.element = elements;
    labels.n = n;
    find_order(&labels);
    return labels;
}

static const struct fact {
    int kind;
    uint64_t n;
    double values[6];
    const char *spec;
    enum zd_status status;
    uint64_t start; /* of what is found: one element where count is 0 and the status ZD_OK */
    uint64_t count;
    int64_t step;
    const char *found; /* of ZD_NOT_FOUND */
} facts[] = {
    {F64, 4, {10, 20, 30, 40}, "30", ZD_OK, 2, 0, 0, NULL},
    {F64, 4, {10, 20, 30, 40}, "3e1", ZD_OK, 2, 0, 0, NULL},
    {F64, 4, {10, 20, 30, 40}, "31", ZD_NOT_FOUND, 0, 0, 0, "30.0, 40.0"},
    {F64, 4, {10, 20, 30, 40}, "-7", ZD_NOT_FOUND, 0, 0, 0, "10.0, 20.0"},
    {F64, 4, {10, 20, 30, 40}, "1e400", ZD_NOT_FOUND, 0, 0, 0, "40.0, 30.0"},
    {F64, 4, {1, 2, 10, 11}, "3", ZD_NOT_FOUND, 0, 0, 0, "2.0, 1.0"}, /* nearest, on one side */
    {F64, 1, {1}, "3", ZD_NOT_FOUND, 0, 0, 0, "1.0"},
    {F64, 0, {0}, "3", ZD_NOT_FOUND, 0, 0, 0, ""},
    {F64, 4, {10, 20, 30, 40}, "thirty", ZD_INVALID, 0, 0, 0, NULL},
    {F64, 4, {10, 20, 30, 40}, "", ZD_INVALID, 0, 0, 0, NULL},
    {F64, 4, {10, 20, 30, 40}, "\"30\"", ZD_INVALID, 0, 0, 0, NULL},
    {F64, 4, {10, 20, 30, 40}, "NaN", ZD_INVALID, 0, 0, 0, NULL},
    {F64, 4, {10, 20, 30, 40}, "2001-01-01", ZD_INVALID, 0, 0, 0, NULL},
    /* text is rounded to the type of floats */
    {F32, 3, {0.1, 0.2, 0.3}, "0.1", ZD_OK, 0, 0, 0, NULL},
    {F32, 3, {0.1, 0.2, 0.3}, "0.2/0.3", ZD_OK, 1, 2, 1, NULL},
    {F64, 3, {0.1, 0.2, 0.3}, "0.30000000000000004", ZD_NOT_FOUND, 0, 0, 0, "0.3, 0.2"},
    /* integers are what they are */
    {I16, 3, {1, 2, 3}, "2.0", ZD_OK, 1, 0, 0, NULL},
    {I16, 3, {1, 2, 3}, "2.5", ZD_NOT_FOUND, 0, 0, 0, "2, 3"},
    {I16, 3, {1, 2, 3}, "1.5/2.5", ZD_OK, 1, 1, 1, NULL},
    {I16, 3, {1, 2, 3}, "nearest::2.5", ZD_OK, 2, 0, 0, NULL},
    {I16, 3, {1, 2, 3}, "nearest:0.4:2.5", ZD_NOT_FOUND, 0, 0, 0, "2, 3"},
    {I16, 3, {1, 2, 3}, "-1e300/1e300", ZD_OK, 0, 3, 1, NULL},
    {U64, 3, {0, 1, 9007199254740992.0}, "9007199254740993", ZD_NOT_FOUND, 0, 0, 0,
        "9007199254740992, 1"},
    {U64, 3, {0, 1, 9007199254740992.0}, "18446744073709551616", ZD_NOT_FOUND, 0, 0, 0,
        "9007199254740992, 1"},
    {U64, 3, {0, 1, 9007199254740992.0}, "nearest::-1", ZD_OK, 0, 0, 0, NULL},
    /* nearest takes the greater of two that are as near, whichever way the labels run */
    {F64, 3, {10, 20, 30}, "nearest::25", ZD_OK, 2, 0, 0, NULL},
    {F64, 3, {30, 20, 10}, "nearest::25", ZD_OK, 0, 0, 0, NULL},
    {F64, 3, {10, 20, 30}, "nearest::24.9", ZD_OK, 1, 0, 0, NULL},
    {F64, 3, {10, 20, 30}, "nearest::-5", ZD_OK, 0, 0, 0, NULL},
    {F64, 3, {10, 20, 30}, "nearest::99", ZD_OK, 2, 0, 0, NULL},
    {F64, 3, {10, 20, 30}, "nearest:2:22", ZD_OK, 1, 0, 0, NULL},
    {F64, 3, {10, 20, 30}, "nearest:1.9:22", ZD_NOT_FOUND, 0, 0, 0, "20.0, 30.0"},
    {F64, 3, {10, 20, 30}, "nearest:0:20", ZD_OK, 1, 0, 0, NULL},
    {F64, 3, {10, 20, 30}, "nearest:-1:20", ZD_INVALID, 0, 0, 0, NULL},
    {F64, 3, {10, 20, 30}, "nearest:PT3H:20", ZD_INVALID, 0, 0, 0, NULL},
    {F64, 0, {0}, "nearest::20", ZD_NOT_FOUND, 0, 0, 0, ""},
    /* ffill and bfill go by place, as in pandas: of falling labels the one before is above */
    {F64, 3, {10, 20, 30}, "ffill::25", ZD_OK, 1, 0, 0, NULL},
    {F64, 3, {10, 20, 30}, "bfill::25", ZD_OK, 2, 0, 0, NULL},
    {F64, 3, {30, 20, 10}, "ffill::25", ZD_OK, 0, 0, 0, NULL},
    {F64, 3, {30, 20, 10}, "bfill::25", ZD_OK, 1, 0, 0, NULL},
    {F64, 3, {10, 20, 30}, "ffill::20", ZD_OK, 1, 0, 0, NULL},
    {F64, 3, {30, 20, 10}, "bfill::20", ZD_OK, 1, 0, 0, NULL},
    {F64, 3, {10, 20, 30}, "ffill::9", ZD_NOT_FOUND, 0, 0, 0, "10.0, 20.0"},
    {F64, 3, {10, 20, 30}, "bfill::31", ZD_NOT_FOUND, 0, 0, 0, "30.0, 20.0"},
    {F64, 3, {30, 20, 10}, "ffill::31", ZD_NOT_FOUND, 0, 0, 0, "30.0, 20.0"},
    /* intervals: both ends inclusive, in stored order, whichever way they are written */
    {F64, 5, {10, 20, 30, 40, 50}, "20/40", ZD_OK, 1, 3, 1, NULL},
    {F64, 5, {10, 20, 30, 40, 50}, "40/20", ZD_OK, 1, 3, 1, NULL},
    {F64, 5, {50, 40, 30, 20, 10}, "20/40", ZD_OK, 1, 3, 1, NULL},
    {F64, 5, {50, 40, 30, 20, 10}, "40/20", ZD_OK, 1, 3, 1, NULL},
    {F64, 5, {10, 20, 30, 40, 50}, "15/45/2", ZD_OK, 1, 2, 2, NULL},
    {F64, 5, {50, 40, 30, 20, 10}, "15/45/2", ZD_OK, 1, 2, 2, NULL},
    {F64, 5, {10, 20, 30, 40, 50}, "../20", ZD_OK, 0, 2, 1, NULL},
    {F64, 5, {10, 20, 30, 40, 50}, "40/..", ZD_OK, 3, 2, 1, NULL},
    {F64, 5, {50, 40, 30, 20, 10}, "../20", ZD_OK, 0, 4, 1, NULL}, /* ends of stored order */
    {F64, 5, {50, 40, 30, 20, 10}, "40/..", ZD_OK, 1, 4, 1, NULL},
    {F64, 5, {10, 20, 30, 40, 50}, "../..", ZD_OK, 0, 5, 1, NULL},
    {F64, 5, {10, 20, 30, 40, 50}, "../../9223372036854775807", ZD_OK, 0, 1, INT64_MAX, NULL},
    {F64, 5, {10, 20, 30, 40, 50}, "21/29", ZD_OK, 0, 0, 1, NULL}, /* an empty one */
    {F64, 5, {10, 20, 30, 40, 50}, "60/..", ZD_OK, 0, 0, 1, NULL},
    {F64, 0, {0}, "1/2", ZD_OK, 0, 0, 1, NULL},
    {F64, 4, {1, 2, 2, 3}, "2/2", ZD_OK, 1, 2, 1, NULL},
    {F64, 4, {3, 2, 2, 1}, "2/2", ZD_OK, 1, 2, 1, NULL},
    /* of equal ones the first; methods want labels that differ */
    {F64, 4, {1, 2, 2, 3}, "2", ZD_OK, 1, 0, 0, NULL},
    {F64, 4, {3, 2, 2, 1}, "2", ZD_OK, 1, 0, 0, NULL},
    {F64, 5, {2, 3, 1, 2, 3}, "3", ZD_OK, 1, 0, 0, NULL},
    {F64, 3, {5, 5, 5}, "5", ZD_OK, 0, 0, 0, NULL},
    {F64, 4, {1, 2, 2, 3}, "nearest::2", ZD_UNSUPPORTED, 0, 0, 0, NULL},
    {F64, 3, {1, 3, 2}, "nearest::2", ZD_UNSUPPORTED, 0, 0, 0, NULL},
    {F64, 3, {1, 3, 2}, "1/2", ZD_UNSUPPORTED, 0, 0, 0, NULL},
    {F64, 3, {1, 3, 2}, "../..", ZD_OK, 0, 3, 1, NULL},
    {F64, 3, {1, 3, 2}, "2", ZD_OK, 2, 0, 0, NULL},
    {F64, 3, {1, 3, 2}, "2.2", ZD_NOT_FOUND, 0, 0, 0, "2.0, 3.0"},
    {F64, 3, {1, (double)NAN, 2}, "2", ZD_OK, 2, 0, 0, NULL},
    {F64, 3, {1, (double)NAN, 2}, "5", ZD_NOT_FOUND, 0, 0, 0, "2.0, 1.0"},
    {F64, 1, {(double)NAN}, "5", ZD_NOT_FOUND, 0, 0, 0, ""},
    /* times: a date alone is a whole one in intervals, and its beginning otherwise */
    {DAYS, 4, {58, 59, 60, 61}, "2001-03-01", ZD_OK, 1, 0, 0, NULL},
    {DAYS, 4, {58, 59, 60, 61}, "2001-03", ZD_OK, 1, 0, 0, NULL},
    {DAYS, 4, {58, 59, 60, 61}, "2001-03-01T12:00", ZD_NOT_FOUND, 0, 0, 0,
        "2001-03-01T00:00:00, 2001-03-02T00:00:00"},
    {DAYS, 4, {58, 59, 60, 61}, "2001-02-29", ZD_INVALID, 0, 0, 0, NULL}, /* noleap */
    {DAYS, 4, {58, 59, 60, 61}, "59", ZD_INVALID, 0, 0, 0, NULL},         /* a number is no time */
    {DAYS, 4, {58, 59, 60, 61}, "2001-03/2001-03", ZD_OK, 1, 3, 1, NULL},
    {DAYS, 4, {58, 59, 60, 61}, "2001/2001-02", ZD_OK, 0, 1, 1, NULL}, /* one within the other */
    {DAYS, 4, {58, 59, 60, 61}, "2001-02/2001", ZD_OK, 0, 4, 1, NULL},
    {DAYS, 4, {61, 60, 59, 58}, "2001/2001-02", ZD_OK, 0, 4, 1, NULL}, /* from its end downwards */
    {DAYS, 4, {61, 60, 59, 58}, "2001-02/2001", ZD_OK, 3, 1, 1, NULL},
    {DAYS, 4, {58, 59, 60, 61}, "2001-03-03/2001-03-01", ZD_OK, 1, 3, 1, NULL},
    {DAYS, 4, {61, 60, 59, 58}, "2001-03/2001-03", ZD_OK, 0, 3, 1, NULL},
    {DAYS, 4, {61, 60, 59, 58}, "2001-02/..", ZD_OK, 3, 1, 1, NULL},
    {DAYS, 4, {61, 60, 59, 58}, "../2001-03", ZD_OK, 0, 3, 1, NULL},
    {DAYS, 4, {58, 59, 60, 61}, "nearest:PT12H:2001-03-01T12:00", ZD_OK, 2, 0, 0, NULL},
    {DAYS, 4, {58, 59, 60, 61}, "nearest:11h:2001-03-01T12:00", ZD_NOT_FOUND, 0, 0, 0,
        "2001-03-01T00:00:00, 2001-03-02T00:00:00"},
    {DAYS, 4, {58, 59, 60, 61}, "nearest:0.5:2001-03-01", ZD_INVALID, 0, 0, 0, NULL},
    {HOURS, 5, {0, 12, 24, 36, 48}, "2000-02-29/2000-02-29", ZD_OK, 2, 2, 1, NULL},
    {HOURS, 5, {0, 12, 24, 36, 48}, "2000-02-29T12:00+00:00", ZD_OK, 3, 0, 0, NULL},
    {HOURS, 5, {0, 12, 24, 36, 48}, "2000-02-29T12/2000-02-29T12", ZD_OK, 3, 1, 1, NULL},
    {HOURS, 5, {0, 12, 24, 36, 48}, "ffill::2000-02-29T23:59", ZD_OK, 3, 0, 0, NULL},
    {HOURS, 3, {0, 1e300, 2}, "2000-02-28T02:00", ZD_OK, 2, 0, 0, NULL}, /* beyond all calendars */
    {HOURS, 3, {0, 1e300, 2}, "2000/2001", ZD_UNSUPPORTED, 0, 0, 0, NULL},
};

START_TEST(spec_selects)
{
    const struct fact *fact = &facts[_i];
    uint8_t elements[N_MAX * sizeof(double)];
    struct zd_axis axis;
    struct zd_error err = {0};
    struct zd_labels labels = labels_of(&kinds[fact->kind], fact->values, fact->n, elements);
    ck_assert_msg(zd_label_select(&labels, zd_span_of(fact->spec), &axis, &err) == fact->status,
        "%s: %s", fact->spec, err.text);
    zd_labels_done(&labels);
    if (fact->found != NULL) {
        ck_assert_str_eq(err.facts.found, fact->found);
    }
    if (fact->status != ZD_OK) {
        ck_assert(err.text[0] != '\0');
        return;
    }
    const bool is_one = fact->step == 0;
    ck_assert_int_eq(axis.dropped, is_one);
    ck_assert_uint_eq(axis.start, fact->start);
    ck_assert_uint_eq(axis.count, is_one ? 1 : fact->count);
    ck_assert(is_one || fact->count == 0 || axis.step == fact->step);
}
END_TEST

/* ---- against brute force ---- */

static bool is_between(double value, double a, double b)
{
    return value >= fmin(a, b) && value <= fmax(a, b);
}

static void check_interval(const struct zd_labels *labels, const double *values, double a, double b)
{
    char spec[80];
    struct zd_axis axis;
    uint64_t n = 0;
    const uint64_t step = 1 + zd_unit_random() % 3;
    (void)snprintf(spec, sizeof spec, "%g/%g/%d", a, b, (int)step);
    ck_assert_int_eq(zd_label_select(labels, zd_span_of(spec), &axis, NULL), ZD_OK);
    for (uint64_t i = 0; i < labels->n; i++) {
        if (is_between(values[i], a, b) && n++ % step == 0) {
            const uint64_t k = (n - 1) / step;
            ck_assert_uint_lt(k, axis.count);
            ck_assert_uint_eq(axis.start + k * step, i);
        }
    }
    ck_assert_uint_eq(axis.count, zd_div_up(n, step));
    ck_assert_uint_eq(axis.slack, n == 0 ? 0 : (n - 1) % step);
}

static void check_nearest(const struct zd_labels *labels, const double *values, double value)
{
    char spec[80];
    struct zd_axis axis;
    uint64_t nearest = 0;
    (void)snprintf(spec, sizeof spec, "nearest::%g", value);
    const enum zd_status status = zd_label_select(labels, zd_span_of(spec), &axis, NULL);
    if (!labels->is_strict) {
        ck_assert_int_eq(status, ZD_UNSUPPORTED);
        return;
    }
    for (uint64_t i = 1; i < labels->n; i++) {
        const double less = fabs(values[nearest] - value) - fabs(values[i] - value);
        nearest = less > 0 || (less == 0 && values[i] > values[nearest]) ? i : nearest;
    }
    ck_assert_int_eq(status, labels->n == 0 ? ZD_NOT_FOUND : ZD_OK);
    ck_assert(labels->n == 0 || axis.start == nearest);
}

static void check_exact(const struct zd_labels *labels, const double *values, double value)
{
    char spec[80];
    struct zd_axis axis;
    uint64_t first = 0;
    (void)snprintf(spec, sizeof spec, "%g", value);
    while (first < labels->n && values[first] != value) {
        first++;
    }
    const enum zd_status status = zd_label_select(labels, zd_span_of(spec), &axis, NULL);
    ck_assert_int_eq(status, first < labels->n ? ZD_OK : ZD_NOT_FOUND);
    ck_assert(status != ZD_OK || axis.start == first);
}

START_TEST(random_selections_are_those_of_brute_force)
{
    static const int numbers[] = {F64, F32, I16};
    uint8_t elements[N_MAX * sizeof(double)];
    double values[N_MAX];
    const uint64_t n = zd_unit_random() % (N_MAX + 1);
    const bool falls = zd_unit_random() % 2 == 0;
    const bool is_mixed = zd_unit_random() % 4 == 0;
    double value = (double)(zd_unit_random() % 10);
    for (uint64_t i = 0; i < n; i++) {
        value += (double)(zd_unit_random() % 4) * (falls ? -1 : 1);
        values[i] = is_mixed ? (double)(zd_unit_random() % 20) : value;
    }
    struct zd_labels labels =
        labels_of(&kinds[numbers[(size_t)_i % ZD_COUNT_OF(numbers)]], values, n, elements);
    for (int i = 0; i < 20; i++) {
        const double a = (double)(zd_unit_random() % 120) / 2 - 30;
        const double b = (double)(zd_unit_random() % 120) / 2 - 30;
        check_exact(&labels, values, a);
        if (labels.rises || labels.falls) {
            check_interval(&labels, values, a, b);
            check_nearest(&labels, values, a);
        }
    }
    zd_labels_done(&labels);
}
END_TEST

/* ---- texts ---- */

static const struct text_fact {
    const char *spec;
    enum zd_status status;
    uint64_t number;
    const char *found;
} text_facts[] = {
    {"Oslo", ZD_OK, 0, NULL},
    {"Bergen", ZD_OK, 2, NULL},
    {"", ZD_OK, 3, NULL},
    {"a/b", ZD_OK, 4, NULL}, /* a value, whatever it looks like */
    {"Züric", ZD_OK, 1, NULL},
    {"Oslo ", ZD_NOT_FOUND, 0, "Oslo, Züric"},
    {"Bern", ZD_NOT_FOUND, 0, "Bergen, Oslo"},
    {"Oslo/Bergen", ZD_INVALID, 0, NULL},
    {"nearest::Oslo", ZD_INVALID, 0, NULL},
    {"far more than five", ZD_NOT_FOUND, 0, "a/b"},
};

static const char *const texts[] = {"Oslo", "Züric", "Bergen", "", "a/b"};

static void check_text(const struct zd_labels *labels, const struct text_fact *fact)
{
    struct zd_axis axis;
    struct zd_error err = {0};
    ck_assert_msg(zd_label_select(labels, zd_span_of(fact->spec), &axis, &err) == fact->status,
        "%s: %s", fact->spec, err.text);
    if (fact->status == ZD_OK) {
        ck_assert_uint_eq(axis.start, fact->number);
        ck_assert(axis.dropped);
    }
}

START_TEST(text_is_found_exactly)
{
    uint8_t elements[ZD_COUNT_OF(texts) * ZD_VARIABLE_BYTES];
    struct zd_labels labels;
    struct zd_dtype dtype;
    const struct zd_span none = {0};
    ck_assert_int_eq(zd_dtype_find("string", &dtype), ZD_OK);
    ck_assert_int_eq(zd_labels_init(&labels, &dtype, none, none, NULL), ZD_OK);
    for (size_t i = 0; i < ZD_COUNT_OF(texts); i++) {
        zd_variable_put(elements, i, zd_span_of(texts[i]));
    }
    labels.element = elements;
    labels.n = ZD_COUNT_OF(texts);
    find_order(&labels);
    check_text(&labels, &text_facts[_i]);
    zd_labels_done(&labels);
}
END_TEST

START_TEST(text_of_fixed_length_is_packed)
{
    static const char *const names[] = {"fixed_length_utf32", "null_terminated_bytes"};
    const bool is_utf32 = _i == 0;
    struct zd_dtype dtype;
    struct zd_labels labels;
    struct zd_axis axis;
    const struct zd_span none = {0};
    ZD_AUTO(zd_buf) packed = NULL;
    uint8_t elements[3 * 8] = {0};
    ck_assert_int_eq(zd_dtype_of_bytes(names[_i], is_utf32 ? 8 : 4, &dtype), ZD_OK);
    ck_assert(zd_labels_need_packing(&dtype));
    elements[0] = 'b';
    elements[(size_t)dtype.bytes] = 'a';
    elements[(size_t)dtype.bytes + dtype.bytes / 2] = 'b';
    ck_assert_int_eq(zd_labels_pack(&dtype, elements, 3, &packed, NULL), ZD_OK);
    ck_assert_int_eq(zd_labels_init(&labels, &dtype, none, none, NULL), ZD_OK);
    labels.element = packed->data;
    labels.n = 3;
    find_order(&labels);
    ck_assert_int_eq(zd_label_select(&labels, zd_span_of("b"), &axis, NULL), ZD_OK);
    ck_assert_uint_eq(axis.start, 0);
    ck_assert_int_eq(zd_label_select(&labels, zd_span_of(""), &axis, NULL), ZD_OK);
    ck_assert_uint_eq(axis.start, 2);
    ck_assert_int_eq(
        zd_label_select(&labels, zd_span_of("ab"), &axis, NULL), is_utf32 ? ZD_OK : ZD_NOT_FOUND);
    zd_labels_done(&labels);
}
END_TEST

/* ---- ticks ---- */

static const struct tick_fact {
    const char *name;
    enum zd_dtype_unit unit;
    uint64_t scale;
    const char *spec;
    enum zd_status status;
    uint64_t start;
    uint64_t count; /* 0: one element */
} tick_facts[] = {
    {"numpy.datetime64", ZD_DTYPE_DAYS, 1, "1970-01-03", ZD_OK, 2, 0},
    {"numpy.datetime64", ZD_DTYPE_HOURS, 6, "1970-01-01/1970-01-01", ZD_OK, 0, 4},
    {"numpy.datetime64", ZD_DTYPE_NANOSECONDS, 1, "1970-01-01T00:00:00.000000003", ZD_OK, 3, 0},
    {"numpy.datetime64", ZD_DTYPE_MONTHS, 1, "1970-03-01", ZD_OK, 2, 0},
    {"numpy.datetime64", ZD_DTYPE_MONTHS, 1, "nearest::1970-03-20", ZD_OK, 3, 0},
    {"numpy.datetime64", ZD_DTYPE_YEARS, 2, "1972/1974", ZD_OK, 1, 2},
    {"numpy.datetime64", ZD_DTYPE_GENERIC, 1, NULL, ZD_UNSUPPORTED, 0, 0},
    {"numpy.timedelta64", ZD_DTYPE_HOURS, 3, "PT6H", ZD_OK, 2, 0},
    {"numpy.timedelta64", ZD_DTYPE_HOURS, 3, "3h/9 h", ZD_OK, 1, 3},
    {"numpy.timedelta64", ZD_DTYPE_HOURS, 3, "nearest:1h:PT5H", ZD_OK, 2, 0},
    {"numpy.timedelta64", ZD_DTYPE_HOURS, 3, "6", ZD_INVALID, 0, 0},
    {"numpy.timedelta64", ZD_DTYPE_MONTHS, 1, NULL, ZD_UNSUPPORTED, 0, 0},
};

START_TEST(ticks_are_times_and_durations)
{
    static const int64_t ticks[] = {0, 1, 2, 3, 4, 5};
    const struct tick_fact *fact = &tick_facts[_i];
    struct zd_labels labels;
    struct zd_dtype dtype;
    struct zd_axis axis;
    struct zd_error err = {0};
    const struct zd_span none = {0};
    ck_assert_int_eq(zd_dtype_of_ticks(fact->name, fact->unit, fact->scale, &dtype), ZD_OK);
    if (fact->spec == NULL) {
        ck_assert_int_eq(zd_labels_init(&labels, &dtype, none, none, &err), fact->status);
        return;
    }
    ck_assert_int_eq(zd_labels_init(&labels, &dtype, none, none, &err), ZD_OK);
    labels.element = (const uint8_t *)ticks;
    labels.n = ZD_COUNT_OF(ticks);
    find_order(&labels);
    ck_assert_msg(zd_label_select(&labels, zd_span_of(fact->spec), &axis, &err) == fact->status,
        "%s: %s", fact->spec, err.text);
    if (fact->status == ZD_OK) {
        ck_assert_uint_eq(axis.start, fact->start);
        ck_assert_uint_eq(axis.count, fact->count == 0 ? 1 : fact->count);
    }
}
END_TEST

START_TEST(labels_of_unknown_calendars_are_refused)
{
    struct zd_labels labels;
    struct zd_dtype dtype;
    struct zd_error err = {0};
    ck_assert_int_eq(zd_dtype_find("int32", &dtype), ZD_OK);
    ck_assert_int_eq(zd_labels_init(&labels, &dtype, zd_span_of("days since 2001-01-01"),
                         zd_span_of("martian"), &err),
        ZD_INVALID);
    ck_assert_str_eq(err.facts.found, "martian");
    ck_assert_int_eq(zd_labels_init(&labels, &dtype, zd_span_of("months since 2001-01-01"),
                         zd_span_of("martian"), &err),
        ZD_INVALID);
    ck_assert_int_eq(
        zd_labels_init(&labels, &dtype, zd_span_of("metres"), zd_span_of("martian"), &err), ZD_OK);
    ck_assert_int_eq(labels.kind, ZD_LABELS_INTEGERS);
    ck_assert_int_eq(zd_dtype_find("complex64", &dtype), ZD_OK);
    ck_assert_int_eq(
        zd_labels_init(&labels, &dtype, zd_span_of(""), zd_span_of(""), &err), ZD_UNSUPPORTED);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, spec_selects, 0, ZD_COUNT_OF(facts));
    tcase_add_loop_test(tests, random_selections_are_those_of_brute_force, 0, 300);
    tcase_add_loop_test(tests, text_is_found_exactly, 0, ZD_COUNT_OF(text_facts));
    tcase_add_loop_test(tests, text_of_fixed_length_is_packed, 0, 2);
    tcase_add_loop_test(tests, ticks_are_times_and_durations, 0, ZD_COUNT_OF(tick_facts));
    tcase_add_test(tests, labels_of_unknown_calendars_are_refused);
}
