/* Writes and erasures of objects in a bucket. Thread: loop. */
#ifndef ZD_CORE_STORE_S3_S3_WRITE_H
#define ZD_CORE_STORE_S3_S3_WRITE_H

#include "core/store/s3/s3_store.h"

/** To be called when the store is opened. */
void zd_s3_write_init(struct zd_s3_store *s3);

/** Implement zd_store_ops.write, erase and discard. */
void zd_s3_write(struct zd_s3_store *s3, struct zd_store_write *write);
void zd_s3_write_erase(struct zd_s3_store *s3, struct zd_store_write *erase);
void zd_s3_write_discard(struct zd_s3_store *s3, struct zd_store_write *write);

/** Implements zd_store_ops.cancel for an operation that waits for its turn. @return false: it does
 * not */
bool zd_s3_write_leave(struct zd_s3_store *s3, struct zd_store_op *op);

#endif
