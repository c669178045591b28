/* Projection: fields parsed, matched, and documents cut down to them. */
#include "server/http/fields.h"

#include <string.h>

#define PATH_BYTES_MAX 4096

static ZD_RESULT judge_field(const char *field, const char *const *known, struct zd_error *err)
{
    const size_t len = strcspn(field, ".");
    uint32_t n_names = 1;
    for (const char *at = field; *at != '\0'; at++) {
        n_names += *at == '.' ? 1 : 0;
    }
    for (size_t i = 0; known[i] != NULL; i++) {
        if (strlen(known[i]) == len && memcmp(known[i], field, len) == 0 &&
            n_names <= ZD_FIELD_DEPTH_MAX) {
            return ZD_OK;
        }
    }
    ZD_SCOPED_TEXT(names, ZD_FACT_TEXT_BYTES);
    for (size_t i = 0; known[i] != NULL; i++) {
        zd_text_addf(&names, "%s%s", i == 0 ? "" : ", ", known[i]);
    }
    const enum zd_status status =
        zd_fail_name(err, "fields", "fields: unknown field \"%s\"; expected %s", field, names.at);
    zd_fact_expected(err, "%s", names.at);
    zd_fact_found(err, "%s", field);
    return status;
}

static ZD_RESULT split(struct zd_fields *fields, const char *const *known, struct zd_error *err)
{
    char *at = fields->memory;
    while (at != NULL) {
        char *comma = strchr(at, ',');
        if (comma != NULL) {
            *comma = '\0';
        }
        if (fields->n == ZD_FIELDS_MAX) {
            return zd_fail(err, ZD_INVALID, "fields: more than %d fields", ZD_FIELDS_MAX);
        }
        ZD_TRY(judge_field(at, known, err));
        fields->field[fields->n++] = at;
        at = comma == NULL ? NULL : comma + 1;
    }
    return ZD_OK;
}

enum zd_status zd_fields_parse(struct zd_span text, const char *const *known,
    struct zd_fields *ret_fields, struct zd_error *err)
{
    struct zd_fields fields = {.n = 0};
    if (text.len > 0) {
        fields.memory = zd_strndup((const char *)text.ptr, text.len);
        if (fields.memory == NULL) {
            return zd_fail(err, ZD_NO_MEMORY, "cannot allocate %zu bytes of fields", text.len);
        }
        const enum zd_status status = split(&fields, known, err);
        if (status != ZD_OK) {
            zd_fields_done(&fields);
            return status;
        }
    }
    *ret_fields = fields;
    return ZD_OK;
}

void zd_fields_done(struct zd_fields *fields)
{
    zd_free(fields->memory);
    *fields = (struct zd_fields){.n = 0};
}

/* Whether `longer` is `path` or something below it. */
static bool is_at_or_below(const char *longer, const char *path)
{
    const size_t len = strlen(path);
    return strncmp(longer, path, len) == 0 && (longer[len] == '\0' || longer[len] == '.');
}

enum zd_field_match zd_fields_match(const struct zd_fields *fields, const char *path)
{
    enum zd_field_match match = fields->n == 0 ? ZD_FIELD_WHOLE : ZD_FIELD_OUT;
    for (uint32_t i = 0; i < fields->n; i++) {
        if (is_at_or_below(path, fields->field[i])) {
            return ZD_FIELD_WHOLE;
        }
        if (is_at_or_below(fields->field[i], path)) {
            match = ZD_FIELD_PART;
        }
    }
    return match;
}

/* The recursion ends with the names of the longest field: ZD_FIELD_DEPTH_MAX. */
void zd_fields_emit(const struct zd_fields *fields, const char *path, const char *name,
    const struct zd_json *json, struct zd_emit *emit)
{
    const enum zd_field_match match = zd_fields_match(fields, path);
    if (match == ZD_FIELD_WHOLE) {
        zd_emit_member_json(emit, name, json);
    }
    if (match != ZD_FIELD_PART || !zd_json_is(json, ZD_JSON_OBJECT)) {
        return;
    }
    zd_emit_member_object(emit, name);
    for (void *iter = zd_json_next(json, NULL); iter != NULL; iter = zd_json_next(json, iter)) {
        const char *member = zd_json_iter_name(iter);
        ZD_SCOPED_TEXT(below, PATH_BYTES_MAX);
        zd_text_addf(&below, "%s.%s", path, member);
        /* A path longer than any field is not selected. */
        if (below.status == ZD_OK) {
            zd_fields_emit(fields, below.at, member, zd_json_iter_value(iter), emit);
        } else if (below.status != ZD_TOO_LARGE) {
            emit->text->status = below.status;
        }
    }
    zd_emit_object_end(emit);
}
