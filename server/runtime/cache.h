/* A cache bounded in bytes, scan resistant (SIEVE), whose entries know the work under way on them
 * (server/runtime/flight.h). Thread: loop. */
#ifndef ZD_RUNTIME_CACHE_H
#define ZD_RUNTIME_CACHE_H

#include "core/base/list.h"
#include "core/base/map.h"

struct zd_dataset;
struct zd_flight;

/** An entry, embedded first in the object that is kept. Its key is in the object. */
struct zd_cache_entry {
    struct zd_map_entry map;        /* key */
    struct zd_list queue;           /* in the order of arrival */
    struct zd_flight *flight;       /* the work under way; NULL = idle. Busy = never evicted */
    size_t bytes;                   /* its cost; set by zd_cache_charge */
    const struct zd_dataset *owner; /* whose data it is; NULL = no dataset */
    uint32_t refs;                  /* one for being in the table, one for each user */
    bool in_table;
    bool visited; /* SIEVE: used since the hand passed */
};

struct zd_cache {
    struct zd_list link; /* in server->caches, for a cache of a server */
    const char *name;    /* for /metrics */
    size_t bytes_max;
    size_t entry_bytes_max; /* a larger entry would push out too many others: it is not kept */
    size_t bytes;
    struct zd_map map;
    struct zd_list queue; /* newest first */
    struct zd_list *hand; /* where SIEVE looks next; the queue itself = at the oldest */
    size_t n_taken;       /* by the hand since it was at the oldest */
    void (*free)(struct zd_cache_entry *entry); /* the object's end: no reference is left */
    uint64_t n_hits;
    uint64_t n_misses;
    uint64_t n_evicted;
};

/** An entry may take an eighth of it; cache->entry_bytes_max can be changed. */
void zd_cache_init(struct zd_cache *cache, const char *name, size_t bytes_max,
    void (*free_entry)(struct zd_cache_entry *));

/** Takes everything out of the table; entries in use live until their last unref, which is while
 * the cache is there. No work is under way. Accepts a zeroed one. */
void zd_cache_done(struct zd_cache *cache);

/** The entry of that key, or NULL; borrowed until the loop turns: zd_cache_ref to keep it. Counts a
 * hit or a miss. */
struct zd_cache_entry *zd_cache_find(struct zd_cache *cache, struct zd_span key);

/** Count what zd_map_find of its map has found as zd_cache_find does: a hit, or with NULL a miss.
 */
void zd_cache_count(struct zd_cache *cache, struct zd_cache_entry *found);

/** Put a new entry in (map.key set, the rest zeroed): one reference for the table, one for the
 * caller. @retval ZD_NO_MEMORY */
ZD_RESULT zd_cache_put(struct zd_cache *cache, struct zd_cache_entry *entry);

/** Set the cost of an entry; may evict others (never it, never busy ones). An entry over
 * entry_bytes_max leaves the table. */
void zd_cache_charge(struct zd_cache *cache, struct zd_cache_entry *entry, size_t bytes);

/** Out of the table at once: it is no longer found; its users keep it. */
void zd_cache_drop(struct zd_cache *cache, struct zd_cache_entry *entry);

/** The same for the entry of that key, if there is one. Counts nothing. */
void zd_cache_forget(struct zd_cache *cache, struct zd_span key);

/** The same for all that are to go, busy ones too. */
void zd_cache_drop_if(struct zd_cache *cache, bool (*goes)(const struct zd_cache_entry *entry));

struct zd_cache_entry *zd_cache_ref(struct zd_cache_entry *entry);
void zd_cache_unref(struct zd_cache *cache, struct zd_cache_entry *entry); /* accepts NULL entry */

#endif
