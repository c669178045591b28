/* The abstract store interface of the Zarr specification (v3 core, "Abstract store interface"), on
 * top of the contract of stores. Thread: loop.
 *
 * Every operation is asynchronous: `done` runs once, on the loop thread, never inside the call that
 * started it. What it is given is borrowed until then. Values are whole or absent at any time: an
 * operation on several keys that fails in the middle has changed some of them, in no order. */
#ifndef ZD_CORE_STORE_ABSTRACT_H
#define ZD_CORE_STORE_ABSTRACT_H

#include "core/store/store.h"

/** A part of a value that is wanted. */
struct zd_abstract_range {
    const char *key;
    struct zd_range range;
    struct zd_buf *value; /* out: owned by the caller; NULL = there is no such key */
};

/** A part of a value to set. */
struct zd_abstract_part {
    const char *key;
    uint64_t start; /* what lies between the old end and this becomes zeros */
    struct zd_buf *bytes;
};

struct zd_abstract_lane;

/** An operation: the caller's memory, zeroed at first. */
struct zd_abstract {
    /* in */
    struct zd_store *store;
    size_t bytes_max; /* a value that is longer is ZD_TOO_LARGE */
    void (*done)(struct zd_abstract *op);
    /** Listings tell each key (with slash at its end: each prefix) in the order of its bytes; the
     * text is borrowed. */
    void (*found)(struct zd_abstract *op, const char *key, bool is_prefix);
    void *context; /* the caller's */
    /* out */
    enum zd_status status;
    struct zd_error err;
    struct zd_buf *value; /* of get: owned by the caller; NULL = there is no such key */
    /* its own */
    struct zd_store_op later;
    void (*begin_item)(struct zd_abstract_lane *lane);
    bool (*skips_item)(const struct zd_abstract *op, size_t item); /* NULL: none */
    void (*resume)(struct zd_abstract *op);                        /* when all items are done */
    union {
        struct zd_abstract_range *range;
        const struct zd_abstract_part *part;
        const char *const *key;
    } item;
    size_t n_items;
    size_t next; /* the first item that was not begun */
    struct zd_abstract_lane *lane;
    size_t n_lanes;
    size_t n_running;
    struct zd_abstract_range whole; /* the item of get */
    const char *only_key;           /* the item of set and erase */
    struct zd_buf *only_value;      /* of set */
    struct zd_store_list list;
};

/** get: the value of a key. */
void zd_abstract_get(struct zd_abstract *op, const char *key);

/** get_partial_values: in the order of the ranges; a key may come more than once. */
void zd_abstract_get_partial_values(
    struct zd_abstract *op, struct zd_abstract_range *range, size_t n_ranges);

/** set: a value takes the place of the old one. */
void zd_abstract_set(struct zd_abstract *op, const char *key, struct zd_buf *value);

/**
 * set_partial_values: parts of values, in their order; all parts of a key at once, so that readers
 * see none of them or all. Meant for tens of parts, not thousands. What others write to the key
 * meanwhile is kept, but for those bytes.
 * @retval ZD_PRECONDITION others wrote again and again
 */
void zd_abstract_set_partial_values(
    struct zd_abstract *op, const struct zd_abstract_part *part, size_t n_parts);

/** erase, erase_values: keys that are not there are no failure. */
void zd_abstract_erase(struct zd_abstract *op, const char *key);
void zd_abstract_erase_values(struct zd_abstract *op, const char *const *key, size_t n_keys);

/** erase_prefix: all keys that begin with it: "" or ending in '/'. */
void zd_abstract_erase_prefix(struct zd_abstract *op, const char *prefix);

/** list, list_prefix: all keys, those that begin with a prefix. */
void zd_abstract_list(struct zd_abstract *op);
void zd_abstract_list_prefix(struct zd_abstract *op, const char *prefix);

/** list_dir: the keys and prefixes with that prefix and no further slash within. */
void zd_abstract_list_dir(struct zd_abstract *op, const char *prefix);

#endif
