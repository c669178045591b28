/* A final v3 document, as JSON, to a node: what groups and arrays have in common. */
#include "core/dialect/v3/v3_document.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/json_nonfinite.h"
#include "core/dialect/v3/v3_array.h"
#include "core/extension/ome_levels.h"

/** A document under judgement. */
struct document_judge {
    const struct zd_json *document;
    const struct zd_reading *reading;
    struct zd_meta *meta;
    struct zd_faults *faults; /* of meta */
    bool has_subject;         /* what extensions are judged with is known */
};

/* The members that Zarr v3 defines; `extensions` by ZEP 10 only. */
static const struct member {
    const char *name;
    bool on_group;
    bool on_array;
} members[] = {
    {"zarr_format", true, true},
    {"node_type", true, true},
    {"attributes", true, true},
    {"extensions", true, true},
    {"consolidated_metadata", true, false},
    {"shape", false, true},
    {"data_type", false, true},
    {"chunk_grid", false, true},
    {"chunk_key_encoding", false, true},
    {"fill_value", false, true},
    {"codecs", false, true},
    {"storage_transformers", false, true},
    {"dimension_names", false, true},
};

static const struct zd_pointer whole_document = {.text = ""};

static bool is_read(const struct document_judge *judge)
{
    return judge->reading->judgement == ZD_JUDGE_READ;
}

static bool is_known(const struct document_judge *judge, const char *name)
{
    if (strcmp(name, "extensions") == 0) {
        return judge->reading->zep10;
    }
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        if (strcmp(members[i].name, name) == 0) {
            return judge->meta->type == ZD_NODE_ARRAY ? members[i].on_array : members[i].on_group;
        }
    }
    return false;
}

static void add_missing(const struct document_judge *judge, const char *name, const char *expected)
{
    const struct zd_pointer at = zd_pointer_member(&whole_document, name);
    zd_faults_add(judge->faults, ZD_FAULT_INVALID, "missing_member", name, &at, expected, NULL,
        "the document must have the member \"%s\"", name);
}

static void add_wrong_type(const struct document_judge *judge, const char *name,
    const char *expected, const struct zd_json *json)
{
    const struct zd_pointer at = zd_pointer_member(&whole_document, name);
    zd_faults_add(judge->faults, ZD_FAULT_INVALID, "wrong_type", name, &at, expected,
        zd_json_type_name(json), "\"%s\" must be %s", name, expected);
}

/* False for another version, whose other members mean nothing here. */
static bool judge_zarr_format(const struct document_judge *judge)
{
    const struct zd_json *json = zd_json_member(judge->document, "zarr_format");
    uint64_t version = 0;
    if (json == NULL) {
        add_missing(judge, "zarr_format", "3");
        return true;
    }
    if (!zd_json_is(json, ZD_JSON_INTEGER)) {
        /* Zarr v3: the integer 3; 3.0, "3" and true are none. */
        add_wrong_type(judge, "zarr_format", "the integer 3", json);
        return true;
    }
    if (zd_json_u64(json, &version) && version == 3) {
        return true;
    }
    char found[24];
    snprintf(found, sizeof found, "%" PRIu64, version);
    const struct zd_pointer at = zd_pointer_member(&whole_document, "zarr_format");
    zd_faults_add(judge->faults, ZD_FAULT_INVALID, "unsupported_version", "zarr_format", &at, "3",
        version == 0 ? NULL : found, "the format version of a zarr.json must be 3");
    return false;
}

static void judge_node_type(const struct document_judge *judge)
{
    const struct zd_json *json = zd_json_member(judge->document, "node_type");
    const char *text = zd_json_string(json);
    if (json == NULL) {
        add_missing(judge, "node_type", "\"group\" or \"array\"");
    } else if (text == NULL) {
        add_wrong_type(judge, "node_type", "\"group\" or \"array\"", json);
    } else if (strcmp(text, "group") == 0) {
        judge->meta->type = ZD_NODE_GROUP;
    } else if (strcmp(text, "array") == 0) {
        judge->meta->type = ZD_NODE_ARRAY;
    } else {
        const struct zd_pointer at = zd_pointer_member(&whole_document, "node_type");
        zd_faults_add(judge->faults, ZD_FAULT_INVALID, "out_of_range", "node_type", &at,
            "\"group\" or \"array\"", text, "node_type must be \"group\" or \"array\"");
    }
}

/* Zarr v3.1: a member that is not defined may be ignored only if it is an object that says so; but
 * `extensions` is a list (ZEP 10), and unknown without it. */
static void judge_unknown_members(const struct document_judge *judge)
{
    for (void *iter = zd_json_next(judge->document, NULL); iter != NULL;
        iter = zd_json_next(judge->document, iter)) {
        const char *name = zd_json_iter_name(iter);
        if (is_known(judge, name)) {
            continue;
        }
        const struct zd_pointer at = zd_pointer_member(&whole_document, name);
        const struct zd_json *flag = zd_json_member(zd_json_iter_value(iter), "must_understand");
        if (zd_json_is_false(flag) && strcmp(name, "extensions") != 0) {
            zd_faults_add(judge->faults, ZD_FAULT_WARNING, "ignored_extension", name, &at, NULL,
                name, "the unknown member \"%s\" is ignored: its must_understand is false", name);
            continue;
        }
        zd_faults_add(judge->faults, is_read(judge) ? ZD_FAULT_UNSUPPORTED : ZD_FAULT_INVALID,
            is_read(judge) ? "unsupported_extension" : "unknown_member", name, &at,
            "an object with must_understand false, or no such member", name,
            "the member \"%s\" is unknown and must not be ignored", name);
    }
}

/* Bare NaN and infinities: read in fill_value and attributes only. A consolidated block is judged
 * entry by entry. */
static void judge_nonfinite(const struct document_judge *judge)
{
    if (!zd_json_nonfinite_is_in(judge->document)) {
        return;
    }
    for (void *iter = zd_json_next(judge->document, NULL); iter != NULL;
        iter = zd_json_next(judge->document, iter)) {
        const char *name = zd_json_iter_name(iter);
        if (!zd_json_nonfinite_is_in(zd_json_iter_value(iter)) ||
            (judge->meta->type == ZD_NODE_GROUP && strcmp(name, "consolidated_metadata") == 0)) {
            continue;
        }
        const bool may_stand =
            strcmp(name, "attributes") == 0 ||
            (judge->meta->type == ZD_NODE_ARRAY && strcmp(name, "fill_value") == 0);
        const struct zd_pointer at = zd_pointer_member(&whole_document, name);
        zd_faults_add(judge->faults,
            may_stand && is_read(judge) ? ZD_FAULT_WARNING : ZD_FAULT_INVALID, "bare_nonfinite",
            name, &at, "JSON, where NaN and infinities are strings", "a bare NaN or infinity",
            "\"%s\" contains a token that is not JSON", name);
    }
}

static void judge_attributes(const struct document_judge *judge)
{
    const struct zd_json *json = zd_json_member(judge->document, "attributes");
    if (json == NULL) {
        return;
    }
    if (!zd_json_is(json, ZD_JSON_OBJECT)) {
        add_wrong_type(judge, "attributes", "an object", json);
        return;
    }
    judge->meta->attributes = zd_json_nonfinite_quote(json);
    if (judge->meta->attributes == NULL) {
        judge->faults->out_of_memory = true;
    }
}

static void judge_known_extension(const struct document_judge *judge,
    const struct zd_extension *extension, size_t position, const struct zd_definition *definition,
    const struct zd_pointer *at)
{
    struct zd_meta *meta = judge->meta;
    struct zd_subject subject = zd_meta_subject(meta);
    subject.is_stored = is_read(judge);
    subject.is_faulty = !judge->has_subject;
    if (zd_applied_add(&meta->applied, extension, position, definition, at, &subject,
            judge->faults) == ZD_NO_MEMORY) {
        judge->faults->out_of_memory = true;
    }
}

/* A name that this kind of node does not know: the other kind may. */
static const char *why_unknown(const struct document_judge *judge, const char *name)
{
    const bool is_array = judge->meta->type == ZD_NODE_ARRAY;
    if (zd_extension_find(name, !is_array) == NULL) {
        return "is not known to this server";
    }
    return is_array ? "is not for arrays" : "is not for groups";
}

static void judge_extension(const struct document_judge *judge, const struct zd_json *json,
    size_t position, const struct zd_pointer *at)
{
    struct zd_definition definition;
    if (zd_definition_parse(json, at, !is_read(judge), &definition, judge->faults) != ZD_OK) {
        return;
    }
    if (definition.has_surplus) {
        zd_faults_add(judge->faults, ZD_FAULT_INVALID, "unknown_member", definition.name, at,
            "name, configuration, must_understand", NULL, "\"%s\" has undefined members",
            definition.name);
    }
    const struct zd_extension *extension =
        zd_extension_find(definition.name, judge->meta->type == ZD_NODE_ARRAY);
    if (extension != NULL) {
        judge_known_extension(judge, extension, position, &definition, at);
    } else if (!definition.must_understand) {
        zd_faults_add(judge->faults, ZD_FAULT_WARNING, "ignored_extension", definition.name, at,
            NULL, definition.name,
            "the unknown extension \"%s\" is ignored: its must_understand is false",
            definition.name);
    } else if (is_read(judge)) {
        zd_faults_add(judge->faults, ZD_FAULT_UNSUPPORTED, "unsupported_extension", definition.name,
            at, NULL, definition.name, "the extension \"%s\" must be understood and %s",
            definition.name, why_unknown(judge, definition.name));
    } else {
        /* Clients' attributes are stored unchanged; other readers may know the name. */
        zd_faults_add(judge->faults, ZD_FAULT_WARNING, "unknown_extension", definition.name, at,
            NULL, definition.name, "the extension \"%s\" %s", definition.name,
            why_unknown(judge, definition.name));
    }
}

/* ZEP 10: the rules of the list as a whole. */
static void judge_extensions(const struct document_judge *judge)
{
    const struct zd_json *json = zd_json_member(judge->document, "extensions");
    if (json == NULL || !judge->reading->zep10) {
        return;
    }
    const struct zd_pointer at = zd_pointer_member(&whole_document, "extensions");
    if (!zd_json_is(json, ZD_JSON_ARRAY)) {
        add_wrong_type(judge, "extensions", "an array of extensions", json);
        return;
    }
    if (zd_json_count(json) == 0) {
        zd_faults_add(judge->faults, ZD_FAULT_INVALID, "out_of_range", "extensions", &at,
            "one entry or more, or no such member", "an empty array",
            "an empty list of extensions must be omitted");
    }
    for (size_t i = 0; i < zd_json_count(json); i++) {
        const struct zd_pointer place = zd_pointer_element(&at, i);
        judge_extension(judge, zd_json_element(json, i), i, &place);
    }
}

/* An extension that lists levels wins. */
static void find_ome_levels(const struct document_judge *judge)
{
    struct zd_meta *meta = judge->meta;
    if (meta->type != ZD_NODE_GROUP || meta->view.n_levels > 0 || meta->attributes == NULL) {
        return;
    }
    if (zd_ome_levels_find(meta->attributes, &meta->ome_levels, judge->faults) != ZD_OK) {
        judge->faults->out_of_memory = true;
    } else if (meta->ome_levels != NULL) {
        meta->view.level = meta->ome_levels->path;
        meta->view.n_levels = meta->ome_levels->n;
        meta->view.level_at = &meta->ome_levels->at;
    }
}

static void judge_document(struct document_judge *judge)
{
    if (!zd_json_is(judge->document, ZD_JSON_OBJECT)) {
        zd_faults_add(judge->faults, ZD_FAULT_INVALID, "wrong_type", NULL, &whole_document,
            "an object", zd_json_type_name(judge->document),
            "a metadata document must be a JSON object");
        return;
    }
    const bool is_v3 = judge_zarr_format(judge);
    judge_node_type(judge);
    judge_attributes(judge);
    if (!is_v3 || judge->meta->type == ZD_NODE_UNKNOWN) {
        return; /* which members there may be is not known */
    }
    judge_unknown_members(judge);
    judge_nonfinite(judge);
    judge->has_subject = judge->meta->type == ZD_NODE_GROUP ||
                         zd_v3_array_parse(judge->document, judge->reading->judgement, judge->meta);
    judge_extensions(judge);
    if (!zd_meta_is_refused(judge->meta)) {
        const struct zd_subject subject = zd_meta_subject(judge->meta);
        zd_applied_view(&judge->meta->applied, &subject, &judge->meta->view);
        find_ome_levels(judge);
    }
}

/* Unknown members and `extensions` come last: they stay with the document. */
static ZD_RESULT set_rest(const struct document_judge *judge, struct zd_json *document)
{
    for (void *iter = zd_json_next(judge->document, NULL); iter != NULL;
        iter = zd_json_next(judge->document, iter)) {
        const char *name = zd_json_iter_name(iter);
        if (!is_known(judge, name)) {
            ZD_TRY(zd_json_set(document, name, zd_json_ref(zd_json_iter_value(iter))));
        }
    }
    const struct zd_json *extensions = zd_json_member(judge->document, "extensions");
    return extensions == NULL ? ZD_OK
                              : zd_json_set(document, "extensions", zd_json_ref(extensions));
}

/* Built afresh: canonical spellings and order. */
static ZD_RESULT normalise(const struct document_judge *judge, struct zd_json **ret_document)
{
    const struct zd_meta *meta = judge->meta;
    const bool is_array = meta->type == ZD_NODE_ARRAY;
    ZD_AUTO(zd_json) document = zd_json_new_object();
    if (document == NULL) {
        return ZD_NO_MEMORY;
    }
    ZD_TRY(zd_json_set(document, "zarr_format", zd_json_new_u64(3)));
    ZD_TRY(zd_json_set(document, "node_type", zd_json_new_text(is_array ? "array" : "group")));
    if (is_array) {
        ZD_TRY(zd_v3_array_render(meta, document));
    }
    if (meta->attributes != NULL) {
        ZD_TRY(zd_json_set(document, "attributes", zd_json_ref(meta->attributes)));
    }
    if (is_array) {
        ZD_TRY(zd_v3_array_render_names(meta, document));
    }
    ZD_TRY(set_rest(judge, document));
    *ret_document = ZD_TAKE(document);
    return ZD_OK;
}

/* The stored document of a refused node, so that a person can see it. */
static ZD_RESULT keep_stored(const struct zd_json *stored, struct zd_json **ret_document)
{
    ZD_AUTO(zd_json) copy = zd_json_copy(stored);
    if (copy == NULL) {
        return ZD_NO_MEMORY;
    }
    if (zd_json_member(copy, "consolidated_metadata") != NULL) {
        ZD_TRY(zd_json_remove(copy, "consolidated_metadata"));
    }
    *ret_document = zd_json_nonfinite_quote(copy);
    return *ret_document == NULL ? ZD_NO_MEMORY : ZD_OK;
}

enum zd_status zd_v3_document_judge(const struct zd_json *document,
    const struct zd_reading *reading, struct zd_meta *meta, struct zd_error *err)
{
    struct document_judge judge = {
        .document = document,
        .reading = reading,
        .meta = meta,
        .faults = &meta->faults,
    };
    judge_document(&judge);
    if (meta->faults.out_of_memory) {
        return zd_fail(err, ZD_NO_MEMORY, "cannot allocate the contents of a document");
    }
    const enum zd_status status = zd_meta_is_refused(meta) ? keep_stored(document, &meta->document)
                                                           : normalise(&judge, &meta->document);
    return status == ZD_OK ? ZD_OK : zd_fail(err, status, "cannot render the document of a node");
}

enum zd_status zd_v3_document_parse(const struct zd_dialect *dialect,
    const struct zd_json *document, const struct zd_reading *reading, struct zd_meta **ret_meta,
    struct zd_error *err)
{
    ZD_AUTO(zd_meta) meta = zd_meta_new(dialect);
    if (meta == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "cannot allocate a node");
    }
    ZD_TRY(zd_v3_document_judge(document, reading, meta, err));
    *ret_meta = ZD_TAKE(meta);
    return ZD_OK;
}

enum zd_status zd_v3_document_refuse(const struct zd_dialect *dialect, const struct zd_error *why,
    struct zd_meta **ret_meta, struct zd_error *err)
{
    ZD_AUTO(zd_meta) meta = zd_meta_new(dialect);
    if (meta == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "cannot allocate a node");
    }
    zd_faults_add(&meta->faults, ZD_FAULT_INVALID,
        why->status == ZD_TOO_LARGE ? "too_large" : "not_json", NULL, &whole_document, NULL, NULL,
        "%s", why->text);
    if (meta->faults.out_of_memory) {
        return zd_fail(err, ZD_NO_MEMORY, "cannot allocate a fault");
    }
    *ret_meta = ZD_TAKE(meta);
    return ZD_OK;
}
