/* A hash table from byte strings to pointers. */
#include "core/base/map.h"

#include <assert.h>

#include "core/base/hash.h"

#define FIRST_BUCKETS 16

void zd_map_init(struct zd_map *map)
{
    *map = (struct zd_map){.seed = zd_hash_random_seed()};
}

void zd_map_done(struct zd_map *map)
{
    zd_free(map->bucket);
    *map = (struct zd_map){.seed = map->seed};
}

struct zd_map_entry *zd_map_find(const struct zd_map *map, struct zd_span key)
{
    if (map->n_buckets == 0) {
        return NULL;
    }
    const uint64_t hash = zd_hash_of(key, map->seed);
    struct zd_map_entry *entry = map->bucket[hash & (map->n_buckets - 1)];
    while (entry != NULL && !(entry->hash == hash && zd_span_equal(entry->key, key))) {
        entry = entry->next;
    }
    return entry;
}

static enum zd_status grow(struct zd_map *map)
{
    const size_t n_buckets = map->n_buckets == 0 ? FIRST_BUCKETS : map->n_buckets * 2;
    struct zd_map_entry **bucket = zd_alloc_zero(n_buckets, sizeof(struct zd_map_entry *));
    if (bucket == NULL) {
        return ZD_NO_MEMORY;
    }
    for (size_t i = 0; i < map->n_buckets; i++) {
        struct zd_map_entry *entry = map->bucket[i];
        while (entry != NULL) {
            struct zd_map_entry *next = entry->next;
            struct zd_map_entry **head = &bucket[entry->hash & (n_buckets - 1)];
            entry->next = *head;
            *head = entry;
            entry = next;
        }
    }
    zd_free(map->bucket);
    map->bucket = bucket;
    map->n_buckets = n_buckets;
    return ZD_OK;
}

enum zd_status zd_map_put(struct zd_map *map, struct zd_map_entry *entry)
{
    assert(zd_map_find(map, entry->key) == NULL);
    if (map->n_entries >= map->n_buckets) {
        ZD_TRY(grow(map));
    }
    entry->hash = zd_hash_of(entry->key, map->seed);
    struct zd_map_entry **head = &map->bucket[entry->hash & (map->n_buckets - 1)];
    entry->next = *head;
    *head = entry;
    map->n_entries++;
    return ZD_OK;
}

void zd_map_remove(struct zd_map *map, struct zd_map_entry *entry)
{
    assert(map->n_buckets > 0);
    struct zd_map_entry **link = &map->bucket[entry->hash & (map->n_buckets - 1)];
    while (*link != entry) {
        assert(*link != NULL);
        link = &(*link)->next;
    }
    *link = entry->next;
    entry->next = NULL;
    map->n_entries--;
}
