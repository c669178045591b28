/* Credentials of a store, and how files have them. They are secret: nothing of them is ever shown,
 * in errors either. */
#ifndef ZD_CORE_STORE_S3_S3_CREDENTIALS_H
#define ZD_CORE_STORE_S3_S3_CREDENTIALS_H

#include "core/base/text.h"

#define ZD_S3_SECRET_BYTES_MAX 16384 /* of each */
#define ZD_S3_NEVER_S          INT64_MAX

/** Credentials. Strings are owned. */
struct zd_s3_credentials {
    char *access_key_id;
    char *secret_access_key;
    char *session_token; /* "" = none */
    int64_t refresh_s;   /* from then on others are searched while these still hold; since
                            1970-01-01 UTC, or ZD_S3_NEVER_S */
    int64_t expires_s;   /* from then on they do not hold */
};

/** Credentials of a source, to be checked and copied. Borrowed. */
struct zd_s3_secrets {
    struct zd_span access_key_id;
    struct zd_span secret_access_key;
    struct zd_span session_token; /* of no bytes: none */
    int64_t refresh_s;
    int64_t expires_s;
};

/**
 * Copy what a source says.
 *
 * @param source its name, for errors: "profile [x] of the credentials file"
 * @retval ZD_STORE  a key is missing, or has characters that would end a header
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_s3_credentials_init(const struct zd_s3_secrets *secrets, const char *source,
    struct zd_s3_credentials *ret_credentials, struct zd_error *err);

/** Overwrite and release them; accepts zeroed ones. */
void zd_s3_credentials_done(struct zd_s3_credentials *credentials);

/**
 * Read credentials in a text of AWS's format: sections "[profile]" with lines "name = value".
 *
 * @retval ZD_STORE the profile is not there, or has no keys
 * Thread: any.
 */
ZD_RESULT zd_s3_credentials_parse(struct zd_span text, const char *profile,
    struct zd_s3_credentials *ret_credentials, struct zd_error *err);

#endif
