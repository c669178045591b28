/* A slice that is appended: the shape its body has, the array as it is going to be, and which of
 * that array's elements are new. Thread: loop. */
#ifndef ZD_SLICE_SLICE_APPEND_H
#define ZD_SLICE_SLICE_APPEND_H

#include "server/slice/slice_body.h"
#include "server/slice/slice_params.h"
#include "server/write/metadata.h"

/** New elements at the end of a dimension. Zeroed at first. */
struct zd_slice_append {
    uint32_t dim;                   /* of the array */
    uint64_t count;                 /* how much it grows */
    struct zd_node *before;         /* the array as it is; a reference, or NULL */
    struct zd_metadata_want change; /* tried beforehand: change.meta is what it is going to be */
};

/**
 * Begin with the array as it is under its lock.
 *
 * @param append    zeroed, or released
 * @param ret_shape of the body: the array's, but 0 along the dimension that grows
 * @param ret_code  the problem code of a failure
 * @retval ZD_INVALID      as zd_slice_params_find_append
 * @retval ZD_PRECONDITION as zd_slice_params_check_shape
 */
ZD_RESULT zd_slice_append_begin(struct zd_slice_append *append, const struct zd_slice_params *ask,
    struct zd_node *node, uint64_t *ret_shape, const char **ret_code, struct zd_error *err);

/**
 * Try the new shape on the document that is there, with all checks: others may widen its bounds
 * meanwhile. That its shape is still the one that was read is judged when the elements are
 * committed.
 *
 * @param count   elements along the dimension
 * @param machine is woken
 * @return ZD_NEXT or ZD_WAIT
 */
enum zd_next zd_slice_append_foresee(
    struct zd_slice_append *append, uint64_t count, struct zd_machine *machine);

/**
 * The array as it is going to be.
 *
 * @param ret_node owned
 * @param ret_code the problem code of a failure, or NULL
 * @return why the new shape is impossible, as zd_metadata_want says; ZD_TOO_LARGE
 */
ZD_RESULT zd_slice_append_take(struct zd_slice_append *append, struct zd_node **ret_node,
    const char **ret_code, struct zd_error *err);

/** The new elements. @param meta of the array as it is going to be */
void zd_slice_append_select(const struct zd_slice_append *append, const struct zd_meta *meta,
    struct zd_selection *ret_asked, struct zd_selection *ret_stored);

/** Forget all of it. Accepts a zeroed one, and leaves such a one. */
void zd_slice_append_release(struct zd_slice_append *append);

#endif
