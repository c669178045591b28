/* Requests to a bucket: with credentials, signed, and their answers judged. Thread: loop. */
#ifndef ZD_CORE_STORE_S3_S3_ACCESS_H
#define ZD_CORE_STORE_S3_S3_ACCESS_H

#include <uv.h>

#include "core/base/list.h"
#include "core/store/remote/remote.h"
#include "core/store/s3/s3_bucket.h"
#include "core/store/s3/s3_search.h"
#include "core/store/s3/s3_sign.h"
#include "core/store/s3/s3_xml.h"
#include "core/store/transfer/transfer.h"

#define ZD_S3_LINES_MAX (ZD_S3_HEADERS_MAX + 5) /* that signing makes of the headers */

/** Fields of answers that stores of this kind have. */
enum zd_s3_field {
    ZD_S3_FIELD_REGION, /* where the bucket is */
    ZD_S3_FIELD_REQUEST,
    ZD_S3_FIELDS,
};

/** A bucket, who asks it, and how. */
struct zd_s3_access {
    struct zd_s3_bucket bucket;
    uv_loop_t *loop;          /* borrowed */
    struct zd_remote *remote; /* borrowed; the access takes part in its pool */
    char *file;               /* the options of credentials; owned, or NULL */
    char *profile;
    char *env;
    struct zd_s3_credentials credentials; /* zeroed = none are known */
    struct zd_s3_signer signer;
    int64_t skew_s; /* how far the store's clock is ahead */
    /* the search for credentials: it runs as long as calls wait for it */
    bool is_searching; /* until its end the search may be a worker's, */
    bool is_fetching;  /* but for this: `fetch` is under way */
    bool has_searched;
    uint64_t searched_ms;   /* uv_now, at its end */
    struct zd_list waiting; /* calls */
    struct zd_s3_search search;
    uv_work_t work;
    struct zd_transfer fetch;
    struct zd_remote_settings fetch_settings;
    const char *fetch_header[2];
    enum zd_status status; /* of the last search */
    struct zd_error err;
    struct zd_remote_fault fault;
};

/**
 * A request: the caller's memory, from start to `done`. Set the inputs in a zeroed one, start it,
 * and keep it where it is until `done` runs: exactly once, never inside the call that started it.
 */
struct zd_s3_call {
    /* in; borrowed until done */
    enum zd_transfer_method method;
    const char *key;         /* without the prefix; NULL = the bucket itself */
    const char *whole_query; /* in place of `query`; "" or NULL = none */
    struct zd_s3_pair query[ZD_S3_HEADERS_MAX];
    size_t n_query;
    struct zd_s3_pair header[ZD_S3_HEADERS_MAX];
    size_t n_headers;
    const char *traceparent; /* a header that is not signed: what stands between may change it; ""
                                or NULL = none */
    struct zd_span body;     /* may be empty */
    size_t bytes_max;        /* of the body of a success; more is ZD_TOO_LARGE */
    enum zd_status (*on_head)(struct zd_s3_call *call); /* as that of a transfer; or NULL */
    void (*done)(struct zd_s3_call *call);
    void *context;
    /* out */
    struct zd_transfer transfer; /* its status, err, fault, head and bytes; give the bytes back with
                                    zd_s3_call_done */
    char code[ZD_S3_CODE_BYTES_MAX + 1]; /* of an answer that is no success; "" = it tells none */
    /* for the access */
    struct zd_s3_access *access;
    struct zd_list link;
    uv_work_t work;
    bool is_sent;
    bool is_cancelled;
    bool is_again; /* it was refused, and credentials were searched */
    char digest[ZD_S3_DIGEST_CHARS + 1];
    struct zd_transfer_field field[ZD_S3_FIELDS]; /* of the answer: enum zd_s3_field */
    struct zd_text url;
    struct zd_text lines;
    const char *headers[ZD_S3_LINES_MAX + 1];
};

/**
 * Open a bucket; nothing is asked yet.
 *
 * @param ret_access zeroed; close it also after a failure
 * @retval ZD_INVALID, ZD_NO_MEMORY
 */
ZD_RESULT zd_s3_access_open(
    const struct zd_store_config *config, struct zd_s3_access *ret_access, struct zd_error *err);

/** No call runs. */
void zd_s3_access_close(struct zd_s3_access *access);

void zd_s3_call_start(struct zd_s3_access *access, struct zd_s3_call *call);

/** Ask for an early end: `done` still runs, with ZD_CANCELLED unless the call was over before. */
void zd_s3_call_cancel(struct zd_s3_call *call);

/** Release what an ended call holds; accepts a zeroed one. */
void zd_s3_call_done(struct zd_s3_call *call);

/** The bytes of the answer; they are the caller's from now on. */
struct zd_buf *zd_s3_call_take_bytes(struct zd_s3_call *call);

#endif
