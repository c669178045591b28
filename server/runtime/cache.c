/* A cache bounded in bytes, scan resistant.
 *
 * SIEVE: entries queue in the order of arrival and never move. To make room a hand goes from the
 * oldest to the newest: it spares entries used since it last passed, and takes the others.
 *
 *     queue   newest -> [ ] [ ] [v] [ ] [v] [v] -> oldest       v = visited
 *                                ^ hand, on its way to the newest
 *
 * What a scan brings in is newer than the hand's place, so the hand meets it before it comes round
 * to the old entries again. A loop over a little more than there is ahead of the hand would keep it
 * from them for ever, and find nothing: so a long way on it begins again with the oldest. */
#include "server/runtime/cache.h"

#include <assert.h>

#define ENTRY_PART 8  /* one part of a cache is the most that an entry takes */
#define TURNOVERS  10 /* of all entries: then the hand begins again with the oldest */

static struct zd_cache_entry *entry_of(struct zd_list *queue)
{
    return ZD_CONTAINER(queue, struct zd_cache_entry, queue);
}

void zd_cache_init(struct zd_cache *cache, const char *name, size_t bytes_max,
    void (*free_entry)(struct zd_cache_entry *))
{
    *cache = (struct zd_cache){
        .name = name,
        .bytes_max = bytes_max,
        .entry_bytes_max = bytes_max / ENTRY_PART,
        .free = free_entry,
    };
    zd_map_init(&cache->map);
    zd_list_init(&cache->queue);
    cache->hand = &cache->queue;
}

void zd_cache_done(struct zd_cache *cache)
{
    if (cache->free == NULL) {
        return;
    }
    while (!zd_list_is_empty(&cache->queue)) {
        struct zd_cache_entry *entry = entry_of(cache->queue.next);
        assert(entry->flight == NULL);
        zd_cache_drop(cache, entry);
    }
    zd_map_done(&cache->map);
    zd_list_remove(&cache->link);
}

struct zd_cache_entry *zd_cache_find(struct zd_cache *cache, struct zd_span key)
{
    struct zd_map_entry *found = zd_map_find(&cache->map, key);
    struct zd_cache_entry *entry =
        found == NULL ? NULL : ZD_CONTAINER(found, struct zd_cache_entry, map);
    zd_cache_count(cache, entry);
    return entry;
}

void zd_cache_count(struct zd_cache *cache, struct zd_cache_entry *found)
{
    if (found == NULL) {
        cache->n_misses++;
    } else {
        cache->n_hits++;
        found->visited = true;
    }
}

enum zd_status zd_cache_put(struct zd_cache *cache, struct zd_cache_entry *entry)
{
    ZD_TRY(zd_map_put(&cache->map, &entry->map));
    zd_list_push_front(&cache->queue, &entry->queue);
    entry->refs = 2;
    entry->in_table = true;
    return ZD_OK;
}

/* Two rounds meet every entry once after its mark was wiped; the others are busy. */
static void evict(struct zd_cache *cache, const struct zd_cache_entry *spared)
{
    const size_t n_turns = 2 * cache->map.n_entries;
    for (size_t i = 0; i < n_turns && cache->bytes > cache->bytes_max; i++) {
        if (cache->hand == &cache->queue || cache->n_taken / TURNOVERS >= cache->map.n_entries) {
            cache->hand = cache->queue.prev;
            cache->n_taken = 0;
        }
        struct zd_cache_entry *entry = entry_of(cache->hand);
        cache->hand = cache->hand->prev;
        if (entry->visited || entry->flight != NULL || entry == spared) {
            entry->visited = false;
            continue;
        }
        cache->n_evicted++;
        cache->n_taken++;
        zd_cache_drop(cache, entry);
    }
}

void zd_cache_charge(struct zd_cache *cache, struct zd_cache_entry *entry, size_t bytes)
{
    if (!entry->in_table) {
        entry->bytes = bytes;
        return;
    }
    cache->bytes = cache->bytes - entry->bytes + bytes;
    entry->bytes = bytes;
    if (bytes > cache->entry_bytes_max) {
        zd_cache_drop(cache, entry);
        return;
    }
    evict(cache, entry);
}

void zd_cache_drop(struct zd_cache *cache, struct zd_cache_entry *entry)
{
    if (!entry->in_table) {
        return;
    }
    if (cache->hand == &entry->queue) {
        cache->hand = cache->hand->prev;
    }
    zd_list_remove(&entry->queue);
    zd_map_remove(&cache->map, &entry->map);
    cache->bytes -= entry->bytes;
    entry->in_table = false;
    zd_cache_unref(cache, entry);
}

void zd_cache_forget(struct zd_cache *cache, struct zd_span key)
{
    struct zd_map_entry *found = zd_map_find(&cache->map, key);
    if (found != NULL) {
        zd_cache_drop(cache, ZD_CONTAINER(found, struct zd_cache_entry, map));
    }
}

void zd_cache_drop_if(struct zd_cache *cache, bool (*goes)(const struct zd_cache_entry *entry))
{
    struct zd_list *next = NULL;
    for (struct zd_list *link = cache->queue.next; link != &cache->queue; link = next) {
        next = link->next;
        if (goes(entry_of(link))) {
            zd_cache_drop(cache, entry_of(link));
        }
    }
}

struct zd_cache_entry *zd_cache_ref(struct zd_cache_entry *entry)
{
    entry->refs++;
    return entry;
}

void zd_cache_unref(struct zd_cache *cache, struct zd_cache_entry *entry)
{
    if (entry == NULL) {
        return;
    }
    assert(entry->refs > 0);
    entry->refs--;
    if (entry->refs == 0) {
        cache->free(entry);
    }
}
