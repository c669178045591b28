/* Answers of ListObjectsV2: pages of keys. Thread: any. */
#ifndef ZD_CORE_STORE_S3_S3_LIST_H
#define ZD_CORE_STORE_S3_S3_LIST_H

#include "core/base/text.h"

#define ZD_S3_TOKEN_BYTES_MAX 4096 /* of a continuation token */

/** The facts of a page besides its keys. */
struct zd_s3_list_page {
    bool is_truncated;
    struct zd_text next_token; /* of the page behind it; "" where it says none */
    uint64_t n_keys;           /* that were told */
};

/**
 * A key, or a prefix of keys (with the delimiter at its end), in the order of the answer, which may
 * be none. A key may be none that a store of ours can have.
 *
 * @param key borrowed
 * @return not ZD_OK: reading ends with that status
 */
typedef ZD_RESULT (*zd_s3_list_key)(
    void *context, struct zd_span key, bool is_prefix, struct zd_error *err);

/**
 * Read a page: what it says of itself first, since EncodingType may stand behind the keys. Keys are
 * decoded where the answer says that they are encoded, and only there; a plus sign is a space then.
 *
 * @param bytes    borrowed
 * @param ret_page release with zd_s3_list_done, whatever the status
 * @retval ZD_STORE     it is no such answer
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_s3_list_read(struct zd_span bytes, zd_s3_list_key key, void *context,
    struct zd_s3_list_page *ret_page, struct zd_error *err);

void zd_s3_list_done(struct zd_s3_list_page *page);

#endif
