/* The entry point of a hierarchy of the drafts of 2019 to January 2023. */
#include "core/dialect/v3/draft_entry.h"

#include <string.h>

#include "core/base/scan.h"

#define BYTES_MAX 65536 /* an entry point has a few hundred */
#define SUFFIX    ".json"

static const struct zd_json_limits limits = {
    .bytes_max = BYTES_MAX, .nodes_max = 4000, .depth_max = 32};

static const struct zd_pointer whole_document = {.text = ""};

static void skip_white(struct zd_scan *scan)
{
    zd_scan_skip_spaces(scan);
    while (zd_scan_char(scan, '\n') || zd_scan_char(scan, '\r')) {
        zd_scan_skip_spaces(scan);
    }
}

bool zd_draft_entry_may_be(struct zd_span text)
{
    static const char name[] = "\"zarr_format\"";
    if (text.len == 0 || text.len > BYTES_MAX) {
        return false;
    }
    struct zd_scan scan = zd_scan_of(text);
    const char *found = NULL;
    while ((found = memmem(scan.at, (size_t)(scan.end - scan.at), name, sizeof name - 1)) != NULL) {
        scan.at = found + sizeof name - 1;
        skip_white(&scan);
        if (!zd_scan_char(&scan, ':')) {
            continue;
        }
        skip_white(&scan);
        if (zd_scan_char(&scan, '"')) {
            return true;
        }
    }
    return false;
}

static enum zd_draft draft_of(const struct zd_json *entry)
{
    const struct zd_json *encoding = zd_json_member(entry, "metadata_encoding");
    const char *text = zd_json_string(encoding);
    if (zd_json_string(zd_json_member(entry, "zarr_format")) == NULL) {
        return ZD_DRAFT_NONE;
    }
    if (text != NULL && strcmp(text, "application/json") == 0) {
        return ZD_DRAFT_2019;
    }
    if ((encoding == NULL || text != NULL) &&
        zd_json_member(entry, "metadata_key_suffix") != NULL) {
        return ZD_DRAFT_2020;
    }
    return zd_json_member(encoding, "type") != NULL ? ZD_DRAFT_2023_01 : ZD_DRAFT_NONE;
}

enum zd_draft zd_draft_entry_tell(struct zd_span text)
{
    ZD_AUTO(zd_json) entry = NULL;
    if (!zd_draft_entry_may_be(text) || zd_json_parse(text, &limits, &entry, NULL) != ZD_OK) {
        return ZD_DRAFT_NONE;
    }
    return draft_of(entry);
}

/* ---- judging ---- */

static void add_fault(struct zd_faults *faults, enum zd_severity severity, const char *code,
    const struct zd_pointer *at, const char *expected, const char *found)
{
    zd_faults_add(faults, severity, code, ZD_DRAFT_ENTRY_KEY, at, expected, found,
        "zarr.json, the entry point of the hierarchy: %s must be %s", at->text + 1, expected);
}

/* The drafts: a URI that ends in the version. Other minor versions are read. */
static bool is_version_3(const char *uri)
{
    const char *last = strrchr(uri, '/');
    return last != NULL && strncmp(last, "/3.", 3) == 0 && last[3] != '\0' &&
           strspn(last + 3, "0123456789") == strlen(last + 3);
}

static void judge_version(const struct zd_json *entry, struct zd_faults *faults)
{
    const char *uri = zd_json_string(zd_json_member(entry, "zarr_format"));
    const struct zd_pointer at = zd_pointer_member(&whole_document, "zarr_format");
    if (!is_version_3(uri)) {
        add_fault(faults, ZD_FAULT_UNSUPPORTED, "unsupported_version", &at,
            "a URI that ends in /3.0", uri);
    }
}

static void judge_suffix(
    const struct zd_json *holder, const struct zd_pointer *holder_at, struct zd_faults *faults)
{
    const struct zd_json *suffix = zd_json_member(holder, "metadata_key_suffix");
    const struct zd_pointer at = zd_pointer_member(holder_at, "metadata_key_suffix");
    const char *text = zd_json_string(suffix);
    if (text == NULL) {
        add_fault(faults, ZD_FAULT_INVALID, suffix == NULL ? "missing_member" : "wrong_type", &at,
            "a string", zd_json_type_name(suffix));
    } else if (strcmp(text, SUFFIX) != 0) {
        add_fault(faults, ZD_FAULT_UNSUPPORTED, "unsupported_extension", &at,
            "\"" SUFFIX "\", the only one that this version reads", text);
    }
}

/* January 2023: an object; other encodings are extensions. */
static void judge_encoding(const struct zd_json *entry, struct zd_faults *faults)
{
    const struct zd_json *encoding = zd_json_member(entry, "metadata_encoding");
    const struct zd_pointer encoding_at = zd_pointer_member(&whole_document, "metadata_encoding");
    const struct zd_pointer at = zd_pointer_member(&encoding_at, "type");
    const char *type = zd_json_string(zd_json_member(encoding, "type"));
    if (type == NULL) {
        add_fault(faults, ZD_FAULT_INVALID, "wrong_type", &at, "a string",
            zd_json_type_name(zd_json_member(encoding, "type")));
    } else if (strcmp(type, "json") != 0 || zd_json_member(encoding, "extension") != NULL) {
        add_fault(faults, ZD_FAULT_UNSUPPORTED, "unsupported_extension", &at, "\"json\"", type);
    }
    judge_suffix(encoding, &encoding_at, faults);
}

static void judge_extension(const struct zd_json *extension, const struct zd_pointer *at,
    const char *name, struct zd_faults *faults)
{
    const char *uri = zd_json_string(zd_json_member(extension, "extension"));
    const struct zd_json *flag = zd_json_member(extension, "must_understand");
    if (uri == NULL) {
        const struct zd_pointer place = zd_pointer_member(at, "extension");
        zd_faults_add(faults, ZD_FAULT_INVALID, "wrong_type", name, &place, "a URI",
            zd_json_type_name(zd_json_member(extension, "extension")),
            "an extension must be an object with the URI of the extension");
    } else if (flag != NULL && !zd_json_is(flag, ZD_JSON_BOOL)) {
        const struct zd_pointer place = zd_pointer_member(at, "must_understand");
        zd_faults_add(faults, ZD_FAULT_INVALID, "wrong_type", uri, &place, "true or false",
            zd_json_type_name(flag), "must_understand must be a boolean");
    } else if (zd_json_is_false(flag)) {
        zd_faults_add(faults, ZD_FAULT_WARNING, "ignored_extension", uri, at, NULL, uri,
            "the unknown extension \"%.128s\" is ignored: its must_understand is false", uri);
    } else {
        zd_faults_add(faults, ZD_FAULT_UNSUPPORTED, "unsupported_extension", uri, at, NULL, uri,
            "the extension \"%.128s\" must be understood and is not known to this server", uri);
    }
}

void zd_draft_entry_judge_extensions(
    const struct zd_json *list, const char *name, struct zd_faults *faults)
{
    const struct zd_pointer at = zd_pointer_member(&whole_document, "extensions");
    if (list != NULL && !zd_json_is(list, ZD_JSON_ARRAY)) {
        zd_faults_add(faults, ZD_FAULT_INVALID, "wrong_type", name, &at, "a list of extensions",
            zd_json_type_name(list), "\"extensions\" must be a list");
        return;
    }
    for (size_t i = 0; i < zd_json_count(list); i++) {
        const struct zd_pointer place = zd_pointer_element(&at, i);
        judge_extension(zd_json_element(list, i), &place, name, faults);
    }
}

enum zd_status zd_draft_entry_judge(
    struct zd_span text, enum zd_draft draft, struct zd_faults *faults)
{
    ZD_AUTO(zd_json) entry = NULL;
    ZD_TRY(zd_json_parse(text, &limits, &entry, NULL));
    judge_version(entry, faults);
    if (draft == ZD_DRAFT_2020) {
        judge_suffix(entry, &whole_document, faults);
    } else if (draft == ZD_DRAFT_2023_01) {
        judge_encoding(entry, faults);
    }
    zd_draft_entry_judge_extensions(
        zd_json_member(entry, "extensions"), ZD_DRAFT_ENTRY_KEY, faults);
    return ZD_OK;
}
