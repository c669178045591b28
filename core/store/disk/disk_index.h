/* The index of the disk tier, in memory: names, costs and use of its files. Thread: loop.
 *
 * Bounded in bytes and in number, and scan resistant, as server/runtime/cache is: SIEVE. */
#ifndef ZD_CORE_STORE_DISK_DISK_INDEX_H
#define ZD_CORE_STORE_DISK_DISK_INDEX_H

#include "core/base/list.h"
#include "core/base/map.h"
#include "core/store/disk/disk_files.h"

#define ZD_DISK_INDEX_COST 320 /* bytes of memory for one file, about */

/** A key of which there are files, and what is known of its object. */
struct zd_disk_key {
    struct zd_map_entry map; /* hash */
    uint64_t hash;
    struct zd_list items; /* struct zd_disk_item: never empty; the last one put in comes first */
    struct zd_stat stat;  /* without a generation: nothing is known but the names of files */
    int64_t checked_ms;   /* then: when its store was asked last */
};

/** A file. */
struct zd_disk_item {
    struct zd_map_entry map; /* file */
    struct zd_disk_file file;
    struct zd_list link;     /* in its key's items; taken out: in a list of the caller's */
    struct zd_list queue;    /* in the order of arrival */
    struct zd_disk_key *key; /* NULL when it was taken out */
    uint64_t cost;           /* bytes of the disk */
    uint64_t serial;         /* no other item had it */
    bool visited;            /* SIEVE */
    bool is_coming;          /* being written: nobody reads it yet */
};

struct zd_disk_index {
    struct zd_map items;
    struct zd_map keys;
    struct zd_list queue; /* newest first */
    struct zd_list *hand;
    size_t n_taken; /* by the hand since it was at the oldest */
    uint64_t bytes; /* that all files take */
    uint64_t bytes_max;
    size_t n_max;
    uint64_t last_serial;
    uint64_t n_evicted;
};

void zd_disk_index_init(struct zd_disk_index *index, uint64_t bytes_max, size_t n_max);
void zd_disk_index_done(struct zd_disk_index *index); /* frees all items */

/** The file of that name, or NULL; borrowed until it is taken out. */
struct zd_disk_item *zd_disk_index_find(
    const struct zd_disk_index *index, struct zd_disk_file file);

/** The key of that hash, or NULL; borrowed until its last file is taken out. */
struct zd_disk_key *zd_disk_index_key(const struct zd_disk_index *index, uint64_t hash);

/** Put a file in, which is not there. @param ret_item borrowed @retval ZD_NO_MEMORY */
ZD_RESULT zd_disk_index_put(struct zd_disk_index *index, struct zd_disk_file file, uint64_t cost,
    struct zd_disk_item **ret_item);

/** Take a file out: the caller's, at the end of a list. */
void zd_disk_index_take(
    struct zd_disk_index *index, struct zd_disk_item *item, struct zd_list *list);

/** The same of all files of a key. */
void zd_disk_index_take_key(
    struct zd_disk_index *index, struct zd_disk_key *key, struct zd_list *list);

/** The same of files that have not been used for long, until there is room for one more that costs
 * so much; no more than bytes_max. */
void zd_disk_index_make_room(struct zd_disk_index *index, uint64_t cost, struct zd_list *list);

/** Release files that were taken out. */
void zd_disk_index_free(struct zd_list *list);

#endif
