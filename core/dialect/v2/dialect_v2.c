/* The v2 dialect: `.zarray` or `.zgroup`, and `.zattrs`, chunks beside them; in a group perhaps
 * `.zmetadata`. */
#include "core/dialect/dialect.h"

#include <string.h>

#include "core/base/num.h"
#include "core/dialect/node_keys.h"
#include "core/dialect/v2/v2_array.h"
#include "core/dialect/v2/v2_consolidated.h"
#include "core/dialect/v2/v2_documents.h"
#include "core/dialect/v2/v2_listing_write.h"
#include "core/dialect/v2/v2_write.h"
#include "core/dialect/v3/v3_document.h"

#define BID    10
#define FORMAT 2U

enum {
    ARRAY = ZD_V2_ARRAY,
    GROUP = ZD_V2_GROUP,
    ATTRIBUTES = ZD_V2_ATTRIBUTES,
    LISTING = ZD_V2_LISTING,
    N_PARSED = LISTING, /* the others are read as a whole */
};

static const char *const *const names = zd_v2_document_names;

static const struct zd_pointer whole_document = {.text = ""};

extern const struct zd_dialect zd_dialect_v2;

static ZD_RESULT v2_document_key(const char *path, uint32_t i, struct zd_text *key)
{
    if (path[0] != '\0') {
        ZD_TRY(zd_text_add(key, path));
        ZD_TRY(zd_text_add_char(key, '/'));
    }
    return zd_text_add(key, names[i]);
}

static ZD_RESULT v2_document_path(struct zd_span key, struct zd_text *path)
{
    for (size_t i = 0; i < ZD_V2_N_DOCUMENTS; i++) {
        const size_t len = strlen(names[i]);
        if (key.len < len || memcmp(key.ptr + key.len - len, names[i], len) != 0) {
            continue;
        }
        if (key.len == len) {
            return ZD_OK; /* the root's */
        }
        if (key.ptr[key.len - len - 1] == '/') {
            return zd_text_add_bytes(path, key.ptr, key.len - len - 1);
        }
    }
    return ZD_NOT_FOUND;
}

/* Attributes alone are no node. */
static int v2_bid(const struct zd_documents *documents)
{
    return documents->present[ARRAY] || documents->present[GROUP] ? BID : 0;
}

static bool v2_may_list(const struct zd_documents *documents)
{
    return documents->present[GROUP] && !documents->present[ARRAY];
}

/* ---- documents to a node ---- */

/* The stored documents as JSON, and the node they become. */
struct parsing {
    const struct zd_documents *documents;
    const struct zd_reading *reading;
    struct zd_json *json[N_PARSED]; /* owned; NULL: not there, or not JSON */
    struct zd_meta *meta;           /* borrowed */
};

static ZD_RESULT parse_text(struct parsing *parsing, size_t i, struct zd_error *err)
{
    struct zd_error why = {0};
    struct zd_json_limits limits = parsing->reading->limits;
    limits.nonfinite = limits.nonfinite || parsing->reading->judgement == ZD_JUDGE_READ;
    if (!parsing->documents->present[i]) {
        return ZD_OK;
    }
    const enum zd_status status =
        zd_json_parse(parsing->documents->text[i], &limits, &parsing->json[i], &why);
    if (status == ZD_NO_MEMORY) {
        return zd_fail(err, status, "%s", why.text);
    }
    if (status != ZD_OK) {
        zd_faults_add(&parsing->meta->faults, ZD_FAULT_INVALID,
            status == ZD_TOO_LARGE ? "too_large" : "not_json", names[i], &whole_document, NULL,
            NULL, "%s: %s", names[i], why.text);
    }
    return ZD_OK;
}

static void judge_attributes(const struct parsing *parsing)
{
    const struct zd_json *json = parsing->json[ATTRIBUTES];
    if (json != NULL && !zd_json_is(json, ZD_JSON_OBJECT)) {
        zd_faults_add(&parsing->meta->faults, ZD_FAULT_INVALID, "wrong_type", names[ATTRIBUTES],
            &whole_document, "an object", zd_json_type_name(json), ".zattrs must be a JSON object");
    }
}

/* The document is there, and JSON. Members besides are ignored. */
static void judge_group(const struct parsing *parsing)
{
    const struct zd_json *json = parsing->json[GROUP];
    struct zd_faults *faults = &parsing->meta->faults;
    uint64_t format = 0;
    if (!zd_json_is(json, ZD_JSON_OBJECT)) {
        zd_faults_add(faults, ZD_FAULT_INVALID, "wrong_type", NULL, &whole_document, "an object",
            zd_json_type_name(json), "a .zgroup document must be a JSON object");
    } else if (!zd_json_u64(zd_json_member(json, "zarr_format"), &format) || format != FORMAT) {
        const struct zd_pointer at = zd_pointer_member(&whole_document, "zarr_format");
        zd_faults_add(faults, ZD_FAULT_INVALID, "out_of_range", "zarr_format", &at, "2",
            zd_json_type_name(zd_json_member(json, "zarr_format")),
            "the format version of a .zgroup must be 2");
    }
}

static ZD_RESULT make_group(const struct parsing *parsing, struct zd_json **ret_document)
{
    const struct zd_json *attributes = parsing->json[ATTRIBUTES];
    ZD_AUTO(zd_json) document = zd_dialect_new_group();
    if (document == NULL) {
        return ZD_NO_MEMORY;
    }
    if (attributes != NULL) {
        ZD_TRY(zd_json_set(document, "attributes", zd_json_ref(attributes)));
    }
    *ret_document = ZD_TAKE(document);
    return ZD_OK;
}

/* Show the stored documents, so that a person can see why the node is refused. */
static ZD_RESULT show_stored(const struct parsing *parsing)
{
    const bool *present = parsing->documents->present;
    const size_t own = present[ARRAY] ? ARRAY : present[GROUP] ? GROUP : ATTRIBUTES;
    const struct zd_json *json = parsing->json[own];
    if (json == NULL) {
        zd_json_unref(ZD_TAKE(parsing->meta->document));
        return ZD_OK;
    }
    return zd_meta_show_stored(parsing->meta, json);
}

static ZD_RESULT fill_group(const struct parsing *parsing, struct zd_error *err)
{
    ZD_AUTO(zd_json) document = NULL;
    struct zd_meta *meta = parsing->meta;
    meta->type = ZD_NODE_GROUP;
    if (parsing->json[GROUP] != NULL) {
        judge_group(parsing);
    }
    if (zd_meta_is_refused(meta)) {
        return ZD_OK;
    }
    ZD_TRY(make_group(parsing, &document));
    return zd_v3_document_judge(document, parsing->reading, meta, err);
}

static ZD_RESULT translate(
    const struct parsing *parsing, struct zd_v2_array *array, struct zd_error *err)
{
    struct zd_meta *meta = parsing->meta;
    const struct zd_json *zarray = parsing->json[ARRAY];
    ZD_TRY(zd_v2_array_translate(zarray, parsing->json[ATTRIBUTES], array, &meta->faults));
    if (array->document != NULL && !zd_meta_is_refused(meta)) {
        ZD_TRY(zd_v3_document_judge(array->document, parsing->reading, meta, err));
        zd_v2_array_move_faults(array, &meta->faults);
    }
    zd_v2_array_judge_members(zarray, &meta->faults);
    meta->has_no_fill = zd_json_is(zd_json_member(zarray, "fill_value"), ZD_JSON_NULL);
    return ZD_OK;
}

static ZD_RESULT fill_array(const struct parsing *parsing, struct zd_error *err)
{
    struct zd_v2_array array = {0};
    struct zd_meta *meta = parsing->meta;
    meta->type = ZD_NODE_ARRAY;
    if (parsing->documents->present[GROUP]) {
        zd_faults_add(&meta->faults, ZD_FAULT_WARNING, "two_documents", names[GROUP],
            &whole_document, "one of .zarray and .zgroup", "both",
            "both .zarray and .zgroup are stored; the node is read as an array");
    }
    if (parsing->json[ARRAY] == NULL) {
        return ZD_OK;
    }
    const enum zd_status status = translate(parsing, &array, err);
    zd_v2_array_done(&array);
    return status;
}

static bool is_json(const struct parsing *parsing)
{
    for (size_t i = 0; i < N_PARSED; i++) {
        if (parsing->documents->present[i] && parsing->json[i] == NULL) {
            return false;
        }
    }
    return true;
}

static void refuse_warnings(struct zd_faults *faults, bool (*is_refused)(const char *code))
{
    for (size_t i = 0; i < faults->n_items; i++) {
        struct zd_fault *fault = &faults->item[i];
        if (fault->severity == ZD_FAULT_WARNING && is_refused(fault->code)) {
            fault->severity = ZD_FAULT_INVALID;
            faults->n_invalid++;
        }
    }
}

static bool is_any(const char *code)
{
    return code != NULL;
}

/* A listing by itself, as it comes to be stored: its writer answers for its entries, which are
 * judged when they are used. */
static ZD_RESULT judge_listing(const struct parsing *parsing)
{
    struct zd_meta *meta = parsing->meta;
    const struct zd_documents *documents = parsing->documents;
    struct zd_reading reading = *parsing->reading;
    reading.judgement = ZD_JUDGE_READ;
    ZD_TRY(zd_v2_consolidated_judge(documents->text[LISTING], documents->bytes[LISTING],
        zd_v2_consolidated_tell, &reading, meta));
    if (meta->listing == NULL) {
        refuse_warnings(&meta->faults, is_any);
    }
    return ZD_OK;
}

static bool is_only_listing(const struct zd_documents *documents)
{
    const bool *present = documents->present;
    return present[LISTING] && !present[ARRAY] && !present[GROUP] && !present[ATTRIBUTES];
}

static ZD_RESULT fill(struct parsing *parsing, struct zd_error *err)
{
    for (size_t i = 0; i < N_PARSED; i++) {
        ZD_TRY(parse_text(parsing, i, err));
    }
    judge_attributes(parsing);
    ZD_TRY(
        parsing->documents->present[ARRAY] ? fill_array(parsing, err) : fill_group(parsing, err));
    if (zd_meta_is_refused(parsing->meta)) {
        ZD_TRY(show_stored(parsing));
    }
    const struct zd_documents *documents = parsing->documents;
    if (is_only_listing(documents)) {
        return judge_listing(parsing);
    }
    if (is_json(parsing)) {
        ZD_TRY(zd_meta_keep_texts(parsing->meta, documents, N_PARSED));
    }
    return v2_may_list(documents) && documents->present[LISTING]
               ? zd_v2_consolidated_judge(documents->text[LISTING], documents->bytes[LISTING],
                     zd_v2_consolidated_tell, parsing->reading, parsing->meta)
               : ZD_OK;
}

/* Reading tolerates these faults; a document to be stored must not have them. Unknown members are
 * allowed in both (Zarr v2, arrays, metadata). */
static bool is_leniency(const char *code)
{
    static const char *const codes[] = {"implied_elementsize", "integral_float", "legacy_spelling",
        "unknown_codec_parameter", "two_documents"};
    for (size_t i = 0; i < ZD_COUNT_OF(codes); i++) {
        if (strcmp(code, codes[i]) == 0) {
            return true;
        }
    }
    return false;
}

static ZD_RESULT v2_parse(const struct zd_documents *documents, const struct zd_reading *reading,
    struct zd_meta **ret_meta, struct zd_error *err)
{
    ZD_AUTO(zd_meta) meta = zd_meta_new(&zd_dialect_v2);
    struct parsing parsing = {.documents = documents, .reading = reading, .meta = meta};
    if (meta == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "cannot allocate a node");
    }
    const enum zd_status status = fill(&parsing, err);
    if (reading->judgement == ZD_JUDGE_WRITE) {
        refuse_warnings(&meta->faults, is_leniency);
    }
    for (size_t i = 0; i < N_PARSED; i++) {
        zd_json_unref(parsing.json[i]);
    }
    if (status != ZD_OK || meta->faults.out_of_memory) {
        return zd_fail(err, ZD_NO_MEMORY, "cannot allocate the contents of a document");
    }
    *ret_meta = ZD_TAKE(meta);
    return ZD_OK;
}

static ZD_RESULT v2_parse_entry(const struct zd_stored_entry *entry,
    const struct zd_reading *reading, struct zd_meta **ret_meta, struct zd_error *err)
{
    struct zd_documents documents = {0};
    const size_t own = entry->is_group ? GROUP : ARRAY;
    documents.text[own] = entry->document;
    documents.present[own] = true;
    documents.text[ATTRIBUTES] = entry->attributes;
    documents.present[ATTRIBUTES] = entry->attributes.len > 0;
    return v2_parse(&documents, reading, ret_meta, err);
}

const struct zd_dialect zd_dialect_v2 = {
    .name = "v2",
    .n_documents = ZD_V2_N_DOCUMENTS,
    .listing_document = LISTING,
    .may_list = v2_may_list,
    .tell = zd_v2_consolidated_tell,
    .lists_texts = true,
    .list = zd_v2_listing_write_node,
    .document_key = v2_document_key,
    .document_path = v2_document_path,
    .bid = v2_bid,
    .parse = v2_parse,
    .parse_entry = v2_parse_entry,
    .chunk_key = zd_node_keys_chunk,
    .chunk_index = zd_node_keys_chunk_index,
    .children_prefix = zd_node_keys_children_prefix,
    .child_name = zd_node_keys_child_name,
    .check = zd_v2_check,
    .render = zd_v2_render,
    .patch = zd_v2_patch,
    .take = zd_v2_take,
    .set_listing = zd_v2_listing_write_set,
    .change_listing = zd_v2_listing_write_change,
};
