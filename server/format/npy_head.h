/* The header of a .npy file, as NumPy writes it in any of its versions, and nothing else. */
#ifndef ZD_FORMAT_NPY_HEAD_H
#define ZD_FORMAT_NPY_HEAD_H

#include "server/format/format.h"

/**
 * Parse one: magic, version 1.0, 2.0 or 3.0, and a dictionary of exactly descr, fortran_order and
 * shape. The type must be the array's own, in either byte order.
 *
 * As read_head of struct zd_format. Thread: any.
 */
ZD_RESULT zd_npy_head_read(const struct zd_dtype *dtype, struct zd_span bytes,
    struct zd_body_head *ret_head, struct zd_error *err);

#endif
