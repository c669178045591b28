/* One element as it stands in a JSON body. */
#ifndef ZD_FORMAT_JSON_ELEMENT_H
#define ZD_FORMAT_JSON_ELEMENT_H

#include "core/grid/scalar.h"

/**
 * Parse one in any spelling that GET slices uses, integers as strings too, or that fill values use.
 *
 * @param text     one JSON value, without spaces around it
 * @param ret_bytes dtype->bytes bytes, little-endian; untouched on failure
 * @retval ZD_INVALID facts expected and found
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_json_element_parse(
    const struct zd_dtype *dtype, struct zd_span text, void *ret_bytes, struct zd_error *err);

/** The most bytes that such a value has. */
size_t zd_json_element_bytes_max(const struct zd_dtype *dtype);

#endif
