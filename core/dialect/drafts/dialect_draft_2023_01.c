/* The dialect of the text of Zarr v3 of January 2023: `meta/a.array.json`, chunks `data/a/c0/0`. No
 * software is known that wrote it. It is only read. */
#include "core/dialect/chunk_key.h"
#include "core/dialect/dialect.h"
#include "core/dialect/drafts/draft_keys.h"
#include "core/dialect/drafts/draft_node.h"

enum {
    ENTRY = ZD_DRAFT_N_OWN,
    N_DOCUMENTS,
};

extern const struct zd_dialect zd_dialect_draft_2023_01;

static const struct zd_draft_keys keys = {
    .meta = "meta", .data = "data", .root_join = "/", .suffix = ".json"};

static ZD_RESULT draft_document_key(const char *path, uint32_t i, struct zd_text *key)
{
    if (i == ENTRY) {
        return zd_text_add(key, ZD_DRAFT_ENTRY_KEY);
    }
    return zd_draft_keys_add_document(&keys, path, i == ZD_DRAFT_ARRAY ? "array" : "group", key);
}

static int draft_bid(const struct zd_documents *documents)
{
    return zd_draft_node_bid(documents, ZD_DRAFT_2023_01, N_DOCUMENTS);
}

static ZD_RESULT draft_parse(const struct zd_documents *documents, const struct zd_reading *reading,
    struct zd_meta **ret_meta, struct zd_error *err)
{
    return zd_draft_node_parse(
        &zd_dialect_draft_2023_01, ZD_DRAFT_2023_01, documents, reading, ret_meta, err);
}

static ZD_RESULT draft_chunk_key(
    const struct zd_meta *meta, const char *path, const uint64_t *index, struct zd_text *key)
{
    ZD_TRY(zd_draft_keys_add_data(&keys, path, key));
    return zd_chunk_key_add_glued(meta, index, key);
}

static ZD_RESULT draft_chunk_index(const struct zd_meta *meta, const char *key, uint64_t *ret_index)
{
    return zd_chunk_key_parse_glued(meta, zd_span_of(key), ret_index);
}

static ZD_RESULT draft_children_prefix(const char *path, struct zd_text *prefix)
{
    return zd_draft_keys_add_children(&keys, path, prefix);
}

static ZD_RESULT draft_child_name(struct zd_span entry, bool is_prefix, struct zd_text *name)
{
    return zd_draft_keys_add_child(&keys, entry, is_prefix, name);
}

const struct zd_dialect zd_dialect_draft_2023_01 = {
    .name = "draft-2023-01",
    .n_documents = N_DOCUMENTS,
    .has_entry = true,
    .document_key = draft_document_key,
    .bid = draft_bid,
    .parse = draft_parse,
    .chunk_key = draft_chunk_key,
    .chunk_index = draft_chunk_index,
    .children_prefix = draft_children_prefix,
    .child_name = draft_child_name,
};
