/* Elements that are structures, as objects. Of zd_scalar only, which spells their fields. */
#ifndef ZD_CORE_GRID_STRUCT_SCALAR_H
#define ZD_CORE_GRID_STRUCT_SCALAR_H

#include "core/base/emit.h"
#include "core/grid/dtype.h"
#include "core/grid/scalar_style.h"

/** How a field is read, made, written: as the function of zd_scalar that calls. */
typedef enum zd_status zd_struct_leaf_read(const struct zd_dtype *dtype, const struct zd_json *json,
    void *ret_bytes, struct zd_error *err);
typedef struct zd_json *zd_struct_leaf_json(const struct zd_dtype *dtype, const void *bytes);
typedef void zd_struct_leaf_add(const struct zd_dtype *dtype, const void *bytes,
    const struct zd_scalar_style *style, struct zd_text *text);

/**
 * An object with every field and no others; of the legacy type also base64 of all bytes.
 * @retval ZD_INVALID facts expected; ret_bytes is untouched
 */
ZD_RESULT zd_struct_scalar_read(const struct zd_dtype *dtype, const struct zd_json *json,
    void *ret_bytes, zd_struct_leaf_read *read_leaf, struct zd_error *err);

struct zd_json *zd_struct_scalar_json(
    const struct zd_dtype *dtype, const void *bytes, zd_struct_leaf_json *leaf_json);

/** Add it as JSON. Failures stick in the text. */
void zd_struct_scalar_add(const struct zd_dtype *dtype, const void *bytes,
    const struct zd_scalar_style *style, zd_struct_leaf_add *add_leaf, struct zd_text *text);

#endif
