/* The search for credentials: in the environment, in files, and by requests that somebody else
 * makes. What it holds is secret: nothing of it is ever shown, in errors either. */
#ifndef ZD_CORE_STORE_S3_S3_SEARCH_H
#define ZD_CORE_STORE_S3_S3_SEARCH_H

#include "core/store/s3/s3_credentials.h"

#define ZD_S3_ANSWER_BYTES_MAX (64U << 10) /* of an answer to a request for credentials */

/** The options of a store that name credentials. Borrowed; NULL where an option is absent. */
struct zd_s3_credentials_options {
    const char *file;
    const char *profile;
    const char *env; /* a prefix of names in the environment */
    const char *region;
};

enum zd_s3_fetch_kind {
    ZD_S3_FETCH_NONE,      /* no request is due: the credentials are found */
    ZD_S3_FETCH_IDENTITY,  /* POST: a role for a web identity token */
    ZD_S3_FETCH_CONTAINER, /* GET, of the container's host */
    ZD_S3_FETCH_SESSION,   /* PUT: the token that the instance's metadata want */
    ZD_S3_FETCH_ROLE,      /* GET: the name of the instance's role */
    ZD_S3_FETCH_INSTANCE,  /* GET: the credentials of that role */
};

/** A search: a request at a time, until there are credentials. */
struct zd_s3_search {
    /* the request that is due */
    enum zd_s3_fetch_kind fetch;
    char *url;           /* owned */
    char *header;        /* a line "Name: value", or NULL; owned */
    struct zd_buf *body; /* a form, or NULL; shared */
    /* what was found */
    struct zd_s3_credentials found;
    /* for the search */
    char *session; /* of the instance's metadata; owned */
};

/**
 * Begin: look where credentials are said to be. In this order, and no other one is tried where one
 * is named: the options (env, then file), AWS_ACCESS_KEY_ID, AWS_SHARED_CREDENTIALS_FILE,
 * AWS_WEB_IDENTITY_TOKEN_FILE, AWS_CONTAINER_CREDENTIALS_FULL_URI, the metadata of the instance
 * unless AWS_EC2_METADATA_DISABLED is true.
 *
 * @param ret_search with ZD_OK its `fetch` says what is next; release with zd_s3_search_done, also
 *                   after a failure
 * @retval ZD_STORE     there are none, or they are malformed
 * @retval ZD_NO_MEMORY
 * Thread: any; reads files.
 */
ZD_RESULT zd_s3_search_begin(const struct zd_s3_credentials_options *options,
    struct zd_s3_search *ret_search, struct zd_error *err);

/**
 * Go on with the answer to the request that was due.
 *
 * @param code  HTTP status
 * @param bytes borrowed
 * @retval as of zd_s3_search_begin
 * Thread: any.
 */
ZD_RESULT zd_s3_search_answer(struct zd_s3_search *search, uint32_t code, struct zd_span bytes,
    int64_t now_s, struct zd_error *err);

/** Overwrite and release what a search holds; accepts a zeroed one. */
void zd_s3_search_done(struct zd_s3_search *search);

#endif
