/* URLs that a client may sign: it gives away what it may do itself, and no more. Thread: loop. */
#ifndef ZD_REQUEST_ACCESS_SIGNABLE_H
#define ZD_REQUEST_ACCESS_SIGNABLE_H

#include "server/request/request.h"

/** A request that a URL would let others make. Borrowed. */
struct zd_signable {
    const char *method; /* "GET" includes HEAD */
    const char *path;   /* decoded; of a prefix without slashes at its end */
    bool is_prefix;     /* what lies below the path, too */
};

enum zd_signable_answer {
    ZD_SIGNABLE_ALLOWED,
    ZD_SIGNABLE_REFUSED,   /* the client may not ask that itself, or nobody signs it */
    ZD_SIGNABLE_NO_PATH,   /* no resource has the path */
    ZD_SIGNABLE_NO_METHOD, /* one has, but not with that method */
};

#define ZD_SIGNABLE_NAME_BYTES 65 /* no name of a dataset is longer */

/** Facts about a URL that may be signed. */
struct zd_signable_found {
    char dataset[ZD_SIGNABLE_NAME_BYTES]; /* the only one that it leads to; "": any, or none */
    bool is_write;                        /* it may change what is stored */
};

/**
 * Judge what a URL lets others ask as a request of the client's own. A prefix may be signed when
 * the client has any right at or below it: each use is judged by itself.
 *
 * @param req with an identity
 * @param ret_found means something with ZD_SIGNABLE_ALLOWED
 */
enum zd_signable_answer zd_signable_judge(const struct zd_request *req,
    const struct zd_signable *asked, struct zd_signable_found *ret_found);

#endif
