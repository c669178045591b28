/* A v3 document under judgement: helpers for its members. */
#include "core/dialect/v3/v3_judge.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/text.h"

#define KNOWN_BYTES 64 /* of the names of all members that a configuration has */

const struct zd_pointer zd_v3_whole = {.text = ""};

/* The value for messages, if it is short; else its type. */
const char *zd_v3_judge_found(const struct zd_json *json, char space[ZD_V3_FOUND_BYTES])
{
    int64_t number = 0;
    uint64_t magnitude = 0;
    if (zd_json_u64(json, &magnitude)) {
        snprintf(space, ZD_V3_FOUND_BYTES, "%" PRIu64, magnitude);
        return space;
    }
    if (zd_json_i64(json, &number)) {
        snprintf(space, ZD_V3_FOUND_BYTES, "%" PRId64, number);
        return space;
    }
    return zd_json_is(json, ZD_JSON_STRING) ? zd_json_string(json) : zd_json_type_name(json);
}

/* A deviation that can mean only one thing: a warning on reading, a fault to be written. */
enum zd_severity zd_v3_judge_tolerated(const struct zd_v3_judge *judge)
{
    return judge->judgement == ZD_JUDGE_READ ? ZD_FAULT_WARNING : ZD_FAULT_INVALID;
}

/* A required member, or NULL with a fault. */
const struct zd_json *zd_v3_judge_required(const struct zd_v3_judge *judge, const char *name)
{
    const struct zd_json *value = zd_json_member(judge->document, name);
    if (value == NULL) {
        const struct zd_pointer at = zd_pointer_member(&zd_v3_whole, name);
        zd_faults_add(judge->faults, ZD_FAULT_INVALID, "missing_member", name, &at, name, NULL,
            "the document of an array must have the member \"%s\"", name);
    }
    return value;
}

void zd_v3_judge_wrong_type(const struct zd_v3_judge *judge, const struct zd_pointer *at,
    const char *expected, const struct zd_json *json)
{
    char space[ZD_V3_FOUND_BYTES];
    zd_faults_add(judge->faults, ZD_FAULT_INVALID, "wrong_type", NULL, at, expected,
        zd_v3_judge_found(json, space), "expected %s, found %s", expected, zd_json_type_name(json));
}

void zd_v3_judge_unsupported(const struct zd_v3_judge *judge, enum zd_point point, const char *name,
    const struct zd_pointer *at)
{
    zd_faults_add(judge->faults, ZD_FAULT_UNSUPPORTED, zd_definition_unsupported_code(point), name,
        at, "a name that this server knows", name, "\"%s\" is not known to this server", name);
}

/* Judge a length: an integer of 0 or more. */
static bool judge_extent(const struct zd_v3_judge *judge, const struct zd_json *json,
    const struct zd_pointer *at, uint64_t *ret_length)
{
    if (zd_json_u64(json, ret_length)) {
        return true;
    }
    if (!zd_json_is(json, ZD_JSON_INTEGER)) {
        zd_v3_judge_wrong_type(judge, at, "an integer of 0 or more", json);
        return false;
    }
    char space[ZD_V3_FOUND_BYTES];
    zd_faults_add(judge->faults, ZD_FAULT_INVALID, "out_of_range", NULL, at, "0 or more",
        zd_v3_judge_found(json, space), "a length must not be negative");
    return false;
}

/* A list of lengths; every fault is reported. */
bool zd_v3_judge_extents(const struct zd_v3_judge *judge, const struct zd_json *json,
    const struct zd_pointer *at, uint64_t ret_length[ZD_RANK_MAX], uint32_t *ret_rank)
{
    if (!zd_json_is(json, ZD_JSON_ARRAY)) {
        zd_v3_judge_wrong_type(judge, at, "an array of integers", json);
        return false;
    }
    const size_t n = zd_json_count(json);
    if (n > ZD_RANK_MAX) {
        zd_faults_add(judge->faults, ZD_FAULT_UNSUPPORTED, "unsupported_grid", NULL, at, NULL, NULL,
            "the array has %zu dimensions; the limit is %d", n, ZD_RANK_MAX);
        return false;
    }
    bool good = true;
    for (size_t d = 0; d < n; d++) {
        const struct zd_pointer place = zd_pointer_element(at, d);
        good = judge_extent(judge, zd_json_element(json, d), &place, &ret_length[d]) && good;
    }
    *ret_rank = (uint32_t)n;
    return good;
}

bool zd_v3_judge_definition_at(const struct zd_v3_judge *judge, const struct zd_json *json,
    const struct zd_pointer *at, const char *member, struct zd_definition *ret_definition)
{
    const bool strict = judge->judgement == ZD_JUDGE_WRITE;
    if (zd_definition_parse(json, at, strict, ret_definition, judge->faults) != ZD_OK) {
        return false;
    }
    if (!ret_definition->must_understand) {
        const struct zd_pointer flag = zd_pointer_member(at, "must_understand");
        zd_faults_add(judge->faults, zd_v3_judge_tolerated(judge), "must_understand_false", member,
            &flag, "true", "false",
            "\"%s\" must not be ignored: must_understand false is not allowed here", member);
    }
    if (ret_definition->has_surplus) {
        zd_faults_add(judge->faults, ZD_FAULT_INVALID, "unknown_member", member, at,
            "name, configuration", NULL, "\"%s\" has undefined members", member);
    }
    return true;
}

bool zd_v3_judge_definition(
    const struct zd_v3_judge *judge, const char *member, struct zd_definition *ret_definition)
{
    const struct zd_json *json = zd_v3_judge_required(judge, member);
    const struct zd_pointer at = zd_pointer_member(&zd_v3_whole, member);
    return json != NULL && zd_v3_judge_definition_at(judge, json, &at, member, ret_definition);
}

static bool is_known(const char *name, const char *const *known)
{
    while (*known != NULL && strcmp(name, *known) != 0) {
        known++;
    }
    return *known != NULL;
}

void zd_v3_judge_configuration(const struct zd_v3_judge *judge, const struct zd_json *configuration,
    const struct zd_pointer *definition_at, const char *const *known)
{
    const struct zd_pointer at = zd_pointer_member(definition_at, "configuration");
    ZD_SCOPED_TEXT(expected, KNOWN_BYTES);
    for (size_t i = 0; known[i] != NULL; i++) {
        zd_text_addf(&expected, "%s%s", i == 0 ? "" : ", ", known[i]);
    }
    for (void *iter = zd_json_next(configuration, NULL); iter != NULL;
        iter = zd_json_next(configuration, iter)) {
        const char *name = zd_json_iter_name(iter);
        if (is_known(name, known)) {
            continue;
        }
        const struct zd_pointer place = zd_pointer_member(&at, name);
        zd_faults_add(judge->faults, ZD_FAULT_INVALID, "unknown_member", name, &place, expected.at,
            name, "the configuration does not define the member \"%s\"", name);
    }
}

enum zd_status zd_v3_judge_set_extents(
    struct zd_json *object, const char *name, const uint64_t *length, uint32_t n)
{
    ZD_AUTO(zd_json) list = zd_json_new_array();
    for (uint32_t d = 0; list != NULL && d < n; d++) {
        ZD_TRY(zd_json_append(list, zd_json_new_u64(length[d])));
    }
    return zd_json_set(object, name, ZD_TAKE(list));
}

/* Takes over `configuration`. */
enum zd_status zd_v3_judge_set_definition(
    struct zd_json *document, const char *member, const char *name, struct zd_json *configuration)
{
    ZD_AUTO(zd_json) held = configuration;
    ZD_AUTO(zd_json) definition = zd_json_new_object();
    if (definition == NULL) {
        return ZD_NO_MEMORY;
    }
    ZD_TRY(zd_json_set(definition, "name", zd_json_new_text(name)));
    ZD_TRY(zd_json_set(definition, "configuration", ZD_TAKE(held)));
    return zd_json_set(document, member, ZD_TAKE(definition));
}
