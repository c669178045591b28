/* The chunk key encoding of a v3 document: judged, taken into the model, written back. */
#include "core/dialect/v3/v3_keys.h"

#include <string.h>

#define SUFFIX_BYTES_MAX 64

/* A chunk key encoding, and where it stands. */
struct encoding {
    struct zd_definition definition;
    struct zd_pointer at;
};

static struct zd_pointer member_at(const struct encoding *encoding, const char *name)
{
    const struct zd_pointer configuration_at = zd_pointer_member(&encoding->at, "configuration");
    return zd_pointer_member(&configuration_at, name);
}

static void judge_separator(const struct zd_v3_judge *judge, const struct encoding *encoding)
{
    static const char *const known[] = {"separator", NULL};
    const struct zd_json *configuration = encoding->definition.configuration;
    zd_v3_judge_configuration(judge, configuration, &encoding->at, known);
    const struct zd_json *separator = zd_json_member(configuration, "separator");
    if (separator == NULL) {
        return;
    }
    const struct zd_pointer place = member_at(encoding, "separator");
    const struct zd_span text = zd_json_string_span(separator);
    if (!zd_json_is(separator, ZD_JSON_STRING)) {
        zd_v3_judge_wrong_type(judge, &place, "\"/\" or \".\"", separator);
    } else if (!zd_span_is(text, "/") && !zd_span_is(text, ".")) {
        zd_faults_add(judge->faults, ZD_FAULT_INVALID, "out_of_range", "separator", &place,
            "\"/\" or \".\"", zd_json_string(separator),
            "the separator of chunk keys must be \"/\" or \".\"");
    } else {
        judge->meta->key_separator = (char)text.ptr[0];
    }
}

/* An encoding that stands alone. */
static void judge_base(const struct zd_v3_judge *judge, const struct encoding *encoding)
{
    struct zd_meta *meta = judge->meta;
    const char *name = encoding->definition.name;
    if (strcmp(name, "default") == 0) {
        meta->key_encoding = ZD_KEYS_DEFAULT;
        meta->key_separator = '/';
    } else if (strcmp(name, "v2") == 0) {
        meta->key_encoding = ZD_KEYS_V2;
        meta->key_separator = '.';
    } else {
        zd_v3_judge_unsupported(judge, ZD_POINT_CHUNK_KEY_ENCODING, name, &encoding->at);
        return;
    }
    judge_separator(judge, encoding);
}

/* Whether the text may end a segment of a key. */
static bool is_suffix(struct zd_span text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '/' || text.ptr[i] < ' ' || text.ptr[i] == 0x7f) {
            return false;
        }
    }
    return text.len <= SUFFIX_BYTES_MAX;
}

static void judge_suffix(
    const struct zd_v3_judge *judge, const struct encoding *encoding, const struct zd_json *suffix)
{
    const struct zd_pointer place = member_at(encoding, "suffix");
    if (!zd_json_is(suffix, ZD_JSON_STRING)) {
        zd_v3_judge_wrong_type(judge, &place, "a string", suffix);
    } else if (!is_suffix(zd_json_string_span(suffix))) {
        zd_faults_add(judge->faults, ZD_FAULT_INVALID, "out_of_range", "suffix", &place,
            "64 bytes at most, without \"/\" and control characters", NULL,
            "the suffix of chunk keys is too long, or has forbidden characters");
    } else {
        judge->meta->key_suffix = zd_strdup(zd_json_string(suffix));
        judge->faults->out_of_memory =
            judge->faults->out_of_memory || judge->meta->key_suffix == NULL;
    }
}

static const struct zd_json *member_of(
    const struct zd_v3_judge *judge, const struct encoding *encoding, const char *name)
{
    const struct zd_json *member = zd_json_member(encoding->definition.configuration, name);
    if (member == NULL) {
        const struct zd_pointer place = member_at(encoding, name);
        zd_faults_add(judge->faults, ZD_FAULT_INVALID, "missing_member", name, &place, name, NULL,
            "the chunk key encoding \"suffix\" must have a %s", name);
    }
    return member;
}

/* A proposal, of which the name or the meaning may still change. */
static void judge_suffixed(const struct zd_v3_judge *judge, const struct encoding *encoding)
{
    static const char *const known[] = {"suffix", "base_encoding", NULL};
    zd_v3_judge_configuration(judge, encoding->definition.configuration, &encoding->at, known);
    const struct zd_json *suffix = member_of(judge, encoding, "suffix");
    const struct zd_json *base = member_of(judge, encoding, "base_encoding");
    if (suffix != NULL) {
        judge_suffix(judge, encoding, suffix);
    }
    struct encoding inner = {.definition.name = "", .at = member_at(encoding, "base_encoding")};
    if (base != NULL &&
        zd_v3_judge_definition_at(judge, base, &inner.at, "base_encoding", &inner.definition)) {
        judge_base(judge, &inner);
    }
    if (judge->judgement == ZD_JUDGE_WRITE) {
        zd_faults_add(judge->faults, ZD_FAULT_UNSUPPORTED, "unsupported_grid", "suffix",
            &encoding->at, "default, v2", "suffix",
            "the chunk key encoding \"suffix\" is a proposal: arrays with it are read-only");
    }
}

void zd_v3_keys_judge(struct zd_v3_judge *judge)
{
    struct encoding encoding = {
        .definition.name = "", .at = zd_pointer_member(&zd_v3_whole, "chunk_key_encoding")};
    if (!zd_v3_judge_definition(judge, "chunk_key_encoding", &encoding.definition)) {
        return;
    }
    if (strcmp(encoding.definition.name, "suffix") == 0) {
        judge_suffixed(judge, &encoding);
    } else {
        judge_base(judge, &encoding);
    }
}

/* {"separator": ...}; NULL when memory is short. */
static struct zd_json *new_configuration(const struct zd_meta *meta)
{
    const char separator[2] = {meta->key_separator, '\0'};
    ZD_AUTO(zd_json) configuration = zd_json_new_object();
    if (configuration == NULL ||
        zd_json_set(configuration, "separator", zd_json_new_text(separator)) != ZD_OK) {
        return NULL;
    }
    return ZD_TAKE(configuration);
}

enum zd_status zd_v3_keys_render(const struct zd_meta *meta, struct zd_json *document)
{
    const char *base = meta->key_encoding == ZD_KEYS_DEFAULT ? "default" : "v2";
    ZD_AUTO(zd_json) configuration = new_configuration(meta);
    if (configuration == NULL) {
        return ZD_NO_MEMORY;
    }
    if (meta->key_suffix == NULL) {
        return zd_v3_judge_set_definition(
            document, "chunk_key_encoding", base, ZD_TAKE(configuration));
    }
    ZD_AUTO(zd_json) suffixed = zd_json_new_object();
    if (suffixed == NULL) {
        return ZD_NO_MEMORY;
    }
    ZD_TRY(zd_json_set(suffixed, "suffix", zd_json_new_text(meta->key_suffix)));
    ZD_TRY(zd_v3_judge_set_definition(suffixed, "base_encoding", base, ZD_TAKE(configuration)));
    return zd_v3_judge_set_definition(document, "chunk_key_encoding", "suffix", ZD_TAKE(suffixed));
}
