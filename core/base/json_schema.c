/* Judging JSON by a schema: the part of JSON Schema (2020-12) that our own schemas use. */
#include "core/base/json_schema.h"

#include <assert.h>
#include <string.h>

#include "core/base/emit.h"
#include "core/base/num.h"

#define SCHEMA_DEPTH_MAX   8 /* of our own schemas, so that a document cannot make us go deeper */
#define EXPECTED_BYTES_MAX 256
#define FOUND_BYTES_MAX    100

/** A value under judgement. */
struct check {
    const char *name;         /* whose value it is */
    struct zd_faults *faults; /* NULL: only whether it passes is asked */
    bool has_failed;
    uint32_t depth;
};

static void judge(struct check *check, const struct zd_json *schema, const struct zd_json *value,
    const struct zd_pointer *at);

/* The target of a pointer in words: "shape", or "entry 0 of shape". */
static void add_place(struct zd_text *text, const char *pointer)
{
    const char *last = strrchr(pointer, '/');
    if (last == NULL) {
        zd_text_add(text, "the value");
        return;
    }
    size_t from = (size_t)(last - pointer);
    while (from > 0 && pointer[from - 1] != '/') {
        from--;
    }
    if (from == 0 || last[1] < '0' || last[1] > '9') {
        zd_text_add(text, last + 1);
    } else {
        const char *list = pointer + from;
        zd_text_addf(text, "entry %s of %.*s", last + 1, (int)(last - list), list);
    }
}

static void add_fault(struct check *check, const char *code, const struct zd_pointer *at,
    const char *expected, const struct zd_json *found)
{
    check->has_failed = true;
    if (check->faults == NULL) {
        return;
    }
    ZD_SCOPED_TEXT(text, FOUND_BYTES_MAX);
    struct zd_emit emit;
    zd_emit_init(&emit, &text, false);
    if (found != NULL) {
        zd_emit_json(&emit, found);
    }
    const bool is_shown = found == NULL || text.status == ZD_OK;
    ZD_SCOPED_TEXT(place, sizeof at->text + FOUND_BYTES_MAX);
    add_place(&place, at->text);
    const char *shown = is_shown ? text.at : zd_json_type_name(found);
    zd_faults_add(check->faults, ZD_FAULT_INVALID, code, check->name, at, expected,
        found == NULL ? NULL : shown, "%s of %s must be %s", place.at, check->name, expected);
}

static void add_unknown(
    struct check *check, const struct zd_pointer *at, const char *member, const char *expected)
{
    check->has_failed = true;
    if (check->faults != NULL) {
        zd_faults_add(check->faults, ZD_FAULT_INVALID, "unknown_member", check->name, at, expected,
            member, "%s does not define the member \"%s\"; expected %s", check->name, member,
            expected);
    }
}

static const struct {
    const char *name;
    const char *text;
    enum zd_json_type type;
} types[] = {
    {"null", "null", ZD_JSON_NULL},
    {"boolean", "true or false", ZD_JSON_BOOL},
    {"integer", "an integer", ZD_JSON_INTEGER},
    {"number", "a number", ZD_JSON_INTEGER},
    {"number", "a number", ZD_JSON_REAL},
    {"string", "a string", ZD_JSON_STRING},
    {"array", "an array", ZD_JSON_ARRAY},
    {"object", "an object", ZD_JSON_OBJECT},
};

static bool is_of_type(const struct zd_json *value, const char *name)
{
    bool is_known = false;
    for (size_t i = 0; i < ZD_COUNT_OF(types); i++) {
        if (strcmp(types[i].name, name) != 0) {
            continue;
        }
        is_known = true;
        if (zd_json_is(value, types[i].type)) {
            return true;
        }
    }
    assert(is_known);
    (void)is_known;
    return false;
}

static void add_type(struct zd_text *text, const char *name)
{
    for (size_t i = 0; i < ZD_COUNT_OF(types); i++) {
        if (strcmp(types[i].name, name) == 0) {
            zd_text_addf(text, "%s%s", text->len == 0 ? "" : " or ", types[i].text);
            return;
        }
    }
}

static void judge_type(struct check *check, const struct zd_json *keyword,
    const struct zd_json *value, const struct zd_pointer *at)
{
    ZD_SCOPED_TEXT(expected, EXPECTED_BYTES_MAX);
    const char *only = zd_json_string(keyword);
    bool passes = only != NULL && is_of_type(value, only);
    if (only != NULL) {
        add_type(&expected, only);
    }
    for (size_t i = 0; only == NULL && i < zd_json_count(keyword); i++) {
        const char *name = zd_json_string(zd_json_element(keyword, i));
        passes = passes || is_of_type(value, name);
        add_type(&expected, name);
    }
    if (!passes) {
        add_fault(check, "wrong_type", at, expected.at, value);
    }
}

static void judge_enum(struct check *check, const struct zd_json *keyword,
    const struct zd_json *value, const struct zd_pointer *at)
{
    ZD_SCOPED_TEXT(expected, EXPECTED_BYTES_MAX);
    struct zd_emit emit;
    zd_text_add(&expected, "one of ");
    for (size_t i = 0; i < zd_json_count(keyword); i++) {
        const struct zd_json *allowed = zd_json_element(keyword, i);
        if (zd_json_equal(allowed, value)) {
            return;
        }
        zd_text_add(&expected, i == 0 ? "" : ", ");
        zd_emit_init(&emit, &expected, false);
        zd_emit_json(&emit, allowed);
    }
    add_fault(check, "out_of_range", at, expected.at, value);
}

/* @param unit what is counted, with a space before it; or "" */
static void judge_least(struct check *check, const struct zd_json *keyword, double found,
    const char *unit, const struct zd_json *value, const struct zd_pointer *at)
{
    double least = 0;
    if (zd_json_f64(keyword, &least) && found < least) {
        ZD_SCOPED_TEXT(expected, EXPECTED_BYTES_MAX);
        zd_text_addf(&expected, "at least %.17g%s", least, unit);
        add_fault(check, "out_of_range", at, expected.at, value);
    }
}

static void judge_most(struct check *check, const struct zd_json *keyword, double found,
    const char *unit, const struct zd_json *value, const struct zd_pointer *at)
{
    double most = 0;
    if (zd_json_f64(keyword, &most) && found > most) {
        ZD_SCOPED_TEXT(expected, EXPECTED_BYTES_MAX);
        zd_text_addf(&expected, "at most %.17g%s", most, unit);
        add_fault(check, "out_of_range", at, expected.at, value);
    }
}

static void judge_minimum(struct check *check, const struct zd_json *keyword,
    const struct zd_json *value, const struct zd_pointer *at)
{
    double found;
    if (zd_json_f64(value, &found)) {
        judge_least(check, keyword, found, "", value, at);
    }
}

static void judge_maximum(struct check *check, const struct zd_json *keyword,
    const struct zd_json *value, const struct zd_pointer *at)
{
    double found;
    if (zd_json_f64(value, &found)) {
        judge_most(check, keyword, found, "", value, at);
    }
}

static void judge_min_length(struct check *check, const struct zd_json *keyword,
    const struct zd_json *value, const struct zd_pointer *at)
{
    if (zd_json_is(value, ZD_JSON_STRING)) {
        judge_least(
            check, keyword, (double)zd_json_string_span(value).len, " characters", value, at);
    }
}

static void judge_min_items(struct check *check, const struct zd_json *keyword,
    const struct zd_json *value, const struct zd_pointer *at)
{
    if (zd_json_is(value, ZD_JSON_ARRAY)) {
        judge_least(check, keyword, (double)zd_json_count(value), " entries", value, at);
    }
}

static void judge_items(struct check *check, const struct zd_json *keyword,
    const struct zd_json *value, const struct zd_pointer *at)
{
    for (size_t i = 0; zd_json_is(value, ZD_JSON_ARRAY) && i < zd_json_count(value); i++) {
        const struct zd_pointer place = zd_pointer_element(at, i);
        judge(check, keyword, zd_json_element(value, i), &place);
    }
}

static void judge_unique(struct check *check, const struct zd_json *keyword,
    const struct zd_json *value, const struct zd_pointer *at)
{
    if (!zd_json_is_true(keyword) || !zd_json_is(value, ZD_JSON_ARRAY)) {
        return;
    }
    for (size_t i = 1; i < zd_json_count(value); i++) {
        const struct zd_json *element = zd_json_element(value, i);
        size_t k = 0;
        while (k < i && !zd_json_equal(zd_json_element(value, k), element)) {
            k++;
        }
        if (k < i) {
            const struct zd_pointer place = zd_pointer_element(at, i);
            add_fault(check, "duplicate", &place, "different from all others", element);
        }
    }
}

static void judge_properties(struct check *check, const struct zd_json *keyword,
    const struct zd_json *value, const struct zd_pointer *at)
{
    if (!zd_json_is(value, ZD_JSON_OBJECT)) {
        return;
    }
    for (void *iter = zd_json_next(keyword, NULL); iter != NULL;
        iter = zd_json_next(keyword, iter)) {
        const struct zd_json *member = zd_json_member(value, zd_json_iter_name(iter));
        if (member != NULL) {
            const struct zd_pointer place = zd_pointer_member(at, zd_json_iter_name(iter));
            judge(check, zd_json_iter_value(iter), member, &place);
        }
    }
}

static void judge_required(struct check *check, const struct zd_json *keyword,
    const struct zd_json *value, const struct zd_pointer *at)
{
    if (!zd_json_is(value, ZD_JSON_OBJECT)) {
        return;
    }
    for (size_t i = 0; i < zd_json_count(keyword); i++) {
        const char *name = zd_json_string(zd_json_element(keyword, i));
        if (zd_json_member(value, name) == NULL) {
            const struct zd_pointer place = zd_pointer_member(at, name);
            add_fault(check, "missing_member", &place, "there", NULL);
        }
    }
}

/* additionalProperties: only false, and of the properties that stand beside it. */
static void judge_additional(struct check *check, const struct zd_json *schema,
    const struct zd_json *value, const struct zd_pointer *at)
{
    const struct zd_json *known = zd_json_member(schema, "properties");
    if (!zd_json_is_false(zd_json_member(schema, "additionalProperties")) ||
        !zd_json_is(value, ZD_JSON_OBJECT)) {
        return;
    }
    ZD_SCOPED_TEXT(expected, EXPECTED_BYTES_MAX);
    for (void *iter = known == NULL ? NULL : zd_json_next(known, NULL); iter != NULL;
        iter = zd_json_next(known, iter)) {
        zd_text_addf(
            &expected, "%s%s", expected.len == 0 ? "one of " : ", ", zd_json_iter_name(iter));
    }
    for (void *iter = zd_json_next(value, NULL); iter != NULL; iter = zd_json_next(value, iter)) {
        const char *name = zd_json_iter_name(iter);
        if (known == NULL || zd_json_member(known, name) == NULL) {
            const struct zd_pointer place = zd_pointer_member(at, name);
            add_unknown(check, &place, name, expected.len == 0 ? "no members" : expected.at);
        }
    }
}

/* if and then: what must hold where the first holds. */
static void judge_condition(struct check *check, const struct zd_json *schema,
    const struct zd_json *value, const struct zd_pointer *at)
{
    const struct zd_json *condition = zd_json_member(schema, "if");
    struct check trial = {.name = check->name, .depth = check->depth};
    if (condition == NULL) {
        return;
    }
    judge(&trial, condition, value, at);
    if (!trial.has_failed) {
        judge(check, zd_json_member(schema, "then"), value, at);
    }
}

static const struct keyword {
    const char *name;
    void (*judge)(struct check *check, const struct zd_json *keyword, const struct zd_json *value,
        const struct zd_pointer *at); /* NULL: it says nothing by itself */
} keywords[] = {
    {"type", judge_type},
    {"enum", judge_enum},
    {"minimum", judge_minimum},
    {"maximum", judge_maximum},
    {"minLength", judge_min_length},
    {"items", judge_items},
    {"minItems", judge_min_items},
    {"uniqueItems", judge_unique},
    {"properties", judge_properties},
    {"required", judge_required},
    {"additionalProperties", NULL},
    {"if", NULL},
    {"then", NULL},
    {"title", NULL},
    {"description", NULL},
};

static const struct keyword *find_keyword(const char *name)
{
    for (size_t i = 0; i < ZD_COUNT_OF(keywords); i++) {
        if (strcmp(keywords[i].name, name) == 0) {
            return &keywords[i];
        }
    }
    return NULL;
}

static void judge(struct check *check, const struct zd_json *schema, const struct zd_json *value,
    const struct zd_pointer *at)
{
    check->depth++;
    assert(check->depth <= SCHEMA_DEPTH_MAX);
    for (void *iter = zd_json_next(schema, NULL); iter != NULL; iter = zd_json_next(schema, iter)) {
        const struct keyword *keyword = find_keyword(zd_json_iter_name(iter));
        assert(keyword != NULL);
        if (keyword->judge != NULL) {
            keyword->judge(check, zd_json_iter_value(iter), value, at);
        }
    }
    judge_additional(check, schema, value, at);
    judge_condition(check, schema, value, at);
    check->depth--;
}

enum zd_status zd_json_schema_check(const char *schema, const struct zd_json *value,
    const struct zd_pointer *at, const char *name, struct zd_faults *faults)
{
    const struct zd_span text = zd_span_of(schema);
    const struct zd_json_limits limits = {
        .bytes_max = text.len, .nodes_max = text.len, .depth_max = (size_t)2 * SCHEMA_DEPTH_MAX};
    ZD_AUTO(zd_json) parsed = NULL;
    if (zd_json_parse(text, &limits, &parsed, NULL) != ZD_OK) {
        return ZD_NO_MEMORY; /* our schemas are valid: only memory can be missing */
    }
    struct check check = {.name = name, .faults = faults};
    judge(&check, parsed, value, at);
    if (faults->out_of_memory) {
        return ZD_NO_MEMORY;
    }
    return check.has_failed ? ZD_INVALID : ZD_OK;
}
