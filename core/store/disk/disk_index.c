/* The files of the disk tier, in memory. */
#include "core/store/disk/disk_index.h"

#include <assert.h>

#define TURNOVERS 10 /* of all files: then the hand begins again with the oldest */

void zd_disk_index_init(struct zd_disk_index *index, uint64_t bytes_max, size_t n_max)
{
    *index = (struct zd_disk_index){.bytes_max = bytes_max, .n_max = n_max};
    zd_map_init(&index->items);
    zd_map_init(&index->keys);
    zd_list_init(&index->queue);
    index->hand = &index->queue;
}

static struct zd_disk_item *item_of(struct zd_list *queue)
{
    return ZD_CONTAINER(queue, struct zd_disk_item, queue);
}

void zd_disk_index_done(struct zd_disk_index *index)
{
    struct zd_list all;
    zd_list_init(&all);
    while (!zd_list_is_empty(&index->queue)) {
        zd_disk_index_take(index, item_of(index->queue.next), &all);
    }
    zd_disk_index_free(&all);
    zd_map_done(&index->items);
    zd_map_done(&index->keys);
}

static struct zd_span span_of_file(const struct zd_disk_file *file)
{
    return (struct zd_span){.ptr = (const uint8_t *)file, .len = sizeof *file};
}

static struct zd_span span_of_hash(const uint64_t *hash)
{
    return (struct zd_span){.ptr = (const uint8_t *)hash, .len = sizeof *hash};
}

struct zd_disk_item *zd_disk_index_find(const struct zd_disk_index *index, struct zd_disk_file file)
{
    struct zd_map_entry *found = zd_map_find(&index->items, span_of_file(&file));
    return found == NULL ? NULL : ZD_CONTAINER(found, struct zd_disk_item, map);
}

struct zd_disk_key *zd_disk_index_key(const struct zd_disk_index *index, uint64_t hash)
{
    struct zd_map_entry *found = zd_map_find(&index->keys, span_of_hash(&hash));
    return found == NULL ? NULL : ZD_CONTAINER(found, struct zd_disk_key, map);
}

static struct zd_disk_key *claim_key(struct zd_disk_index *index, uint64_t hash)
{
    struct zd_disk_key *key = zd_disk_index_key(index, hash);
    if (key != NULL) {
        return key;
    }
    key = zd_alloc_zero(1, sizeof *key);
    if (key == NULL) {
        return NULL;
    }
    key->hash = hash;
    key->map.key = span_of_hash(&key->hash);
    zd_list_init(&key->items);
    if (zd_map_put(&index->keys, &key->map) != ZD_OK) {
        zd_free(key);
        return NULL;
    }
    return key;
}

static void let_go_of_key(struct zd_disk_index *index, struct zd_disk_key *key)
{
    if (zd_list_is_empty(&key->items)) {
        zd_map_remove(&index->keys, &key->map);
        zd_free(key);
    }
}

enum zd_status zd_disk_index_put(struct zd_disk_index *index, struct zd_disk_file file,
    uint64_t cost, struct zd_disk_item **ret_item)
{
    struct zd_disk_item *item = zd_alloc_zero(1, sizeof *item);
    struct zd_disk_key *key = item == NULL ? NULL : claim_key(index, file.key);
    if (key == NULL) {
        zd_free(item);
        return ZD_NO_MEMORY;
    }
    item->file = file;
    item->map.key = span_of_file(&item->file);
    if (zd_map_put(&index->items, &item->map) != ZD_OK) {
        zd_free(item);
        let_go_of_key(index, key);
        return ZD_NO_MEMORY;
    }
    item->key = key;
    item->cost = cost;
    item->serial = ++index->last_serial;
    index->bytes += cost;
    zd_list_push_front(&key->items, &item->link);
    zd_list_push_front(&index->queue, &item->queue);
    *ret_item = item;
    return ZD_OK;
}

void zd_disk_index_take(
    struct zd_disk_index *index, struct zd_disk_item *item, struct zd_list *list)
{
    if (index->hand == &item->queue) {
        index->hand = index->hand->prev;
    }
    zd_list_remove(&item->queue);
    zd_list_remove(&item->link);
    zd_map_remove(&index->items, &item->map);
    let_go_of_key(index, ZD_TAKE(item->key));
    assert(index->bytes >= item->cost);
    index->bytes -= item->cost;
    zd_list_push_back(list, &item->link);
}

void zd_disk_index_take_key(
    struct zd_disk_index *index, struct zd_disk_key *key, struct zd_list *list)
{
    for (bool is_last = false; !is_last;) { /* the key goes with its last file */
        is_last = key->items.next->next == &key->items;
        zd_disk_index_take(index, ZD_CONTAINER(key->items.next, struct zd_disk_item, link), list);
    }
}

static bool has_room(const struct zd_disk_index *index, uint64_t cost)
{
    return index->bytes <= index->bytes_max - cost && index->items.n_entries < index->n_max;
}

void zd_disk_index_make_room(struct zd_disk_index *index, uint64_t cost, struct zd_list *list)
{
    assert(cost <= index->bytes_max);
    while (!has_room(index, cost) && !zd_list_is_empty(&index->queue)) {
        if (index->hand == &index->queue || index->n_taken / TURNOVERS >= index->items.n_entries) {
            index->hand = index->queue.prev;
            index->n_taken = 0;
        }
        struct zd_disk_item *item = item_of(index->hand);
        index->hand = index->hand->prev;
        if (item->visited) {
            item->visited = false;
            continue;
        }
        index->n_taken++;
        index->n_evicted++;
        zd_disk_index_take(index, item, list);
    }
}

void zd_disk_index_free(struct zd_list *list)
{
    for (struct zd_list *link; (link = zd_list_pop_front(list)) != NULL;) {
        zd_free(ZD_CONTAINER(link, struct zd_disk_item, link));
    }
}
