/* The change of an object that a write ends with: one request, an upload in parts, or a place in an
 * erasure of many objects. Thread: loop. */
#ifndef ZD_CORE_STORE_S3_S3_CHANGE_H
#define ZD_CORE_STORE_S3_S3_CHANGE_H

#include "core/store/s3/s3_batch.h"
#include "core/store/s3/s3_upload.h"

/**
 * A change: the caller's memory, from its first start until it is done with. Set the inputs in a
 * zeroed one, start it, and keep it where it is until `done` runs: exactly once, never inside the
 * call that started it. It may be started again then.
 */
struct zd_s3_change {
    /* in; borrowed */
    struct zd_s3_store *s3;
    struct zd_store_write *write;      /* its err, fault and stat are set */
    struct zd_buf *bytes;              /* of the new object; NULL: an erasure */
    char tag[ZD_S3_TAG_BYTES_MAX + 3]; /* as the engine compares it; "" = no condition on one */
    void (*done)(struct zd_s3_change *change);
    /* out */
    enum zd_status status; /* ZD_PRECONDITION: the condition of the request did not hold */
    /* for the change */
    uint32_t n_conflicts;
    struct zd_s3_erasure erasure;
    struct zd_store_status look;
    struct zd_s3_call call;
    struct zd_s3_upload *upload; /* the last one; owned; NULL = none */
};

/** An erasure will be started when its object has been looked at: others wait for it. */
void zd_s3_change_foresee(struct zd_s3_change *change);

/** @return false: it has ended with its status, and `done` will not run */
bool zd_s3_change_start(struct zd_s3_change *change);

/** Ask for an early end of one that was started. What the engine has been asked for is not left
 * half-way: nobody would know what has happened. @return whether it has ended: `done` will not run
 */
bool zd_s3_change_cancel(struct zd_s3_change *change);

/** Release what one holds that does not run; accepts one that was foreseen and not started. */
void zd_s3_change_done(struct zd_s3_change *change);

/** Whether the engine obeys the tags that changes of this kind name. */
bool zd_s3_change_obeys_tags(const struct zd_s3_change *change);

/** Whether it comes in parts where the engine allows it. */
bool zd_s3_change_is_large(const struct zd_s3_change *change);

#endif
