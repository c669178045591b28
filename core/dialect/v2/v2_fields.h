/* Structures of Zarr v2: lists of fields (Zarr v2, data type encoding). */
#ifndef ZD_CORE_DIALECT_V2_V2_FIELDS_H
#define ZD_CORE_DIALECT_V2_V2_FIELDS_H

#include "core/base/fault.h"
#include "core/grid/typestr.h"

/**
 * The data type of a list of fields, and the byte order that all of them have; where it differs,
 * the fields say it (`is_mixed`, `is_big`).
 *
 * @param json      an array (asserted)
 * @param at        of it; faults point at or below it
 * @param ret_dtype untouched on failure; its fields are owned (zd_struct_fields_unref)
 * @retval ZD_INVALID     the faults say what
 * @retval ZD_UNSUPPORTED the faults say what
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_v2_fields_parse(const struct zd_json *json, const struct zd_pointer *at,
    struct zd_typestr *ret_dtype, struct zd_faults *faults);

#endif
