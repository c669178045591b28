/* Which level of a group answers: the arrays of a group that are one at several scales. */
#ifndef ZD_CORE_EXTENSION_LEVELS_H
#define ZD_CORE_EXTENSION_LEVELS_H

#include "core/extension/extension.h"

/**
 * The level of that number, or the first whose answer is small enough.
 *
 * @retval ZD_OUT_OF_BOUNDS there is no level of that number; facts index, size
 * @retval ZD_TOO_LARGE     every answer has more elements; facts limit, requested
 * Thread: any.
 */
ZD_RESULT zd_levels_choose(
    const struct zd_choice *choice, uint32_t *ret_level, struct zd_error *err);

#endif
