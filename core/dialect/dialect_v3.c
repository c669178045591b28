/* The v3 dialect: one document `zarr.json` a node, chunks below it. */
#include "core/dialect/dialect.h"

#include <string.h>

#include "core/base/json_token.h"
#include "core/base/num.h"
#include "core/dialect/chunk_key.h"
#include "core/dialect/v3_consolidated.h"
#include "core/dialect/v3_document.h"
#include "core/dialect/v3_write.h"

#define DOCUMENT_NAME "zarr.json"

/* Older drafts use the same key: a dialect that recognises one bids more. */
#define BID 10

#define BLOCK "consolidated_metadata"

/* How much deeper than by itself a document stands in a block: in the group's document, in its
 * consolidated_metadata, in metadata. */
#define BLOCK_DEPTH 3

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

static int v3_bid(const struct zd_documents *documents)
{
    return documents->present[0] ? BID : 0;
}

/*
 * What a document with a consolidated block may cost. The block holds the documents of any number
 * of nodes, so that the limits of one document say nothing of it: the bytes are bounded by a limit
 * of their own, and the values grow with the bytes as they do in one document. An entry is judged
 * like a document by itself when it is used.
 */
static struct zd_json_limits large_limits(const struct zd_reading *reading)
{
    struct zd_json_limits large = reading->limits;
    large.depth_max += BLOCK_DEPTH;
    large.bytes_max = (size_t)zd_max_u64(reading->consolidated_bytes_max, large.bytes_max);
    const size_t factor =
        (size_t)zd_div_up(large.bytes_max, zd_max_u64(reading->limits.bytes_max, 1));
    if (ckd_mul(&large.nodes_max, large.nodes_max, factor)) {
        large.nodes_max = SIZE_MAX;
    }
    return large;
}

/* A document without its consolidated block: null stands in its place. */
static ZD_RESULT leave_out(
    struct zd_span text, struct zd_span block, struct zd_text *rest, struct zd_error *err)
{
    const uint8_t *after = block.ptr + block.len;
    (void)zd_text_add_bytes(rest, text.ptr, (size_t)(block.ptr - text.ptr));
    (void)zd_text_add(rest, "null");
    (void)zd_text_add_bytes(rest, after, (size_t)(text.ptr + text.len - after));
    return rest->status == ZD_OK ? ZD_OK
                                 : zd_fail(err, rest->status, "no memory to measure a document");
}

/* Whether it keeps its limits so. */
static ZD_RESULT check_beside(struct zd_span text, struct zd_span block,
    const struct zd_json_limits *limits, struct zd_error *err)
{
    const size_t len = text.len - block.len;
    if (len > limits->bytes_max) {
        const enum zd_status status = zd_fail(err, ZD_TOO_LARGE,
            "the document has %zu bytes without its consolidated metadata; the limit is %zu", len,
            limits->bytes_max);
        zd_fact_limit(err, limits->bytes_max, len);
        return status;
    }
    ZD_SCOPED_TEXT(rest, text.len + sizeof "null");
    ZD_TRY(leave_out(text, block, &rest, err));
    return zd_json_check_limits(zd_text_span(&rest), limits, err);
}

/* A document whose block is past the limits is read without it. */
static ZD_RESULT parse_without(struct zd_span text, struct zd_span block,
    const struct zd_reading *reading, struct zd_json **ret_json, struct zd_error *err)
{
    struct zd_json_limits limits = reading->limits;
    limits.nonfinite = true;
    limits.bytes_max += sizeof "null";
    ZD_SCOPED_TEXT(rest, text.len + sizeof "null");
    ZD_TRY(leave_out(text, block, &rest, err));
    return zd_json_parse(zd_text_span(&rest), &limits, ret_json, err);
}

/*
 * Text to JSON. Most documents keep the small limits; one that does not is parsed with the large
 * ones if it is the block that makes it large.
 *
 * @param ret_why untouched, or why the block was left out
 */
static ZD_RESULT parse_text(struct zd_span text, const struct zd_reading *reading,
    struct zd_json **ret_json, struct zd_error *ret_why, struct zd_error *err)
{
    struct zd_span block;
    struct zd_json_limits limits = reading->limits;
    limits.nonfinite = limits.nonfinite || reading->judgement == ZD_JUDGE_READ;
    enum zd_status status = zd_json_parse(text, &limits, ret_json, err);
    if (status != ZD_TOO_LARGE || !zd_json_find_value(text, BLOCK, &block)) {
        return status;
    }
    ZD_TRY(check_beside(text, block, &limits, err));
    struct zd_json_limits large = large_limits(reading);
    large.nonfinite = limits.nonfinite;
    status = zd_json_parse(text, &large, ret_json, err);
    if (status != ZD_TOO_LARGE || reading->judgement != ZD_JUDGE_READ) {
        return status;
    }
    *ret_why = *err;
    return parse_without(text, block, reading, ret_json, err);
}

static ZD_RESULT v3_check(
    const struct zd_documents *documents, const struct zd_reading *reading, struct zd_error *err)
{
    struct zd_span block;
    const struct zd_span text = documents->text[0];
    const enum zd_status status = zd_json_check_limits(text, &reading->limits, err);
    if (status != ZD_TOO_LARGE || !zd_json_find_value(text, BLOCK, &block)) {
        return status;
    }
    ZD_TRY(check_beside(text, block, &reading->limits, err));
    const struct zd_json_limits large = large_limits(reading);
    return zd_json_check_limits(text, &large, err);
}

/* A node whose document could not even be read as JSON. */
static ZD_RESULT refuse_text(
    const struct zd_error *why, struct zd_meta **ret_meta, struct zd_error *err)
{
    ZD_AUTO(zd_meta) meta = zd_meta_new(&zd_dialect_v3);
    if (meta == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "cannot allocate a node");
    }
    const struct zd_pointer at = {.text = ""};
    zd_faults_add(&meta->faults, ZD_FAULT_INVALID,
        why->status == ZD_TOO_LARGE ? "too_large" : "not_json", NULL, &at, NULL, NULL, "%s",
        why->text);
    if (meta->faults.out_of_memory) {
        return zd_fail(err, ZD_NO_MEMORY, "cannot allocate a fault");
    }
    *ret_meta = ZD_TAKE(meta);
    return ZD_OK;
}

static ZD_RESULT v3_parse(const struct zd_documents *documents, const struct zd_reading *reading,
    struct zd_meta **ret_meta, struct zd_error *err)
{
    ZD_AUTO(zd_json) json = NULL;
    struct zd_error why = {0};
    struct zd_error why_left_out = {0};
    const enum zd_status status =
        parse_text(documents->text[0], reading, &json, &why_left_out, &why);
    if (status == ZD_NO_MEMORY) {
        return zd_fail(err, status, "%s", why.text);
    }
    if (status != ZD_OK) {
        return refuse_text(&why, ret_meta, err);
    }
    ZD_AUTO(zd_meta) meta = NULL;
    ZD_TRY(zd_v3_document_parse(&zd_dialect_v3, json, reading, &meta, err));
    const struct zd_json *block = zd_json_member(json, BLOCK);
    if (block != NULL && meta->type == ZD_NODE_GROUP) {
        if (why_left_out.status == ZD_OK) {
            zd_v3_consolidated_parse(block, reading, meta);
        } else {
            zd_v3_consolidated_leave_out(&why_left_out, meta);
        }
    }
    if (meta->faults.out_of_memory) {
        return zd_fail(err, ZD_NO_MEMORY, "cannot allocate the contents of a document");
    }
    *ret_meta = ZD_TAKE(meta);
    return ZD_OK;
}

static ZD_RESULT v3_parse_json(const struct zd_json *document, const struct zd_reading *reading,
    struct zd_meta **ret_meta, struct zd_error *err)
{
    return zd_v3_document_parse(&zd_dialect_v3, document, reading, ret_meta, err);
}

static ZD_RESULT v3_chunk_key(
    const struct zd_meta *meta, const char *path, const uint64_t *index, struct zd_text *key)
{
    if (path[0] != '\0') {
        ZD_TRY(zd_text_add(key, path));
        ZD_TRY(zd_text_add_char(key, '/'));
    }
    return zd_chunk_key_add(meta, index, key);
}

static ZD_RESULT v3_chunk_index(const struct zd_meta *meta, const char *key, uint64_t *ret_index)
{
    return zd_chunk_key_parse(meta, zd_span_of(key), ret_index);
}

static ZD_RESULT v3_children_prefix(const char *path, struct zd_text *prefix)
{
    if (path[0] == '\0') {
        return ZD_OK;
    }
    ZD_TRY(zd_text_add(prefix, path));
    return zd_text_add_char(prefix, '/');
}

/* Zarr v3: a child is a prefix; names that begin with "__" are reserved. */
static ZD_RESULT v3_child_name(struct zd_span entry, bool is_prefix, struct zd_text *name)
{
    if (!is_prefix || !zd_dialect_node_name_is_valid(entry)) {
        return ZD_NOT_FOUND;
    }
    return zd_text_add_bytes(name, entry.ptr, entry.len);
}

const struct zd_dialect zd_dialect_v3 = {
    .name = "v3",
    .n_documents = 1,
    .document_key = v3_document_key,
    .document_path = v3_document_path,
    .bid = v3_bid,
    .parse = v3_parse,
    .parse_json = v3_parse_json,
    .check = v3_check,
    .chunk_key = v3_chunk_key,
    .chunk_index = v3_chunk_index,
    .children_prefix = v3_children_prefix,
    .child_name = v3_child_name,
    .stored_node = zd_v3_consolidated_next,
    .render = zd_v3_render,
    .patch = zd_v3_patch,
    .set_listing = zd_v3_set_listing,
    .change_listing = zd_v3_change_listing,
};
