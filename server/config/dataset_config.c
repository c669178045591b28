/* One dataset's part of the configuration: its members as a table. */
#include "server/config/dataset_config.h"

#include <string.h>

#include "core/base/num.h"
#include "core/base/own.h"
#include "server/config/config_value.h"

enum member_kind {
    MEMBER_TEXT,
    MEMBER_FLAG,
    MEMBER_CHOICE, /* a flag with a word for each value */
    MEMBER_MS,
    MEMBER_OBJECT,
};

#define MEMBER(kind_, name_, field_, choices_)                                                     \
    {.kind = (kind_),                                                                              \
        .name = (name_),                                                                           \
        .choices = (choices_),                                                                     \
        .offset = offsetof(struct zd_dataset_config, field_)}

static const char *const extension_modes[] = {"zep10", "strict", NULL};

/* Reserved: members of stores and dialects that this version does not have. */
static const char *const unsupported[] = {"store_403", "n5_axes"};

static const struct member {
    enum member_kind kind;
    const char *name;
    const char *const *choices;
    size_t offset;
} members[] = {
    MEMBER(MEMBER_TEXT, "location", location, NULL),
    MEMBER(MEMBER_OBJECT, "options", options, NULL),
    MEMBER(MEMBER_TEXT, "title", title, NULL),
    MEMBER(MEMBER_TEXT, "cache_control", cache_control, NULL),
    MEMBER(MEMBER_FLAG, "writable", writable, NULL),
    MEMBER(MEMBER_FLAG, "immutable", immutable, NULL),
    MEMBER(MEMBER_FLAG, "durable", durable, NULL),
    MEMBER(MEMBER_FLAG, "accept_unknown", accept_unknown, NULL),
    MEMBER(MEMBER_FLAG, "write_empty_chunks", write_empty_chunks, NULL),
    MEMBER(MEMBER_FLAG, "allow_keys", allow_keys, NULL),
    MEMBER(MEMBER_CHOICE, "extensions", strict, extension_modes),
    MEMBER(MEMBER_MS, "revalidate_ms", revalidate_ms, NULL),
};

static const struct member *find_member(const char *name)
{
    for (size_t i = 0; i < ZD_COUNT_OF(members); i++) {
        if (strcmp(members[i].name, name) == 0) {
            return &members[i];
        }
    }
    return NULL;
}

static bool find_choice(const char *const *choices, const char *word, size_t *ret_choice)
{
    for (size_t i = 0; word != NULL && choices[i] != NULL; i++) {
        if (strcmp(choices[i], word) == 0) {
            *ret_choice = i;
            return true;
        }
    }
    return false;
}

static enum zd_status replace_object(struct zd_json **place, const struct zd_json *value,
    const struct zd_pointer *at, struct zd_error *err)
{
    if (!zd_json_is(value, ZD_JSON_OBJECT)) {
        return zd_config_value_wrong_type(at, "an object", value, err);
    }
    zd_json_unref(*place);
    *place = zd_json_ref(value);
    return ZD_OK;
}

static enum zd_status set_member(const struct member *member, struct zd_dataset_config *dataset,
    const struct zd_json *value, const struct zd_pointer *at, struct zd_error *err)
{
    void *place = (char *)dataset + member->offset;
    size_t choice = 0;
    switch (member->kind) {
    case MEMBER_TEXT:
        if (zd_json_string(value) == NULL || strpbrk(zd_json_string(value), "\r\n") != NULL) {
            return zd_config_value_wrong_type(at, "a string of one line", value, err);
        }
        return zd_config_value_replace((char **)place, zd_json_string(value), err);
    case MEMBER_FLAG:
        if (!zd_json_is(value, ZD_JSON_BOOL)) {
            return zd_config_value_wrong_type(at, "true or false", value, err);
        }
        *(bool *)place = zd_json_is_true(value);
        return ZD_OK;
    case MEMBER_CHOICE:
        if (!find_choice(member->choices, zd_json_string(value), &choice)) {
            ZD_SCOPED_TEXT(expected, 64);
            zd_text_addf(&expected, "\"%s\" or \"%s\"", member->choices[0], member->choices[1]);
            return zd_config_value_wrong_type(at, expected.at, value, err);
        }
        *(bool *)place = choice == 1;
        return ZD_OK;
    case MEMBER_OBJECT:
        return replace_object(place, value, at, err);
    case MEMBER_MS:
        return zd_json_u64(value, place)
                   ? ZD_OK
                   : zd_config_value_wrong_type(at, "a number of milliseconds", value, err);
    }
    return ZD_OK;
}

static bool is_unsupported(const char *name)
{
    size_t i = 0;
    while (i < ZD_COUNT_OF(unsupported) && strcmp(unsupported[i], name) != 0) {
        i++;
    }
    return i < ZD_COUNT_OF(unsupported);
}

enum zd_status zd_dataset_config_set(struct zd_dataset_config *dataset, const char *name,
    const struct zd_json *value, const struct zd_pointer *at, struct zd_error *err)
{
    const struct member *member = find_member(name);
    if (member != NULL) {
        return set_member(member, dataset, value, at, err);
    }
    return is_unsupported(name) ? zd_config_value_unsupported(at, err)
                                : zd_config_value_unknown(at, err);
}

static void emit_member(
    const struct member *member, const struct zd_dataset_config *dataset, struct zd_emit *emit)
{
    const void *place = (const char *)dataset + member->offset;
    switch (member->kind) {
    case MEMBER_TEXT:
        if (*(char *const *)place != NULL) {
            zd_emit_member_string(emit, member->name, *(char *const *)place);
        }
        break;
    case MEMBER_FLAG:
        zd_emit_member_bool(emit, member->name, *(const bool *)place);
        break;
    case MEMBER_CHOICE:
        zd_emit_member_string(emit, member->name, member->choices[*(const bool *)place ? 1 : 0]);
        break;
    case MEMBER_OBJECT:
        if (*(struct zd_json *const *)place != NULL) {
            zd_emit_key(emit, member->name);
            zd_emit_json(emit, *(struct zd_json *const *)place);
        }
        break;
    case MEMBER_MS:
        if (zd_load_u64(place) != UINT64_MAX) {
            zd_emit_member_u64(emit, member->name, zd_load_u64(place));
        }
        break;
    }
}

void zd_dataset_config_emit(const struct zd_dataset_config *dataset, struct zd_emit *emit)
{
    zd_emit_object(emit);
    for (size_t i = 0; i < ZD_COUNT_OF(members); i++) {
        emit_member(&members[i], dataset, emit);
    }
    zd_emit_object_end(emit);
}

static enum zd_status copy_string(const char *from, char **ret_to)
{
    *ret_to = from == NULL ? NULL : zd_strdup(from);
    return from == NULL || *ret_to != NULL ? ZD_OK : ZD_NO_MEMORY;
}

enum zd_status zd_dataset_config_copy(
    const struct zd_dataset_config *from, struct zd_dataset_config *ret_to)
{
    struct zd_dataset_config to = *from;
    to.options = zd_json_ref(from->options);
    enum zd_status status = copy_string(from->name, &to.name);
    status = copy_string(from->location, &to.location) == ZD_OK ? status : ZD_NO_MEMORY;
    status = copy_string(from->title, &to.title) == ZD_OK ? status : ZD_NO_MEMORY;
    status = copy_string(from->cache_control, &to.cache_control) == ZD_OK ? status : ZD_NO_MEMORY;
    if (status != ZD_OK) {
        zd_dataset_config_done(&to);
        return status;
    }
    *ret_to = to;
    return ZD_OK;
}

void zd_dataset_config_done(struct zd_dataset_config *dataset)
{
    zd_free(dataset->name);
    zd_free(dataset->location);
    zd_free(dataset->title);
    zd_free(dataset->cache_control);
    zd_json_unref(dataset->options);
    *dataset = (struct zd_dataset_config){0};
}
