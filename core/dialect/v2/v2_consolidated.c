/* Consolidated metadata of a v2 group, judged. */
#include "core/dialect/v2/v2_consolidated.h"

#include <stdio.h>
#include <string.h>

#include "core/base/json_grammar.h"
#include "core/base/num.h"
#include "core/dialect/node_keys.h"
#include "core/dialect/v2/v2_documents.h"

#define MAP      "metadata"
#define FORMAT   "zarr_consolidated_format"
#define LISTING  zd_v2_document_names[ZD_V2_LISTING]
#define NO_LIMIT SIZE_MAX

/* Limits of the members beside the map. */
static const struct zd_json_limits wrapper_limits = {
    .bytes_max = 4096, .nodes_max = 64, .depth_max = 8, .nonfinite = true};

static const struct zd_pointer whole_document = {.text = ""};
static const struct zd_pointer map_at = {.text = "/" MAP};

/** A document under judgement. */
struct judge {
    struct zd_span text;
    struct zd_buf *bytes; /* that hold it, or NULL */
    zd_stored_listing_tell *tell;
    const struct zd_reading *reading;
    struct zd_span map;
    struct zd_json *wrapper; /* the document with an empty map; owned */
    struct zd_stored_listing *listing;
    struct zd_meta *meta;
    struct zd_faults *faults;
};

/* ---- keys ---- */

struct zd_listed_key zd_v2_consolidated_tell(struct zd_span key, struct zd_span document)
{
    static const enum zd_listed listed[] = {
        [ZD_V2_ARRAY] = ZD_LISTED_NODE,
        [ZD_V2_GROUP] = ZD_LISTED_SECOND,
        [ZD_V2_ATTRIBUTES] = ZD_LISTED_ATTRIBUTES,
    };
    (void)document;
    for (size_t i = 0; i < ZD_COUNT_OF(listed); i++) {
        const char *name = zd_v2_document_names[i];
        const size_t len = strlen(name);
        if (key.len < len || memcmp(key.ptr + key.len - len, name, len) != 0) {
            continue;
        }
        const size_t slash = key.len > len ? 1 : 0;
        const struct zd_span path = {.ptr = key.ptr, .len = key.len - len - slash};
        const bool is_own = key.len == len;
        if (is_own ||
            (key.ptr[path.len] == '/' && zd_stored_listing_is_path(path, zd_node_keys_is_name))) {
            return (struct zd_listed_key){
                .path = path, .listed = listed[i], .is_group = i == ZD_V2_GROUP};
        }
    }
    return (struct zd_listed_key){.path = key, .listed = ZD_LISTED_NOTHING};
}

/* ---- the document ---- */

/* In a document to be written it is a fault. In a document to be read it costs at most the listing.
 */
static enum zd_severity tolerated(const struct judge *judge)
{
    return judge->reading->judgement == ZD_JUDGE_READ ? ZD_FAULT_WARNING : ZD_FAULT_INVALID;
}

/* Without the listing the group is what it was. */
static ZD_RESULT leave_out(const struct judge *judge, const struct zd_error *why)
{
    if (why->status == ZD_NO_MEMORY) {
        return ZD_NO_MEMORY;
    }
    zd_faults_add(judge->faults, tolerated(judge),
        why->status == ZD_TOO_LARGE ? "too_large" : "not_json", LISTING, &whole_document, NULL,
        NULL, "the consolidated metadata in %s is ignored: %s", LISTING, why->text);
    return ZD_INVALID;
}

static ZD_RESULT check_text(const struct judge *judge, bool *ret_nonfinite)
{
    struct zd_error why = {0};
    struct zd_json_limits limits = zd_dialect_listing_limits(judge->reading, ZD_V2_LISTING_LEVELS);
    limits.nonfinite = limits.nonfinite || judge->reading->judgement == ZD_JUDGE_READ;
    if (judge->text.ptr == NULL) {
        why.status = zd_fail(&why, ZD_TOO_LARGE, "it has more than %zu bytes", limits.bytes_max);
        return leave_out(judge, &why);
    }
    enum zd_status status = zd_json_check_limits(judge->text, &limits, &why);
    if (status == ZD_OK) {
        status = zd_json_grammar_check(judge->text, &limits, ret_nonfinite, &why);
    }
    why.status = status;
    return status == ZD_OK ? ZD_OK : leave_out(judge, &why);
}

/* All but the map, as JSON. */
static ZD_RESULT parse_wrapper(struct judge *judge)
{
    struct zd_error why = {0};
    const uint8_t *after = judge->map.ptr + judge->map.len;
    ZD_SCOPED_TEXT(rest, wrapper_limits.bytes_max);
    zd_text_add_bytes(&rest, judge->text.ptr, (size_t)(judge->map.ptr - judge->text.ptr));
    zd_text_add(&rest, "{}");
    zd_text_add_bytes(&rest, after, (size_t)(judge->text.ptr + judge->text.len - after));
    const enum zd_status status =
        rest.status == ZD_OK
            ? zd_json_parse(zd_text_span(&rest), &wrapper_limits, &judge->wrapper, &why)
            : zd_fail(&why, rest.status, "it has more than %zu bytes outside of its documents",
                  wrapper_limits.bytes_max);
    return status == ZD_OK ? ZD_OK : leave_out(judge, &why);
}

static ZD_RESULT find_map(struct judge *judge)
{
    const bool is_there = zd_json_grammar_find(judge->text, MAP, &judge->map);
    if (is_there && zd_json_grammar_is_object(judge->map)) {
        return parse_wrapper(judge);
    }
    zd_faults_add(judge->faults, tolerated(judge), is_there ? "wrong_type" : "missing_member", MAP,
        &map_at, "an object", NULL, "%s must have the documents in \"" MAP "\"; it is ignored",
        LISTING);
    return ZD_INVALID;
}

/* Reference 4.6: the format is 1. */
static ZD_RESULT judge_format(const struct judge *judge)
{
    const struct zd_json *format = zd_json_member(judge->wrapper, FORMAT);
    const struct zd_pointer at = zd_pointer_member(&whole_document, FORMAT);
    uint64_t number = 0;
    if (format == NULL) {
        zd_faults_add(judge->faults, tolerated(judge), "missing_member", FORMAT, &at, "1", NULL,
            "%s must have \"" FORMAT "\"; it is read as 1", LISTING);
        return ZD_OK;
    }
    if (zd_json_u64(format, &number) && number == 1) {
        return ZD_OK;
    }
    zd_faults_add(judge->faults, tolerated(judge), "unsupported_version", FORMAT, &at, "1",
        zd_json_type_name(format),
        "the format of consolidated metadata in %s must be 1; it is ignored", LISTING);
    return ZD_INVALID;
}

static ZD_RESULT index_map(struct judge *judge)
{
    struct zd_error why = {0};
    ZD_AUTO(zd_buf)
    bytes = judge->bytes == NULL ? zd_buf_copy(judge->text) : zd_buf_ref(judge->bytes);
    if (bytes == NULL) {
        return ZD_NO_MEMORY;
    }
    const struct zd_span map = {
        .ptr = bytes->data + (judge->map.ptr - judge->text.ptr), .len = judge->map.len};
    const enum zd_status status =
        zd_stored_listing_new(bytes, map, judge->tell, &judge->listing, &why);
    return status == ZD_OK ? ZD_OK : leave_out(judge, &why);
}

/* ---- its entries ---- */

/* The parent's entry must be there and be a group. */
static void judge_parent(
    const struct judge *judge, struct zd_span path, const char *key, const struct zd_pointer *at)
{
    size_t len = path.len;
    while (len > 0 && path.ptr[len - 1] != '/') {
        len--;
    }
    struct zd_stored_entry parent;
    const struct zd_span above = {.ptr = path.ptr, .len = len > 0 ? len - 1 : 0};
    if (len > 0 && (!zd_stored_listing_find(judge->listing, above, &parent) || !parent.is_group)) {
        zd_faults_add(judge->faults, tolerated(judge), "inconsistent_listing", key, at,
            "the document of a group for the parent", NULL,
            "\"%s\" has no parent group in the listing", key);
    }
}

/* The document that stands for the node, of several; of attributes, that there is a node. */
static void judge_use(const struct judge *judge, const struct zd_listed_key *told,
    const struct zd_json_extent *member, const char *key, const struct zd_pointer *at)
{
    struct zd_stored_entry entry;
    if (!zd_stored_listing_find(judge->listing, told->path, &entry)) {
        zd_faults_add(judge->faults, tolerated(judge), "inconsistent_listing", key, at,
            "the document of an array or a group", NULL, "the attributes \"%s\" belong to no node",
            key);
        return;
    }
    const struct zd_span used =
        told->listed == ZD_LISTED_ATTRIBUTES ? entry.attributes : entry.document;
    if (used.ptr != member->value.ptr) {
        zd_faults_add(judge->faults, tolerated(judge), "duplicate", key, at,
            "one document of an array or a group for each path", key,
            "\"%s\" is ignored, because another document of the same node is listed", key);
    }
}

static void judge_entry(
    const struct judge *judge, const char *key, const struct zd_json_extent *member)
{
    bool has_slash = false;
    const struct zd_span name = zd_stored_listing_path_of(zd_span_of(key), &has_slash);
    const struct zd_listed_key told = judge->tell(name, member->value);
    const struct zd_pointer at = zd_pointer_member(&map_at, key);
    const bool is_written = judge->reading->judgement == ZD_JUDGE_WRITE;
    if (told.is_aside) {
        return;
    }
    if (told.listed == ZD_LISTED_NOTHING || (has_slash && is_written)) {
        zd_faults_add(judge->faults, has_slash ? tolerated(judge) : ZD_FAULT_WARNING, "bad_path",
            key, &at, "the key of a node's document, relative to the group", key,
            "\"%s\" is not the key of a document of the group or of a node below it", key);
        return;
    }
    judge_use(judge, &told, member, key, &at);
    /* Where there is an entry point, groups need no document. */
    if (told.listed != ZD_LISTED_ATTRIBUTES && !judge->meta->dialect->has_entry) {
        judge_parent(judge, told.path, key, &at);
    }
}

/* In the order of the text: the first findings are kept. */
static ZD_RESULT judge_entries(const struct judge *judge)
{
    const struct zd_span map = zd_stored_listing_text(judge->listing);
    struct zd_json_extent member;
    for (size_t at = 0; zd_json_grammar_next(map, &at, &member);) {
        ZD_SCOPED_TEXT(key, member.name.len);
        zd_json_grammar_unescape(member.name, &key);
        ZD_TRY(key.status);
        judge_entry(judge, key.at, &member);
    }
    return ZD_OK;
}

/* The faults of a node, at the place of its first document. */
static void take_faults(
    const struct judge *judge, const struct zd_stored_entry *entry, const struct zd_faults *faults)
{
    ZD_SCOPED_TEXT(key, NO_LIMIT);
    zd_text_add_bytes(&key, entry->path.ptr, entry->path.len);
    zd_text_addf(&key, "%s%s", entry->path.len == 0 ? "" : "/",
        zd_v2_document_names[entry->is_group ? ZD_V2_GROUP : ZD_V2_ARRAY]);
    const struct zd_pointer at = zd_pointer_member(&map_at, key.status == ZD_OK ? key.at : "");
    for (size_t i = 0; i < faults->n_items; i++) {
        const struct zd_fault *fault = &faults->item[i];
        struct zd_pointer place = at;
        const size_t len = strlen(place.text);
        snprintf(place.text + len, sizeof place.text - len, "%s",
            fault->pointer == NULL ? "" : fault->pointer);
        zd_faults_add(judge->faults, fault->severity, fault->code, fault->name, &place,
            fault->expected, fault->found, "%s", fault->detail == NULL ? "" : fault->detail);
    }
}

/* To be written, an entry must be what could be written by itself. */
static ZD_RESULT judge_nodes(const struct judge *judge)
{
    const size_t n = zd_stored_listing_count(judge->listing);
    for (size_t i = 0; i < n; i++) {
        const struct zd_stored_entry entry = zd_stored_listing_entry(judge->listing, i);
        ZD_AUTO(zd_meta) node = NULL;
        ZD_TRY(judge->meta->dialect->parse_entry(&entry, judge->reading, &node, NULL));
        take_faults(judge, &entry, &node->faults);
    }
    return ZD_OK;
}

/* ---- the whole ---- */

/* ZD_INVALID: the listing is ignored, and a finding says why. */
static ZD_RESULT judge_text(struct judge *judge)
{
    bool has_nonfinite = false;
    ZD_TRY(check_text(judge, &has_nonfinite));
    ZD_TRY(find_map(judge));
    ZD_TRY(judge_format(judge));
    ZD_TRY(index_map(judge));
    if (has_nonfinite) {
        zd_faults_add(judge->faults, tolerated(judge), "bare_nonfinite", LISTING, &map_at,
            "JSON, where NaN and infinities are strings", "a bare NaN or infinity",
            "an entry of %s contains a token that is not JSON", LISTING);
    }
    ZD_TRY(judge_entries(judge));
    return judge->reading->judgement == ZD_JUDGE_WRITE ? judge_nodes(judge) : ZD_OK;
}

enum zd_status zd_v2_consolidated_judge(struct zd_span text, struct zd_buf *bytes,
    zd_stored_listing_tell *tell, const struct zd_reading *reading, struct zd_meta *meta)
{
    struct judge judge = {
        .text = text,
        .bytes = bytes,
        .tell = tell,
        .reading = reading,
        .meta = meta,
        .faults = &meta->faults,
    };
    meta->listing_bytes = text.len;
    meta->faults.judges_listing = true;
    const enum zd_status status = judge_text(&judge);
    meta->faults.judges_listing = false;
    zd_json_unref(judge.wrapper);
    meta->has_listing = status == ZD_OK;
    meta->has_unread_listing = status != ZD_OK;
    meta->listing = status == ZD_OK ? zd_stored_listing_ref(judge.listing) : NULL;
    zd_stored_listing_unref(judge.listing);
    return status == ZD_NO_MEMORY ? status : ZD_OK;
}
