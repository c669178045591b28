#include "core/array/rendition.h"

#include <string.h>

#include "core/base/num.h"
#include "core/codec/vlen.h"
#include "core/dialect/chunk_key.h"
#include "core/dialect/dialect.h"

/* All widely used readers of v3 decode these: zarr-python, tensorstore, zarrita. A chain of these
 * alone is shown unchanged. */
static const char *const common_codecs[] = {"bytes", "transpose", "sharding_indexed", "vlen-utf8",
    "vlen-bytes", "blosc", "gzip", "zstd", "crc32c"};

static bool is_final(const struct zd_meta *meta)
{
    return strcmp(meta->dialect->name, "v3") == 0;
}

/* Widely used readers of v3 find chunks under these keys. */
static bool has_common_keys(const struct zd_meta *meta)
{
    return meta->key_suffix == NULL;
}

static bool is_common(const struct zd_codec *codec)
{
    for (size_t i = 0; i < ZD_COUNT_OF(common_codecs); i++) {
        if (strcmp(codec->name, common_codecs[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool has_common_codecs(const struct zd_chain *chain)
{
    for (uint32_t i = 0; i < zd_chain_count(chain); i++) {
        const struct zd_codec *codec = zd_chain_codec(chain, i);
        if (!is_common(codec)) {
            return false;
        }
        if (codec->shard != NULL &&
            !has_common_codecs(codec->shard(zd_chain_state(chain, i))->inner)) {
            return false;
        }
    }
    return true;
}

/* A shard that is compressed as a whole has no level. */
static bool has_shards(const struct zd_chain *chain)
{
    return zd_chain_codec(chain, zd_chain_array_bytes(chain))->shard != NULL;
}

const char *zd_rendition_refusal(const struct zd_meta *meta)
{
    const struct zd_struct_fields *fields = meta->dtype.fields;
    if (meta->type != ZD_NODE_ARRAY) {
        return NULL;
    }
    if (meta->dtype.kind == ZD_DTYPE_LIST) {
        return "Zarr v3 has no data type with lists as elements";
    }
    return fields != NULL && fields->has_array ? "Zarr v3 has no structs with array fields" : NULL;
}

/* Shards of drafts are always opened: the index of one may lack the checksum that final v3 wants.
 */
struct zd_rendition zd_rendition_of(const struct zd_layout *layout, enum zd_view_kind kind)
{
    const bool is_own = is_final(layout->meta);
    const bool is_unsharded = !is_own || kind == ZD_VIEW_UNSHARDED;
    const uint32_t level = is_unsharded ? layout->n_levels - 1 : 0;
    const struct zd_chain *chain = layout->level[level].chain;
    const bool is_decoded =
        (!is_own && !has_common_codecs(chain)) || (is_unsharded && has_shards(chain));
    return (struct zd_rendition){
        .level = level,
        .is_decoded = is_decoded,
        .has_stored_key = is_own && level == 0 && !is_decoded && has_common_keys(layout->meta),
    };
}

/* ---- the document ---- */

/* {"name": name, "configuration": {member: value}} */
static struct zd_json *new_extension(const char *name, const char *member, struct zd_json *value)
{
    ZD_AUTO(zd_json) owned = value;
    ZD_AUTO(zd_json) configuration = zd_json_new_object();
    ZD_AUTO(zd_json) extension = zd_json_new_object();
    if (owned == NULL || configuration == NULL || extension == NULL ||
        zd_json_set(configuration, member, ZD_TAKE(owned)) != ZD_OK ||
        zd_json_set(extension, "name", zd_json_new_text(name)) != ZD_OK ||
        zd_json_set(extension, "configuration", ZD_TAKE(configuration)) != ZD_OK) {
        return NULL;
    }
    return ZD_TAKE(extension);
}

/* {"name": name} */
static struct zd_json *new_named(const char *name)
{
    ZD_AUTO(zd_json) extension = zd_json_new_object();
    if (extension == NULL || zd_json_set(extension, "name", zd_json_new_text(name)) != ZD_OK) {
        return NULL;
    }
    return ZD_TAKE(extension);
}

/* The chain of chunks that are decoded: their elements, and nothing else. */
static struct zd_json *new_plain_codecs(const struct zd_dtype *dtype)
{
    ZD_AUTO(zd_json) list = zd_json_new_array();
    struct zd_json *codec = zd_dtype_is_variable(dtype)
                                ? new_named(zd_vlen_name(dtype))
                                : new_extension("bytes", "endian", zd_json_new_text("little"));
    if (zd_json_append(list, codec) != ZD_OK) {
        return NULL;
    }
    return ZD_TAKE(list);
}

/* The grid of inner chunks. It is regular, even if the grid of the shards is not. */
static struct zd_json *new_grid(const struct zd_grid *grid)
{
    ZD_AUTO(zd_json) shape = zd_json_new_array();
    for (uint32_t d = 0; shape != NULL && d < grid->rank; d++) {
        if (zd_json_append(shape, zd_json_new_u64(grid->chunk[d])) != ZD_OK) {
            return NULL;
        }
    }
    return new_extension("regular", "chunk_shape", ZD_TAKE(shape));
}

/* The members of an object, shared. */
static struct zd_json *new_like(const struct zd_json *object)
{
    ZD_AUTO(zd_json) like = zd_json_new_object();
    if (like == NULL) {
        return NULL;
    }
    for (void *iter = zd_json_next(object, NULL); iter != NULL; iter = zd_json_next(object, iter)) {
        if (zd_json_set(like, zd_json_iter_name(iter), zd_json_ref(zd_json_iter_value(iter))) !=
            ZD_OK) {
            return NULL;
        }
    }
    return ZD_TAKE(like);
}

static ZD_RESULT change_document(
    const struct zd_layout *layout, const struct zd_rendition *rendition, struct zd_json *document)
{
    const struct zd_level *level = &layout->level[rendition->level];
    if (rendition->level > 0) {
        ZD_TRY(zd_json_set(document, "chunk_grid", new_grid(&level->grid)));
    }
    if (rendition->is_decoded) {
        ZD_TRY(zd_json_set(document, "codecs", new_plain_codecs(&layout->meta->dtype)));
    } else if (rendition->level > 0) {
        ZD_TRY(zd_json_set(document, "codecs", zd_chain_json(level->chain)));
    }
    return zd_json_set(document, "chunk_key_encoding",
        new_extension("default", "separator", zd_json_new_text("/")));
}

enum zd_status zd_rendition_document(struct zd_meta *meta, enum zd_view_kind kind,
    struct zd_json **ret_document, struct zd_error *err)
{
    ZD_AUTO(zd_layout) layout = NULL;
    if (meta->type != ZD_NODE_ARRAY || kind == ZD_VIEW_NONE) {
        *ret_document = zd_json_ref(meta->document);
        return ZD_OK;
    }
    ZD_TRY(zd_layout_new(meta, UINT64_MAX, &layout, err));
    const struct zd_rendition rendition = zd_rendition_of(layout, kind);
    if (rendition.has_stored_key) {
        *ret_document = zd_json_ref(meta->document);
        return ZD_OK;
    }
    ZD_AUTO(zd_json) document = new_like(meta->document);
    if (document == NULL || change_document(layout, &rendition, document) != ZD_OK) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for a document");
    }
    *ret_document = ZD_TAKE(document);
    return ZD_OK;
}

/* ---- keys ---- */

enum zd_status zd_rendition_chunk(const struct zd_layout *layout,
    const struct zd_rendition *rendition, const char *key, uint64_t *ret_index)
{
    const struct zd_meta *meta = layout->meta;
    return rendition->has_stored_key
               ? meta->dialect->chunk_index(meta, key, ret_index)
               : zd_chunk_key_parse_default(
                     &layout->level[rendition->level].grid, zd_span_of(key), ret_index);
}
