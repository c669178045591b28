/* Bodies that go to a bucket in parts, since one request is too small for them. Thread: loop. */
#ifndef ZD_CORE_STORE_S3_S3_UPLOAD_H
#define ZD_CORE_STORE_S3_S3_UPLOAD_H

#include "core/store/s3/s3_store.h"

#define ZD_S3_UPLOAD_OVER_BYTES (UINT64_C(16) << 20) /* longer bodies come in parts */
#define ZD_S3_UPLOAD_PART_BYTES (UINT64_C(8) << 20)  /* of each but the last one; S3: >= 5 MiB */
#define ZD_S3_UPLOAD_PUT_BYTES  (UINT64_C(5) << 30)  /* of one request: S3 takes no more */
#define ZD_S3_UPLOAD_PARTS_MAX  10000
#define ZD_S3_UPLOAD_AT_ONCE    4 /* parts */
#define ZD_S3_UPLOAD_ID_BYTES   1024
#define ZD_S3_UPLOAD_TAG_CHARS  (ZD_S3_MD5_CHARS + 6) /* "...-10000" */

/** A part that is on its way. */
struct zd_s3_upload_part {
    struct zd_s3_upload *upload;
    struct zd_s3_call call;
    uint32_t number; /* 1 = the first */
    uint32_t n_tries;
    bool is_running;
    char text[8]; /* the number */
};

/**
 * An upload: the caller's memory, from start to `done`. Set the inputs in a zeroed one, start it,
 * and keep it where it is until `done` runs: exactly once, never inside the call that started it.
 * Then nothing of it is left in the bucket, unless the store has not answered that either.
 */
struct zd_s3_upload {
    /* in; borrowed until done */
    struct zd_s3_store *s3;
    const char *key;
    struct zd_span bytes;
    struct zd_s3_pair condition; /* a header of the completion; its name NULL = none */
    /** Optional: all parts are there; call zd_s3_upload_complete, at once or later. */
    void (*ready)(struct zd_s3_upload *upload);
    void (*done)(struct zd_s3_upload *upload);
    void *context;
    /* out */
    enum zd_status status; /* as of zd_s3_answer_judge, or ZD_CANCELLED */
    struct zd_error err;
    struct zd_remote_fault fault;
    uint32_t http; /* of the answer that decided; 0 = none came */
    char code[ZD_S3_CODE_BYTES_MAX + 1];
    bool is_unsure;                     /* completion was asked for, and the object may be there */
    bool is_unsupported;                /* the store has no uploads */
    char etag[ZD_S3_TAG_BYTES_MAX + 1]; /* with ZD_OK: of the object, without quotes */
    int64_t date_ms;                    /* of the answer to the completion; 0 = unknown */
    char tag[ZD_S3_UPLOAD_TAG_CHARS + 1]; /* that the object has where S3's rule for tags is kept;
                                             "" = unknown */
    /* for the upload */
    bool is_completing; /* completion has been asked for: there is no way back */
    bool is_cancelled;
    char id[ZD_S3_UPLOAD_ID_BYTES + 1]; /* "" = there is nothing to abort */
    uint64_t part_bytes;
    uint32_t n_parts;
    uint32_t n_begun;
    uint32_t n_running;
    uint32_t n_tries;                          /* of the abortion */
    char (*part_tag)[ZD_S3_TAG_BYTES_MAX + 1]; /* n_parts of them, without quotes; owned */
    struct zd_s3_call call;
    struct zd_buf *list; /* the body of the completion; owned */
    struct zd_s3_upload_part part[ZD_S3_UPLOAD_AT_ONCE];
};

/** @retval ZD_NO_MEMORY done will not run */
ZD_RESULT zd_s3_upload_start(struct zd_s3_upload *upload);

/** Ask for the object, after `ready`. */
void zd_s3_upload_complete(struct zd_s3_upload *upload);

/** Ask for an early end: the upload is aborted, unless its completion has been asked for. */
void zd_s3_upload_cancel(struct zd_s3_upload *upload);

#endif
