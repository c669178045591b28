/* Elements by the values of their coordinate. */
#include "core/grid/label_select.h"

#include "core/base/num.h"
#include "core/grid/label_spec.h"

#define NEAREST_MAX     2
#define SHOWN_BYTES_MAX 60 /* of a text, in messages */
#define FOUND_BYTES_MAX 256

/* ---- in rising order ---- */

/* The number of the label that comes at a place in rising order. */
static uint64_t at_rank(const struct zd_labels *labels, uint64_t rank)
{
    if (labels->order != NULL) {
        return labels->order[rank];
    }
    return labels->rises ? rank : labels->n - 1 - rank;
}

static uint64_t count_ranks(const struct zd_labels *labels)
{
    return labels->order != NULL ? labels->n_ordered : labels->n;
}

/* How many labels are below one, or (with_equal) not above it. */
static uint64_t count_below(
    const struct zd_labels *labels, const struct zd_label *label, bool with_equal)
{
    uint64_t first = 0;
    uint64_t end = count_ranks(labels);
    while (first < end) {
        const uint64_t middle = first + (end - first) / 2;
        const int order = zd_label_compare(labels, at_rank(labels, middle), label);
        if (order < 0 || (with_equal && order == 0)) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return first;
}

/* ---- one value ---- */

/* The places in rising order of the labels that are nearest: the nearest first. @param below how
 * many are below it @return how many */
static uint32_t find_nearest(const struct zd_labels *labels, const struct zd_label *label,
    uint64_t below, uint64_t ret_number[NEAREST_MAX])
{
    uint64_t above = below;
    uint32_t n = 0;
    while (n < NEAREST_MAX && (below > 0 || above < count_ranks(labels))) {
        bool takes_below = above == count_ranks(labels);
        if (!takes_below && below > 0) {
            takes_below = labels->kind == ZD_LABELS_TEXTS
                              ? n == 0
                              : zd_label_compare_distances(labels, at_rank(labels, below - 1),
                                    at_rank(labels, above), label) <= 0;
        }
        ret_number[n++] = at_rank(labels, takes_below ? --below : above++);
    }
    return n;
}

static enum zd_status not_found(const struct zd_labels *labels, const struct zd_label *label,
    const char *what, struct zd_error *err)
{
    const int shown = (int)zd_min_u64(label->text.len, SHOWN_BYTES_MAX);
    const char *text = label->text.len == 0 ? "" : (const char *)label->text.ptr;
    uint64_t number[NEAREST_MAX];
    ZD_SCOPED_TEXT(found, FOUND_BYTES_MAX);
    const uint32_t n = find_nearest(labels, label, count_below(labels, label, false), number);
    for (uint32_t i = 0; i < n; i++) {
        zd_text_add(&found, i == 0 ? "" : ", ");
        zd_labels_add(labels, number[i], &found);
    }
    const enum zd_status status = zd_fail(err, ZD_NOT_FOUND, "there is no value %s'%.*s'%s%s", what,
        shown, text, n == 0 ? "" : "; the nearest values: ", found.at);
    zd_fact_name(err, "sel");
    zd_fact_found(err, "%s", found.at);
    return status;
}

static struct zd_axis one(uint64_t i)
{
    return (struct zd_axis){.start = i, .count = 1, .step = 1, .dropped = true};
}

/* The first in stored order that is equal. */
static enum zd_status select_exact(const struct zd_labels *labels, const struct zd_label *label,
    struct zd_axis *ret_axis, struct zd_error *err)
{
    const bool is_reversed = labels->order == NULL && !labels->rises;
    const uint64_t below = count_below(labels, label, is_reversed);
    const uint64_t rank = is_reversed ? below - 1 : below; /* equal ones are stored the other way */
    const bool is_there = (is_reversed ? below > 0 : below < count_ranks(labels)) &&
                          zd_label_compare(labels, at_rank(labels, rank), label) == 0;
    if (!is_there) {
        return not_found(labels, label, "", err);
    }
    *ret_axis = one(at_rank(labels, rank));
    return ZD_OK;
}

static enum zd_status refuse_order(
    const struct zd_labels *labels, const char *what, struct zd_error *err)
{
    const bool has_order = labels->rises || labels->falls;
    const char *why = has_order ? "has equal values" : "neither rises nor falls";
    return zd_fail_expected(err, ZD_UNSUPPORTED, "values that rise or fall", why,
        "the coordinate %s: %s cannot be used; select an exact value", why, what);
}

/* Where a label would stand in stored order. */
struct place {
    uint64_t behind; /* the first element that is not before it; n: there is none */
    bool is_equal;   /* that one is equal to it */
};

static struct place find_place(const struct zd_labels *labels, const struct zd_label *label)
{
    const uint64_t below = count_below(labels, label, false);
    const uint64_t not_above = count_below(labels, label, true);
    return (struct place){
        .behind = labels->rises ? below : labels->n - not_above,
        .is_equal = below < not_above,
    };
}

/* Whether a method takes the element behind the place, and not the one before it. As in pandas,
 * what is before is a matter of stored order, and of two that are as near the greater one is taken.
 */
static bool takes_behind(const struct zd_labels *labels, enum zd_label_method method,
    const struct zd_label *label, const struct place *place)
{
    if (place->is_equal || method != ZD_LABEL_NEAREST) {
        return place->is_equal || method == ZD_LABEL_BFILL;
    }
    if (place->behind == 0 || place->behind == labels->n) {
        return place->behind == 0;
    }
    const int order = zd_label_compare_distances(labels, place->behind - 1, place->behind, label);
    return labels->rises ? order >= 0 : order > 0;
}

static enum zd_status select_near(const struct zd_labels *labels, const struct zd_label_spec *spec,
    struct zd_axis *ret_axis, struct zd_error *err)
{
    const bool has_tolerance = spec->tolerance.ptr != NULL;
    struct zd_label label;
    struct zd_label_tolerance tolerance;
    ZD_TRY(zd_label_read(labels, spec->first, &label, err));
    if (has_tolerance) {
        ZD_TRY(zd_label_read_tolerance(labels, spec->tolerance, &tolerance, err));
    }
    if (!labels->is_strict || (!labels->rises && !labels->falls)) {
        return refuse_order(labels, "nearest, ffill and bfill", err);
    }
    const struct place place = find_place(labels, &label);
    const bool is_behind = takes_behind(labels, spec->method, &label, &place);
    if (is_behind ? place.behind == labels->n : place.behind == 0) {
        return not_found(labels, &label, is_behind ? "at or after " : "at or before ", err);
    }
    const uint64_t i = is_behind ? place.behind : place.behind - 1;
    if (has_tolerance && !zd_label_is_within(labels, i, &label, &tolerance)) {
        return not_found(labels, &label, "within the tolerance of ", err);
    }
    *ret_axis = one(i);
    return ZD_OK;
}

/* ---- intervals ---- */

/* Two ends in rising order; NULL: open. */
struct ends {
    const struct zd_label *low;
    const struct zd_label *high;
};

/* How many labels are not above an end: of a time, within what it means. */
static uint64_t count_to(const struct zd_labels *labels, const struct zd_label *high)
{
    if (labels->kind != ZD_LABELS_TIMES && labels->kind != ZD_LABELS_DURATIONS) {
        return count_below(labels, high, true);
    }
    const struct zd_label end = {.whole = high->end};
    return count_below(labels, &end, false);
}

static struct zd_axis axis_of(uint64_t first, uint64_t end, uint64_t step)
{
    if (first >= end) {
        return (struct zd_axis){.step = 1};
    }
    const uint64_t len = end - first;
    return (struct zd_axis){
        .start = first,
        .count = zd_div_up(len, step),
        .step = (int64_t)step,
        .slack = (len - 1) % step,
    };
}

static struct zd_axis range_of(
    const struct zd_labels *labels, const struct ends *ends, uint64_t step)
{
    const uint64_t n = labels->n;
    const uint64_t low = ends->low == NULL ? 0 : count_below(labels, ends->low, false);
    const uint64_t high = ends->high == NULL ? n : count_to(labels, ends->high);
    if (low >= high) {
        return axis_of(0, 0, step);
    }
    return labels->rises ? axis_of(low, high, step) : axis_of(n - high, n - low, step);
}

static enum zd_status read_end(const struct zd_labels *labels, struct zd_span text,
    struct zd_label *label, const struct zd_label **ret_end, struct zd_error *err)
{
    if (text.ptr != NULL) {
        ZD_TRY(zd_label_read(labels, text, label, err));
        *ret_end = label;
    }
    return ZD_OK;
}

static struct ends turned(const struct ends *ends)
{
    return (struct ends){.low = ends->high, .high = ends->low};
}

/* Whether the lower end is above the higher one; of times, above all that it means. */
static bool is_against(const struct zd_labels *labels, const struct ends *ends)
{
    const bool is_time = labels->kind == ZD_LABELS_TIMES || labels->kind == ZD_LABELS_DURATIONS;
    return is_time ? ends->low->whole >= ends->high->end
                   : zd_label_compare_two(labels, ends->low, ends->high) > 0;
}

/* Whichever way it was written; an open end is one of stored order. */
static enum zd_status select_interval(const struct zd_labels *labels,
    const struct zd_label_spec *spec, struct zd_axis *ret_axis, struct zd_error *err)
{
    struct zd_label label[2];
    struct ends ends = {0};
    ZD_TRY(read_end(labels, spec->first, &label[0], &ends.low, err));
    ZD_TRY(read_end(labels, spec->last, &label[1], &ends.high, err));
    if (ends.low == NULL && ends.high == NULL) {
        *ret_axis = axis_of(0, labels->n, spec->step);
        return ZD_OK;
    }
    if (!labels->rises && !labels->falls) {
        return refuse_order(labels, "an interval", err);
    }
    if (!labels->rises) {
        ends = turned(&ends);
    }
    if (ends.low != NULL && ends.high != NULL && is_against(labels, &ends)) {
        ends = turned(&ends);
    }
    *ret_axis = range_of(labels, &ends, spec->step);
    return ZD_OK;
}

/* ---- all of them ---- */

/* Texts have no methods: whatever a text looks like, it is a value first. */
static enum zd_status select_text(const struct zd_labels *labels, struct zd_span text,
    struct zd_axis *ret_axis, struct zd_error *err)
{
    const struct zd_label label = {.text = text};
    struct zd_label_spec spec;
    const enum zd_status status = select_exact(labels, &label, ret_axis, err);
    if (status != ZD_NOT_FOUND) {
        return status;
    }
    const bool is_value =
        zd_label_spec_parse(text, &spec, NULL) == ZD_OK && spec.method == ZD_LABEL_EXACT;
    return is_value ? status
                    : zd_label_spec_fail(
                          err, "a plain value: strings have no methods or intervals", text);
}

enum zd_status zd_label_select(const struct zd_labels *labels, struct zd_span text,
    struct zd_axis *ret_axis, struct zd_error *err)
{
    struct zd_label_spec spec;
    struct zd_label label;
    if (labels->kind == ZD_LABELS_TEXTS) {
        return select_text(labels, text, ret_axis, err);
    }
    ZD_TRY(zd_label_spec_parse(text, &spec, err));
    switch (spec.method) {
    case ZD_LABEL_EXACT:
        ZD_TRY(zd_label_read(labels, spec.first, &label, err));
        return select_exact(labels, &label, ret_axis, err);
    case ZD_LABEL_NEAREST:
    case ZD_LABEL_FFILL:
    case ZD_LABEL_BFILL:
        return select_near(labels, &spec, ret_axis, err);
    case ZD_LABEL_INTERVAL:
        break;
    }
    return select_interval(labels, &spec, ret_axis, err);
}
