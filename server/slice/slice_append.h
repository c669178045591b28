/* Appending to an array: where the new elements begin, and the array as it is going to be. Thread:
 * loop. */
#ifndef ZD_SLICE_SLICE_APPEND_H
#define ZD_SLICE_SLICE_APPEND_H

#include "server/slice/slice_body.h"
#include "server/slice/slice_params.h"
#include "server/write/metadata.h"

/** An append; zeroed, it may be released. */
struct zd_slice_append {
    uint32_t dim;                   /* of the array */
    uint64_t from;                  /* its length along that, as stored */
    uint64_t count;                 /* how much it grows */
    struct zd_node *before;         /* the array as it is; a reference, or NULL */
    struct zd_metadata_want change; /* tried beforehand: change.meta is what it is going to be */
};

/**
 * Begin: find the dimension that `append=` names, by its name or number. The body is to have the
 * other dimensions' lengths.
 *
 * @param node     the array; a reference is taken
 * @param ret_code the problem code of a failure
 * @retval ZD_INVALID      no such dimension; facts name, expected, found
 * @retval ZD_PRECONDITION the array has not the expected_shape
 */
ZD_RESULT zd_slice_append_begin(struct zd_slice_append *append, struct zd_node *node,
    const struct zd_slice_params *params, struct zd_slice_body *body, const char **ret_code,
    struct zd_error *err);

/** The body is measured: try the new shape on the array's document, with all checks.
 * @return ZD_NEXT or ZD_WAIT; append->change tells how it ended */
enum zd_next zd_slice_append_foresee(
    struct zd_slice_append *append, const struct zd_slice_body *body, struct zd_machine *machine);

/**
 * That has ended well: the array as it is going to be, and its new elements.
 * @param ret_node   owned
 * @param ret_asked  as the client counts
 * @param ret_stored the same elements in the stored array
 * @retval ZD_UNSUPPORTED, ZD_NO_MEMORY
 */
ZD_RESULT zd_slice_append_select(const struct zd_slice_append *append, struct zd_node **ret_node,
    struct zd_selection *ret_asked, struct zd_selection *ret_stored, struct zd_error *err);

void zd_slice_append_release(struct zd_slice_append *append);

#endif
