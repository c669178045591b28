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

static bool judge_name(struct zd_span name, const struct zd_pointer *at, bool strict,
    bool is_shorthand, struct zd_faults *faults)
{
    const enum zd_name_class class = zd_name_classify(name);
    if (class == ZD_NAME_REGISTERED || class == ZD_NAME_URI) {
        return true;
    }
    const struct zd_pointer place = is_shorthand ? *at : zd_pointer_member(at, "name");
    const char *text = name.len == 0 ? "" : (const char *)name.ptr;
    if (class == ZD_NAME_OLD && !strict) {
        zd_faults_add(faults, ZD_FAULT_WARNING, "unregistered_name", text, &place, NAME_FORM, text,
            "the name \"%.*s\" is valid only in an old draft", (int)name.len, text);
        return true;
    }
    zd_faults_add(faults, ZD_FAULT_INVALID, "bad_name", text, &place, NAME_FORM, text,
        "\"%.*s\" is not a valid extension name", (int)name.len, text);
    return false;
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
            "extension definitions do not define the member \"%s\"", member);
    }
}

/* Whether it has a name that can be looked up. */
static bool read_name(const struct zd_json *json, const struct zd_pointer *at, bool strict,
    struct zd_definition *definition, struct zd_faults *faults)
{
    const struct zd_json *name = zd_json_member(json, "name");
    const struct zd_pointer place = zd_pointer_member(at, "name");
    if (zd_json_is(name, ZD_JSON_STRING)) {
        definition->name = zd_json_string(name);
        return judge_name(zd_json_string_span(name), at, strict, false, faults);
    }
    zd_faults_add(faults, ZD_FAULT_INVALID, name == NULL ? "missing_member" : "wrong_type", "name",
        &place, "a string", name == NULL ? NULL : zd_json_type_name(name),
        name == NULL ? "the extension definition lacks the member \"name\""
                     : "the name of an extension must be a string");
    return false;
}

/* The members of the object form; what is faulty keeps its default. False: without a name and a
 * configuration that can be read, nothing more can be judged. */
static bool judge_members(const struct zd_json *json, const struct zd_pointer *at, bool strict,
    struct zd_definition *definition, struct zd_faults *faults)
{
    const bool has_name = read_name(json, at, strict, definition, faults);
    const struct zd_json *configuration = zd_json_member(json, "configuration");
    const bool is_readable = configuration == NULL || zd_json_is(configuration, ZD_JSON_OBJECT);
    if (!is_readable) {
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
    return has_name && is_readable;
}

enum zd_status zd_definition_parse(const struct zd_json *json, const struct zd_pointer *at,
    bool strict, struct zd_definition *ret_definition, struct zd_faults *faults)
{
    struct zd_definition definition = {.must_understand = true};
    bool is_usable = false;
    if (zd_json_is(json, ZD_JSON_STRING)) {
        /* Zarr v3.1: a string is short for an object with only that name. */
        definition.name = zd_json_string(json);
        definition.is_shorthand = true;
        is_usable = judge_name(zd_json_string_span(json), at, strict, true, faults);
    } else if (zd_json_is(json, ZD_JSON_OBJECT)) {
        is_usable = judge_members(json, at, strict, &definition, faults);
    } else {
        zd_faults_add(faults, ZD_FAULT_INVALID, json == NULL ? "missing_member" : "wrong_type",
            NULL, at, DEFINITION_FORM, json == NULL ? NULL : zd_json_type_name(json),
            "an extension definition must be a string or an object");
    }
    if (!is_usable || faults->out_of_memory) {
        return ZD_INVALID;
    }
    *ret_definition = definition;
    return ZD_OK;
}
