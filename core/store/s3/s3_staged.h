/* Memory of a bucket's store: staged bytes and old objects. Thread: loop. */
#ifndef ZD_CORE_STORE_S3_S3_STAGED_H
#define ZD_CORE_STORE_S3_S3_STAGED_H

#include "core/store/s3/s3_store.h"

/** How many bytes more may be kept. */
uint64_t zd_s3_staged_room(const struct zd_s3_store *s3);

/** There is no room for so many: ZD_NO_SPACE, with fact limit. */
enum zd_status zd_s3_staged_refuse(
    const struct zd_s3_store *s3, struct zd_store_write *write, uint64_t bytes);

/**
 * Keep bytes as write->staged.
 *
 * @param bytes shared
 * @retval ZD_NO_SPACE, ZD_NO_MEMORY write->op.err is set
 */
ZD_RESULT zd_s3_staged_keep(
    struct zd_s3_store *s3, struct zd_store_write *write, struct zd_buf *bytes);

/** Borrowed. */
struct zd_buf *zd_s3_staged_bytes(const struct zd_staged *staged);

/** Drop write->staged, if there is any. */
void zd_s3_staged_drop(struct zd_s3_store *s3, struct zd_store_write *write);

/** Bytes are held, and are not any more, for which there is to be room. */
void zd_s3_staged_count(struct zd_s3_store *s3, uint64_t bytes);
void zd_s3_staged_uncount(struct zd_s3_store *s3, uint64_t bytes);

#endif
