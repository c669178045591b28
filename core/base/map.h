/* A hash table from byte strings to pointers. */
#ifndef ZD_CORE_BASE_MAP_H
#define ZD_CORE_BASE_MAP_H

#include "core/base/buf.h"
#include "core/base/status.h"

/** An entry, embedded in the object that the table leads to. */
struct zd_map_entry {
    struct zd_map_entry *next; /* in the same bucket */
    uint64_t hash;
    struct zd_span key; /* borrowed from the object; unchanged while it is in the table */
};

/** The table. It owns its buckets, never the entries. */
struct zd_map {
    struct zd_map_entry **bucket;
    size_t n_buckets; /* a power of two, or 0 */
    size_t n_entries;
    uint64_t seed;
};

/** An empty table; holds no memory yet. Thread: the owner's. */
void zd_map_init(struct zd_map *map);

/** Releases the buckets; the entries stay with their owners. */
void zd_map_done(struct zd_map *map);

/** The entry with that key, or NULL; borrowed. */
struct zd_map_entry *zd_map_find(const struct zd_map *map, struct zd_span key);

/**
 * Put an entry in; entry->key is set and no entry with that key is there (asserted).
 *
 * @retval ZD_NO_MEMORY the table cannot grow; nothing was put in
 */
ZD_RESULT zd_map_put(struct zd_map *map, struct zd_map_entry *entry);

/** Takes an entry out; it is there (asserted). */
void zd_map_remove(struct zd_map *map, struct zd_map_entry *entry);

#endif
