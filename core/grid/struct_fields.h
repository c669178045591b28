/* Fields of structures: made one after the other, then counted and never changed. */
#ifndef ZD_CORE_GRID_STRUCT_FIELDS_H
#define ZD_CORE_GRID_STRUCT_FIELDS_H

#include "core/grid/dtype.h"

/** None yet, one reference, owned; NULL without memory. */
struct zd_struct_fields *zd_struct_fields_new(void);
struct zd_struct_fields *zd_struct_fields_ref(struct zd_struct_fields *fields); /* accepts NULL */
void zd_struct_fields_unref(struct zd_struct_fields *fields);                   /* accepts NULL */
ZD_OWN(zd_struct_fields, zd_struct_fields_unref);

/**
 * Add a field behind the others; before zd_struct_fields_finish.
 *
 * @param name  copied
 * @param depth 0: of the structure itself; else of the last field before it that is a structure and
 * one less deep, which is there (asserted)
 * @param dtype of a fixed size, and no structure; NULL: the field is one, and its fields follow
 * @retval ZD_INVALID   the name is empty, or another field beside it has it
 * @retval ZD_TOO_LARGE more fields, or a longer name, than there may be
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_struct_fields_add(struct zd_struct_fields *fields, const char *name, uint32_t depth,
    const struct zd_dtype *dtype);

/**
 * Add a field that is an array of items.
 *
 * @param rank  1 .. ZD_FIELD_RANK_MAX (asserted)
 * @param shape rank entries
 * @retval as zd_struct_fields_add; ZD_TOO_LARGE also when it has more bytes than an element may
 * @retval ZD_INVALID also when it has no item
 */
ZD_RESULT zd_struct_fields_add_array(struct zd_struct_fields *fields, const char *name,
    uint32_t depth, const struct zd_dtype *dtype, uint32_t rank, const uint64_t *shape);

/**
 * All fields are there: the data type of the structure, which borrows them.
 *
 * @retval ZD_INVALID   a structure has no field
 * @retval ZD_TOO_LARGE an element has more than ZD_DTYPE_BYTES_MAX bytes
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_struct_fields_finish(struct zd_struct_fields *fields, struct zd_dtype *ret_dtype);

#endif
