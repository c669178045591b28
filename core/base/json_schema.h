/* Judging JSON by a schema: the part of JSON Schema (2020-12) that our own schemas use. */
#ifndef ZD_CORE_BASE_JSON_SCHEMA_H
#define ZD_CORE_BASE_JSON_SCHEMA_H

#include "core/base/fault.h"

/**
 * Judge a value. Keywords: type (a name or several), enum, minimum, maximum, minLength, items,
 * minItems, uniqueItems, properties, required, additionalProperties (false),
 * if with then; title and description mean nothing. A schema that has others is our bug
 * (asserted).
 *
 * @param schema text of the schema; static
 * @param at     of the value: the faults point at or below it
 * @param name   whose configuration it is, for the texts
 * @retval ZD_INVALID   the faults say what: all of them, each with expected and found
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_json_schema_check(const char *schema, const struct zd_json *value,
    const struct zd_pointer *at, const char *name, struct zd_faults *faults);

#endif
