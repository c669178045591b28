/* What all values of the configuration have in common: texts that are replaced, and errors that
 * name the place, what was found and what is expected. Thread: any. */
#ifndef ZD_CONFIG_CONFIG_VALUE_H
#define ZD_CONFIG_CONFIG_VALUE_H

#include "core/base/json.h"
#include "core/base/status.h"

/** Free the old text and copy the new one in its place. @retval ZD_NO_MEMORY nothing changed */
ZD_RESULT zd_config_value_replace(char **place, const char *value, struct zd_error *err);

/** The memory ran out. Always fails. @retval ZD_NO_MEMORY */
ZD_RESULT zd_config_value_no_memory(struct zd_error *err);

/** A member has a value of another type or another word. Always fails. @retval ZD_INVALID */
ZD_RESULT zd_config_value_wrong_type(const struct zd_pointer *at, const char *expected,
    const struct zd_json *found, struct zd_error *err);

/** No member has that name. Always fails. @retval ZD_INVALID */
ZD_RESULT zd_config_value_unknown(const struct zd_pointer *at, struct zd_error *err);

/** The member is reserved: this version would not obey it. Always fails. @retval ZD_INVALID */
ZD_RESULT zd_config_value_unsupported(const struct zd_pointer *at, struct zd_error *err);

#endif
