/* Data types as v3 documents define them. */
#ifndef ZD_CORE_EXTENSION_DATA_TYPE_H
#define ZD_CORE_EXTENSION_DATA_TYPE_H

#include "core/extension/definition.h"
#include "core/grid/dtype.h"

/** A data type that has a configuration. */
struct zd_data_type_form {
    const char *name;
    const char *schema; /* JSON Schema of the configuration */
};

/** All of them, ended by one without a name; the others are zd_dtype_names. */
extern const struct zd_data_type_form zd_data_type_forms[];

/** How a definition is judged. */
struct zd_data_type_rules {
    bool is_strict;     /* as a document to be written */
    bool is_translated; /* the document was made of another dialect's: names are not its author's */
};

/**
 * The data type of a definition (Zarr v3, data_type).
 *
 * @param at        of the definition
 * @param ret_dtype untouched on failure
 * @retval ZD_INVALID     the faults say what
 * @retval ZD_UNSUPPORTED the faults say what
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_data_type_parse(const struct zd_definition *definition, const struct zd_pointer *at,
    const struct zd_data_type_rules *rules, struct zd_dtype *ret_dtype, struct zd_faults *faults);

/** The definition as a document has it, owned; NULL when memory is short. Thread: any. */
struct zd_json *zd_data_type_json(const struct zd_dtype *dtype);

#endif
