/* The dialect of the drafts of Zarr v3 of February to October 2023. Keys and documents are those of
 * v3: what a document says makes it one of this dialect, and only who parses it can tell. So v3
 * bids for both, and its parser makes nodes of this dialect. It is only read. */
#include "core/dialect/dialect.h"

extern const struct zd_dialect zd_dialect_v3;

static ZD_RESULT draft_document_key(const char *path, uint32_t i, struct zd_text *key)
{
    return zd_dialect_v3.document_key(path, i, key);
}

static ZD_RESULT draft_document_path(struct zd_span key, struct zd_text *path)
{
    return zd_dialect_v3.document_path(key, path);
}

static int draft_bid(const struct zd_documents *documents)
{
    (void)documents;
    return 0;
}

static ZD_RESULT draft_parse(const struct zd_documents *documents, const struct zd_reading *reading,
    struct zd_meta **ret_meta, struct zd_error *err)
{
    return zd_dialect_v3.parse(documents, reading, ret_meta, err);
}

static ZD_RESULT draft_chunk_key(
    const struct zd_meta *meta, const char *path, const uint64_t *index, struct zd_text *key)
{
    return zd_dialect_v3.chunk_key(meta, path, index, key);
}

static ZD_RESULT draft_chunk_index(const struct zd_meta *meta, const char *key, uint64_t *ret_index)
{
    return zd_dialect_v3.chunk_index(meta, key, ret_index);
}

static ZD_RESULT draft_children_prefix(const char *path, struct zd_text *prefix)
{
    return zd_dialect_v3.children_prefix(path, prefix);
}

static ZD_RESULT draft_child_name(struct zd_span entry, bool is_prefix, struct zd_text *name)
{
    return zd_dialect_v3.child_name(entry, is_prefix, name);
}

const struct zd_dialect zd_dialect_draft_2023_06 = {
    .name = "draft-2023-06",
    .n_documents = 1,
    .is_first = true,
    .document_key = draft_document_key,
    .document_path = draft_document_path,
    .bid = draft_bid,
    .parse = draft_parse,
    .chunk_key = draft_chunk_key,
    .chunk_index = draft_chunk_index,
    .children_prefix = draft_children_prefix,
    .child_name = draft_child_name,
};
