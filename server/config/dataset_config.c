/* The datasets of the configuration: the members of one as a table. */
#include "server/config/dataset_config.h"

#include <string.h>

#include "core/base/num.h"
#include "core/base/own.h"
#include "core/store/contract/store.h"
#include "server/config/help_rows.h"

#define SHOWN_BYTES    UINT64_C(128) /* of a name that is refused */
#define NAME_BYTES_MAX 64

enum member_kind {
    MEMBER_TEXT,
    MEMBER_FLAG,
    MEMBER_EXTENSIONS, /* a flag with a word for each value */
    MEMBER_ACCESS,     /* likewise */
    MEMBER_N5_AXES,
    MEMBER_MS,
    MEMBER_OBJECT,
    MEMBER_OPTION, /* a member of the options, at the level of the dataset */
};

#define MEMBER(kind_, name_, field_, meaning_)                                                     \
    {.kind = (kind_),                                                                              \
        .name = (name_),                                                                           \
        .offset = offsetof(struct zd_dataset_config, field_),                                      \
        .meaning = (meaning_)}

static const struct member {
    enum member_kind kind;
    const char *name;
    size_t offset;
    const char *meaning;
} members[] = {
    MEMBER(MEMBER_TEXT, "location", location,
        "Location of the dataset, in one of the forms above. Required."),
    MEMBER(MEMBER_OBJECT, "options", options,
        "Object with the options of this kind of location. Default none."),
    MEMBER(
        MEMBER_OPTION, "endpoint", options, "s3: URL of the server. Default: the URL of Amazon."),
    MEMBER(MEMBER_OPTION, "region", options, "s3: region of the bucket. Default us-east-1."),
    MEMBER(MEMBER_OPTION, "addressing", options,
        "s3: path = bucket name in the path; virtual = bucket name in the host name. Default "
        "auto."),
    MEMBER(MEMBER_OPTION, "anonymous", options, "s3: do not sign requests. Default false."),
    MEMBER(MEMBER_OPTION, "credentials_file", options,
        "s3: credentials file in the format of AWS. Default: the file that the environment "
        "variables "
        "AWS_... name."),
    MEMBER(MEMBER_OPTION, "credentials_profile", options,
        "s3: section of the credentials file. Default \"default\"."),
    MEMBER(MEMBER_OPTION, "credentials_env", options,
        "s3: prefix of environment variables. X reads XACCESS_KEY_ID, XSECRET_ACCESS_KEY and "
        "XSESSION_TOKEN."),
    MEMBER(MEMBER_OPTION, "headers_file", options,
        "http: file of header lines. They are sent to this server only."),
    MEMBER(MEMBER_OPTION, "store_403", options,
        "s3, http: meaning of the status 403. error = the store failed; absent = there is no such "
        "key. Default error."),
    MEMBER(MEMBER_OPTION, "absent_ms", options,
        "s3, http: milliseconds for which an absent key is not looked up again."),
    MEMBER(MEMBER_TEXT, "title", title, "Title shown beside the name. Default none."),
    MEMBER(MEMBER_TEXT, "cache_control", cache_control,
        "Value of the header Cache-Control. Default no-cache, or one year if the dataset is "
        "immutable."),
    MEMBER(MEMBER_ACCESS, "access", is_private,
        "public, or private = only for credentials that name the dataset. Default public."),
    MEMBER(MEMBER_FLAG, "writable", writable, "Accept writes. Default false."),
    MEMBER(MEMBER_FLAG, "immutable", immutable,
        "Nothing in the dataset ever changes, so that caches may keep it. Default false."),
    MEMBER(MEMBER_FLAG, "durable", durable,
        "Answer a write only when it would survive a power cut. Default true."),
    MEMBER(MEMBER_FLAG, "accept_unknown", accept_unknown,
        "Store documents with unknown names, and answer with a warning. Default false."),
    MEMBER(MEMBER_FLAG, "write_empty_chunks", write_empty_chunks,
        "Store chunks that hold only the fill value. Default false."),
    MEMBER(MEMBER_FLAG, "allow_keys", allow_keys, "Serve stored keys at /zarr/NAME. Default true."),
    MEMBER(MEMBER_EXTENSIONS, "extensions", strict,
        "zep10 = Zarr 3.1 and the extensions of ZEP 10; strict = Zarr 3.1 only. Default zep10."),
    MEMBER(MEMBER_N5_AXES, "n5_axes", n5_axes,
        "N5: order of the axes. dimensions = as in the document; reversed = the other way round. "
        "Either value also says that the location is N5. Default dimensions."),
    MEMBER(MEMBER_MS, "revalidate_ms", revalidate_ms,
        "Milliseconds for which stored objects are trusted before the store is asked again. The "
        "default depends on the location; files have 1000."),
};

static const char *const n5_axes_words[] = {
    [ZD_N5_AXES_DIMENSIONS] = "dimensions",
    [ZD_N5_AXES_REVERSED] = "reversed",
};

void zd_dataset_config_help(struct zd_text *text)
{
    for (size_t i = 0; i < ZD_COUNT_OF(members); i++) {
        zd_help_row_add(text, members[i].name, members[i].meaning);
    }
}

bool zd_dataset_config_is_name(struct zd_span name)
{
    static const char others[] = "._-";
    for (size_t i = 0; i < name.len; i++) {
        const char c = (char)name.ptr[i];
        const bool is_alphanumeric =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!is_alphanumeric && (i == 0 || c == '\0' || strchr(others, c) == NULL)) {
            return false;
        }
    }
    return name.len >= 1 && name.len <= NAME_BYTES_MAX;
}

enum zd_status zd_dataset_config_add(struct zd_config *config, struct zd_span name,
    struct zd_dataset_config **ret_dataset, struct zd_error *err)
{
    const int shown = (int)zd_min_u64(name.len, SHOWN_BYTES);
    if (!zd_dataset_config_is_name(name)) {
        return zd_fail(err, ZD_INVALID,
            "'%.*s' is not a valid dataset name: expected [A-Za-z0-9][A-Za-z0-9._-]{0,63}; write "
            "NAME=LOCATION to choose a name",
            shown, (const char *)name.ptr);
    }
    for (size_t i = 0; i < config->n_datasets; i++) {
        if (zd_span_is(name, config->dataset[i].name)) {
            return zd_fail(err, ZD_INVALID,
                "two datasets are named '%.*s'; write NAME=LOCATION to rename one", shown,
                (const char *)name.ptr);
        }
    }
    struct zd_dataset_config *grown =
        zd_realloc(config->dataset, (config->n_datasets + 1) * sizeof *grown);
    if (grown == NULL) {
        return zd_setting_no_memory(err);
    }
    config->dataset = grown;
    struct zd_dataset_config *dataset = &grown[config->n_datasets];
    *dataset = (struct zd_dataset_config){
        .name = zd_strndup((const char *)name.ptr, name.len),
        .durable = true,
        .allow_keys = true,
        .revalidate_ms = UINT64_MAX,
    };
    if (dataset->name == NULL) {
        return zd_setting_no_memory(err);
    }
    config->n_datasets++;
    *ret_dataset = dataset;
    return ZD_OK;
}

static const struct member *find_member(const char *name)
{
    for (size_t i = 0; i < ZD_COUNT_OF(members); i++) {
        if (strcmp(members[i].name, name) == 0) {
            return &members[i];
        }
    }
    return NULL;
}

static bool read_n5_axes(const char *word, enum zd_n5_axes *ret_axes)
{
    for (size_t i = ZD_N5_AXES_DIMENSIONS; word != NULL && i < ZD_COUNT_OF(n5_axes_words); i++) {
        if (strcmp(word, n5_axes_words[i]) == 0) {
            *ret_axes = (enum zd_n5_axes)i;
            return true;
        }
    }
    return false;
}

/* The object may belong to the file that was read, which is never changed: copy it. */
static enum zd_status set_option(
    struct zd_json **options, const char *name, const struct zd_json *value, struct zd_error *err)
{
    struct zd_json *changed = *options == NULL ? zd_json_new_object() : zd_json_copy(*options);
    if (changed == NULL || zd_json_set(changed, name, zd_json_ref(value)) != ZD_OK) {
        zd_json_unref(changed);
        return zd_setting_no_memory(err);
    }
    zd_json_unref(*options);
    *options = changed;
    return ZD_OK;
}

static enum zd_status set_options(
    struct zd_json **options, const struct zd_json *value, struct zd_error *err)
{
    for (void *i = zd_json_next(value, NULL); i != NULL; i = zd_json_next(value, i)) {
        ZD_TRY(set_option(options, zd_json_iter_name(i), zd_json_iter_value(i), err));
    }
    return *options != NULL || (*options = zd_json_new_object()) != NULL
               ? ZD_OK
               : zd_setting_no_memory(err);
}

static enum zd_status set_member(const struct member *member, struct zd_dataset_config *dataset,
    const struct zd_json *value, const struct zd_pointer *at, struct zd_error *err)
{
    void *place = (char *)dataset + member->offset;
    const char *word = zd_json_string(value);
    switch (member->kind) {
    case MEMBER_TEXT:
        return word != NULL && strpbrk(word, "\r\n") == NULL
                   ? zd_setting_replace(place, word, err)
                   : zd_setting_wrong_type(at, "a string in one line", value, err);
    case MEMBER_FLAG:
        if (!zd_json_is(value, ZD_JSON_BOOL)) {
            return zd_setting_wrong_type(at, "true or false", value, err);
        }
        *(bool *)place = zd_json_is_true(value);
        break;
    case MEMBER_EXTENSIONS:
        if (word == NULL || (strcmp(word, "zep10") != 0 && strcmp(word, "strict") != 0)) {
            return zd_setting_wrong_type(at, "\"zep10\" or \"strict\"", value, err);
        }
        *(bool *)place = strcmp(word, "strict") == 0;
        break;
    case MEMBER_ACCESS:
        if (word == NULL || (strcmp(word, "public") != 0 && strcmp(word, "private") != 0)) {
            return zd_setting_wrong_type(at, "\"public\" or \"private\"", value, err);
        }
        *(bool *)place = strcmp(word, "private") == 0;
        break;
    case MEMBER_N5_AXES:
        return read_n5_axes(word, place)
                   ? ZD_OK
                   : zd_setting_wrong_type(at, "\"dimensions\" or \"reversed\"", value, err);
    case MEMBER_OBJECT:
        if (!zd_json_is(value, ZD_JSON_OBJECT)) {
            return zd_setting_wrong_type(at, "an object", value, err);
        }
        return set_options(place, value, err);
    case MEMBER_OPTION:
        return set_option(place, member->name, value, err);
    case MEMBER_MS:
        return zd_json_u64(value, place)
                   ? ZD_OK
                   : zd_setting_wrong_type(at, "a number of milliseconds", value, err);
    }
    return ZD_OK;
}

static enum zd_status set(struct zd_dataset_config *dataset, const char *name,
    const struct zd_json *value, const struct zd_pointer *at, struct zd_error *err)
{
    const struct member *member = find_member(name);
    return member == NULL ? zd_setting_unknown(at, err)
                          : set_member(member, dataset, value, at, err);
}

enum zd_status zd_dataset_config_read(struct zd_config *config, const char *name,
    const struct zd_json *json, const struct zd_pointer *at, struct zd_error *err)
{
    if (!zd_json_is(json, ZD_JSON_OBJECT)) {
        return zd_setting_wrong_type(at, "an object", json, err);
    }
    struct zd_dataset_config *dataset = NULL;
    ZD_TRY(zd_dataset_config_add(config, zd_span_of(name), &dataset, err));
    for (void *i = zd_json_next(json, NULL); i != NULL; i = zd_json_next(json, i)) {
        const struct zd_pointer place = zd_pointer_member(at, zd_json_iter_name(i));
        if (!zd_setting_is_comment(zd_json_iter_name(i))) {
            ZD_TRY(set(dataset, zd_json_iter_name(i), zd_json_iter_value(i), &place, err));
        }
    }
    if (dataset->location == NULL || dataset->location[0] == '\0') {
        return zd_fail(
            err, ZD_INVALID, "%s has no location; add the member \"location\"", at->text);
    }
    const struct zd_pointer options_at = zd_pointer_member(at, "options");
    const bool has_object = zd_json_member(json, "options") != NULL;
    return zd_store_judge_options(
        dataset->location, dataset->options, has_object ? &options_at : at, err);
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
    case MEMBER_EXTENSIONS:
        zd_emit_member_string(emit, member->name, *(const bool *)place ? "strict" : "zep10");
        break;
    case MEMBER_ACCESS:
        zd_emit_member_string(emit, member->name, *(const bool *)place ? "private" : "public");
        break;
    case MEMBER_N5_AXES:
        if (dataset->n5_axes != ZD_N5_AXES_UNSAID) {
            zd_emit_member_string(emit, member->name, n5_axes_words[dataset->n5_axes]);
        }
        break;
    case MEMBER_OBJECT:
        if (*(struct zd_json *const *)place != NULL) {
            zd_emit_key(emit, member->name);
            zd_emit_json(emit, *(struct zd_json *const *)place);
        }
        break;
    case MEMBER_OPTION:
        break; /* one of the options */
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

enum zd_status zd_dataset_config_copy(
    const struct zd_dataset_config *from, struct zd_dataset_config *ret_to)
{
    struct zd_dataset_config to = *from;
    char **const texts[] = {&to.name, &to.location, &to.folder, &to.title, &to.cache_control};
    bool ok = true;
    for (size_t i = 0; i < ZD_COUNT_OF(texts); i++) {
        const char *text = *texts[i];
        *texts[i] = text == NULL ? NULL : zd_strdup(text);
        ok = ok && (*texts[i] != NULL || text == NULL);
    }
    to.options = zd_json_ref(from->options);
    if (!ok) {
        zd_dataset_config_done(&to);
        return ZD_NO_MEMORY;
    }
    *ret_to = to;
    return ZD_OK;
}

void zd_dataset_config_done(struct zd_dataset_config *dataset)
{
    zd_free(dataset->name);
    zd_free(dataset->location);
    zd_free(dataset->folder);
    zd_free(dataset->title);
    zd_free(dataset->cache_control);
    zd_json_unref(dataset->options);
    *dataset = (struct zd_dataset_config){0};
}
