/* The dialect of the draft of Zarr v3 of October 2020 to November 2022, as zarr-python, GDAL and
 * xtensor-zarr wrote it: `meta/root/a.array.json`, chunks `data/root/a/c0/0`. It is only read. */
#include "core/dialect/dialect.h"

#include <string.h>

#include "core/dialect/chunk_key.h"
#include "core/dialect/drafts/draft_keys.h"
#include "core/dialect/drafts/draft_node.h"
#include "core/dialect/node_name.h"
#include "core/dialect/v2/v2_consolidated.h"

/* Where zarr-python puts its consolidated metadata, and by mistake a document of a group. */
#define CONSOLIDATED "consolidated"
#define META         "meta/root"
#define LISTING_KEY  META "/" CONSOLIDATED "/.zmetadata"

enum {
    ASIDE = ZD_DRAFT_N_OWN, /* what lies beside the node and says how to take it */
    LISTING,                /* of the root: the consolidated metadata; of its place the same */
    ENTRY,
    N_DOCUMENTS,
};

extern const struct zd_dialect zd_dialect_draft_2020;

static const struct zd_draft_keys keys = {
    .meta = META, .data = "data/root", .root_join = ".", .suffix = ".json"};

/* Reference 7.3: the chunk of a scalar has the key "c" by the text, and "c0" by zarr-python: the
 * one of the text is looked for, so that both can be read. */
static ZD_RESULT add_aside(const char *path, struct zd_text *key)
{
    if (strcmp(path, CONSOLIDATED) == 0) {
        return zd_text_add(key, LISTING_KEY);
    }
    ZD_TRY(zd_draft_keys_add_data(&keys, path, key));
    return zd_text_add_char(key, 'c');
}

static ZD_RESULT draft_document_key(const char *path, uint32_t i, struct zd_text *key)
{
    switch (i) {
    case ENTRY:
        return zd_text_add(key, ZD_DRAFT_ENTRY_KEY);
    case ASIDE:
        return add_aside(path, key);
    case LISTING:
        return path[0] == '\0' || strcmp(path, CONSOLIDATED) == 0 ? zd_text_add(key, LISTING_KEY)
                                                                  : ZD_NOT_FOUND;
    default:
        return zd_draft_keys_add_document(
            &keys, path, i == ZD_DRAFT_ARRAY ? "array" : "group", key);
    }
}

static bool lacks_attributes(struct zd_span document)
{
    static const struct zd_json_limits limits = {.bytes_max = 256, .nodes_max = 16, .depth_max = 4};
    ZD_AUTO(zd_json) group = NULL;
    return zd_json_parse(document, &limits, &group, NULL) == ZD_OK &&
           zd_json_count(zd_json_member(group, "attributes")) == 0;
}

/* Reference 13.4, row 40: the group that holds nothing but the consolidated metadata is none. */
static bool is_stray(const struct zd_documents *documents)
{
    if (!documents->present[ASIDE] || documents->present[ZD_DRAFT_ARRAY]) {
        return false;
    }
    if (!documents->present[ZD_DRAFT_GROUP]) {
        return true;
    }
    return lacks_attributes(documents->text[ZD_DRAFT_GROUP]);
}

static int draft_bid(const struct zd_documents *documents)
{
    return is_stray(documents) ? 0 : zd_draft_node_bid(documents, ZD_DRAFT_2020, N_DOCUMENTS);
}

/* ---- consolidated metadata ---- */

static bool ends_with(struct zd_span key, const char *ending)
{
    const size_t len = strlen(ending);
    return key.len >= len && memcmp(key.ptr + key.len - len, ending, len) == 0;
}

/* Keys of documents, of the store: "meta/root/a/b.array.json"; of the root "meta/root.group.json".
 * It names the entry point, too, and the group that is none. */
static struct zd_listed_key draft_tell(struct zd_span key, struct zd_span document)
{
    static const char array[] = ".array.json";
    static const char group[] = ".group.json";
    const size_t meta_len = sizeof META - 1;
    const bool is_group = ends_with(key, group);
    struct zd_listed_key told = {.path = key, .listed = ZD_LISTED_NOTHING};
    if (zd_span_is(key, ZD_DRAFT_ENTRY_KEY)) {
        told.is_aside = true;
        return told;
    }
    if ((!is_group && !ends_with(key, array)) || key.len < meta_len + sizeof array - 1 ||
        memcmp(key.ptr, META, meta_len) != 0) {
        return told;
    }
    struct zd_span path = {.ptr = key.ptr + meta_len, .len = key.len - meta_len - sizeof array + 1};
    if (path.len > 0) {
        path.ptr++;
        path.len--;
    }
    const bool is_root = key.len == meta_len + sizeof array - 1;
    if (!is_root &&
        (path.ptr[-1] != '/' || !zd_stored_listing_is_path(path, zd_node_name_is_valid))) {
        return told;
    }
    if (is_group && zd_span_is(path, CONSOLIDATED) && lacks_attributes(document)) {
        told.is_aside = true;
        return told;
    }
    told.path = path;
    told.listed = is_group ? ZD_LISTED_SECOND : ZD_LISTED_NODE;
    told.is_group = is_group;
    return told;
}

/* ---- nodes ---- */

static ZD_RESULT draft_parse(const struct zd_documents *documents, const struct zd_reading *reading,
    struct zd_meta **ret_meta, struct zd_error *err)
{
    ZD_TRY(zd_draft_node_parse(
        &zd_dialect_draft_2020, ZD_DRAFT_2020, documents, reading, ret_meta, err));
    struct zd_meta *meta = *ret_meta;
    meta->is_scalar_numbered = !documents->present[ASIDE];
    const bool is_listed =
        documents->present[LISTING] && !documents->present[ASIDE] && meta->type == ZD_NODE_GROUP;
    const enum zd_status status = is_listed
                                      ? zd_v2_consolidated_judge(documents->text[LISTING],
                                            documents->bytes[LISTING], draft_tell, reading, meta)
                                      : ZD_OK;
    if (status != ZD_OK || meta->faults.out_of_memory) {
        zd_meta_unref(ZD_TAKE(*ret_meta));
        return zd_fail(err, ZD_NO_MEMORY, "cannot allocate a consolidated listing");
    }
    return ZD_OK;
}

/* zarr-python alone writes listings, and numbers the chunks of scalars. */
static ZD_RESULT draft_parse_entry(const struct zd_stored_entry *entry,
    const struct zd_reading *reading, struct zd_meta **ret_meta, struct zd_error *err)
{
    static const char entry_point[] =
        "{\"zarr_format\":\"https://purl.org/zarr/spec/protocol/core/3.0\","
        "\"metadata_encoding\":\"https://purl.org/zarr/spec/protocol/core/3.0\","
        "\"metadata_key_suffix\":\".json\",\"extensions\":[]}";
    const size_t own = entry->is_group ? ZD_DRAFT_GROUP : ZD_DRAFT_ARRAY;
    struct zd_documents documents = {0};
    documents.text[own] = entry->document;
    documents.present[own] = true;
    documents.text[ENTRY] = zd_span_of(entry_point);
    documents.present[ENTRY] = true;
    return draft_parse(&documents, reading, ret_meta, err);
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

const struct zd_dialect zd_dialect_draft_2020 = {
    .name = "draft-2020",
    .n_documents = N_DOCUMENTS,
    .has_entry = true,
    .listing_document = LISTING,
    .document_key = draft_document_key,
    .bid = draft_bid,
    .parse = draft_parse,
    .tell = draft_tell,
    .parse_entry = draft_parse_entry,
    .chunk_key = draft_chunk_key,
    .chunk_index = draft_chunk_index,
    .children_prefix = draft_children_prefix,
    .child_name = draft_child_name,
};
