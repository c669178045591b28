/* Appending to an array: where the new elements begin, and the array as it is going to be. Thread:
 * loop. */
#ifndef ZD_SLICE_SLICE_APPEND_H
#define ZD_SLICE_SLICE_APPEND_H

#include "server/slice/slice_write.h"

/**
 * The node is known: the dimension that `append=` names, by its name or number, and how long it is.
 * The body is to have the other dimensions' lengths.
 *
 * @param ret_code the problem code of a failure
 * @retval ZD_INVALID      no such dimension; facts name, expected, found
 * @retval ZD_PRECONDITION expected_shape is another one than the array's
 */
ZD_RESULT zd_slice_append_begin(
    struct zd_slice_write *write, struct zd_span name, const char **ret_code, struct zd_error *err);

/**
 * The body is measured: ask what the array would be, all checks included.
 * @param done told when write->append's change is
 */
enum zd_next zd_slice_append_ask(
    struct zd_slice_write *write, struct zd_metadata_want *want, struct zd_error *err);

/**
 * That is known: node, asked and selection are those of the new elements.
 * @retval ZD_UNSUPPORTED, ZD_NO_MEMORY
 */
ZD_RESULT zd_slice_append_select(
    struct zd_slice_write *write, struct zd_meta *meta, struct zd_error *err);

#endif
