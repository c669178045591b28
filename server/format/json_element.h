/* One element as it stands in a JSON body. */
#ifndef ZD_FORMAT_JSON_ELEMENT_H
#define ZD_FORMAT_JSON_ELEMENT_H

#include "core/grid/scalar.h"

/**
 * Read one: every spelling that a slice is answered with, integers as strings too, and
 * the spellings of fill values.
 *
 * @param text     one JSON value, without spaces around it
 * @param ret_bytes dtype->bytes bytes, little-endian; untouched on failure
 * @retval ZD_INVALID facts expected and found
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_json_element_parse(
    const struct zd_dtype *dtype, struct zd_span text, void *ret_bytes, struct zd_error *err);

/** The most bytes that such a value may have. */
size_t zd_json_element_bytes_max(const struct zd_dtype *dtype);

#endif
