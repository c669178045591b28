/* Documents of the drafts of 2023 as final v3 documents (reference 7.5).
 *
 *     draft                                     final v3
 *     codec `endian`, in any list of codecs     codec `bytes`
 *     data type with a `fallback`               without it, or the fallback itself
 *     `separator` in the chunk grid             chunk_key_encoding `default`
 *     sharding_indexed without index_codecs     as it is: the codec knows what that means
 *
 * All other deviations of those drafts are read in v3 documents, too: final writers have them. */
#include "core/dialect/v3/draft_2023_06.h"

#include <string.h>

#include "core/base/num.h"
#include "core/dialect/v3/draft_fill.h"
#include "core/dialect/v3/v3_document.h"

#define ENDIAN   "endian"
#define SHARDING "sharding_indexed"

static const struct zd_pointer whole_document = {.text = ""};

/* A document under translation. */
struct translation {
    const struct zd_json *document;
    struct zd_faults *faults;
    struct zd_json *made; /* the document as final v3; owned */
    bool has_mark;
    bool has_moved_separator;
};

static void warn_of_spelling(const struct translation *t, const char *name,
    const struct zd_pointer *at, const char *expected, const char *detail)
{
    zd_faults_add(
        t->faults, ZD_FAULT_WARNING, "legacy_spelling", name, at, expected, name, "%s", detail);
}

/* ---- codecs ---- */

static enum zd_status translate_list(struct translation *t, const struct zd_json *codecs,
    const struct zd_pointer *at, uint32_t depth, struct zd_json **ret_list);

/* The lists of a sharding codec, in its configuration. */
static ZD_RESULT translate_shard(struct translation *t, const struct zd_json *codec,
    const struct zd_pointer *at, uint32_t depth, struct zd_json *made)
{
    static const char *const lists[] = {"codecs", "index_codecs"};
    const struct zd_pointer place = zd_pointer_member(at, "configuration");
    const struct zd_json *configuration = zd_json_member(codec, "configuration");
    if (!zd_json_is(configuration, ZD_JSON_OBJECT) || depth >= ZD_CODEC_DEPTH_MAX) {
        return ZD_OK;
    }
    ZD_AUTO(zd_json) copy = zd_json_copy(configuration);
    if (copy == NULL) {
        return ZD_NO_MEMORY;
    }
    t->has_mark = t->has_mark || zd_json_member(configuration, "index_codecs") == NULL;
    for (size_t i = 0; i < ZD_COUNT_OF(lists); i++) {
        ZD_AUTO(zd_json) list = NULL;
        const struct zd_pointer list_at = zd_pointer_member(&place, lists[i]);
        const struct zd_json *member = zd_json_member(configuration, lists[i]);
        if (zd_json_is(member, ZD_JSON_ARRAY)) {
            ZD_TRY(translate_list(t, member, &list_at, depth + 1, &list));
            ZD_TRY(zd_json_set(copy, lists[i], ZD_TAKE(list)));
        }
    }
    return zd_json_set(made, "configuration", ZD_TAKE(copy));
}

static ZD_RESULT translate_codec(struct translation *t, const struct zd_json *codec,
    const struct zd_pointer *at, uint32_t depth, struct zd_json **ret_made)
{
    const char *name = zd_json_string(zd_json_member(codec, "name"));
    ZD_AUTO(zd_json) made = name == NULL ? zd_json_ref(codec) : zd_json_copy(codec);
    if (made == NULL) {
        return ZD_NO_MEMORY;
    }
    if (name != NULL && strcmp(name, ENDIAN) == 0) {
        t->has_mark = true;
        warn_of_spelling(t, ENDIAN, at, "bytes", "the codec \"endian\" is read as \"bytes\"");
        ZD_TRY(zd_json_set(made, "name", zd_json_new_text("bytes")));
    } else if (name != NULL && strcmp(name, SHARDING) == 0) {
        ZD_TRY(translate_shard(t, codec, at, depth, made));
    }
    *ret_made = ZD_TAKE(made);
    return ZD_OK;
}

static enum zd_status translate_list(struct translation *t, const struct zd_json *codecs,
    const struct zd_pointer *at, uint32_t depth, struct zd_json **ret_list)
{
    ZD_AUTO(zd_json) list = zd_json_new_array();
    if (list == NULL) {
        return ZD_NO_MEMORY;
    }
    for (size_t i = 0; i < zd_json_count(codecs); i++) {
        ZD_AUTO(zd_json) codec = NULL;
        const struct zd_pointer place = zd_pointer_element(at, i);
        ZD_TRY(translate_codec(t, zd_json_element(codecs, i), &place, depth, &codec));
        ZD_TRY(zd_json_append(list, ZD_TAKE(codec)));
    }
    *ret_list = ZD_TAKE(list);
    return ZD_OK;
}

static ZD_RESULT translate_codecs(struct translation *t)
{
    ZD_AUTO(zd_json) list = NULL;
    const struct zd_pointer at = zd_pointer_member(&whole_document, "codecs");
    const struct zd_json *codecs = zd_json_member(t->document, "codecs");
    if (!zd_json_is(codecs, ZD_JSON_ARRAY)) {
        return ZD_OK;
    }
    ZD_TRY(translate_list(t, codecs, &at, 0, &list));
    return zd_json_set(t->made, "codecs", ZD_TAKE(list));
}

/* ---- data type ---- */

static bool is_data_type(const struct zd_json *name)
{
    struct zd_dtype dtype;
    return zd_json_string(name) != NULL && zd_dtype_find(zd_json_string(name), &dtype) == ZD_OK;
}

/* The first of them that is known: a name, or a list of names. NULL: there is none. */
static const struct zd_json *find_fallback(const struct zd_json *fallback)
{
    if (is_data_type(fallback)) {
        return fallback;
    }
    for (size_t i = 0; i < zd_json_count(fallback); i++) {
        if (is_data_type(zd_json_element(fallback, i))) {
            return zd_json_element(fallback, i);
        }
    }
    return NULL;
}

static ZD_RESULT use_fallback(
    struct translation *t, const struct zd_json *fallback, const struct zd_pointer *at)
{
    const struct zd_json *name = zd_json_member(zd_json_member(t->document, "data_type"), "name");
    const char *unknown = zd_json_string(name) == NULL ? "" : zd_json_string(name);
    const char *known = zd_json_string(fallback);
    zd_faults_add(t->faults, ZD_FAULT_WARNING, "fallback_data_type", unknown, at, unknown, known,
        "the data type \"%.64s\" is unknown: its elements are read as the fallback %.64s", unknown,
        known);
    return zd_json_set(t->made, "data_type", zd_json_ref(fallback));
}

static ZD_RESULT translate_data_type(struct translation *t)
{
    const struct zd_json *data_type = zd_json_member(t->document, "data_type");
    const struct zd_json *fallback = zd_json_member(data_type, "fallback");
    const struct zd_pointer data_type_at = zd_pointer_member(&whole_document, "data_type");
    const struct zd_pointer at = zd_pointer_member(&data_type_at, "fallback");
    if (fallback == NULL) {
        return ZD_OK;
    }
    t->has_mark = true;
    const bool is_known = is_data_type(zd_json_member(data_type, "name"));
    const struct zd_json *chosen = is_known ? NULL : find_fallback(fallback);
    if (chosen != NULL) {
        return use_fallback(t, chosen, &at);
    }
    if (is_known) {
        warn_of_spelling(t, "fallback", &at, NULL, "the fallback of a known data type is ignored");
    }
    ZD_AUTO(zd_json) copy = zd_json_copy(data_type);
    if (copy == NULL) {
        return ZD_NO_MEMORY;
    }
    ZD_TRY(zd_json_remove(copy, "fallback"));
    return zd_json_set(t->made, "data_type", ZD_TAKE(copy));
}

/* ---- chunk keys ---- */

static ZD_RESULT set_keys(struct translation *t, const struct zd_json *separator)
{
    ZD_AUTO(zd_json) configuration = zd_json_new_object();
    ZD_AUTO(zd_json) encoding = zd_json_new_object();
    if (configuration == NULL || encoding == NULL) {
        return ZD_NO_MEMORY;
    }
    ZD_TRY(zd_json_set(configuration, "separator", zd_json_ref(separator)));
    ZD_TRY(zd_json_set(encoding, "name", zd_json_new_text("default")));
    ZD_TRY(zd_json_set(encoding, "configuration", ZD_TAKE(configuration)));
    return zd_json_set(t->made, "chunk_key_encoding", ZD_TAKE(encoding));
}

static ZD_RESULT remove_separator(struct translation *t)
{
    ZD_AUTO(zd_json) grid = zd_json_copy(zd_json_member(t->document, "chunk_grid"));
    ZD_AUTO(zd_json) configuration = zd_json_copy(zd_json_member(grid, "configuration"));
    if (grid == NULL || configuration == NULL) {
        return ZD_NO_MEMORY;
    }
    ZD_TRY(zd_json_remove(configuration, "separator"));
    ZD_TRY(zd_json_set(grid, "configuration", ZD_TAKE(configuration)));
    return zd_json_set(t->made, "chunk_grid", ZD_TAKE(grid));
}

/* Beside a chunk_key_encoding it stays, and is refused there: two members say the same. */
static ZD_RESULT translate_separator(struct translation *t)
{
    static const struct zd_pointer at = {.text = "/chunk_grid/configuration/separator"};
    const struct zd_json *grid = zd_json_member(t->document, "chunk_grid");
    const struct zd_json *separator =
        zd_json_member(zd_json_member(grid, "configuration"), "separator");
    if (separator == NULL) {
        return ZD_OK;
    }
    t->has_mark = true;
    if (zd_json_member(t->document, "chunk_key_encoding") != NULL) {
        return ZD_OK;
    }
    t->has_moved_separator = true;
    warn_of_spelling(t, "separator", &at, "chunk_key_encoding",
        "the separator of the chunk grid is read as that of a chunk_key_encoding");
    ZD_TRY(remove_separator(t));
    return set_keys(t, separator);
}

/* ---- fill value ---- */

/* An older spelling is no mark by itself. */
static ZD_RESULT translate_fill(struct translation *t)
{
    const struct zd_json *fill = zd_json_member(t->document, "fill_value");
    const struct zd_pointer at = zd_pointer_member(&whole_document, "fill_value");
    if (fill == NULL || !t->has_mark) {
        return ZD_OK;
    }
    ZD_AUTO(zd_json) respelled = zd_draft_fill_respell(fill);
    if (respelled == NULL) {
        return ZD_NO_MEMORY;
    }
    if (!zd_json_equal(respelled, fill)) {
        warn_of_spelling(
            t, "fill_value", &at, NULL, "a writer must not use this spelling of the fill value");
    }
    return zd_json_set(t->made, "fill_value", ZD_TAKE(respelled));
}

/* ---- the whole ---- */

static ZD_RESULT translate(struct translation *t)
{
    const char *type = zd_json_string(zd_json_member(t->document, "node_type"));
    if (type == NULL || strcmp(type, "array") != 0) {
        return ZD_OK;
    }
    t->made = zd_json_copy(t->document);
    if (t->made == NULL) {
        return ZD_NO_MEMORY;
    }
    ZD_TRY(translate_codecs(t));
    ZD_TRY(translate_data_type(t));
    ZD_TRY(translate_separator(t));
    return translate_fill(t);
}

static ZD_RESULT judge_translated(const struct translation *t, const struct zd_reading *reading,
    struct zd_meta *meta, struct zd_error *err)
{
    static const struct zd_pointer made_at = {.text = "/chunk_key_encoding"};
    static const struct zd_pointer separator_at = {.text = "/chunk_key_encoding/configuration"};
    static const struct zd_pointer stored_at = {.text = "/chunk_grid/configuration"};
    ZD_TRY(zd_v3_document_judge(t->made, reading, meta, err));
    if (t->has_moved_separator) {
        zd_faults_move(&meta->faults, &separator_at, &stored_at);
        zd_faults_move(&meta->faults, &made_at, &stored_at);
    }
    return zd_meta_is_refused(meta) ? zd_meta_show_stored(meta, t->document) : ZD_OK;
}

enum zd_status zd_draft_2023_06_parse_any(const struct zd_json *document,
    const struct zd_reading *reading, struct zd_meta **ret_meta, struct zd_error *err)
{
    ZD_AUTO(zd_meta) meta = zd_meta_new(zd_dialect_find("draft-2023-06"));
    if (meta == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "cannot allocate a node");
    }
    struct translation t = {.document = document, .faults = &meta->faults};
    enum zd_status status = reading->judgement == ZD_JUDGE_READ ? translate(&t) : ZD_OK;
    ZD_AUTO(zd_json) made = ZD_TAKE(t.made);
    t.made = made;
    if (status == ZD_OK && !t.has_mark) {
        return zd_v3_document_parse(zd_dialect_find("v3"), document, reading, ret_meta, err);
    }
    status = status == ZD_OK ? judge_translated(&t, reading, meta, err) : status;
    if (status != ZD_OK || meta->faults.out_of_memory) {
        return zd_fail(err, ZD_NO_MEMORY, "cannot allocate the contents of a document");
    }
    *ret_meta = ZD_TAKE(meta);
    return ZD_OK;
}
