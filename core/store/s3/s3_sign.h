/* Signing requests to S3: AWS Signature Version 4 in headers. Pure. Thread: any. */
#ifndef ZD_CORE_STORE_S3_S3_SIGN_H
#define ZD_CORE_STORE_S3_S3_SIGN_H

#include "core/base/text.h"

#define ZD_S3_DIGEST_BYTES 32
#define ZD_S3_DIGEST_CHARS 64 /* of it in hexadecimal */
#define ZD_S3_MD5_CHARS    32
#define ZD_S3_BASE64_CHARS 24 /* of MD5 in base64 */
#define ZD_S3_DATE_CHARS   8  /* "20130524" */
#define ZD_S3_TIME_CHARS   16 /* "20130524T000000Z" */
#define ZD_S3_HEADERS_MAX  8  /* that a request may have besides those that signing adds */

/** A header, or a parameter of a query. Borrowed. */
struct zd_s3_pair {
    const char *name;  /* of a header: in lower case */
    const char *value; /* of a parameter: not encoded */
};

/** The signer. Borrowed. */
struct zd_s3_identity {
    const char *access_key_id;
    const char *secret_access_key;
    const char *session_token; /* "" = none */
};

/** The key that signs the requests of one day: derived once, as it costs four HMACs. Holds a
 * secret: give it to zd_s3_sign_forget. */
struct zd_s3_signer {
    char date[ZD_S3_DATE_CHARS + 1]; /* "" = none is derived */
    uint8_t key[ZD_S3_DIGEST_BYTES];
};

/** A request that is to be signed. Borrowed. */
struct zd_s3_signing {
    const char *method;
    const char *host;  /* as the header Host has it: with a port that is not the scheme's own */
    const char *path;  /* as the URL has it: zd_s3_sign_add_path */
    const char *query; /* as the URL has it: zd_s3_sign_add_query; "" = none */
    const struct zd_s3_pair *header; /* all others that are sent with a meaning: they are signed */
    size_t n_headers;                /* at most ZD_S3_HEADERS_MAX */
    const char *payload_digest;      /* of the body: zd_s3_sign_digest */
    const char *region;
    int64_t now_s; /* since 1970-01-01 UTC */
};

/** SHA-256 of bytes in lower hexadecimal. @retval ZD_NO_MEMORY */
ZD_RESULT zd_s3_sign_digest(struct zd_span bytes, char ret_hex[ZD_S3_DIGEST_CHARS + 1]);

/** The tag that S3 gives an object that came in one request: MD5 in lower hexadecimal. Some
 * engines, and objects that are encrypted with keys, have others. @retval ZD_NO_MEMORY it cannot be
 * had */
ZD_RESULT zd_s3_sign_tag(struct zd_span bytes, char ret_hex[ZD_S3_MD5_CHARS + 1]);

/** The same in base64, as the header Content-MD5 has it. @retval ZD_NO_MEMORY as above */
ZD_RESULT zd_s3_sign_content_md5(struct zd_span bytes, char ret_base64[ZD_S3_BASE64_CHARS + 1]);

/** Add the path of a URL. All bytes are encoded but unreserved ones (RFC 3986, 2.3) and slashes,
 * once, and nothing is normalised: S3 signs paths as they are sent. Failures stick in the text. */
void zd_s3_sign_add_path(struct zd_text *text, const char *path);

/** Add a query, in the order in which it is signed, so that the URL has what was signed.
 * @param pair at most ZD_S3_HEADERS_MAX, no name twice */
void zd_s3_sign_add_query(struct zd_text *text, const struct zd_s3_pair *pair, size_t n);

/**
 * Add the header lines that make a signed request, each ended by a line feed: x-amz-date,
 * x-amz-content-sha256, x-amz-security-token where there is a token, and authorization.
 *
 * @param signer  zeroed before its first use, and when the identity or the region has changed
 * @param text    secret: never shown
 * @retval ZD_TOO_LARGE, ZD_NO_MEMORY the text's own failure
 */
ZD_RESULT zd_s3_sign(struct zd_s3_signer *signer, const struct zd_s3_identity *identity,
    const struct zd_s3_signing *signing, struct zd_text *text);

/** Overwrite the key. */
void zd_s3_sign_forget(struct zd_s3_signer *signer);

/** Overwrite bytes in a way that no compiler leaves out. */
void zd_s3_sign_wipe(void *at, size_t len);

#endif
