/* The sign of zeros in JSON. */
#ifndef ZD_CORE_GRID_ZERO_SIGN_H
#define ZD_CORE_GRID_ZERO_SIGN_H

#include "core/base/buf.h"
#include "core/grid/dtype.h"

/**
 * JSON has -0 (RFC 8259, 6), but its tree takes it for the integer 0: give the zeros of a float, of
 * a complex number, or of the fields of a structure, the sign that their text has. A type without
 * -0 keeps its zero; fields whose names JSON escapes are not found.
 *
 * @param text  of the value that zd_scalar_read has read; borrowed
 * @param bytes what it has made of that
 * Thread: any.
 */
void zd_zero_sign_keep(const struct zd_dtype *dtype, struct zd_span text, uint8_t *bytes);

#endif
