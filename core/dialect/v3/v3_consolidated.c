/* Inline consolidated metadata of a v3 group: judged, and walked. */
#include "core/dialect/v3/v3_consolidated.h"

#include <stdio.h>
#include <string.h>

#include "core/base/json_grammar.h"
#include "core/dialect/v3/draft_2023_06.h"
#include "core/dialect/node_name.h"
#include "core/dialect/v3/v3_document.h"

#define BLOCK "/consolidated_metadata"

static const struct zd_pointer block_at = {.text = BLOCK};
static const struct zd_pointer metadata_at = {.text = BLOCK "/metadata"};

/** A block under judgement. */
struct block_judge {
    const struct zd_stored_listing *listing;
    const struct zd_reading *reading;
    struct zd_meta *meta; /* of the group */
    struct zd_faults *faults;
    const struct zd_pointer *map_at;
};

/* In a block to be written it is a fault. In a block to be read it costs at most the entry. */
static enum zd_severity tolerated(const struct block_judge *judge)
{
    return judge->reading->judgement == ZD_JUDGE_READ ? ZD_FAULT_WARNING : ZD_FAULT_INVALID;
}

/* The parent's entry must be there and be a group. */
static void judge_parent(
    const struct block_judge *judge, const char *path, const struct zd_pointer *at)
{
    const char *slash = strrchr(path, '/');
    struct zd_stored_entry parent;
    if (slash == NULL) {
        return;
    }
    const struct zd_span above = {.ptr = (const uint8_t *)path, .len = (size_t)(slash - path)};
    if (!zd_stored_listing_find(judge->listing, above, &parent) || !parent.is_group) {
        zd_faults_add(judge->faults, tolerated(judge), "inconsistent_listing", path, at,
            "an entry of a group for the parent", NULL, "\"%s\" has no parent group in the listing",
            path);
    }
}

/* The faults of an entry, with the entry's place in front of theirs. */
static void take_faults(const struct block_judge *judge, const struct zd_faults *entry_faults,
    const struct zd_pointer *at)
{
    for (size_t i = 0; i < entry_faults->n_items; i++) {
        const struct zd_fault *fault = &entry_faults->item[i];
        struct zd_pointer place = *at;
        const size_t len = strlen(place.text);
        snprintf(place.text + len, sizeof place.text - len, "%s",
            fault->pointer == NULL ? "" : fault->pointer);
        zd_faults_add(judge->faults, fault->severity, fault->code, fault->name, &place,
            fault->expected, fault->found, "%s", fault->detail == NULL ? "" : fault->detail);
    }
}

enum zd_status zd_v3_consolidated_parse_entry(const struct zd_stored_entry *entry,
    const struct zd_reading *reading, struct zd_meta **ret_meta, struct zd_error *err)
{
    ZD_AUTO(zd_json) json = NULL;
    struct zd_error why = {0};
    struct zd_json_limits limits = reading->limits;
    limits.nonfinite = limits.nonfinite || reading->judgement == ZD_JUDGE_READ;
    const enum zd_status status = zd_json_parse(entry->document, &limits, &json, &why);
    if (status == ZD_NO_MEMORY) {
        return zd_fail(err, status, "%s", why.text);
    }
    return status == ZD_OK ? zd_draft_2023_06_parse_any(json, reading, ret_meta, err)
                           : zd_v3_document_refuse(zd_dialect_find("v3"), &why, ret_meta, err);
}

/* To be written, an entry must be a document that could be written by itself. */
static void judge_document(
    const struct block_judge *judge, struct zd_span document, const struct zd_pointer *at)
{
    ZD_AUTO(zd_meta) entry = NULL;
    struct zd_error err = {0};
    const struct zd_stored_entry stored = {.document = document};
    if (zd_v3_consolidated_parse_entry(&stored, judge->reading, &entry, &err) != ZD_OK) {
        judge->faults->out_of_memory = true;
        return;
    }
    take_faults(judge, &entry->faults, at);
}

/* If one path has two spellings, the one with a leading slash is redundant. */
static bool is_repeated(
    const struct block_judge *judge, struct zd_span path, const struct zd_json_extent *member)
{
    struct zd_stored_entry listed;
    return zd_stored_listing_find(judge->listing, path, &listed) &&
           listed.document.ptr != member->value.ptr;
}

static void judge_entry(
    const struct block_judge *judge, const char *key, const struct zd_json_extent *member)
{
    bool has_slash = false;
    const struct zd_span path = zd_stored_listing_path_of(zd_span_of(key), &has_slash);
    const char *text = key + (has_slash ? 1 : 0);
    const bool is_written = judge->reading->judgement == ZD_JUDGE_WRITE;
    const struct zd_pointer at = zd_pointer_member(judge->map_at, key);
    if (!zd_stored_listing_is_path(path, zd_node_name_is_valid) || (has_slash && is_written)) {
        zd_faults_add(judge->faults, tolerated(judge), "bad_path", key, &at,
            "a relative path of node names", key, "\"%s\" is not the path of a descendant", key);
        return;
    }
    if (has_slash && is_repeated(judge, path, member)) {
        zd_faults_add(judge->faults, ZD_FAULT_WARNING, "duplicate", key, &at,
            "one entry for each path", key, "\"%s\" is listed twice; this entry is ignored", text);
        return;
    }
    judge_parent(judge, text, &at);
    if (is_written) {
        judge_document(judge, member->value, &at);
    }
}

/* In the order of the text: the first findings are kept. */
static void judge_entries(const struct block_judge *judge)
{
    const struct zd_span map = zd_stored_listing_text(judge->listing);
    struct zd_json_extent member;
    for (size_t at = 0; zd_json_grammar_next(map, &at, &member);) {
        ZD_SCOPED_TEXT(key, member.name.len);
        zd_json_grammar_unescape(member.name, &key);
        if (key.status != ZD_OK) {
            judge->faults->out_of_memory = true;
            return;
        }
        judge_entry(judge, key.at, &member);
    }
}

static void judge_unknown_members(const struct block_judge *judge, const struct zd_json *block)
{
    for (void *iter = zd_json_next(block, NULL); iter != NULL; iter = zd_json_next(block, iter)) {
        const char *name = zd_json_iter_name(iter);
        if (strcmp(name, "kind") != 0 && strcmp(name, "must_understand") != 0 &&
            strcmp(name, "metadata") != 0) {
            const struct zd_pointer at = zd_pointer_member(&block_at, name);
            zd_faults_add(judge->faults, tolerated(judge), "unknown_member", name, &at,
                "kind, must_understand, metadata", name,
                "consolidated metadata does not define the member \"%s\"", name);
        }
    }
}

/* The wrapper's members; false when reading goes on without the block. */
static bool judge_wrapper(const struct block_judge *judge, const struct zd_json *block)
{
    const struct zd_json *kind = zd_json_member(block, "kind");
    const struct zd_pointer kind_at = zd_pointer_member(&block_at, "kind");
    if (!zd_json_is(kind, ZD_JSON_STRING) || !zd_span_is(zd_json_string_span(kind), "inline")) {
        zd_faults_add(judge->faults, tolerated(judge),
            kind == NULL ? "missing_member" : "out_of_range", "kind", &kind_at, "\"inline\"",
            zd_json_string(kind), "the kind of the consolidated metadata is not supported");
        return false;
    }
    const struct zd_json *flag = zd_json_member(block, "must_understand");
    if (!zd_json_is_false(flag)) {
        const struct zd_pointer at = zd_pointer_member(&block_at, "must_understand");
        zd_faults_add(judge->faults, tolerated(judge),
            flag == NULL ? "missing_member" : "out_of_range", "must_understand", &at, "false", NULL,
            "consolidated metadata must have must_understand false");
    }
    judge_unknown_members(judge, block);
    const struct zd_json *entries = zd_json_member(block, "metadata");
    if (!zd_json_is(entries, ZD_JSON_OBJECT)) {
        zd_faults_add(judge->faults, ZD_FAULT_INVALID,
            entries == NULL ? "missing_member" : "wrong_type", "metadata", &metadata_at,
            "an object", entries == NULL ? NULL : zd_json_type_name(entries),
            "consolidated metadata must have the documents in \"metadata\"");
        return false;
    }
    return true;
}

/* Whether there is a block that may be read at all. */
static bool judge_type(const struct block_judge *judge, const struct zd_json *block)
{
    if (zd_json_is(block, ZD_JSON_NULL)) {
        zd_faults_add(judge->faults, tolerated(judge), "null_consolidated_metadata", NULL,
            &block_at, "an object, or no such member", "null",
            "consolidated_metadata is null; it is read as absent");
        return false;
    }
    if (!zd_json_is(block, ZD_JSON_OBJECT)) {
        zd_faults_add(judge->faults, ZD_FAULT_INVALID, "wrong_type", "consolidated_metadata",
            &block_at, "an object", zd_json_type_name(block),
            "consolidated_metadata must be an object");
        return false;
    }
    return true;
}

/* Reference 4.7: the map without what is around it now. */
static void judge_bare(const struct block_judge *judge)
{
    zd_faults_add(judge->faults, ZD_FAULT_WARNING, "legacy_spelling", "consolidated_metadata",
        &block_at, "kind, must_understand, metadata", "the documents themselves",
        "consolidated_metadata has the form of the draft of ZEP 6");
}

void zd_v3_consolidated_judge(
    const struct zd_v3_block *block, const struct zd_reading *reading, struct zd_meta *meta)
{
    struct block_judge judge = {
        .listing = block->listing,
        .reading = reading,
        .meta = meta,
        .faults = &meta->faults,
        .map_at = block->is_bare ? &block_at : &metadata_at,
    };
    if (block->is_bare) {
        judge_bare(&judge);
    } else if (!judge_type(&judge, block->json) || !judge_wrapper(&judge, block->json)) {
        return;
    }
    if (block->has_nonfinite) {
        zd_faults_add(judge.faults, tolerated(&judge), "bare_nonfinite", "consolidated_metadata",
            judge.map_at, "JSON, where NaN and infinities are strings", "a bare NaN or infinity",
            "an entry contains a token that is not JSON");
    }
    judge_entries(&judge);
    meta->has_listing = true;
    meta->listing = zd_stored_listing_ref(block->listing);
}

void zd_v3_consolidated_leave_out(const struct zd_error *why, struct zd_meta *meta)
{
    zd_faults_add(&meta->faults, ZD_FAULT_WARNING, "too_large", "consolidated_metadata", &block_at,
        NULL, NULL, "the consolidated metadata is ignored: %s", why->text);
    meta->has_unread_listing = true;
}
