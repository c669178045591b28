/* The documents of erasures of many objects by one request (DeleteObjects). Pure. Thread: any. */
#ifndef ZD_CORE_STORE_S3_S3_ERASURES_H
#define ZD_CORE_STORE_S3_S3_ERASURES_H

#include "core/base/list.h"
#include "core/store/contract/remote_fault.h"
#include "core/store/s3/s3_xml.h"

#define ZD_S3_ERASURES_MAX 256 /* of a request; S3 takes 1000 */

/** The largest answer: each erasure has a key, at most six bytes for each of its own, and a
 * message. */
#define ZD_S3_ERASURES_ANSWER_BYTES ((size_t)4 << 20)

struct zd_s3_batch;

/** An object that is to be erased: the memory of whoever erases it. */
struct zd_s3_erasure {
    /* in */
    const char *key; /* without the prefix; borrowed until done */
    const char *tag; /* the object must have it, as the engine compares tags; "" = any; borrowed */
    /** Once, perhaps inside zd_s3_batch_add. */
    void (*done)(struct zd_s3_erasure *erasure);
    /* out */
    bool is_alone;         /* nothing was asked: it needs a request of its own */
    bool is_unsure;        /* it may have been erased, whatever the status */
    enum zd_status status; /* as of zd_s3_answer_judge */
    struct zd_error err;
    struct zd_remote_fault fault;
    char code[ZD_S3_CODE_BYTES_MAX + 1]; /* of its error; "" = none */
    /* for the batch */
    struct zd_s3_batch *batch; /* that it belongs to; NULL = none */
    struct zd_list link;       /* once it is ready */
    bool is_told;              /* the answer has it */
};

/**
 * The body of a request.
 * @param erasures through their links, 1 to ZD_S3_ERASURES_MAX
 * @param prefix   of all keys
 * @param ret_body owned
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_s3_erasures_write(
    const struct zd_list *erasures, const char *prefix, struct zd_buf **ret_body);

/**
 * Read the answer: sets what each erasure has come to. One of which it tells nothing is unsure, and
 * so is one that is told to be erased and to have failed.
 *
 * @param answer   borrowed; at most ZD_S3_ERASURES_ANSWER_BYTES
 * @param erasures those of the request
 * @retval ZD_STORE     it is no such answer: what it has set is to be forgotten
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_s3_erasures_read(struct zd_span answer, const struct zd_list *erasures,
    const char *prefix, struct zd_error *err);

#endif
