/* Inline consolidated metadata of a v3 group: judged, and walked. */
#include "core/dialect/v3_consolidated.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/base/json_nonfinite.h"
#include "core/dialect/v3_document.h"

#define BLOCK "/consolidated_metadata"

static const struct zd_pointer block_at = {.text = BLOCK};
static const struct zd_pointer metadata_at = {.text = BLOCK "/metadata"};

/** One block under judgement. */
struct block_judge {
    const struct zd_json *entries; /* the map path -> document */
    const struct zd_reading *reading;
    struct zd_meta *meta; /* of the group */
    struct zd_faults *faults;
};

/* What to be written is a fault, and on reading costs at most the entry. */
static enum zd_severity tolerated(const struct block_judge *judge)
{
    return judge->reading->judgement == ZD_JUDGE_READ ? ZD_FAULT_WARNING : ZD_FAULT_INVALID;
}

/* The path that a key means: one leading slash, which some writers add, is stripped. NULL for a key
 * that names no descendant. */
static const char *path_of(const char *key)
{
    const char *path = key[0] == '/' ? key + 1 : key;
    const char *at = path;
    while (true) {
        const size_t len = strcspn(at, "/");
        const struct zd_span name = {.ptr = (const uint8_t *)at, .len = len};
        if (!zd_dialect_node_name_is_valid(name)) {
            return NULL;
        }
        if (at[len] == '\0') {
            return path;
        }
        at += len + 1;
    }
}

/* Of two spellings of one path, that with a leading slash is the one too many. */
static bool is_repeated(const struct zd_json *entries, const char *key, const char *path)
{
    return path != key && zd_json_member(entries, path) != NULL;
}

/* The parent's entry must be there and be a group. */
static void judge_parent(
    const struct block_judge *judge, const char *path, const struct zd_pointer *at)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL) {
        return;
    }
    /* One byte in front, for the spelling with a slash. */
    ZD_AUTO_TEXT parent = zd_alloc((size_t)(slash - path) + 2);
    if (parent == NULL) {
        judge->faults->out_of_memory = true;
        return;
    }
    parent[0] = '/';
    memcpy(parent + 1, path, (size_t)(slash - path));
    parent[1 + (slash - path)] = '\0';
    const struct zd_json *entry = zd_json_member(judge->entries, parent + 1);
    if (entry == NULL) {
        entry = zd_json_member(judge->entries, parent);
    }
    const char *type = zd_json_string(zd_json_member(entry, "node_type"));
    if (type == NULL || strcmp(type, "group") != 0) {
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

/* To be written, an entry must be a document that could be written by itself. */
static void judge_entry(
    const struct block_judge *judge, const struct zd_json *document, const struct zd_pointer *at)
{
    ZD_AUTO(zd_meta) entry = NULL;
    struct zd_error err = {0};
    if (zd_v3_document_parse(judge->meta->dialect, document, judge->reading, &entry, &err) !=
        ZD_OK) {
        judge->faults->out_of_memory = true;
        return;
    }
    take_faults(judge, &entry->faults, at);
}

static void judge_entries(const struct block_judge *judge)
{
    for (void *iter = zd_json_next(judge->entries, NULL); iter != NULL;
        iter = zd_json_next(judge->entries, iter)) {
        const char *key = zd_json_iter_name(iter);
        const char *path = path_of(key);
        const struct zd_pointer at = zd_pointer_member(&metadata_at, key);
        if (path == NULL || (path != key && judge->reading->judgement == ZD_JUDGE_WRITE)) {
            zd_faults_add(judge->faults, tolerated(judge), "bad_path", key, &at,
                "a relative path of node names", key, "\"%s\" is not the path of a descendant",
                key);
            continue;
        }
        if (is_repeated(judge->entries, key, path)) {
            zd_faults_add(judge->faults, ZD_FAULT_WARNING, "duplicate", key, &at,
                "one entry for each path", key, "\"%s\" is listed twice; this entry is ignored",
                path);
            continue;
        }
        judge_parent(judge, path, &at);
        if (judge->reading->judgement == ZD_JUDGE_WRITE) {
            judge_entry(judge, zd_json_iter_value(iter), &at);
        }
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
                "consolidated metadata has no member \"%s\"", name);
        }
    }
}

/* The wrapper's members; false when reading goes on without the block. */
static bool judge_wrapper(struct block_judge *judge, const struct zd_json *block)
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
    judge->entries = zd_json_member(block, "metadata");
    if (!zd_json_is(judge->entries, ZD_JSON_OBJECT)) {
        zd_faults_add(judge->faults, ZD_FAULT_INVALID,
            judge->entries == NULL ? "missing_member" : "wrong_type", "metadata", &metadata_at,
            "an object", judge->entries == NULL ? NULL : zd_json_type_name(judge->entries),
            "consolidated metadata must have the documents in \"metadata\"");
        return false;
    }
    return true;
}

void zd_v3_consolidated_parse(
    const struct zd_json *block, const struct zd_reading *reading, struct zd_meta *meta)
{
    struct block_judge judge = {.reading = reading, .meta = meta, .faults = &meta->faults};
    if (zd_json_is(block, ZD_JSON_NULL)) {
        zd_faults_add(judge.faults, tolerated(&judge), "null_consolidated_metadata", NULL,
            &block_at, "an object, or no such member", "null",
            "consolidated_metadata is null; it is read as absent");
        return;
    }
    if (!zd_json_is(block, ZD_JSON_OBJECT)) {
        zd_faults_add(judge.faults, ZD_FAULT_INVALID, "wrong_type", "consolidated_metadata",
            &block_at, "an object", zd_json_type_name(block),
            "consolidated_metadata must be an object");
        return;
    }
    if (!judge_wrapper(&judge, block)) {
        return;
    }
    if (zd_json_nonfinite_is_in(judge.entries)) {
        zd_faults_add(judge.faults, tolerated(&judge), "bare_nonfinite", "consolidated_metadata",
            &metadata_at, "JSON, where NaN and infinities are strings", "a bare NaN or infinity",
            "an entry contains a token that is not JSON");
    }
    judge_entries(&judge);
    meta->consolidated = zd_json_ref(judge.entries);
}

void zd_v3_consolidated_leave_out(const struct zd_error *why, struct zd_meta *meta)
{
    zd_faults_add(&meta->faults, ZD_FAULT_WARNING, "too_large", "consolidated_metadata", &block_at,
        NULL, NULL, "the consolidated metadata is ignored: %s", why->text);
    meta->has_unread_listing = true;
}

static bool is_listed(const struct zd_json *entries, const char *key)
{
    const char *path = path_of(key);
    return path != NULL && !is_repeated(entries, key, path);
}

enum zd_status zd_v3_consolidated_next(
    const struct zd_meta *meta, size_t *iter, struct zd_stored_node *ret_node)
{
    /* The iterator of the object itself, as a number: a step must not walk from the start. */
    static_assert(sizeof *iter >= sizeof(void *), "an iterator fits");
    if (meta->consolidated == NULL) {
        return ZD_NOT_FOUND;
    }
    void *next = zd_json_next(meta->consolidated, (void *)*iter);
    while (next != NULL && !is_listed(meta->consolidated, zd_json_iter_name(next))) {
        next = zd_json_next(meta->consolidated, next);
    }
    if (next == NULL) {
        return ZD_NOT_FOUND;
    }
    *iter = (size_t)next;
    ret_node->path = path_of(zd_json_iter_name(next));
    ret_node->document = zd_json_iter_value(next);
    return ZD_OK;
}
