/* Where a bucket is, and how requests address it. Thread: any. */
#ifndef ZD_CORE_STORE_S3_S3_BUCKET_H
#define ZD_CORE_STORE_S3_S3_BUCKET_H

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/store/contract/key.h"

#define ZD_S3_URL_BYTES_MAX 8192 /* of a request, encoded */

/** JSON Schema of the options of a location "s3:" or "gs:". */
extern const char zd_s3_bucket_schema[];

/** A location with its options. Owns its strings, of which none is secret. */
struct zd_s3_bucket {
    char *origin; /* "https://bucket.s3.eu-west-1.amazonaws.com", without a slash at its end */
    char *host;   /* of the origin, with a port that is not the scheme's own */
    char *path;   /* what all paths begin with: "", or "/bucket" */
    char *prefix; /* of all keys: "", or ending in '/' */
    char *name;   /* of the bucket */
    char *region;
    bool is_anonymous;   /* requests are not signed */
    bool is_403_absence; /* 403 for an object means that there is none */
    uint64_t endpoint;   /* of scheme, host and port: zd_store.endpoint */
    uint64_t space;      /* of the bucket, however it is addressed: zd_store.space */
};

/** Whether a location is one of these. */
bool zd_s3_bucket_accepts(const char *location);

/**
 * Read a location and its options.
 *
 * @param options    pass the schema; borrowed; or NULL
 * @param ret_bucket release with zd_s3_bucket_done, also after a failure
 * @retval ZD_INVALID   what is wrong of it; a URL with a user's name is not repeated
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_s3_bucket_init(const char *location, const struct zd_json *options,
    struct zd_s3_bucket *ret_bucket, struct zd_error *err);

void zd_s3_bucket_done(struct zd_s3_bucket *bucket); /* accepts a zeroed one */

/**
 * The path of a key, or of the bucket itself, as a URL has it.
 *
 * @param key  without the prefix; NULL = the bucket itself
 * @param text its ceiling is ZD_S3_URL_BYTES_MAX; failures stick in it
 */
void zd_s3_bucket_add_path(
    const struct zd_s3_bucket *bucket, const char *key, struct zd_text *text);

#endif
