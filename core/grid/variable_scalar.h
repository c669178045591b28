/* An element of variable length and its spellings. */
#ifndef ZD_CORE_GRID_VARIABLE_SCALAR_H
#define ZD_CORE_GRID_VARIABLE_SCALAR_H

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/grid/dtype.h"
#include "core/grid/variable.h"

/**
 * The element that a fill value spells: a string; of bytes base64, or a list of integers (Zarr v3
 * registry, string and bytes).
 *
 * @param json        borrowed
 * @param ret_element with its bytes behind it (zd_variable_new); owned
 * @retval ZD_INVALID facts expected and found
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_variable_scalar_parse(const struct zd_dtype *dtype, const struct zd_json *json,
    uint8_t **ret_element, struct zd_error *err);

/** The normal spelling of an element, owned; NULL when memory is short. Thread: any. */
struct zd_json *zd_variable_scalar_json(const struct zd_dtype *dtype, const uint8_t *element);

/** Add an element as a JSON string, or as a field of CSV (RFC 4180, 2.6 and 2.7); an empty one is
 * in quotes, so that its line is not empty. Failures stick in the text. Thread: any. */
void zd_variable_scalar_add(
    const struct zd_dtype *dtype, const uint8_t *element, bool is_csv, struct zd_text *text);

#endif
