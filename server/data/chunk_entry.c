/* Entries of the cache of decoded chunks. */
#include "server/data/chunk_entry.h"

#include <string.h>

#include "server/runtime/server.h"

void zd_chunk_free(struct zd_cache_entry *entry)
{
    struct zd_chunk_entry *chunk = ZD_CONTAINER(entry, struct zd_chunk_entry, entry);
    zd_buf_unref(chunk->data);
    zd_dataset_unref(chunk->dataset);
    zd_free(chunk);
}

static struct zd_cache *cache_of(const struct zd_chunk_entry *chunk)
{
    return &chunk->dataset->server->chunks;
}

void zd_chunk_entry_unref(struct zd_chunk_entry *chunk)
{
    zd_cache_unref(cache_of(chunk), &chunk->entry);
}

void zd_chunk_entry_drop(struct zd_chunk_entry *chunk)
{
    zd_cache_drop(cache_of(chunk), &chunk->entry);
}

void zd_chunk_entry_charge(struct zd_chunk_entry *chunk)
{
    const size_t own = sizeof *chunk + chunk->entry.map.key.len;
    zd_cache_charge(
        cache_of(chunk), &chunk->entry, own + (chunk->data == NULL ? 0 : chunk->data->cap));
}

bool zd_chunk_entry_is_before_change(const struct zd_chunk_entry *chunk)
{
    return chunk->n_changes != chunk->dataset->n_changes;
}

/* Key of an entry: numbers and the path. */
struct key {
    uint8_t byte[(4 + ZD_RANK_MAX) * sizeof(uint64_t) + ZD_KEY_BYTES_MAX];
    size_t len;
};

static void add(struct key *key, const void *bytes, size_t len)
{
    memcpy(key->byte + key->len, bytes, len);
    key->len += len;
}

static struct zd_span write_key(
    struct key *key, const struct zd_node *node, const uint64_t *index, struct zd_byte_range span)
{
    const uint64_t head[] = {node->dataset->id, node->tag, span.first, span.len};
    key->len = 0;
    add(key, head, sizeof head);
    add(key, index, node->meta->grid.rank * sizeof *index);
    add(key, node->path, strlen(node->path));
    return (struct zd_span){.ptr = key->byte, .len = key->len};
}

struct zd_chunk_entry *zd_chunk_entry_find(
    const struct zd_node *node, const uint64_t *index, struct zd_byte_range span)
{
    struct key memory;
    struct zd_cache_entry *entry =
        zd_cache_find(&node->dataset->server->chunks, write_key(&memory, node, index, span));
    struct zd_chunk_entry *chunk =
        entry == NULL ? NULL : ZD_CONTAINER(entry, struct zd_chunk_entry, entry);
    if (chunk != NULL && entry->flight != NULL && zd_chunk_entry_is_before_change(chunk)) {
        zd_chunk_entry_drop(chunk);
        return NULL;
    }
    return chunk;
}

struct zd_chunk_entry *zd_chunk_entry_new(
    const struct zd_node *node, const uint64_t *index, struct zd_byte_range span)
{
    struct key memory;
    const struct zd_span key = write_key(&memory, node, index, span);
    struct zd_chunk_entry *chunk = zd_alloc_zero(1, sizeof *chunk + key.len);
    if (chunk == NULL) {
        return NULL;
    }
    uint8_t *own_key = (uint8_t *)(chunk + 1);
    memcpy(own_key, key.ptr, key.len);
    chunk->dataset = zd_dataset_ref(node->dataset);
    chunk->entry.owner = node->dataset;
    chunk->is_span = span.len > 0;
    chunk->entry.map.key = (struct zd_span){.ptr = own_key, .len = key.len};
    if (zd_cache_put(&node->dataset->server->chunks, &chunk->entry) != ZD_OK) {
        zd_chunk_free(&chunk->entry);
        return NULL;
    }
    return chunk;
}
