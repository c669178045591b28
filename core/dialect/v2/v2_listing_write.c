/* Writes consolidated metadata of v2 groups. */
#include "core/dialect/v2/v2_listing_write.h"

#include <string.h>

#include "core/base/json_edit.h"
#include "core/base/json_grammar.h"
#include "core/base/json_nonfinite.h"
#include "core/base/num.h"
#include "core/dialect/roundtrip.h"
#include "core/dialect/v2/v2_consolidated.h"
#include "core/dialect/v2/v2_documents.h"

#define MAP             "metadata"
#define FORMAT          "zarr_consolidated_format"
#define ENTRY_BYTES_MAX (1 << 20)

/* Limits of a listed document; a larger one is written unchanged. */
static const struct zd_json_limits entry_limits = {.bytes_max = ENTRY_BYTES_MAX,
    .nodes_max = SIZE_MAX,
    .depth_max = ZD_EMIT_DEPTH_MAX / 2,
    .nonfinite = true};

/* In the order of zarr-python. */
static const uint32_t order[] = {ZD_V2_ATTRIBUTES, ZD_V2_ARRAY, ZD_V2_GROUP};
static const uint32_t own_order[] = {ZD_V2_GROUP, ZD_V2_ATTRIBUTES};

/* ---- documents ---- */

static void add_key(struct zd_text *key, const char *path, uint32_t number)
{
    zd_text_addf(key, "%s%s%s", path, path[0] == '\0' ? "" : "/", zd_v2_document_names[number]);
}

/* Without the spaces that it may be stored with. */
static void emit_text(struct zd_span document, struct zd_emit *emit)
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

static void emit_members(const char *path, const struct zd_documents *documents,
    const uint32_t *numbers, size_t n, struct zd_emit *emit)
{
    for (size_t i = 0; i < n; i++) {
        if (documents->present[numbers[i]]) {
            ZD_SCOPED_TEXT(key, SIZE_MAX);
            add_key(&key, path, numbers[i]);
            emit->text->status = emit->text->status == ZD_OK ? key.status : emit->text->status;
            zd_emit_key(emit, key.at == NULL ? "" : key.at);
            emit_text(documents->text[numbers[i]], emit);
        }
    }
}

void zd_v2_listing_write_node(const char *path, const struct zd_meta *meta, struct zd_emit *emit)
{
    const struct zd_documents documents = zd_meta_documents(meta);
    emit_members(path, &documents, order, ZD_COUNT_OF(order), emit);
}

/* ---- for readers of v2 ---- */

/* No limits: these documents were parsed before, or made here. */
static const struct zd_json_limits any = {.bytes_max = SIZE_MAX,
    .nodes_max = SIZE_MAX,
    .depth_max = ZD_EMIT_DEPTH_MAX / 2,
    .nonfinite = true};

static ZD_RESULT emit_quoted(
    const char *path, uint32_t number, struct zd_span document, struct zd_emit *emit)
{
    ZD_AUTO(zd_json) json = NULL;
    ZD_SCOPED_TEXT(key, SIZE_MAX);
    if (zd_json_parse(document, &any, &json, NULL) != ZD_OK) {
        return ZD_NO_MEMORY;
    }
    ZD_AUTO(zd_json) quoted = zd_json_nonfinite_quote(json);
    add_key(&key, path, number);
    if (quoted == NULL || key.status != ZD_OK) {
        return ZD_NO_MEMORY;
    }
    zd_emit_member_json(emit, key.at, quoted);
    return ZD_OK;
}

/* Read the rendered documents again: do they describe the whole node? */
static ZD_RESULT judge_rendered(
    const struct zd_meta *meta, const struct zd_document_texts *texts, struct zd_error *err)
{
    const struct zd_reading reading = {.judgement = ZD_JUDGE_READ, .limits = any};
    struct zd_documents documents = {0};
    struct zd_faults faults = {0};
    ZD_AUTO(zd_meta) made = NULL;
    for (size_t i = 0; i < ZD_V2_LISTING; i++) {
        documents.present[i] = texts->present[i];
        documents.text[i] = zd_text_span(&texts->text[i]);
    }
    ZD_TRY(zd_dialect_find("v2")->parse(&documents, &reading, &made, err));
    zd_roundtrip_judge(meta, made, &faults);
    const enum zd_status status = zd_faults_status(&faults, err);
    zd_faults_done(&faults);
    return status;
}

static ZD_RESULT render(
    const struct zd_meta *meta, struct zd_document_texts *texts, struct zd_error *err)
{
    struct zd_faults faults = {0};
    zd_dialect_find("v2")->render(meta->document, NULL, texts, &faults);
    const enum zd_status status = zd_faults_status(&faults, err);
    zd_faults_done(&faults);
    ZD_TRY(status);
    ZD_TRY(zd_document_texts_status(texts));
    return judge_rendered(meta, texts, err);
}

static ZD_RESULT emit_rendered(
    const char *path, const struct zd_meta *meta, struct zd_emit *emit, struct zd_error *err)
{
    struct zd_document_texts texts;
    zd_document_texts_init(&texts, SIZE_MAX);
    enum zd_status status = render(meta, &texts, err);
    for (size_t i = 0; i < ZD_COUNT_OF(order); i++) {
        const uint32_t number = order[i];
        if (status == ZD_OK && texts.present[number]) {
            status = emit_quoted(path, number, zd_text_span(&texts.text[number]), emit);
        }
    }
    zd_document_texts_done(&texts);
    return status;
}

enum zd_status zd_v2_listing_write_any(
    const char *path, const struct zd_meta *meta, struct zd_emit *emit, struct zd_error *err)
{
    const struct zd_documents documents = zd_meta_documents(meta);
    if (!documents.present[ZD_V2_ARRAY] && !documents.present[ZD_V2_GROUP]) {
        ZD_TRY(zd_faults_status(&meta->faults, err));
        return emit_rendered(path, meta, emit, err);
    }
    for (size_t i = 0; i < ZD_COUNT_OF(order); i++) {
        if (documents.present[order[i]]) {
            ZD_TRY(emit_quoted(path, order[i], documents.text[order[i]], emit));
        }
    }
    return ZD_OK;
}

void zd_v2_listing_write_end(struct zd_emit *emit)
{
    zd_emit_object_end(emit);
    zd_emit_member_u64(emit, FORMAT, 1);
}

/* ---- a whole listing ---- */

static void emit_entries(const struct zd_stored_listing *listing, struct zd_emit *emit)
{
    const struct zd_span map = zd_stored_listing_text(listing);
    struct zd_json_extent member;
    for (size_t at = 0; emit->text->status == ZD_OK && zd_json_grammar_next(map, &at, &member);) {
        ZD_SCOPED_TEXT(key, member.name.len);
        zd_json_grammar_unescape(member.name, &key);
        emit->text->status = key.status;
        const struct zd_listed_key told = zd_v2_consolidated_tell(zd_text_span(&key), member.value);
        if (told.path.len > 0 && key.status == ZD_OK) {
            zd_emit_key(emit, key.at);
            emit_text(member.value, emit);
        }
    }
}

void zd_v2_listing_write_set(const struct zd_documents *stored,
    const struct zd_stored_listing *listing, struct zd_document_texts *out)
{
    struct zd_emit emit;
    if (listing == NULL) {
        out->dropped[ZD_V2_LISTING] = true;
        return;
    }
    out->present[ZD_V2_LISTING] = true;
    zd_emit_init(&emit, &out->text[ZD_V2_LISTING], false);
    zd_emit_object(&emit);
    zd_emit_member_object(&emit, MAP);
    emit_members("", stored, own_order, ZD_COUNT_OF(own_order), &emit);
    emit_entries(listing, &emit);
    zd_v2_listing_write_end(&emit);
    zd_emit_object_end(&emit);
}

/* ---- single entries ---- */

/** Some entries of a listing being changed. */
struct relisting {
    const struct zd_listing_change *change; /* n of them */
    size_t n;
    struct zd_json *seen; /* an object: the keys that the listing has; owned */
    size_t next;          /* change, and document of it, that may have to be added */
    size_t next_document;
    struct zd_text key; /* of what is added */
};

static const struct zd_listing_change *change_of(
    const struct relisting *relisting, struct zd_span path)
{
    for (size_t i = 0; i < relisting->n; i++) {
        const struct zd_listing_change *change = &relisting->change[i];
        const struct zd_span at = zd_span_of(change->path);
        const bool is_at = zd_span_equal(path, at);
        const bool is_below =
            path.len > at.len && path.ptr[at.len] == '/' && memcmp(path.ptr, at.ptr, at.len) == 0;
        if (is_at || (is_below && change->document == NULL)) {
            return change;
        }
    }
    return NULL;
}

/* The number of the document that a key names. */
static uint32_t number_of(const struct zd_listed_key *told)
{
    if (told->listed == ZD_LISTED_ATTRIBUTES) {
        return ZD_V2_ATTRIBUTES;
    }
    return told->is_group ? ZD_V2_GROUP : ZD_V2_ARRAY;
}

/* A leading slash is read, and never written: its entry gives way to the other. */
static enum zd_json_fate judge_entry(void *context, const char *name)
{
    struct relisting *relisting = context;
    bool has_slash = false;
    const struct zd_span key = zd_stored_listing_path_of(zd_span_of(name), &has_slash);
    const struct zd_listed_key told = zd_v2_consolidated_tell(key, (struct zd_span){0});
    const struct zd_listing_change *change =
        told.listed == ZD_LISTED_NOTHING ? NULL : change_of(relisting, told.path);
    if (change == NULL) {
        return ZD_JSON_STAYS;
    }
    if (change->document == NULL || has_slash || !change->stored.present[number_of(&told)]) {
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
    const struct zd_listed_key told =
        zd_v2_consolidated_tell(zd_span_of(name), (struct zd_span){0});
    struct zd_emit emit;
    (void)value;
    zd_emit_init(&emit, out, false);
    for (size_t i = 0; i < relisting->n; i++) {
        const struct zd_listing_change *change = &relisting->change[i];
        if (change->document != NULL && zd_span_is(told.path, change->path)) {
            emit_text(change->stored.text[number_of(&told)], &emit);
            return;
        }
    }
}

/* Whether that document has still to be added: then its key is there. */
static bool is_due(
    struct relisting *relisting, const struct zd_listing_change *change, uint32_t number)
{
    if (change->document == NULL || !change->stored.present[number]) {
        return false;
    }
    zd_text_clear(&relisting->key);
    add_key(&relisting->key, change->path, number);
    return relisting->key.status == ZD_OK &&
           zd_json_member(relisting->seen, relisting->key.at) == NULL;
}

static const char *add_entry(void *context)
{
    struct relisting *relisting = context;
    while (relisting->next < relisting->n) {
        const struct zd_listing_change *change = &relisting->change[relisting->next];
        const uint32_t number = order[relisting->next_document++];
        if (relisting->next_document == ZD_COUNT_OF(order)) {
            relisting->next_document = 0;
            relisting->next++;
        }
        if (is_due(relisting, change, number)) {
            return relisting->key.at;
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
    return strcmp(name, MAP) == 0 ? ZD_JSON_CHANGES : ZD_JSON_STAYS;
}

void zd_v2_listing_write_change(const struct zd_documents *stored,
    const struct zd_listing_change *change, size_t n, struct zd_document_texts *out)
{
    ZD_AUTO(zd_json) seen = zd_json_new_object();
    struct zd_text *text = &out->text[ZD_V2_LISTING];
    struct relisting relisting = {.change = change, .n = n, .seen = seen};
    const struct zd_json_edit edit = {
        .judge = judge_map,
        .change = change_entries,
        .context = &relisting,
    };
    if (seen == NULL) {
        text->status = ZD_NO_MEMORY;
        return;
    }
    zd_text_init(&relisting.key, SIZE_MAX);
    out->present[ZD_V2_LISTING] = true;
    zd_json_edit(stored->text[ZD_V2_LISTING], &edit, text);
    if (relisting.key.status != ZD_OK) {
        text->status = ZD_NO_MEMORY;
    }
    zd_text_done(&relisting.key);
}

void zd_v2_listing_write_own(const struct zd_documents *stored, struct zd_document_texts *out)
{
    struct zd_listing_change change = {.path = "", .stored = *stored};
    ZD_AUTO(zd_json) group = zd_dialect_new_group();
    struct zd_text *text = &out->text[ZD_V2_LISTING];
    if (group == NULL) {
        text->status = ZD_NO_MEMORY;
        return;
    }
    change.document = group;
    for (uint32_t i = 0; i < ZD_V2_LISTING; i++) {
        if (out->present[i]) {
            change.stored.text[i] = zd_text_span(&out->text[i]);
        }
        change.stored.present[i] = out->present[i] || (stored->present[i] && !out->dropped[i]);
    }
    if (stored->present[ZD_V2_LISTING]) {
        zd_v2_listing_write_change(stored, &change, 1, out);
    }
    if (!stored->present[ZD_V2_LISTING] || text->status == ZD_TOO_LARGE) {
        zd_text_clear(text);
        out->present[ZD_V2_LISTING] = false;
        out->dropped[ZD_V2_LISTING] = true;
    }
}
