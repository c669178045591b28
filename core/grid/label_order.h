/* The order of labels: whether they rise or fall, and if not, which comes after which. It is found
 * in pieces of work. Thread: any. */
#ifndef ZD_CORE_GRID_LABEL_ORDER_H
#define ZD_CORE_GRID_LABEL_ORDER_H

#include "core/grid/labels.h"

/** The work under way: labels are compared with their neighbours, and sorted if they neither rise
 * nor fall (runs are merged, which keeps equal ones as they are stored). */
struct zd_label_order {
    struct zd_labels *labels; /* borrowed; their elements are there, and their order is not */
    uint64_t n_seen;
    uint32_t *spare; /* owned; runs are merged from labels->order into it */
    uint64_t width;  /* of a run; 0: nothing is sorted yet */
    uint64_t n_done; /* that this round has merged */
    uint64_t first;  /* what is left of the two runs that are merged */
    uint64_t second;
};

/** Bytes that each label takes while they are sorted. */
#define ZD_LABEL_ORDER_BYTES (2 * sizeof(uint32_t))

void zd_label_order_init(struct zd_label_order *order, struct zd_labels *labels);
void zd_label_order_done(struct zd_label_order *order); /* accepts a zeroed one */

/**
 * Do a piece of the work.
 * @param n_steps        how many labels to look at
 * @param ret_has_more   the order is not known yet
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_label_order_find(
    struct zd_label_order *order, uint64_t n_steps, bool *ret_has_more, struct zd_error *err);

#endif
