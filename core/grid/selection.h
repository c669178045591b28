/* Hyperslabs: what `slice=` asks for, resolved against a shape. */
#ifndef ZD_CORE_GRID_SELECTION_H
#define ZD_CORE_GRID_SELECTION_H

#include "core/base/hash.h"
#include "core/base/scan.h"
#include "core/base/status.h"
#include "core/base/text.h"
#include "core/grid/axis.h"

#define ZD_RANK_MAX 32

/** A hyperslab of an array: always inside its shape. */
struct zd_selection {
    uint32_t rank; /* of the array; axis[0 .. rank) are used */
    struct zd_axis axis[ZD_RANK_MAX];
};

/**
 * Parse a slice: `i | a:b | a:b:s | ...`, NumPy's rules, one pair of [] or () around
 * the whole.
 *
 * @param text    borrowed; empty selects everything
 * @param shape   rank entries, elements
 * @param ret_selection  the caller's
 * @retval ZD_INVALID       a bad item, step 0, a second ellipsis, too many items; facts position,
 *                          expected, found
 * @retval ZD_OUT_OF_BOUNDS an integer outside; facts dim, index, size, position
 * Thread: any.
 */
ZD_RESULT zd_selection_parse(struct zd_span text, uint32_t rank, const uint64_t *shape,
    struct zd_selection *ret_selection, struct zd_error *err);

/** Everything. */
void zd_selection_whole(uint32_t rank, const uint64_t *shape, struct zd_selection *ret_selection);

/** The result's shape: ret_shape[0 .. return) without the dropped dimensions. */
uint32_t zd_selection_shape(const struct zd_selection *selection, uint64_t ret_shape[ZD_RANK_MAX]);

/** Whether some dimension is a list, or all are those of points: then there is no canonical form.
 */
bool zd_selection_has_list(const struct zd_selection *selection);

/** How many elements; true when that does not fit 64 bits. */
bool zd_selection_overflows(const struct zd_selection *selection, uint64_t *ret_n_elements);

/** Add a selection to a hash, in stored and in asked coordinates, which differ if clients count
 * from another origin. Both have the same rank. */
void zd_selection_hash(
    const struct zd_selection *stored, const struct zd_selection *asked, struct zd_hash *hash);

/** The canonical absolute form (header Zarr-Selection): "0:10:1,9::-1,5", "0:0:1" when empty, ""
 * for rank 0. Not of one that has lists. */
enum zd_status zd_selection_add(const struct zd_selection *selection, struct zd_text *text);

#endif
