/* The documents of a node of the drafts of 2019 to January 2023 to a node. */
#include "core/dialect/drafts/draft_node.h"

#include <string.h>

#include "core/base/json_nonfinite.h"
#include "core/dialect/drafts/draft_array.h"
#include "core/dialect/v3/v3_document.h"

#define BID 10

static const struct zd_pointer whole_document = {.text = ""};

/* A node while it is parsed. */
struct parsing {
    const struct zd_documents *documents;
    const struct zd_reading *reading;
    enum zd_draft draft;
    struct zd_json
        *json; /* the document of the node; owned; NULL: none is there, or it is no JSON */
    struct zd_meta *meta; /* borrowed */
};

int zd_draft_node_bid(
    const struct zd_documents *documents, enum zd_draft draft, uint32_t n_documents)
{
    if (zd_draft_entry_tell(documents->text[n_documents - 1]) != draft) {
        return 0;
    }
    return documents->present[ZD_DRAFT_ARRAY] || documents->present[ZD_DRAFT_GROUP]
               ? BID
               : ZD_BID_IMPLIED;
}

static ZD_RESULT parse_text(struct parsing *parsing, struct zd_span text, struct zd_error *err)
{
    struct zd_error why = {0};
    struct zd_json_limits limits = parsing->reading->limits;
    limits.nonfinite = limits.nonfinite || parsing->reading->judgement == ZD_JUDGE_READ;
    const enum zd_status status = zd_json_parse(text, &limits, &parsing->json, &why);
    if (status == ZD_NO_MEMORY) {
        return zd_fail(err, status, "%s", why.text);
    }
    if (status != ZD_OK) {
        zd_faults_add(&parsing->meta->faults, ZD_FAULT_INVALID,
            status == ZD_TOO_LARGE ? "too_large" : "not_json", NULL, &whole_document, NULL, NULL,
            "%s", why.text);
    }
    return ZD_OK;
}

/* ---- groups ---- */

/* January 2023: a group has nothing but attributes. */
static void judge_group(const struct parsing *parsing)
{
    const bool is_strict = parsing->draft == ZD_DRAFT_2023_01;
    const struct zd_json *json = parsing->json;
    struct zd_faults *faults = &parsing->meta->faults;
    if (!zd_json_is(json, ZD_JSON_OBJECT)) {
        zd_faults_add(faults, ZD_FAULT_INVALID, "wrong_type", NULL, &whole_document, "an object",
            zd_json_type_name(json), "the document of a group must be a JSON object");
        return;
    }
    for (void *iter = zd_json_next(json, NULL); iter != NULL; iter = zd_json_next(json, iter)) {
        const char *name = zd_json_iter_name(iter);
        const bool is_known =
            strcmp(name, "attributes") == 0 || (!is_strict && strcmp(name, "extensions") == 0);
        if (!is_known) {
            const struct zd_pointer at = zd_pointer_member(&whole_document, name);
            zd_faults_add(faults, is_strict ? ZD_FAULT_INVALID : ZD_FAULT_WARNING, "unknown_member",
                name, &at, NULL, name, "this draft defines no member \"%.64s\" of groups%s", name,
                is_strict ? "" : "; it is ignored");
        }
    }
    if (!is_strict) {
        zd_draft_entry_judge_extensions(zd_json_member(json, "extensions"), NULL, faults);
    }
}

static ZD_RESULT fill_group(const struct parsing *parsing, struct zd_error *err)
{
    const struct zd_json *attributes = zd_json_member(parsing->json, "attributes");
    ZD_AUTO(zd_json) document = zd_dialect_new_group();
    parsing->meta->type = ZD_NODE_GROUP;
    if (document == NULL) {
        return ZD_NO_MEMORY;
    }
    if (parsing->json != NULL) {
        judge_group(parsing);
    }
    if (attributes != NULL) {
        ZD_TRY(zd_json_set(document, "attributes", zd_json_ref(attributes)));
    }
    return zd_meta_is_refused(parsing->meta)
               ? ZD_OK
               : zd_v3_document_judge(document, parsing->reading, parsing->meta, err);
}

/* ---- arrays ---- */

/* Bare NaN and infinities are read where v3 has them (reference 1.3); a copy has no other. */
static void judge_nonfinite(const struct parsing *parsing)
{
    for (void *iter = zd_json_next(parsing->json, NULL); iter != NULL;
        iter = zd_json_next(parsing->json, iter)) {
        const char *name = zd_json_iter_name(iter);
        const bool may_stand = strcmp(name, "attributes") == 0 || strcmp(name, "fill_value") == 0;
        if (!may_stand && zd_json_nonfinite_is_in(zd_json_iter_value(iter))) {
            const struct zd_pointer at = zd_pointer_member(&whole_document, name);
            zd_faults_add(&parsing->meta->faults, ZD_FAULT_INVALID, "bare_nonfinite", name, &at,
                "JSON, where NaN and infinities are strings", "a bare NaN or infinity",
                "\"%.64s\" contains a token that is not JSON", name);
        }
    }
}

static ZD_RESULT translate(
    const struct parsing *parsing, struct zd_draft_array *array, struct zd_error *err)
{
    struct zd_meta *meta = parsing->meta;
    ZD_TRY(zd_draft_array_translate(parsing->json, parsing->draft, array, &meta->faults));
    if (array->v2.document != NULL && !zd_meta_is_refused(meta)) {
        ZD_TRY(zd_v3_document_judge(array->v2.document, parsing->reading, meta, err));
    }
    zd_draft_array_move_faults(array, parsing->json, &meta->faults);
    zd_draft_array_judge_members(parsing->json, parsing->draft, &meta->faults);
    return ZD_OK;
}

static ZD_RESULT fill_array(const struct parsing *parsing, struct zd_error *err)
{
    struct zd_draft_array array = {0};
    struct zd_meta *meta = parsing->meta;
    meta->type = ZD_NODE_ARRAY;
    if (parsing->documents->present[ZD_DRAFT_GROUP]) {
        zd_faults_add(&meta->faults, ZD_FAULT_WARNING, "two_documents", NULL, &whole_document,
            "one of an array's document and a group's", "both",
            "documents of an array and of a group are stored; the node is read as an array");
    }
    if (parsing->json == NULL) {
        return ZD_OK;
    }
    judge_nonfinite(parsing);
    if (zd_meta_is_refused(meta)) {
        return ZD_OK;
    }
    const enum zd_status status = translate(parsing, &array, err);
    zd_draft_array_done(&array);
    return status;
}

/* ---- the whole ---- */

static ZD_RESULT fill(struct parsing *parsing, uint32_t n_documents, struct zd_error *err)
{
    const struct zd_documents *documents = parsing->documents;
    struct zd_meta *meta = parsing->meta;
    const uint32_t own = documents->present[ZD_DRAFT_ARRAY] ? ZD_DRAFT_ARRAY : ZD_DRAFT_GROUP;
    if (documents->present[own]) {
        ZD_TRY(parse_text(parsing, documents->text[own], err));
    }
    ZD_TRY(own == ZD_DRAFT_ARRAY ? fill_array(parsing, err) : fill_group(parsing, err));
    ZD_TRY(zd_draft_entry_judge(documents->text[n_documents - 1], parsing->draft, &meta->faults));
    return zd_meta_is_refused(meta) && parsing->json != NULL
               ? zd_meta_show_stored(meta, parsing->json)
               : ZD_OK;
}

enum zd_status zd_draft_node_parse(const struct zd_dialect *dialect, enum zd_draft draft,
    const struct zd_documents *documents, const struct zd_reading *reading,
    struct zd_meta **ret_meta, struct zd_error *err)
{
    ZD_AUTO(zd_meta) meta = zd_meta_new(dialect);
    struct parsing parsing = {
        .documents = documents, .reading = reading, .draft = draft, .meta = meta};
    if (meta == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "cannot allocate a node");
    }
    const enum zd_status status = fill(&parsing, dialect->n_documents, err);
    zd_json_unref(parsing.json);
    if (status != ZD_OK || meta->faults.out_of_memory) {
        return zd_fail(err, ZD_NO_MEMORY, "cannot allocate the contents of a document");
    }
    *ret_meta = ZD_TAKE(meta);
    return ZD_OK;
}
