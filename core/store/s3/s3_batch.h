/* Erasures that are ready together become one request. Thread: loop. */
#ifndef ZD_CORE_STORE_S3_S3_BATCH_H
#define ZD_CORE_STORE_S3_S3_BATCH_H

#include "core/store/s3/s3_erasures.h"
#include "core/store/s3/s3_store.h"

/** A request that erases many objects. Zeroed but for what is set, and kept where it is until its
 * call is done. */
struct zd_s3_batch_request {
    struct zd_list erasures; /* in: through their links, 1 to ZD_S3_ERASURES_MAX */
    struct zd_s3_call call;  /* in: done, context */
    struct zd_buf *body;     /* owned */
    char md5[ZD_S3_BASE64_CHARS + 1];
};

/** @retval ZD_NO_MEMORY call.done will not run */
ZD_RESULT zd_s3_batch_request_start(struct zd_s3_store *s3, struct zd_s3_batch_request *request);

/**
 * Read the answer, once the call is done: what each erasure has come to.
 * @retval ZD_STORE, ZD_NO_MEMORY nothing is known of any
 */
ZD_RESULT zd_s3_batch_request_read(
    const struct zd_s3_store *s3, struct zd_s3_batch_request *request, struct zd_error *err);

/** Release what an ended one holds; accepts one that was not started. */
void zd_s3_batch_request_done(struct zd_s3_batch_request *request);

/** An erasure has begun to look at its object: others that are ready wait for it. Without memory it
 * goes alone. */
void zd_s3_batch_join(struct zd_s3_store *s3, struct zd_s3_erasure *erasure);

/** It is ready: its batch is sent when all of it is. It lets go of its thread until `done`
 * (zd_turns_pause). */
void zd_s3_batch_add(struct zd_s3_store *s3, struct zd_s3_erasure *erasure);

/** Take it out of its batch; accepts one that has none. @return false: it has been sent */
bool zd_s3_batch_leave(struct zd_s3_store *s3, struct zd_s3_erasure *erasure);

#endif
