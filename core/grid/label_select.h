/* Elements by the values of their coordinate: SPEC and labels become one dimension of a selection.
 * Thread: any. */
#ifndef ZD_CORE_GRID_LABEL_SELECT_H
#define ZD_CORE_GRID_LABEL_SELECT_H

#include "core/grid/axis.h"
#include "core/grid/labels.h"

/**
 * Find what `sel=DIM=SPEC` means, by the rules of xarray: in O(log n).
 *
 * @param labels whose order is known
 * @param text   SPEC; of texts the whole of it is the value
 * @param ret_axis a value drops the dimension; an interval is in stored order
 * @retval ZD_INVALID     a bad text; facts name, expected, found
 * @retval ZD_NOT_FOUND   there is no such value; fact found: the two nearest
 * @retval ZD_UNSUPPORTED a method or an interval, and the labels neither rise nor fall; of a
 *                        method also when two of them are equal
 */
ZD_RESULT zd_label_select(const struct zd_labels *labels, struct zd_span text,
    struct zd_axis *ret_axis, struct zd_error *err);

#endif
