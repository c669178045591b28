/* The v3 dialect: one document `zarr.json` a node, chunks below it. */
#include "core/dialect/dialect.h"

#include <string.h>

#include "core/dialect/v3/draft_2023_06.h"
#include "core/dialect/v3/draft_entry.h"
#include "core/dialect/node_keys.h"
#include "core/dialect/node_name.h"
#include "core/dialect/v3/v3_consolidated.h"
#include "core/dialect/v3/v3_document.h"
#include "core/dialect/v3/v3_text.h"
#include "core/dialect/v3/v3_write.h"

#define DOCUMENT_NAME "zarr.json"

/* Nodes of the dialect draft-2023-06 are found by this one: they have its key. */
#define BID 10

extern const struct zd_dialect zd_dialect_v3;

static ZD_RESULT v3_document_key(const char *path, uint32_t i, struct zd_text *key)
{
    (void)i;
    if (path[0] != '\0') {
        ZD_TRY(zd_text_add(key, path));
        ZD_TRY(zd_text_add_char(key, '/'));
    }
    return zd_text_add(key, DOCUMENT_NAME);
}

static ZD_RESULT v3_document_path(struct zd_span key, struct zd_text *path)
{
    const size_t name_len = sizeof DOCUMENT_NAME - 1;
    if (key.len < name_len || memcmp(key.ptr + key.len - name_len, DOCUMENT_NAME, name_len) != 0) {
        return ZD_NOT_FOUND;
    }
    const size_t rest = key.len - name_len;
    if (rest == 0) {
        return ZD_OK; /* the root's */
    }
    return key.ptr[rest - 1] == '/' ? zd_text_add_bytes(path, key.ptr, rest - 1) : ZD_NOT_FOUND;
}

/* Drafts keep their entry point under the key of the root's document. */
static int v3_bid(const struct zd_documents *documents)
{
    if (!documents->present[0]) {
        return 0;
    }
    return zd_draft_entry_may_be(documents->text[0]) ? ZD_BID_UNSURE : BID;
}

static ZD_RESULT v3_check(
    const struct zd_documents *documents, const struct zd_reading *reading, struct zd_error *err)
{
    return zd_v3_text_check(documents->text[0], reading, err);
}

static void judge_block(
    const struct zd_v3_text *text, const struct zd_reading *reading, struct zd_meta *meta)
{
    const struct zd_v3_block block = {
        .json = zd_json_member(text->json, ZD_V3_BLOCK),
        .listing = text->listing,
        .is_bare = text->is_bare,
        .has_nonfinite = text->has_nonfinite,
    };
    if (block.json == NULL || meta->type != ZD_NODE_GROUP) {
        return;
    }
    meta->listing_bytes = text->listing_bytes;
    meta->faults.judges_listing = true;
    if (text->why_left_out.status == ZD_OK) {
        zd_v3_consolidated_judge(&block, reading, meta);
    } else {
        zd_v3_consolidated_leave_out(&text->why_left_out, meta);
    }
    meta->faults.judges_listing = false;
}

static ZD_RESULT v3_parse(const struct zd_documents *documents, const struct zd_reading *reading,
    struct zd_meta **ret_meta, struct zd_error *err)
{
    ZD_AUTO(zd_v3_text) text = NULL;
    ZD_AUTO(zd_meta) meta = NULL;
    struct zd_error why = {0};
    const enum zd_status status = zd_v3_text_parse(documents, reading, &text, &why);
    if (status == ZD_NO_MEMORY) {
        return zd_fail(err, status, "%s", why.text);
    }
    if (status != ZD_OK) {
        return zd_v3_document_refuse(&zd_dialect_v3, &why, ret_meta, err);
    }
    ZD_TRY(zd_draft_2023_06_parse_any(text->json, reading, &meta, err));
    judge_block(text, reading, meta);
    if (meta->faults.out_of_memory) {
        return zd_fail(err, ZD_NO_MEMORY, "cannot allocate the contents of a document");
    }
    *ret_meta = ZD_TAKE(meta);
    return ZD_OK;
}

/* Zarr v3: a child is a prefix; names that begin with "__" are reserved. */
static ZD_RESULT v3_child_name(struct zd_span entry, bool is_prefix, struct zd_text *name)
{
    if (!is_prefix || !zd_node_name_is_valid(entry)) {
        return ZD_NOT_FOUND;
    }
    return zd_text_add_bytes(name, entry.ptr, entry.len);
}

static void v3_list(const char *path, const struct zd_meta *meta, struct zd_emit *emit)
{
    zd_emit_member_json(emit, path, meta->document);
}

const struct zd_dialect zd_dialect_v3 = {
    .name = "v3",
    .n_documents = 1,
    .is_first = true,
    .tell = zd_stored_listing_tell_path,
    .list = v3_list,
    .document_key = v3_document_key,
    .document_path = v3_document_path,
    .bid = v3_bid,
    .parse = v3_parse,
    .parse_entry = zd_v3_consolidated_parse_entry,
    .check = v3_check,
    .chunk_key = zd_node_keys_chunk,
    .chunk_index = zd_node_keys_chunk_index,
    .children_prefix = zd_node_keys_children_prefix,
    .child_name = v3_child_name,
    .render = zd_v3_render,
    .patch = zd_v3_patch,
    .set_listing = zd_v3_set_listing,
    .change_listing = zd_v3_change_listing,
};
