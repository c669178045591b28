/* An element of a JSON body: a value without spaces around it. It may have any spelling of answers
 * or of fill values; integers may be strings. */
#ifndef ZD_FORMAT_TEXT_ELEMENT_H
#define ZD_FORMAT_TEXT_ELEMENT_H

#include "core/base/text.h"
#include "core/grid/dtype.h"

/**
 * An element of a fixed size.
 * @param ret_bytes dtype->bytes
 * @retval ZD_INVALID   facts expected and found
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_text_element_parse(
    const struct zd_dtype *dtype, struct zd_span text, void *ret_bytes, struct zd_error *err);

/**
 * Parse an element of variable length.
 * @param bytes   its own are added to the end
 * @param ret_len how many
 * @retval ZD_INVALID   facts expected and found
 * @retval ZD_TOO_LARGE past the ceiling of bytes
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_text_element_parse_variable(const struct zd_dtype *dtype, struct zd_span text,
    struct zd_text *bytes, size_t *ret_len, struct zd_error *err);

#endif
