/* Fill values as drafts of Zarr v3 spell them. */
#ifndef ZD_CORE_DIALECT_V3_DRAFT_FILL_H
#define ZD_CORE_DIALECT_V3_DRAFT_FILL_H

#include "core/base/json.h"

/**
 * A fill value as final v3 spells it: "+Infinity" is "Infinity", and binary digits ("0b0101...")
 * are hexadecimal ones, in lists of two numbers too. All else stays what it is.
 *
 * @return owned; NULL: no memory
 * Thread: any.
 */
struct zd_json *zd_draft_fill_respell(const struct zd_json *fill);

#endif
