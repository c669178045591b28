/* The storage transformer of the drafts that makes shards (reference 7.6): an index at the end of
 * the shard, pairs of little-endian uint64 in C order, no checksum. */
#include "core/dialect/drafts/draft_shard.h"

#include <string.h>

#include "core/base/num.h"

static const struct zd_pointer list_at = {.text = "/storage_transformers"};

/* A URI whose last segments are the name and a version. */
static bool is_sharding(const struct zd_json *transformer)
{
    static const char name[] = "/sharding/";
    const char *uri = zd_json_string(zd_json_member(transformer, "extension"));
    const char *type = zd_json_string(zd_json_member(transformer, "type"));
    const char *found = uri == NULL ? NULL : strstr(uri, name);
    return found != NULL && strchr(found + sizeof name - 1, '/') == NULL && type != NULL &&
           strcmp(type, "indexed") == 0;
}

static const struct zd_json *judge_counts(
    const struct zd_json *transformer, size_t rank, struct zd_faults *faults)
{
    const struct zd_pointer at = {.text = "/storage_transformers/0/configuration/chunks_per_shard"};
    const struct zd_json *counts =
        zd_json_member(zd_json_member(transformer, "configuration"), "chunks_per_shard");
    bool is_good = zd_json_is(counts, ZD_JSON_ARRAY) && zd_json_count(counts) == rank;
    for (size_t i = 0; i < zd_json_count(counts); i++) {
        uint64_t count = 0;
        is_good = is_good && zd_json_u64(zd_json_element(counts, i), &count) && count > 0;
    }
    if (!is_good) {
        zd_faults_add(faults, ZD_FAULT_INVALID, counts == NULL ? "missing_member" : "out_of_range",
            "chunks_per_shard", &at, "an integer of 1 or more for each dimension",
            zd_json_type_name(counts),
            "chunks_per_shard must be a list with an integer of 1 or more for each dimension");
    }
    return is_good ? counts : NULL;
}

const struct zd_json *zd_draft_shard_judge(
    const struct zd_json *list, size_t rank, struct zd_faults *faults)
{
    if (list != NULL && !zd_json_is(list, ZD_JSON_ARRAY)) {
        zd_faults_add(faults, ZD_FAULT_INVALID, "wrong_type", NULL, &list_at,
            "a list of storage transformers", zd_json_type_name(list),
            "storage_transformers must be a list");
        return NULL;
    }
    for (size_t i = 0; i < zd_json_count(list); i++) {
        const struct zd_json *transformer = zd_json_element(list, i);
        const char *uri = zd_json_string(zd_json_member(transformer, "extension"));
        const struct zd_pointer at = zd_pointer_element(&list_at, i);
        if (i > 0 || !is_sharding(transformer)) {
            zd_faults_add(faults, ZD_FAULT_UNSUPPORTED, "unsupported_extension", uri, &at,
                "the sharding transformer of type \"indexed\", alone", uri,
                "the storage transformer \"%.128s\" is not supported here", uri == NULL ? "" : uri);
        }
    }
    if (zd_json_count(list) == 0 || zd_faults_refuse(faults)) {
        return NULL;
    }
    return judge_counts(zd_json_element(list, 0), rank, faults);
}

/* Faulty lengths stay as they are: the judge of the document says what is wrong with them. */
static ZD_RESULT multiply(const struct zd_json *shape, const struct zd_json *per_shard,
    struct zd_json **ret_shape, struct zd_faults *faults)
{
    ZD_AUTO(zd_json) made = zd_json_new_array();
    if (made == NULL) {
        return ZD_NO_MEMORY;
    }
    for (size_t i = 0; i < zd_json_count(shape); i++) {
        uint64_t edge = 0;
        uint64_t count = 1;
        const bool is_edge = zd_json_u64(zd_json_element(shape, i), &edge);
        (void)zd_json_u64(zd_json_element(per_shard, i), &count);
        if (is_edge && ckd_mul(&edge, edge, count)) {
            const struct zd_pointer at = {
                .text = "/storage_transformers/0/configuration/chunks_per_shard"};
            zd_faults_add(faults, ZD_FAULT_INVALID, "too_large", "chunks_per_shard", &at,
                "a shard below 2^64 elements along each dimension", NULL,
                "the shape of a shard does not fit in 64 bits");
        }
        ZD_TRY(zd_json_append(
            made, is_edge ? zd_json_new_u64(edge) : zd_json_ref(zd_json_element(shape, i))));
    }
    *ret_shape = ZD_TAKE(made);
    return ZD_OK;
}

/* [{"name": "bytes", "configuration": {"endian": "little"}}] */
static struct zd_json *index_codecs(void)
{
    static const struct zd_json_limits limits = {.bytes_max = 128, .nodes_max = 16, .depth_max = 4};
    struct zd_json *list = NULL;
    const enum zd_status status = zd_json_parse(
        zd_span_of("[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}]"), &limits,
        &list, NULL);
    return status == ZD_OK ? list : NULL;
}

/* @param shape of the inner chunks */
static ZD_RESULT wrap_codecs(struct zd_json *document, const struct zd_json *shape)
{
    ZD_AUTO(zd_json) configuration = zd_json_new_object();
    ZD_AUTO(zd_json) codec = zd_json_new_object();
    ZD_AUTO(zd_json) list = zd_json_new_array();
    if (configuration == NULL || codec == NULL || list == NULL) {
        return ZD_NO_MEMORY;
    }
    ZD_TRY(zd_json_set(configuration, "chunk_shape", zd_json_ref(shape)));
    ZD_TRY(zd_json_set(configuration, "codecs", zd_json_ref(zd_json_member(document, "codecs"))));
    ZD_TRY(zd_json_set(configuration, "index_codecs", index_codecs()));
    ZD_TRY(zd_json_set(codec, "name", zd_json_new_text("sharding_indexed")));
    ZD_TRY(zd_json_set(codec, "configuration", ZD_TAKE(configuration)));
    ZD_TRY(zd_json_append(list, ZD_TAKE(codec)));
    return zd_json_set(document, "codecs", ZD_TAKE(list));
}

enum zd_status zd_draft_shard_apply(
    const struct zd_json *per_shard, struct zd_json *document, struct zd_faults *faults)
{
    ZD_AUTO(zd_json) shape = NULL;
    ZD_AUTO(zd_json) grid = zd_json_copy(zd_json_member(document, "chunk_grid"));
    ZD_AUTO(zd_json) configuration = zd_json_copy(zd_json_member(grid, "configuration"));
    if (grid == NULL || configuration == NULL) {
        return ZD_NO_MEMORY;
    }
    const struct zd_json *inner = zd_json_member(configuration, "chunk_shape");
    ZD_TRY(wrap_codecs(document, inner));
    if (!zd_json_is(inner, ZD_JSON_ARRAY)) {
        return ZD_OK; /* a fault, whichever chunks are meant */
    }
    ZD_TRY(multiply(inner, per_shard, &shape, faults));
    ZD_TRY(zd_json_set(configuration, "chunk_shape", ZD_TAKE(shape)));
    ZD_TRY(zd_json_set(grid, "configuration", ZD_TAKE(configuration)));
    return zd_json_set(document, "chunk_grid", ZD_TAKE(grid));
}

void zd_draft_shard_move_faults(struct zd_faults *faults)
{
    static const struct {
        struct zd_pointer from;
        struct zd_pointer to;
    } moves[] = {
        {{"/codecs/0/configuration/codecs"}, {"/inner_codecs"}},
        {{"/codecs/0/configuration/chunk_shape"}, {"/chunk_grid/configuration/chunk_shape"}},
        {{"/codecs/0"}, {"/storage_transformers/0"}},
        {{"/inner_codecs"}, {"/codecs"}},
    };
    for (size_t i = 0; i < ZD_COUNT_OF(moves); i++) {
        zd_faults_move(faults, &moves[i].from, &moves[i].to);
    }
}
