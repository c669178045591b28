/* Floats as decimal text: the shortest that reads back as the same value. */
#ifndef ZD_CORE_BASE_DECIMAL_H
#define ZD_CORE_BASE_DECIMAL_H

#include "core/base/text.h"

/**
 * The shortest decimal that reads back as the same float (bits 32: as a float, 16: as a half given
 * as float). A JSON number always: "0.1", "-0.0", "1e+300"; integral values have ".0". Not for NaN
 * and infinities (asserted).
 *
 * @param bits 16, 32 or 64: the type of the value
 * @retval the text's status
 * Thread: any.
 */
enum zd_status zd_decimal_add(struct zd_text *text, double value, unsigned bits);

#endif
