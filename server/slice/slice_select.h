/* The selection of a slice, once its array is known: what `slice`, `isel` and `sel` ask for, the
 * last by the coordinates of the array. Thread: loop. */
#ifndef ZD_SLICE_SLICE_SELECT_H
#define ZD_SLICE_SLICE_SELECT_H

#include "server/data/coordinates.h"
#include "server/slice/slice_params.h"

/** Starts zeroed but for what is set before the call. */
struct zd_slice_select {
    struct zd_wait wait;
    /* in */
    struct zd_request *req;            /* that must be allowed to read the coordinates; borrowed */
    const struct zd_slice_params *ask; /* borrowed */
    struct zd_node *node;              /* an array with a layout; borrowed */
    /* out, with ZD_OK */
    struct zd_selection asked;  /* as the client counts */
    struct zd_selection stored; /* the same elements in the stored array */
    /* out, of a failure */
    const char *code; /* of the problem; NULL: by the status */
    /* its own */
    struct zd_machine machine;
    struct zd_coordinate_want coordinate;
    struct zd_selector_match picked; /* that is looked up */
    uint32_t n_done;                 /* picks */
};

/** Find it. wait.status: ZD_OK, or why it cannot be found. */
enum zd_next zd_slice_select_want(struct zd_slice_select *select);

/** Whether it failed since the client may not read where a coordinate may be: whatever else is
 * found, the request is refused. */
bool zd_slice_select_is_hidden(const struct zd_slice_select *select);

/** Answer with its failure. */
enum zd_next zd_slice_select_refuse(const struct zd_slice_select *select);

/** Stop waiting, and release what was found. Accepts a zeroed one. */
void zd_slice_select_release(struct zd_slice_select *select);

#endif
