/* Some bytes of one stored object, in no cache. Thread: loop. */
#ifndef ZD_DATA_RANGE_READ_H
#define ZD_DATA_RANGE_READ_H

#include "server/data/dataset.h"

struct zd_range_load;

/**
 * Some bytes of one object. wait.status: ZD_OK, ZD_NOT_FOUND (certain),
 * ZD_PRECONDITION: it has changed, ZD_TOO_LARGE: past limits.object_bytes, ZD_STORE ...
 */
struct zd_range_want {
    struct zd_wait wait;
    /* in */
    struct zd_range range;
    struct zd_generation only_generation; /* zero: any */
    uint64_t age_max_ms;                  /* as of a read of the store */
    uint64_t bytes_max; /* more is ZD_TOO_LARGE, where limits.object_bytes is not less; 0 = only
                          that */
    const char *traceparent; /* what a remote store is told; or NULL */
    const void *owner; /* the request that it is read for: requests take turns at a remote store;
                          NULL = none */
    bool wants_file;   /* a descriptor rather than bytes, of a store that has files: no memory is
                          taken, and limits.object_bytes does not apply */
    /* out */
    struct zd_buf *bytes; /* with ZD_OK: a reference for the caller */
    bool has_file;        /* with ZD_OK and wants_file: */
    int fd;            /* a file with it, open; owned until has_file is cleared or it is released */
    uint64_t fd_first; /* where the object begins in it, bytes */
    struct zd_stat stat;        /* with ZD_OK: of the whole object */
    uint64_t age_ms;            /* the same: how long ago that was known to be true */
    struct zd_range_load *load; /* its own: NULL when the store does not work on it */
};
enum zd_next zd_range_read_want(
    struct zd_dataset *dataset, const char *key, struct zd_range_want *want);

/** Stop waiting, cancel the read, and release the outputs. */
void zd_range_read_release(struct zd_range_want *want);

#endif
