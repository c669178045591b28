/* The order of labels, found in pieces. */
#include "core/grid/label_order.h"

#include "core/base/num.h"

void zd_label_order_init(struct zd_label_order *order, struct zd_labels *labels)
{
    *order = (struct zd_label_order){.labels = labels};
    labels->rises = true;
    labels->falls = true;
    labels->is_strict = true;
}

void zd_label_order_done(struct zd_label_order *order)
{
    zd_free(order->spare);
    order->spare = NULL;
}

/* ---- whether they rise or fall ---- */

static void see(struct zd_labels *labels, uint64_t i)
{
    if (!zd_labels_is_value(labels, i)) {
        labels->rises = false;
        labels->falls = false;
        return;
    }
    if (i == 0) {
        return;
    }
    const int change = zd_labels_compare(labels, i - 1, i);
    labels->rises = labels->rises && change <= 0;
    labels->falls = labels->falls && change >= 0;
    labels->is_strict = labels->is_strict && change != 0;
}

/* @return whether all are seen, or there is no order to be seen */
static bool see_some(struct zd_label_order *order, uint64_t n_steps)
{
    struct zd_labels *labels = order->labels;
    const uint64_t end = order->n_seen + zd_min_u64(n_steps, labels->n - order->n_seen);
    while (order->n_seen < end && (labels->rises || labels->falls)) {
        see(labels, order->n_seen++);
    }
    return order->n_seen == labels->n || (!labels->rises && !labels->falls);
}

/* ---- sorting ---- */

static enum zd_status begin_sort(struct zd_label_order *order, struct zd_error *err)
{
    struct zd_labels *labels = order->labels;
    labels->order = zd_alloc_zero(labels->n, sizeof *labels->order);
    order->spare = zd_alloc_zero(labels->n, sizeof *order->spare);
    if (labels->order == NULL || order->spare == NULL) {
        return zd_fail(
            err, ZD_NO_MEMORY, "no memory to sort %llu labels", (unsigned long long)labels->n);
    }
    order->n_seen = 0;
    order->width = 1;
    return ZD_OK;
}

/* Where a run ends that begins there, or after the last label. */
static uint64_t run_end(const struct zd_label_order *order, uint64_t first)
{
    const uint64_t n = order->labels->n_ordered;
    return first >= n ? n : first + zd_min_u64(order->width, n - first);
}

/* Leave out labels that cannot be compared. @return whether all labels can */
static bool number_some(struct zd_label_order *order, uint64_t n_steps)
{
    struct zd_labels *labels = order->labels;
    const uint64_t end = order->n_seen + zd_min_u64(n_steps, labels->n - order->n_seen);
    for (; order->n_seen < end; order->n_seen++) {
        if (zd_labels_is_value(labels, order->n_seen)) {
            labels->order[labels->n_ordered++] = (uint32_t)order->n_seen;
        }
    }
    if (order->n_seen < labels->n) {
        return false;
    }
    order->second = run_end(order, 0);
    return true;
}

/* The next label of the two runs that are merged. The first of them begins where both are merged
 * to. */
static void merge_one(struct zd_label_order *order, uint64_t begin)
{
    struct zd_labels *labels = order->labels;
    const uint32_t *from = labels->order;
    const uint64_t middle = run_end(order, begin);
    const uint64_t end = run_end(order, middle);
    const bool has_first = order->first < middle;
    const bool takes_first =
        has_first && (order->second >= end ||
                         zd_labels_compare(labels, from[order->first], from[order->second]) <= 0);
    order->spare[order->n_done++] = from[takes_first ? order->first++ : order->second++];
    if (order->n_done == end) {
        order->first = end;
        order->second = run_end(order, end);
    }
}

/* All runs are merged: runs of twice the width. */
static void end_round(struct zd_label_order *order)
{
    uint32_t *merged = order->spare;
    order->spare = order->labels->order;
    order->labels->order = merged;
    order->width *= 2;
    order->n_done = 0;
    order->first = 0;
    order->second = run_end(order, 0);
}

/* @return whether one run is left */
static bool merge_some(struct zd_label_order *order, uint64_t n_steps)
{
    const uint64_t n = order->labels->n_ordered;
    while (n_steps > 0 && order->width < n) {
        const uint64_t begin = order->n_done / (2 * order->width) * (2 * order->width);
        merge_one(order, begin);
        if (order->n_done == n) {
            end_round(order);
        }
        n_steps--;
    }
    return order->width >= n;
}

enum zd_status zd_label_order_find(
    struct zd_label_order *order, uint64_t n_steps, bool *ret_has_more, struct zd_error *err)
{
    struct zd_labels *labels = order->labels;
    bool has_more = true;
    if (labels->order == NULL) {
        if (see_some(order, n_steps)) {
            has_more = !labels->rises && !labels->falls;
            if (has_more) {
                ZD_TRY(begin_sort(order, err));
            }
        }
    } else if (order->n_seen < labels->n) {
        (void)number_some(order, n_steps);
    } else {
        has_more = !merge_some(order, n_steps);
    }
    *ret_has_more = has_more;
    return ZD_OK;
}
