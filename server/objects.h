/* Stored objects through the cache of encoded bytes: what exists, which generation, its bytes.
 * Thread: loop. */
#ifndef ZD_SERVER_OBJECTS_H
#define ZD_SERVER_OBJECTS_H

#include "server/catalog.h"

/** A stored object, or its absence, as it was seen last. */
struct zd_object {
    struct zd_cache_entry entry; /* first; key: dataset id, key */
    struct zd_dataset *dataset;
    char *key;
    enum zd_status status; /* ZD_OK or ZD_NOT_FOUND */
    struct zd_stat stat;   /* with ZD_OK */
    struct zd_buf *bytes;  /* the whole object, or NULL when only its status is known */
    uint64_t checked_ms;
};

enum zd_object_part {
    ZD_OBJECT_STATUS, /* stat is enough */
    ZD_OBJECT_BYTES,  /* the whole object */
};

struct zd_object_want {
    struct zd_wait wait;
    struct zd_stat stat;  /* out, with ZD_OK */
    struct zd_buf *bytes; /* out, with ZD_OK and ZD_OBJECT_BYTES: a reference for the caller */
    enum zd_object_part part;
};

/**
 * An object, fresh enough for its dataset. Many who want one object cost one read.
 * wait.status: ZD_OK, ZD_NOT_FOUND (certain), ZD_TOO_LARGE, ZD_STORE ...
 */
enum zd_next zd_objects_want(struct zd_dataset *dataset, const char *key, enum zd_object_part part,
    struct zd_object_want *want);

/** A run of bytes of one object of a known generation; not cached here. wait.status
 * ZD_PRECONDITION: it has changed. */
struct zd_range_want {
    struct zd_wait wait;
    struct zd_store_read
        read;        /* in: key, range, only_generation; out: bytes (owned by the caller), stat */
    bool is_running; /* the store works on it: the memory must stay */
};
enum zd_next zd_objects_want_range(struct zd_dataset *dataset, struct zd_range_want *want);

#endif
