/* The list of dialects. */
#include "core/dialect/dialect.h"

#include <string.h>

#include "core/base/num.h"

const struct zd_dialect *zd_dialect_find(const char *name)
{
    for (size_t i = 0; zd_dialects[i] != NULL; i++) {
        if (strcmp(zd_dialects[i]->name, name) == 0) {
            return zd_dialects[i];
        }
    }
    return NULL;
}

static bool is_any(const struct zd_dialect *dialect)
{
    return dialect->document_path != NULL;
}

static bool is_first(const struct zd_dialect *dialect)
{
    return dialect->is_first;
}

/* @param ret_dialect or NULL */
static enum zd_status find_path(const char *key, bool (*is_asked)(const struct zd_dialect *dialect),
    struct zd_text *ret_path, const struct zd_dialect **ret_dialect)
{
    for (size_t i = 0; zd_dialects[i] != NULL; i++) {
        if (!is_asked(zd_dialects[i]) || zd_dialects[i]->document_path == NULL) {
            continue;
        }
        zd_text_clear(ret_path);
        const enum zd_status status = zd_dialects[i]->document_path(zd_span_of(key), ret_path);
        if (status == ZD_OK && ret_dialect != NULL) {
            *ret_dialect = zd_dialects[i];
        }
        if (status != ZD_NOT_FOUND) {
            return status;
        }
    }
    return ZD_NOT_FOUND;
}

enum zd_status zd_dialect_check_writes_chunks(const struct zd_meta *meta, struct zd_error *err)
{
    if (!zd_dialect_is_writable(meta->dialect)) {
        return zd_fail(err, ZD_READ_ONLY, "dialect %s is read-only", meta->dialect->name);
    }
    return meta->key_suffix == NULL
               ? ZD_OK
               : zd_fail(err, ZD_READ_ONLY,
                     "arrays with the chunk key encoding \"suffix\", a proposal, are read-only");
}

enum zd_status zd_dialect_node_path(const char *key, struct zd_text *ret_path)
{
    return find_path(key, is_any, ret_path, NULL);
}

enum zd_status zd_dialect_written_node_path(
    const char *key, struct zd_text *ret_path, const struct zd_dialect **ret_dialect)
{
    return find_path(key, zd_dialect_is_writable, ret_path, ret_dialect);
}

enum zd_status zd_dialect_first_node_path(const char *key, struct zd_text *ret_path)
{
    return find_path(key, is_first, ret_path, NULL);
}

enum zd_status zd_dialect_judge(struct zd_span text, const struct zd_reading *reading,
    struct zd_meta **ret_meta, struct zd_error *err)
{
    const struct zd_documents documents = {.text = {text}, .present = {true}};
    return zd_dialect_find("v3")->parse(&documents, reading, ret_meta, err);
}

struct zd_json_limits zd_dialect_listing_limits(const struct zd_reading *reading, uint32_t n_levels)
{
    struct zd_json_limits large = reading->limits;
    large.depth_max += n_levels;
    large.bytes_max = (size_t)zd_max_u64(reading->consolidated_bytes_max, large.bytes_max);
    const size_t factor =
        (size_t)zd_div_up(large.bytes_max, zd_max_u64(reading->limits.bytes_max, 1));
    if (ckd_mul(&large.nodes_max, large.nodes_max, factor)) {
        large.nodes_max = SIZE_MAX;
    }
    return large;
}

struct zd_json *zd_dialect_new_group(void)
{
    ZD_AUTO(zd_json) document = zd_json_new_object();
    if (document == NULL || zd_json_set(document, "zarr_format", zd_json_new_u64(3)) != ZD_OK ||
        zd_json_set(document, "node_type", zd_json_new_text("group")) != ZD_OK) {
        return NULL;
    }
    return ZD_TAKE(document);
}
