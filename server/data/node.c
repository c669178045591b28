/* A node as it was found: its documents parsed, and the state they were in. */
#include "server/data/node.h"

#include <assert.h>
#include <string.h>

#include "core/base/json_token.h"
#include "core/base/num.h"
#include "core/dialect/v3/v3_text.h"
#include "server/data/tag.h"
#include "server/runtime/server.h"

struct zd_node *zd_node_ref(struct zd_node *node)
{
    (void)zd_cache_ref(&node->entry);
    return node;
}

void zd_node_unref(struct zd_node *node)
{
    if (node != NULL) {
        zd_cache_unref(&node->dataset->server->nodes, &node->entry);
    }
}

void zd_node_free(struct zd_cache_entry *entry)
{
    struct zd_node *node = ZD_CONTAINER(entry, struct zd_node, entry);
    zd_layout_free(node->layout);
    zd_meta_unref(node->meta);
    zd_free(node->fault);
    zd_free(node->seen);
    zd_dataset_unref(node->dataset);
    zd_free(node);
}

struct zd_span zd_node_cache_key(
    struct zd_node_key *key, const struct zd_dataset *dataset, struct zd_span path)
{
    assert(path.len <= ZD_KEY_BYTES_MAX);
    zd_store_u32(key->byte, dataset->id);
    memcpy(key->byte + ZD_NODE_KEY_HEAD_BYTES, path.ptr, path.len);
    return (struct zd_span){.ptr = key->byte, .len = ZD_NODE_KEY_HEAD_BYTES + path.len};
}

/* The node, its entry's key and the NUL behind it are one piece of memory. */
struct zd_node *zd_node_new(struct zd_dataset *dataset, struct zd_span path)
{
    struct zd_node_key memory;
    const struct zd_span key = zd_node_cache_key(&memory, dataset, path);
    struct zd_node *node = zd_alloc_zero(1, sizeof *node + key.len + 1);
    if (node == NULL) {
        return NULL;
    }
    uint8_t *own_key = (uint8_t *)(node + 1);
    memcpy(own_key, key.ptr, key.len);
    node->dataset = zd_dataset_ref(dataset);
    node->entry.owner = dataset;
    node->entry.refs = 1;
    node->checked_ms = uv_now(dataset->server->loop);
    node->path = (char *)own_key + ZD_NODE_KEY_HEAD_BYTES;
    node->entry.map.key = (struct zd_span){.ptr = own_key, .len = key.len};
    return node;
}

enum zd_status zd_node_foresee(const struct zd_node *node, struct zd_meta *meta,
    struct zd_node **ret_node, struct zd_error *err)
{
    struct zd_node *foreseen = zd_node_new(node->dataset, zd_span_of(node->path));
    if (foreseen == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for a node");
    }
    foreseen->meta = zd_meta_ref(meta);
    memcpy(foreseen->stat, node->stat, sizeof foreseen->stat);
    foreseen->tag = node->tag;
    foreseen->text_bytes = node->text_bytes;
    foreseen->tree_bytes = node->tree_bytes;
    foreseen->mtime_ms = node->mtime_ms;
    foreseen->checked_ms = node->checked_ms;
    const uint64_t max = node->dataset->server->config->settings.limits_chunk_bytes;
    const enum zd_status status = zd_layout_new(meta, max, &foreseen->layout, err);
    if (status != ZD_OK) {
        zd_node_unref(foreseen);
        return status;
    }
    *ret_node = foreseen;
    return ZD_OK;
}

static enum zd_status keep_fault(struct zd_node *node, const struct zd_error *err)
{
    node->fault = zd_alloc(sizeof *node->fault);
    if (node->fault == NULL) {
        return ZD_NO_MEMORY;
    }
    *node->fault = *err;
    return ZD_OK;
}

/* Parse nothing of a document beyond the limits, except the members beside its listing. */
static uint64_t measure(struct zd_span text, const struct zd_reading *reading)
{
    struct zd_span listing;
    if (zd_json_check_limits(text, &reading->limits, NULL) == ZD_OK) {
        return zd_json_tree_bytes(text);
    }
    if (!zd_json_find_value(text, ZD_V3_BLOCK, &listing)) {
        return 0;
    }
    const uint8_t *after = listing.ptr + listing.len;
    const struct zd_span before = {.ptr = text.ptr, .len = (size_t)(listing.ptr - text.ptr)};
    const struct zd_span rest = {.ptr = after, .len = (size_t)(text.ptr + text.len - after)};
    return zd_json_tree_bytes(before) + zd_json_tree_bytes(rest);
}

void zd_node_measure(
    struct zd_node *node, const struct zd_dialect *dialect, const struct zd_documents *documents)
{
    const struct zd_reading reading = zd_dataset_reading(node->dataset);
    node->text_bytes = 0;
    node->tree_bytes = 0;
    for (uint32_t i = 0; i < ZD_DOCUMENTS_MAX; i++) {
        node->text_bytes += documents->text[i].len;
        node->tree_bytes += measure(documents->text[i], &reading);
        node->tree_bytes += dialect->lists_texts ? documents->text[i].len : 0;
    }
}

/* Hold nothing of a text that is no JSON; beside a listing, which may be long, its length is
 * enough.
 */
static void leave_rest(struct zd_node *node)
{
    const uint64_t listing_bytes = node->meta->listing_bytes;
    if (node->meta->document == NULL) {
        node->tree_bytes = 0;
    } else if (listing_bytes > 0) {
        node->text_bytes -= listing_bytes;
        node->tree_bytes = zd_min_u64(node->tree_bytes, node->text_bytes * ZD_NODE_BYTES_PER_BYTE);
    }
    zd_meta_leave_listing(node->meta);
}

enum zd_status zd_node_parse(struct zd_node *node, const struct zd_dialect *dialect,
    const struct zd_documents *documents, struct zd_error *err)
{
    const struct zd_reading reading = zd_dataset_reading(node->dataset);
    ZD_TRY(dialect->parse(documents, &reading, &node->meta, err));
    leave_rest(node);
    if (!zd_meta_is_array(node->meta)) {
        return ZD_OK;
    }
    const uint64_t chunk_bytes_max = node->dataset->server->config->settings.limits_chunk_bytes;
    struct zd_error fault = {0};
    const enum zd_status status = zd_layout_new(node->meta, chunk_bytes_max, &node->layout, &fault);
    return status == ZD_OK || status == ZD_NO_MEMORY ? status : keep_fault(node, &fault);
}

const char *zd_node_name(const struct zd_node *node)
{
    const char *slash = strrchr(node->path, '/');
    return slash != NULL           ? slash + 1
           : node->path[0] != '\0' ? node->path
                                   : node->dataset->config.name;
}

size_t zd_node_cost(const struct zd_node *node)
{
    const size_t fixed = sizeof *node + node->entry.map.key.len + sizeof *node->seen * node->n_seen;
    return fixed + (node->layout == NULL ? 0 : sizeof *node->layout) +
           zd_max_u64(node->text_bytes * ZD_NODE_BYTES_PER_BYTE, node->tree_bytes);
}

void zd_node_set_stat(struct zd_node *node, const struct zd_stat *stat, uint32_t n)
{
    node->mtime_ms = 0;
    for (uint32_t i = 0; i < n; i++) {
        node->stat[i] = stat[i];
        node->mtime_ms = stat[i].mtime_ms > node->mtime_ms ? stat[i].mtime_ms : node->mtime_ms;
    }
    node->tag = zd_tag_documents(stat, n);
}
