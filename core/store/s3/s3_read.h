/* Reads and statuses of objects in a bucket. Thread: loop. */
#ifndef ZD_CORE_STORE_S3_S3_READ_H
#define ZD_CORE_STORE_S3_S3_READ_H

#include "core/store/s3/s3_store.h"

/** Implement zd_store_ops.read and status. */
void zd_s3_read(struct zd_s3_store *s3, struct zd_store_read *read);
void zd_s3_read_status(struct zd_s3_store *s3, struct zd_store_status *status);

#endif
