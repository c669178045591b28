/* Elements that are lists of numbers of one type, any number of them. Of zd_scalar only,
 * which spells the numbers. */
#ifndef ZD_CORE_GRID_LIST_SCALAR_H
#define ZD_CORE_GRID_LIST_SCALAR_H

#include "core/base/json.h"
#include "core/grid/struct_scalar.h"

/** A JSON list of numbers.
 * @param ret_element with its bytes behind it (zd_variable_new); owned
 * @retval ZD_INVALID facts expected and found */
ZD_RESULT zd_list_scalar_parse(const struct zd_dtype *dtype, const struct zd_json *json,
    uint8_t **ret_element, zd_struct_leaf_read *read_leaf, struct zd_error *err);

struct zd_json *zd_list_scalar_json(
    const struct zd_dtype *dtype, const uint8_t *element, zd_struct_leaf_json *leaf_json);

/** Add it as JSON. Failures stick in the text. */
void zd_list_scalar_add(const struct zd_dtype *dtype, const uint8_t *element,
    const struct zd_scalar_style *style, zd_struct_leaf_add *add_leaf, struct zd_text *text);

#endif
