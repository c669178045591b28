/* The head of a .npy file, strictly: what NumPy writes, in any of its versions. */
#ifndef ZD_FORMAT_NPY_HEAD_H
#define ZD_FORMAT_NPY_HEAD_H

#include "server/format/format.h"

/**
 * Read one: magic, version 1.0, 2.0 or 3.0, and a dictionary of exactly descr, fortran_order and
 * shape. Either byte order of the array's own data type is taken, and no other type.
 *
 * As read_head of struct zd_format. Thread: any.
 */
ZD_RESULT zd_npy_head_read(const struct zd_dtype *dtype, struct zd_span bytes,
    struct zd_body_head *ret_head, struct zd_error *err);

#endif
