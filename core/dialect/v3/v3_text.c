/* The text of a v3 document: a tree, but for the listing of a group, which stays text. */
#include "core/dialect/v3/v3_text.h"

#include <string.h>

#include "core/base/json_grammar.h"

#define EMPTY_MAP "{}"
#define ABSENT    "null"

/* How much deeper than by itself a document stands in a block: in the group's document, in its
 * consolidated_metadata, in metadata. */
#define BLOCK_DEPTH 3

/* Limits of the members beside the map of a block. */
#define WRAPPER_BYTES  4096
#define WRAPPER_VALUES 64

/** A text on its way. */
struct reader {
    struct zd_span text;
    struct zd_buf *bytes; /* that hold it, or NULL */
    const struct zd_reading *reading;
    struct zd_json_limits limits; /* of the document */
    struct zd_json_limits large;  /* of it with its block */
    struct zd_span block;
    struct zd_span map; /* in the block */
    bool is_large;      /* past the limits of one document */
    struct zd_v3_text *out;
    struct zd_error *err;
};

void zd_v3_text_free(struct zd_v3_text *text)
{
    if (text != NULL) {
        zd_json_unref(text->json);
        zd_stored_listing_unref(text->listing);
        zd_free(text);
    }
}

/* A text with something else in place of a part of it. */
static ZD_RESULT replace(struct zd_span text, struct zd_span part, const char *by,
    struct zd_text *rest, struct zd_error *err)
{
    const uint8_t *after = part.ptr + part.len;
    (void)zd_text_add_bytes(rest, text.ptr, (size_t)(part.ptr - text.ptr));
    (void)zd_text_add(rest, by);
    (void)zd_text_add_bytes(rest, after, (size_t)(text.ptr + text.len - after));
    return rest->status == ZD_OK ? ZD_OK
                                 : zd_fail(err, rest->status, "no memory to measure a document");
}

/* Whether a document keeps its limits without its block. */
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
    ZD_SCOPED_TEXT(rest, text.len + sizeof ABSENT);
    ZD_TRY(replace(text, block, ABSENT, &rest, err));
    return zd_json_check_limits(zd_text_span(&rest), limits, err);
}

enum zd_status zd_v3_text_check(
    struct zd_span text, const struct zd_reading *reading, struct zd_error *err)
{
    struct zd_span block;
    const enum zd_status status = zd_json_check_limits(text, &reading->limits, err);
    if (status != ZD_TOO_LARGE || !zd_json_find_value(text, ZD_V3_BLOCK, &block)) {
        return status;
    }
    ZD_TRY(check_beside(text, block, &reading->limits, err));
    const struct zd_json_limits large = zd_dialect_listing_limits(reading, BLOCK_DEPTH);
    return zd_json_check_limits(text, &large, err);
}

static ZD_RESULT parse_whole(struct reader *reader)
{
    return zd_json_parse(reader->text, &reader->limits, &reader->out->json, reader->err);
}

/* A document whose block is past the limits is read without it; err says why. */
static ZD_RESULT parse_without(struct reader *reader)
{
    struct zd_json_limits limits = reader->limits;
    if (reader->reading->judgement != ZD_JUDGE_READ) {
        return ZD_TOO_LARGE;
    }
    limits.bytes_max += sizeof ABSENT;
    reader->out->why_left_out = *reader->err;
    ZD_SCOPED_TEXT(rest, reader->text.len + sizeof ABSENT);
    ZD_TRY(replace(reader->text, reader->block, ABSENT, &rest, reader->err));
    return zd_json_parse(zd_text_span(&rest), &limits, &reader->out->json, reader->err);
}

/* Report the fault of a text. The parser explains it better, but may need much memory for it. */
static ZD_RESULT refuse(struct reader *reader, enum zd_status status)
{
    if (reader->is_large || status == ZD_NO_MEMORY) {
        return status;
    }
    const struct zd_error found = *reader->err;
    const enum zd_status refused = parse_whole(reader);
    if (refused != ZD_OK) {
        return refused;
    }
    *reader->err = found;
    return status;
}

static bool is_group(const struct zd_json *json)
{
    const char *type = zd_json_string(zd_json_member(json, "node_type"));
    return type != NULL && strcmp(type, "group") == 0;
}

/* All but the map. Elsewhere than in a group the block is a member as any other. */
static ZD_RESULT parse_beside_map(struct reader *reader, struct zd_json **ret_json)
{
    struct zd_json_limits limits = reader->limits;
    limits.bytes_max += WRAPPER_BYTES;
    limits.nodes_max += WRAPPER_VALUES;
    limits.depth_max += BLOCK_DEPTH;
    ZD_SCOPED_TEXT(rest, reader->text.len + sizeof EMPTY_MAP);
    ZD_TRY(replace(reader->text, reader->map, EMPTY_MAP, &rest, reader->err));
    return zd_json_parse(zd_text_span(&rest), &limits, ret_json, reader->err);
}

static ZD_RESULT keep_map(struct reader *reader)
{
    struct zd_v3_text *out = reader->out;
    ZD_AUTO(zd_buf)
    bytes = reader->bytes == NULL ? zd_buf_copy(reader->text) : zd_buf_ref(reader->bytes);
    if (bytes == NULL) {
        return zd_fail(reader->err, ZD_NO_MEMORY, "no memory for a stored listing");
    }
    const struct zd_span map = {
        .ptr = bytes->data + (reader->map.ptr - reader->text.ptr), .len = reader->map.len};
    return zd_stored_listing_new(
        bytes, map, zd_stored_listing_tell_path, &out->listing, reader->err);
}

static ZD_RESULT take_map(struct reader *reader)
{
    ZD_AUTO(zd_json) json = NULL;
    enum zd_status status = parse_beside_map(reader, &json);
    if (status == ZD_OK && !is_group(json)) {
        return parse_whole(reader);
    }
    if (status == ZD_OK) {
        status = keep_map(reader);
    }
    if (status == ZD_TOO_LARGE) {
        return parse_without(reader);
    }
    if (status != ZD_OK) {
        return refuse(reader, status);
    }
    reader->out->json = ZD_TAKE(json);
    return ZD_OK;
}

/* Each of its members is the document of a node, and none can be a kind. */
bool zd_v3_text_is_bare(struct zd_span block)
{
    struct zd_span type;
    struct zd_json_extent member;
    size_t n = 0;
    if (!zd_json_grammar_is_object(block) || zd_json_grammar_find(block, "kind", &type)) {
        return false;
    }
    for (size_t at = 0; zd_json_grammar_next(block, &at, &member); n++) {
        if (!zd_json_grammar_find(member.value, "node_type", &type) ||
            (!zd_json_grammar_says(type, "group") && !zd_json_grammar_says(type, "array"))) {
            return false;
        }
    }
    return n > 0;
}

/* Where the documents are; false: nowhere. */
static bool find_map(struct reader *reader)
{
    if (reader->reading->judgement == ZD_JUDGE_READ && zd_v3_text_is_bare(reader->block)) {
        reader->out->is_bare = true;
        reader->map = reader->block;
        return true;
    }
    return zd_json_grammar_find(reader->block, "metadata", &reader->map) &&
           zd_json_grammar_is_object(reader->map);
}

/* A block without a map is small, or nothing that can be used. */
static ZD_RESULT parse_block(struct reader *reader)
{
    bool has_nonfinite = false;
    const enum zd_status status =
        zd_json_grammar_check(reader->text, &reader->large, &has_nonfinite, reader->err);
    if (status != ZD_OK) {
        return refuse(reader, status);
    }
    if (!zd_json_grammar_find(reader->text, ZD_V3_BLOCK, &reader->block)) {
        return parse_whole(reader);
    }
    reader->out->listing_bytes = reader->block.len;
    if (!find_map(reader)) {
        const enum zd_status whole = parse_whole(reader);
        return whole == ZD_TOO_LARGE ? parse_without(reader) : whole;
    }
    if (has_nonfinite) {
        ZD_TRY(zd_json_grammar_check(
            reader->map, &reader->large, &reader->out->has_nonfinite, reader->err));
    }
    return take_map(reader);
}

/* Whether there may be a block. A name that is spelled with escapes is found later. */
static bool may_have_block(struct reader *reader)
{
    return zd_json_find_value(reader->text, ZD_V3_BLOCK, &reader->block) ||
           (reader->text.len > 0 && memchr(reader->text.ptr, '\\', reader->text.len) != NULL);
}

static ZD_RESULT parse(struct reader *reader)
{
    const enum zd_status status = zd_json_check_limits(reader->text, &reader->limits, reader->err);
    if (!may_have_block(reader)) {
        return status == ZD_OK ? parse_whole(reader) : status;
    }
    reader->is_large = status == ZD_TOO_LARGE;
    if (reader->is_large && reader->block.len == 0) {
        return status;
    }
    if (reader->is_large) {
        ZD_TRY(check_beside(reader->text, reader->block, &reader->limits, reader->err));
        const enum zd_status large =
            zd_json_check_limits(reader->text, &reader->large, reader->err);
        if (large != ZD_OK) {
            return parse_without(reader);
        }
    }
    return parse_block(reader);
}

enum zd_status zd_v3_text_parse(const struct zd_documents *documents,
    const struct zd_reading *reading, struct zd_v3_text **ret_text, struct zd_error *err)
{
    ZD_AUTO(zd_v3_text) out = zd_alloc_zero(1, sizeof *out);
    if (out == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for a document");
    }
    struct zd_error kept = {0};
    struct reader reader = {
        .text = documents->text[0],
        .bytes = documents->bytes[0],
        .reading = reading,
        .limits = reading->limits,
        .large = zd_dialect_listing_limits(reading, BLOCK_DEPTH),
        .out = out,
        .err = err == NULL ? &kept : err,
    };
    reader.limits.nonfinite = reading->limits.nonfinite || reading->judgement == ZD_JUDGE_READ;
    reader.large.nonfinite = reader.limits.nonfinite;
    ZD_TRY(parse(&reader));
    *ret_text = ZD_TAKE(out);
    return ZD_OK;
}
