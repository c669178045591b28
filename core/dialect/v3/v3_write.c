/* Writes the texts of final v3 documents. */
#include "core/dialect/v3/v3_write.h"

#include <string.h>

#include "core/base/emit.h"
#include "core/base/json_edit.h"
#include "core/base/json_grammar.h"
#include "core/dialect/v3/v3_text.h"

#define BLOCK           "consolidated_metadata"
#define ENTRY_BYTES_MAX (1 << 20)

/* Limits of a listed document; a larger one is written unchanged. */
static const struct zd_json_limits entry_limits = {.bytes_max = ENTRY_BYTES_MAX,
    .nodes_max = SIZE_MAX,
    .depth_max = ZD_EMIT_DEPTH_MAX / 2,
    .nonfinite = true};

static void emit_document(struct zd_span document, struct zd_emit *emit)
{
    ZD_AUTO(zd_json) json = NULL;
    const enum zd_status status = zd_json_parse(document, &entry_limits, &json, NULL);
    if (status == ZD_OK) {
        zd_emit_json(emit, json);
    } else if (status == ZD_NO_MEMORY) {
        emit->text->status = status;
        zd_emit_null(emit);
    } else {
        zd_emit_raw(emit, document);
    }
}

/* Each document is parsed by itself: a tree of all of them is many times as large as their text. */
static void emit_listing(const struct zd_stored_listing *listing, struct zd_emit *emit)
{
    const struct zd_span map = zd_stored_listing_text(listing);
    struct zd_json_extent member;
    zd_emit_member_object(emit, "metadata");
    for (size_t at = 0; emit->text->status == ZD_OK && zd_json_grammar_next(map, &at, &member);) {
        ZD_SCOPED_TEXT(key, member.name.len);
        zd_json_grammar_unescape(member.name, &key);
        emit->text->status = key.status;
        zd_emit_key(emit, key.at);
        emit_document(member.value, emit);
    }
    zd_emit_object_end(emit);
}

/* Zarr v3, consolidated_metadata: these three members. */
static void emit_block(const struct zd_stored_listing *listing, struct zd_emit *emit)
{
    zd_emit_object(emit);
    zd_emit_member_string(emit, "kind", "inline");
    zd_emit_member_bool(emit, "must_understand", false);
    emit_listing(listing, emit);
    zd_emit_object_end(emit);
}

void zd_v3_render(const struct zd_json *document, const struct zd_stored_listing *listing,
    struct zd_document_texts *out, struct zd_faults *faults)
{
    struct zd_emit emit;
    (void)faults;
    zd_emit_init(&emit, &out->text[0], !out->is_dense);
    out->present[0] = true;
    zd_emit_object(&emit);
    for (void *iter = zd_json_next(document, NULL); iter != NULL;
        iter = zd_json_next(document, iter)) {
        zd_emit_member_json(&emit, zd_json_iter_name(iter), zd_json_iter_value(iter));
    }
    if (listing != NULL) {
        zd_emit_key(&emit, BLOCK);
        emit_block(listing, &emit);
    }
    zd_emit_object_end(&emit);
}

void zd_v3_patch(const struct zd_documents *stored, const struct zd_json *patch,
    struct zd_document_texts *out, struct zd_faults *faults)
{
    (void)faults;
    out->present[0] = true;
    zd_json_merge(stored->text[0], patch, &out->text[0]);
}

/** A group's document with another block. */
struct replacing {
    const struct zd_stored_listing *listing;
    bool is_done;
};

static enum zd_json_fate judge_block(void *context, const char *name)
{
    struct replacing *replacing = context;
    if (strcmp(name, BLOCK) != 0) {
        return ZD_JSON_STAYS;
    }
    replacing->is_done = true;
    return replacing->listing == NULL ? ZD_JSON_GOES : ZD_JSON_CHANGES;
}

static void replace_block(
    void *context, const char *name, struct zd_span value, struct zd_text *out)
{
    const struct replacing *replacing = context;
    struct zd_emit emit;
    (void)name;
    (void)value;
    zd_emit_init(&emit, out, false);
    emit_block(replacing->listing, &emit);
}

static const char *add_block(void *context)
{
    struct replacing *replacing = context;
    const bool is_due = !replacing->is_done && replacing->listing != NULL;
    replacing->is_done = true;
    return is_due ? BLOCK : NULL;
}

void zd_v3_set_listing(const struct zd_documents *stored, const struct zd_stored_listing *listing,
    struct zd_document_texts *out)
{
    struct replacing replacing = {.listing = listing};
    const struct zd_json_edit edit = {
        .judge = judge_block,
        .change = replace_block,
        .more = add_block,
        .context = &replacing,
    };
    out->present[0] = true;
    zd_json_edit(stored->text[0], &edit, &out->text[0]);
}

/** Some entries of a block being changed. */
struct relisting {
    const struct zd_listing_change *change; /* n of them */
    size_t n;
    struct zd_json *seen; /* an object: the paths that the listing has; owned */
    size_t next;          /* of those that may have to be added */
};

static const struct zd_listing_change *change_of(
    const struct relisting *relisting, const char *path)
{
    for (size_t i = 0; i < relisting->n; i++) {
        const struct zd_listing_change *change = &relisting->change[i];
        const size_t len = strlen(change->path);
        const bool is_at_or_below =
            strncmp(path, change->path, len) == 0 && (path[len] == '\0' || path[len] == '/');
        if (is_at_or_below && (path[len] == '\0' || change->document == NULL)) {
            return change;
        }
    }
    return NULL;
}

/* A leading slash is read, and never written: its entry gives way to the other. */
static enum zd_json_fate judge_entry(void *context, const char *name)
{
    struct relisting *relisting = context;
    const bool has_slash = name[0] == '/';
    const struct zd_listing_change *change = change_of(relisting, has_slash ? name + 1 : name);
    if (change == NULL) {
        return ZD_JSON_STAYS;
    }
    if (change->document == NULL || has_slash) {
        return ZD_JSON_GOES;
    }
    if (zd_json_set(relisting->seen, name, zd_json_new_null()) != ZD_OK) {
        return ZD_JSON_GOES; /* and added again behind the others */
    }
    return ZD_JSON_CHANGES;
}

/* A removed entry may come again: as another entry behind all removed ones. */
static void change_entry(void *context, const char *name, struct zd_span value, struct zd_text *out)
{
    const struct relisting *relisting = context;
    struct zd_emit emit;
    (void)value;
    zd_emit_init(&emit, out, false);
    for (size_t i = 0; i < relisting->n; i++) {
        const struct zd_listing_change *change = &relisting->change[i];
        if (change->document != NULL && strcmp(change->path, name) == 0) {
            zd_emit_json(&emit, change->document);
            return;
        }
    }
}

static const char *add_entry(void *context)
{
    struct relisting *relisting = context;
    while (relisting->next < relisting->n) {
        const struct zd_listing_change *change = &relisting->change[relisting->next++];
        if (change->document != NULL && zd_json_member(relisting->seen, change->path) == NULL) {
            return change->path;
        }
    }
    return NULL;
}

static void change_entries(
    void *context, const char *name, struct zd_span value, struct zd_text *out)
{
    const struct zd_json_edit edit = {
        .judge = judge_entry,
        .change = change_entry,
        .more = add_entry,
        .context = context,
    };
    (void)name;
    zd_json_edit(value, &edit, out);
}

static enum zd_json_fate judge_map(void *context, const char *name)
{
    (void)context;
    return strcmp(name, "metadata") == 0 ? ZD_JSON_CHANGES : ZD_JSON_STAYS;
}

static void change_map(void *context, const char *name, struct zd_span value, struct zd_text *out)
{
    const struct zd_json_edit edit = {
        .judge = judge_map,
        .change = change_entries,
        .context = context,
    };
    if (zd_v3_text_is_bare(value)) {
        change_entries(context, name, value, out);
        return;
    }
    zd_json_edit(value, &edit, out);
}

static enum zd_json_fate judge_listing(void *context, const char *name)
{
    (void)context;
    return strcmp(name, BLOCK) == 0 ? ZD_JSON_CHANGES : ZD_JSON_STAYS;
}

void zd_v3_change_listing(const struct zd_documents *stored, const struct zd_listing_change *change,
    size_t n, struct zd_document_texts *out)
{
    ZD_AUTO(zd_json) seen = zd_json_new_object();
    if (seen == NULL) {
        out->text[0].status = ZD_NO_MEMORY;
        return;
    }
    struct relisting relisting = {.change = change, .n = n, .seen = seen};
    const struct zd_json_edit edit = {
        .judge = judge_listing,
        .change = change_map,
        .context = &relisting,
    };
    out->present[0] = true;
    zd_json_edit(stored->text[0], &edit, &out->text[0]);
}
