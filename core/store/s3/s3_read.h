/* Reads and statuses of objects in a bucket. Thread: loop. */
#ifndef ZD_CORE_STORE_S3_S3_READ_H
#define ZD_CORE_STORE_S3_S3_READ_H

#include "core/store/s3/s3_store.h"

/** Implement zd_store_ops.read and status. */
void zd_s3_read(struct zd_s3_store *s3, struct zd_store_read *read);
void zd_s3_read_status(struct zd_s3_store *s3, struct zd_store_status *status);

/**
 * Read the facts of the whole object from the head of an answer.
 *
 * @param range     the bytes that were asked for; NULL = all
 * @param ret_stat  its size is ZD_TRANSFER_UNKNOWN where the answer does not say it
 * @retval ZD_STORE the answer is not one to what was asked; err and fault are set
 */
ZD_RESULT zd_s3_read_head(const struct zd_s3_call *call, const char *name,
    const struct zd_range *range, struct zd_stat *ret_stat, struct zd_error *err,
    struct zd_remote_fault *fault);

#endif
