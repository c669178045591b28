/* Stored objects through the cache of encoded bytes: what exists, which generation, its bytes.
 * Thread: loop. */
#ifndef ZD_DATA_OBJECT_CACHE_H
#define ZD_DATA_OBJECT_CACHE_H

#include "server/data/dataset.h"

struct zd_node;

/** The kinds of entries of the cache of encoded bytes. */
enum zd_object_kind {
    ZD_KIND_OBJECT = 'o',
    ZD_KIND_DIRECTORY = 'd',
    ZD_KIND_INDEX = 'i', /* the decoded index of a shard (server/data/shard_lookup.h) */
};

/** A stored object, or its absence, as it was seen last. */
struct zd_object {
    struct zd_cache_entry entry; /* first; key: kind, dataset id, name */
    struct zd_dataset *dataset;
    char *key; /* in memory of its own with the entry's key */
    enum zd_object_kind kind;
    enum zd_status status; /* ZD_OK or ZD_NOT_FOUND */
    struct zd_stat stat;   /* with ZD_OK */
    struct zd_buf *bytes;  /* the whole object or index, or NULL when only its status is known */
    uint64_t checked_ms;
    uint64_t n_changes; /* of an index: of the dataset, when the store was asked */
};

/** Most bytes of the name of an entry: a key and some numbers. */
#define ZD_OBJECT_NAME_MAX (ZD_KEY_BYTES_MAX + 128)

/**
 * The entry of that kind and name, made when there is none: the caller begins a flight then.
 * @param name       unique among its kind; for objects and directories the key
 * @param ret_is_new nothing is known of it yet
 * @return a reference; NULL without memory
 */
struct zd_object *zd_object_claim(
    struct zd_dataset *dataset, enum zd_object_kind kind, struct zd_span name, bool *ret_is_new);
void zd_object_unref(struct zd_object *object); /* accepts NULL */

/** The entry of that kind and name, if there is one that is idle; nothing is counted. Borrowed
 * until the loop turns. */
const struct zd_object *zd_object_peek(
    const struct zd_dataset *dataset, enum zd_object_kind kind, struct zd_span name);

enum zd_object_part {
    ZD_OBJECT_STATUS,    /* stat is enough */
    ZD_OBJECT_BYTES,     /* the whole object */
    ZD_OBJECT_DIRECTORY, /* whether keys begin with the key and a slash; no stat, no bytes */
};

struct zd_object_want {
    struct zd_wait wait;
    struct zd_stat stat;  /* out, with ZD_OK */
    struct zd_buf *bytes; /* out, with ZD_OK and ZD_OBJECT_BYTES: a reference for the caller */
    uint64_t checked_ms;  /* out, with ZD_OK and ZD_NOT_FOUND: loop time when the store was asked */
    enum zd_object_part part;
    uint64_t bytes_max;       /* in: what is not cached and longer is ZD_TOO_LARGE, where
                                 limits.object_bytes is not less; 0 = only that */
    struct zd_flight *flight; /* its own: what it waits for */
};

/**
 * An object, fresh enough for its dataset. Concurrent requests for one object cost one read.
 * wait.status: ZD_OK, ZD_NOT_FOUND (certain), ZD_TOO_LARGE, ZD_STORE ...
 */
enum zd_next zd_objects_want(struct zd_dataset *dataset, const char *key, enum zd_object_part part,
    struct zd_object_want *want);

/** Stop waiting, and release the output. The last waiter to leave cancels the read. Accepts a
 * zeroed want, and one that was answered. */
void zd_objects_release(struct zd_object_want *want);

/** Set the outputs of a want from what is known of the object. */
void zd_object_give(const struct zd_object *object, struct zd_object_want *want);

/** For flights on objects: ops->give of a want's wait. */
void zd_object_give_waiter(struct zd_flight *flight, struct zd_wait *wait);

/** For flights on objects, ops->settle: the entry costs what it holds now; after a failure it
 * leaves the cache. Bytes that would take too much of the cache are released. */
void zd_object_settle(struct zd_flight *flight);

/** Forget an object: it was found to have changed. */
void zd_objects_forget(struct zd_dataset *dataset, const char *key);

/** Forget an object, or its absence, and the same of all directories above it: it was written or
 * erased. A request from now on asks the store, even while earlier requests wait for what was there
 * before. */
void zd_objects_forget_change(struct zd_dataset *dataset, const char *key);

/** The end of an object: for zd_cache_init of server->objects. */
void zd_object_free(struct zd_cache_entry *entry);

/**
 * The key of the stored object that holds a chunk. Thread: any.
 *
 * @param level of the chunk: 0 = a stored object of its own
 * @param index of the chunk in that level's grid
 * @retval ZD_TOO_LARGE no store has a key that long
 */
ZD_RESULT zd_object_key_of(const struct zd_node *node, uint32_t level, const uint64_t *index,
    char ret_key[ZD_KEY_BYTES_MAX + 1], struct zd_error *err);

/** Put "what key: " in front of an error's text; its facts stay. Thread: any. */
void zd_object_key_in_error(struct zd_error *err, const char *what, const char *key);

#endif
