/* The N5 dialect: a directory is a group, or with `dimensions` in its attributes.json a dataset
 * with its blocks below it. It is only read. */
#include "core/dialect/dialect.h"

#include <string.h>

#include "core/base/scan.h"
#include "core/dialect/n5/n5_array.h"
#include "core/dialect/node_keys.h"
#include "core/dialect/v3/v3_document.h"

#define DOCUMENT_NAME "attributes.json"
#define VERSION_MAX   4 /* the highest major version of N5 that there is */

/* Less than any dialect of Zarr: both may describe the same blocks. */
#define BID 5

enum {
    OWN,
    ROOT, /* the version is that of the whole store */
    N_DOCUMENTS,
};

static const struct zd_pointer whole_document = {.text = ""};

extern const struct zd_dialect zd_dialect_n5;

static ZD_RESULT n5_document_key(const char *path, uint32_t i, struct zd_text *key)
{
    if (i == OWN && path[0] != '\0') {
        ZD_TRY(zd_text_add(key, path));
        ZD_TRY(zd_text_add_char(key, '/'));
    }
    return zd_text_add(key, DOCUMENT_NAME);
}

static ZD_RESULT n5_document_path(struct zd_span key, struct zd_text *path)
{
    const size_t len = sizeof DOCUMENT_NAME - 1;
    if (key.len < len || memcmp(key.ptr + key.len - len, DOCUMENT_NAME, len) != 0) {
        return ZD_NOT_FOUND;
    }
    const size_t rest = key.len - len;
    if (rest == 0) {
        return ZD_OK; /* the root's */
    }
    return key.ptr[rest - 1] == '/' ? zd_text_add_bytes(path, key.ptr, rest - 1) : ZD_NOT_FOUND;
}

static bool mentions(struct zd_span text, const char *name)
{
    return text.len > 0 && memmem(text.ptr, text.len, name, strlen(name)) != NULL;
}

/* Whether it may be a document of N5; parsing is for workers. */
static bool looks_like_n5(struct zd_span text)
{
    return mentions(text, "\"n5\"") || mentions(text, "\"dimensions\"");
}

/* Other programs have files of that name, too. */
static int n5_bid(const struct zd_documents *documents)
{
    const bool is_n5 = documents->is_n5 || looks_like_n5(documents->text[ROOT]);
    if (documents->present[OWN]) {
        return is_n5 || looks_like_n5(documents->text[OWN]) ? BID : ZD_BID_UNSURE;
    }
    return is_n5 ? ZD_BID_IMPLIED : 0;
}

/* ---- documents to a node ---- */

/* The stored documents as JSON, and the node they become. */
struct parsing {
    const struct zd_documents *documents;
    const struct zd_reading *reading;
    struct zd_json *json[N_DOCUMENTS]; /* owned; NULL: not there, or not JSON */
    struct zd_meta *meta;              /* borrowed */
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
    if (status != ZD_OK && i == OWN) {
        zd_faults_add(&parsing->meta->faults, ZD_FAULT_INVALID,
            status == ZD_TOO_LARGE ? "too_large" : "not_json", DOCUMENT_NAME, &whole_document, NULL,
            NULL, DOCUMENT_NAME ": %s", why.text);
    }
    return ZD_OK;
}

/* N5 has the version in the root. The first number counts; what is missing counts as 0. */
static void judge_version(const struct parsing *parsing)
{
    const struct zd_json *json = zd_json_member(parsing->json[ROOT], "n5");
    const struct zd_pointer at = zd_pointer_member(&whole_document, "n5");
    struct zd_faults *faults = &parsing->meta->faults;
    if (json == NULL) {
        return;
    }
    const char *text = zd_json_string(json);
    struct zd_scan scan = zd_scan_of(zd_span_of(text == NULL ? "" : text));
    uint64_t major = 0;
    const enum zd_status status = zd_scan_u64(&scan, VERSION_MAX, &major);
    if (status == ZD_TOO_LARGE) {
        zd_faults_add(faults, ZD_FAULT_INVALID, "unsupported_version", "n5", &at,
            "versions up to 4", text,
            "N5 version %.64s is not supported; the latest supported version is 4", text);
    } else if (status != ZD_OK || !(zd_scan_at_end(&scan) || zd_scan_char(&scan, '.'))) {
        zd_faults_add(faults, ZD_FAULT_INVALID, text == NULL ? "wrong_type" : "bad_name", "n5", &at,
            "a version such as \"4.0.0\"", text == NULL ? zd_json_type_name(json) : text,
            "the member \"n5\" of the root must be a version such as \"4.0.0\"");
    }
}

/* Other programs have files of that name, too. */
static bool is_n5(const struct parsing *parsing)
{
    const struct zd_json *root = parsing->json[ROOT];
    return parsing->documents->is_n5 || zd_json_member(root, "n5") != NULL ||
           zd_json_member(root, "dimensions") != NULL ||
           zd_json_member(parsing->json[OWN], "dimensions") != NULL;
}

static void judge_kind(const struct parsing *parsing)
{
    if (!is_n5(parsing)) {
        zd_faults_add(&parsing->meta->faults, ZD_FAULT_UNSUPPORTED, "unknown_dialect",
            DOCUMENT_NAME, &whole_document, "\"n5\" in the root, or \"dimensions\"", NULL,
            "cannot tell whether this " DOCUMENT_NAME " is N5: let the location end in .n5, or set "
            "n5_axes of the dataset");
    }
}

static ZD_RESULT fill_group(const struct parsing *parsing, struct zd_error *err)
{
    struct zd_meta *meta = parsing->meta;
    meta->type = ZD_NODE_GROUP;
    judge_kind(parsing);
    if (zd_meta_is_refused(meta)) {
        return ZD_OK;
    }
    ZD_AUTO(zd_json) document = zd_dialect_new_group();
    if (document == NULL) {
        return ZD_NO_MEMORY;
    }
    ZD_TRY(zd_n5_array_set_attributes(parsing->json[OWN], true, document));
    return zd_v3_document_judge(document, parsing->reading, meta, err);
}

static ZD_RESULT judge_array(
    const struct parsing *parsing, const struct zd_n5_array *array, struct zd_error *err)
{
    struct zd_meta *meta = parsing->meta;
    if (array->document == NULL || zd_meta_is_refused(meta)) {
        return ZD_OK;
    }
    ZD_TRY(zd_v3_document_judge(array->document, parsing->reading, meta, err));
    zd_n5_array_move_faults(array, &meta->faults);
    if (!array->is_reversed || zd_meta_is_refused(meta)) {
        return ZD_OK;
    }
    meta->has_reversed_keys = true;
    return zd_n5_array_show_reversed(meta);
}

static ZD_RESULT fill_array(const struct parsing *parsing, struct zd_error *err)
{
    struct zd_n5_array array = {0};
    parsing->meta->type = ZD_NODE_ARRAY;
    enum zd_status status = zd_n5_array_translate(
        parsing->json[OWN], parsing->reading->is_reversed, &array, &parsing->meta->faults);
    if (status == ZD_OK) {
        status = judge_array(parsing, &array, err);
    }
    zd_n5_array_done(&array);
    return status;
}

/* Attributes are members of the document itself. */
static void move_attributes(struct zd_faults *faults)
{
    const struct zd_pointer attributes = zd_pointer_member(&whole_document, "attributes");
    zd_faults_move(faults, &attributes, &whole_document);
}

static ZD_RESULT fill(struct parsing *parsing, struct zd_error *err)
{
    for (size_t i = 0; i < N_DOCUMENTS; i++) {
        ZD_TRY(parse_text(parsing, i, err));
    }
    const struct zd_json *own = parsing->json[OWN];
    judge_version(parsing);
    if (own != NULL && !zd_json_is(own, ZD_JSON_OBJECT)) {
        zd_faults_add(&parsing->meta->faults, ZD_FAULT_INVALID, "wrong_type", NULL, &whole_document,
            "an object", zd_json_type_name(own), DOCUMENT_NAME " must be a JSON object");
    } else if (zd_json_member(own, "dimensions") != NULL) {
        ZD_TRY(fill_array(parsing, err));
    } else if (own != NULL || !parsing->documents->present[OWN]) {
        ZD_TRY(fill_group(parsing, err));
    }
    move_attributes(&parsing->meta->faults);
    const bool is_shown = zd_meta_is_refused(parsing->meta) && own != NULL;
    return is_shown ? zd_meta_show_stored(parsing->meta, own) : ZD_OK;
}

static ZD_RESULT n5_parse(const struct zd_documents *documents, const struct zd_reading *reading,
    struct zd_meta **ret_meta, struct zd_error *err)
{
    ZD_AUTO(zd_meta) meta = zd_meta_new(&zd_dialect_n5);
    struct parsing parsing = {.documents = documents, .reading = reading, .meta = meta};
    if (meta == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "cannot allocate a node");
    }
    const enum zd_status status = fill(&parsing, err);
    for (size_t i = 0; i < N_DOCUMENTS; i++) {
        zd_json_unref(parsing.json[i]);
    }
    if (status != ZD_OK || meta->faults.out_of_memory) {
        return zd_fail(err, ZD_NO_MEMORY, "cannot allocate the contents of a document");
    }
    *ret_meta = ZD_TAKE(meta);
    return ZD_OK;
}

const struct zd_dialect zd_dialect_n5 = {
    .name = "n5",
    .n_documents = N_DOCUMENTS,
    .is_n5 = true,
    .document_key = n5_document_key,
    .document_path = n5_document_path,
    .bid = n5_bid,
    .parse = n5_parse,
    .chunk_key = zd_node_keys_chunk,
    .chunk_index = zd_node_keys_chunk_index,
    .children_prefix = zd_node_keys_children_prefix,
    .child_name = zd_node_keys_child_name,
};
