/* Extension definitions: their form. */
#include "core/extension/definition.h"

#include <string.h>

#include "core/extension/name.h"

#define DEFINITION_FORM "a name, or an object with a member \"name\""
#define NAME_FORM       "[a-z][a-z0-9-_.]+, or a URI without query and fragment"

const char *zd_definition_unsupported_code(enum zd_point point)
{
    switch (point) {
    case ZD_POINT_DATA_TYPE:
        return "unsupported_data_type";
    case ZD_POINT_CHUNK_GRID:
    case ZD_POINT_CHUNK_KEY_ENCODING:
        return "unsupported_grid";
    case ZD_POINT_CODEC:
        return "unsupported_codec";
    case ZD_POINT_STORAGE_TRANSFORMER:
    case ZD_POINT_GENERIC:
        return "unsupported_extension";
    }
    return "unsupported_extension";
}

static void judge_name(struct zd_span name, const struct zd_pointer *at, bool strict,
    bool is_shorthand, struct zd_faults *faults)
{
    const enum zd_name_class class = zd_name_classify(name);
    if (class == ZD_NAME_REGISTERED || class == ZD_NAME_URI) {
        return;
    }
    const struct zd_pointer place = is_shorthand ? *at : zd_pointer_member(at, "name");
    const char *text = name.len == 0 ? "" : (const char *)name.ptr;
    if (class == ZD_NAME_OLD && !strict) {
        zd_faults_add(faults, ZD_FAULT_WARNING, "unregistered_name", text, &place, NAME_FORM, text,
            "the name \"%.*s\" is valid only by an old draft", (int)name.len, text);
        return;
    }
    zd_faults_add(faults, ZD_FAULT_INVALID, "bad_name", text, &place, NAME_FORM, text,
        "\"%.*s\" is not a valid extension name", (int)name.len, text);
}

static void judge_surplus(const struct zd_json *json, const struct zd_pointer *at, bool strict,
    struct zd_definition *definition, struct zd_faults *faults)
{
    for (void *iter = zd_json_next(json, NULL); iter != NULL; iter = zd_json_next(json, iter)) {
        const char *member = zd_json_iter_name(iter);
        if (strcmp(member, "name") == 0 || strcmp(member, "configuration") == 0 ||
            strcmp(member, "must_understand") == 0) {
            continue;
        }
        if (!strict && !definition->must_understand) {
            definition->has_surplus = true;
            continue;
        }
        const struct zd_pointer place = zd_pointer_member(at, member);
        zd_faults_add(faults, ZD_FAULT_INVALID, "unknown_member", member, &place,
            "name, configuration, must_understand", member,
            "an extension definition has no member \"%s\"", member);
    }
}

/* The members of the object form; what is faulty keeps its default. */
static void judge_members(const struct zd_json *json, const struct zd_pointer *at, bool strict,
    struct zd_definition *definition, struct zd_faults *faults)
{
    const struct zd_json *name = zd_json_member(json, "name");
    const struct zd_pointer name_at = zd_pointer_member(at, "name");
    if (name == NULL) {
        zd_faults_add(faults, ZD_FAULT_INVALID, "missing_member", "name", &name_at, "a string",
            NULL, "the extension definition has no member \"name\"");
    } else if (!zd_json_is(name, ZD_JSON_STRING)) {
        zd_faults_add(faults, ZD_FAULT_INVALID, "wrong_type", "name", &name_at, "a string",
            zd_json_type_name(name), "the name of an extension must be a string");
    } else {
        definition->name = zd_json_string(name);
        judge_name(zd_json_string_span(name), at, strict, false, faults);
    }
    const struct zd_json *configuration = zd_json_member(json, "configuration");
    if (configuration != NULL && !zd_json_is(configuration, ZD_JSON_OBJECT)) {
        const struct zd_pointer place = zd_pointer_member(at, "configuration");
        zd_faults_add(faults, ZD_FAULT_INVALID, "wrong_type", "configuration", &place, "an object",
            zd_json_type_name(configuration), "a configuration must be an object");
    } else {
        definition->configuration = configuration;
    }
    const struct zd_json *flag = zd_json_member(json, "must_understand");
    if (flag != NULL && !zd_json_is(flag, ZD_JSON_BOOL)) {
        const struct zd_pointer place = zd_pointer_member(at, "must_understand");
        zd_faults_add(faults, ZD_FAULT_INVALID, "wrong_type", "must_understand", &place,
            "true or false", zd_json_type_name(flag), "must_understand must be a boolean");
    }
    definition->must_understand = !zd_json_is_false(flag);
    judge_surplus(json, at, strict, definition, faults);
}

enum zd_status zd_definition_parse(const struct zd_json *json, const struct zd_pointer *at,
    bool strict, struct zd_definition *ret_definition, struct zd_faults *faults)
{
    struct zd_definition definition = {.must_understand = true};
    const size_t n_before = faults->n_invalid;
    if (zd_json_is(json, ZD_JSON_STRING)) {
        /* Zarr v3.1: a string is short for an object with only that name. */
        definition.name = zd_json_string(json);
        definition.is_shorthand = true;
        judge_name(zd_json_string_span(json), at, strict, true, faults);
    } else if (zd_json_is(json, ZD_JSON_OBJECT)) {
        judge_members(json, at, strict, &definition, faults);
    } else {
        zd_faults_add(faults, ZD_FAULT_INVALID, json == NULL ? "missing_member" : "wrong_type",
            NULL, at, DEFINITION_FORM, json == NULL ? NULL : zd_json_type_name(json),
            "an extension definition must be a string or an object");
    }
    if (faults->n_invalid > n_before || faults->out_of_memory) {
        return ZD_INVALID;
    }
    *ret_definition = definition;
    return ZD_OK;
}
