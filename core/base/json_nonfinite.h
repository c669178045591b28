/* Bare NaN and infinities in trees of JSON. Thread: any. */
#ifndef ZD_CORE_BASE_JSON_NONFINITE_H
#define ZD_CORE_BASE_JSON_NONFINITE_H

#include "core/base/json.h"

/** Whether a value is or contains a bare NaN or infinity. */
bool zd_json_nonfinite_is_in(const struct zd_json *json);

/** The value with each of them as a string, so that it renders as JSON. Owned; NULL without memory.
 */
struct zd_json *zd_json_nonfinite_quote(const struct zd_json *json);

#endif
