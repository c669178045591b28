/* Writes the documents of Zarr v2: `.zarray` or `.zgroup`, and `.zattrs` where there are
 * attributes.
 */
#include "core/dialect/v2/v2_write.h"

#include <string.h>

#include "core/base/emit.h"
#include "core/base/json_edit.h"
#include "core/base/json_grammar.h"
#include "core/dialect/v2/v2_array.h"
#include "core/dialect/v2/v2_consolidated.h"
#include "core/dialect/v2/v2_documents.h"
#include "core/dialect/v2/v2_listing_write.h"
#include "core/dialect/v2/v2_zarray.h"

#define FORMAT     2U
#define EMPTY      "{}"
#define ATTRIBUTES "attributes"
#define NAMES      "dimension_names"

static const struct zd_pointer whole_document = {.text = ""};

/* ---- names of dimensions ---- */

/* How xarray says them; which v2 itself does not. */
enum naming {
    NAMES_ABSENT, /* the document does not say */
    NAMES_NONE,   /* no axis has one */
    NAMES_ALL,
    NAMES_REFUSED,
};

static enum naming refuse_names(
    struct zd_faults *faults, const struct zd_pointer *at, const struct zd_json *found)
{
    zd_faults_add(faults, ZD_FAULT_INVALID, "not_in_dialect", NAMES, at, "a name",
        zd_json_type_name(found), "Zarr v2 names all dimensions or none: name this one, too");
    return NAMES_REFUSED;
}

static enum naming judge_names(const struct zd_json *names, struct zd_faults *faults)
{
    const struct zd_pointer at = zd_pointer_member(&whole_document, NAMES);
    const size_t n = zd_json_count(names);
    size_t n_names = 0;
    size_t nameless = 0;
    if (names == NULL) {
        return NAMES_ABSENT;
    }
    if (zd_json_is(names, ZD_JSON_NULL)) {
        return NAMES_NONE;
    }
    if (!zd_json_is(names, ZD_JSON_ARRAY)) {
        return refuse_names(faults, &at, names);
    }
    for (size_t i = 0; i < n; i++) {
        const struct zd_json *name = zd_json_element(names, i);
        if (zd_json_string(name) != NULL) {
            n_names++;
        } else {
            nameless = i;
        }
        if (zd_json_string(name) == NULL && !zd_json_is(name, ZD_JSON_NULL)) {
            const struct zd_pointer place = zd_pointer_element(&at, i);
            return refuse_names(faults, &place, name);
        }
    }
    if (n_names == n) {
        return NAMES_ALL;
    }
    if (n_names == 0) {
        return NAMES_NONE;
    }
    const struct zd_pointer place = zd_pointer_element(&at, nameless);
    return refuse_names(faults, &place, zd_json_element(names, nameless));
}

/* The attribute must not say other names than the document. */
static void judge_attribute(
    const struct zd_json *attributes, const struct zd_json *names, struct zd_faults *faults)
{
    const struct zd_json *said = zd_json_member(attributes, ZD_V2_DIMENSIONS);
    if (said != NULL && !zd_json_equal(said, names)) {
        const struct zd_pointer all = zd_pointer_member(&whole_document, ATTRIBUTES);
        const struct zd_pointer at = zd_pointer_member(&all, ZD_V2_DIMENSIONS);
        zd_faults_add(faults, ZD_FAULT_INVALID, "not_in_dialect", ZD_V2_DIMENSIONS, &at, NAMES,
            zd_json_type_name(said),
            "Zarr v2 keeps dimension_names in this attribute: omit the attribute, or make both "
            "equal");
    }
}

/* ---- whole nodes ---- */

static void emit_document(
    struct zd_document_texts *out, size_t number, const struct zd_json *document)
{
    struct zd_emit emit;
    zd_emit_init(&emit, &out->text[number], !out->is_dense);
    zd_emit_json(&emit, document);
    out->present[number] = true;
}

static ZD_RESULT render_group(struct zd_document_texts *out)
{
    ZD_AUTO(zd_json) group = zd_json_new_object();
    if (group == NULL) {
        return ZD_NO_MEMORY;
    }
    ZD_TRY(zd_json_set(group, "zarr_format", zd_json_new_u64(FORMAT)));
    emit_document(out, ZD_V2_GROUP, group);
    return ZD_OK;
}

static ZD_RESULT render_array(
    const struct zd_json *document, struct zd_document_texts *out, struct zd_faults *faults)
{
    ZD_AUTO(zd_json) zarray = NULL;
    ZD_TRY(zd_v2_zarray_make(document, &zarray, faults));
    emit_document(out, ZD_V2_ARRAY, zarray);
    return ZD_OK;
}

static ZD_RESULT render_attributes(
    const struct zd_json *document, struct zd_document_texts *out, struct zd_faults *faults)
{
    const struct zd_json *given = zd_json_member(document, ATTRIBUTES);
    const struct zd_json *names = zd_json_member(document, NAMES);
    ZD_AUTO(zd_json) attributes = given == NULL ? zd_json_new_object() : zd_json_copy(given);
    if (attributes == NULL) {
        return ZD_NO_MEMORY;
    }
    if (judge_names(names, faults) == NAMES_ALL) {
        judge_attribute(given, names, faults);
        ZD_TRY(zd_json_set(attributes, ZD_V2_DIMENSIONS, zd_json_ref(names)));
    }
    if (zd_json_count(attributes) > 0) {
        emit_document(out, ZD_V2_ATTRIBUTES, attributes);
    }
    return ZD_OK;
}

static ZD_RESULT render(
    const struct zd_json *document, struct zd_document_texts *out, struct zd_faults *faults)
{
    const struct zd_span type = zd_json_string_span(zd_json_member(document, "node_type"));
    ZD_TRY(zd_span_is(type, "array") ? render_array(document, out, faults) : render_group(out));
    return render_attributes(document, out, faults);
}

static void drop_others(struct zd_document_texts *out)
{
    for (size_t i = 0; i < ZD_V2_N_DOCUMENTS; i++) {
        out->dropped[i] = !out->present[i];
    }
}

/* Keep the listing of the group, with the new documents of the group itself. */
static void keep_listing(const struct zd_stored_listing *listing, struct zd_document_texts *out)
{
    struct zd_documents own = {0};
    for (size_t i = 0; i < ZD_V2_LISTING; i++) {
        own.present[i] = out->present[i];
        own.text[i] = out->present[i] ? zd_text_span(&out->text[i]) : own.text[i];
    }
    zd_v2_listing_write_set(&own, listing, out);
}

void zd_v2_render(const struct zd_json *document, const struct zd_stored_listing *listing,
    struct zd_document_texts *out, struct zd_faults *faults)
{
    if (render(document, out, faults) != ZD_OK) {
        out->text[0].status = ZD_NO_MEMORY;
    } else if (listing != NULL && out->present[ZD_V2_GROUP] &&
               zd_stored_listing_is_told_by(listing, zd_v2_consolidated_tell)) {
        keep_listing(listing, out);
    }
    drop_others(out);
}

/* ---- documents of v2, as clients give them ---- */

/* A group has the format only; what is there besides may be of any writer. */
static bool is_array(const struct zd_json *body)
{
    static const char *const members[] = {"shape", "chunks", "dtype", "compressor", "fill_value",
        "order", "filters", "dimension_separator", NULL};
    for (size_t i = 0; members[i] != NULL; i++) {
        if (zd_json_member(body, members[i]) != NULL) {
            return true;
        }
    }
    return false;
}

static ZD_RESULT take(const struct zd_json *body, struct zd_document_texts *out)
{
    const struct zd_json *attributes = zd_json_member(body, ATTRIBUTES);
    ZD_AUTO(zd_json) document = zd_json_copy(body);
    if (document == NULL) {
        return ZD_NO_MEMORY;
    }
    if (attributes != NULL) {
        ZD_TRY(zd_json_remove(document, ATTRIBUTES));
    }
    emit_document(out, is_array(body) ? ZD_V2_ARRAY : ZD_V2_GROUP, document);
    if (!zd_json_is(attributes, ZD_JSON_OBJECT) ? attributes != NULL
                                                : zd_json_count(attributes) > 0) {
        emit_document(out, ZD_V2_ATTRIBUTES, attributes);
    }
    drop_others(out);
    return ZD_OK;
}

enum zd_status zd_v2_take(
    struct zd_span text, const struct zd_json_limits *limits, struct zd_document_texts *out)
{
    ZD_AUTO(zd_json) body = NULL;
    uint64_t format = 0;
    const enum zd_status status = zd_json_parse(text, limits, &body, NULL);
    if (status != ZD_OK) {
        return status == ZD_NO_MEMORY ? status : ZD_NOT_FOUND;
    }
    if (!zd_json_u64(zd_json_member(body, "zarr_format"), &format) || format != FORMAT) {
        return ZD_NOT_FOUND;
    }
    return take(body, out);
}

/* ---- patches ---- */

/* A patch of stored documents. */
struct patching {
    const struct zd_documents *stored;
    const struct zd_json *patch;
    struct zd_document_texts *out;
    struct zd_faults *faults;
};

static void refuse_member(const struct patching *patching, const char *name, const char *why)
{
    const struct zd_pointer at = zd_pointer_member(&whole_document, name);
    zd_faults_add(patching->faults, ZD_FAULT_INVALID, "not_in_dialect", name, &at, "nothing",
        zd_json_type_name(zd_json_member(patching->patch, name)), "%s", why);
}

static void judge_members(const struct patching *patching)
{
    const bool is_of_array = patching->stored->present[ZD_V2_ARRAY];
    const struct zd_json *extensions = zd_json_member(patching->patch, "extensions");
    if (extensions != NULL && !zd_json_is(extensions, ZD_JSON_NULL)) {
        refuse_member(patching, "extensions", "Zarr v2 has no extensions: omit them");
    }
    if (!is_of_array && zd_json_member(patching->patch, "shape") != NULL) {
        refuse_member(patching, "shape", "a group has no shape");
    }
    if (!is_of_array && zd_json_member(patching->patch, NAMES) != NULL) {
        refuse_member(patching, NAMES, "a group has no dimensions");
    }
}

/* Adds one member to an object, or removes it where the value is null. */
static ZD_RESULT merge_member(
    struct zd_span target, const char *name, const struct zd_json *value, struct zd_text *out)
{
    ZD_AUTO(zd_json) patch = zd_json_new_object();
    if (patch == NULL) {
        return ZD_NO_MEMORY;
    }
    ZD_TRY(zd_json_set(patch, name, zd_json_ref(value)));
    zd_json_merge(target, patch, out);
    return ZD_OK;
}

static struct zd_span stored_attributes(const struct patching *patching)
{
    const struct zd_documents *stored = patching->stored;
    return stored->present[ZD_V2_ATTRIBUTES] ? stored->text[ZD_V2_ATTRIBUTES] : zd_span_of(EMPTY);
}

/* Without attributes the dimensions keep their names, unless those are patched, too. */
static void remove_attributes(const struct patching *patching, struct zd_text *out)
{
    const struct zd_span attributes = stored_attributes(patching);
    struct zd_span names;
    struct zd_emit emit;
    zd_emit_init(&emit, out, !patching->out->is_dense);
    zd_emit_object(&emit);
    if (patching->stored->present[ZD_V2_ARRAY] &&
        zd_json_grammar_find(attributes, ZD_V2_DIMENSIONS, &names)) {
        zd_emit_key(&emit, ZD_V2_DIMENSIONS);
        zd_emit_raw(&emit, names);
    }
    zd_emit_object_end(&emit);
}

static void patch_attributes(const struct patching *patching, struct zd_text *out)
{
    const struct zd_json *attributes = zd_json_member(patching->patch, ATTRIBUTES);
    if (attributes == NULL) {
        const struct zd_span stored = stored_attributes(patching);
        zd_text_add_bytes(out, stored.ptr, stored.len);
    } else if (zd_json_is(attributes, ZD_JSON_NULL)) {
        remove_attributes(patching, out);
    } else if (zd_json_is(attributes, ZD_JSON_OBJECT)) {
        zd_json_merge(stored_attributes(patching), attributes, out);
    } else {
        const struct zd_pointer at = zd_pointer_member(&whole_document, ATTRIBUTES);
        zd_faults_add(patching->faults, ZD_FAULT_INVALID, "wrong_type", ATTRIBUTES, &at,
            "an object", zd_json_type_name(attributes), "attributes must be an object");
        zd_text_add(out, EMPTY);
    }
}

/* Where the shape is faulty nothing is said of the names. */
static ZD_RESULT judge_rank(const struct patching *patching, const struct zd_json *names)
{
    static const struct zd_json_limits limits = {
        .bytes_max = SIZE_MAX, .nodes_max = 2 * (size_t)ZD_RANK_MAX, .depth_max = 4};
    const struct zd_json *shape = zd_json_member(patching->patch, "shape");
    ZD_AUTO(zd_json) stored = NULL;
    struct zd_span text;
    if (shape == NULL &&
        zd_json_grammar_find(patching->stored->text[ZD_V2_ARRAY], "shape", &text)) {
        ZD_TRY(zd_json_parse(text, &limits, &stored, NULL) == ZD_NO_MEMORY ? ZD_NO_MEMORY : ZD_OK);
        shape = stored;
    }
    if (zd_json_is(shape, ZD_JSON_ARRAY) && zd_json_count(shape) != zd_json_count(names)) {
        const struct zd_pointer at = zd_pointer_member(&whole_document, NAMES);
        zd_faults_add(patching->faults, ZD_FAULT_INVALID, "rank_mismatch", NAMES, &at, NULL, NULL,
            "dimension_names has %zu names, but the array has %zu dimensions", zd_json_count(names),
            zd_json_count(shape));
    }
    return ZD_OK;
}

static ZD_RESULT patch_names(
    const struct patching *patching, struct zd_span attributes, struct zd_text *out)
{
    const struct zd_json *names = zd_json_member(patching->patch, NAMES);
    if (zd_json_is(names, ZD_JSON_ARRAY)) {
        ZD_TRY(judge_rank(patching, names));
    }
    switch (judge_names(names, patching->faults)) {
    case NAMES_ALL:
        judge_attribute(zd_json_member(patching->patch, ATTRIBUTES), names, patching->faults);
        return merge_member(attributes, ZD_V2_DIMENSIONS, names, out);
    case NAMES_NONE: {
        ZD_AUTO(zd_json) none = zd_json_new_null();
        return none == NULL ? ZD_NO_MEMORY : merge_member(attributes, ZD_V2_DIMENSIONS, none, out);
    }
    case NAMES_ABSENT:
    case NAMES_REFUSED:
        break;
    }
    return zd_text_add_bytes(out, attributes.ptr, attributes.len);
}

static bool is_empty_object(struct zd_span text)
{
    struct zd_json_extent member;
    size_t at = 0;
    return zd_json_grammar_is_object(text) && !zd_json_grammar_next(text, &at, &member);
}

static ZD_RESULT write_attributes(const struct patching *patching)
{
    struct zd_document_texts *out = patching->out;
    struct zd_text *text = &out->text[ZD_V2_ATTRIBUTES];
    if (zd_json_member(patching->patch, ATTRIBUTES) == NULL &&
        zd_json_member(patching->patch, NAMES) == NULL) {
        return ZD_OK;
    }
    ZD_SCOPED_TEXT(attributes, text->len_max);
    patch_attributes(patching, &attributes);
    ZD_TRY(attributes.status);
    ZD_TRY(patch_names(patching, zd_text_span(&attributes), text));
    ZD_TRY(text->status);
    const bool is_empty = is_empty_object(zd_text_span(text));
    out->present[ZD_V2_ATTRIBUTES] = !is_empty;
    out->dropped[ZD_V2_ATTRIBUTES] = is_empty;
    return ZD_OK;
}

/* A patch that changes nothing stores the node's own document all the same, as in v3. */
static ZD_RESULT write_node(const struct patching *patching)
{
    struct zd_document_texts *out = patching->out;
    const struct zd_json *shape = zd_json_member(patching->patch, "shape");
    const size_t own = patching->stored->present[ZD_V2_ARRAY] ? ZD_V2_ARRAY : ZD_V2_GROUP;
    const struct zd_span stored = patching->stored->text[own];
    out->present[own] = shape != NULL || !out->present[ZD_V2_ATTRIBUTES];
    if (shape != NULL) {
        return merge_member(stored, "shape", shape, &out->text[own]);
    }
    return zd_text_add_bytes(&out->text[own], stored.ptr, stored.len);
}

void zd_v2_patch(const struct zd_documents *stored, const struct zd_json *patch,
    struct zd_document_texts *out, struct zd_faults *faults)
{
    const struct patching patching = {
        .stored = stored, .patch = patch, .out = out, .faults = faults};
    enum zd_status status = ZD_OK;
    judge_members(&patching);
    if (!zd_faults_refuse(faults)) {
        status = write_attributes(&patching);
    }
    if (status == ZD_OK && !zd_faults_refuse(faults)) {
        status = write_node(&patching);
    }
    if (status == ZD_OK && !zd_faults_refuse(faults) && !stored->present[ZD_V2_ARRAY]) {
        zd_v2_listing_write_own(stored, out); /* it has the group, too */
    }
    if (status != ZD_OK) {
        out->text[0].status = status;
    }
}

/* ---- limits ---- */

enum zd_status zd_v2_check(
    const struct zd_documents *documents, const struct zd_reading *reading, struct zd_error *err)
{
    for (size_t i = 0; i < ZD_V2_N_DOCUMENTS; i++) {
        const struct zd_json_limits limits =
            i == ZD_V2_LISTING ? zd_dialect_listing_limits(reading, ZD_V2_LISTING_LEVELS)
                               : reading->limits;
        if (documents->present[i]) {
            ZD_TRY(zd_json_check_limits(documents->text[i], &limits, err));
        }
    }
    return ZD_OK;
}
