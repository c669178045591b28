/* A consolidated listing as one document. */
#include "server/describe/tree_document.h"

#include <string.h>

#include "core/dialect/v2_listing_write.h"

const char *zd_tree_document_name(enum zd_tree_format format)
{
    static const char *const names[] = {
        [ZD_TREE_JSON] = "json", [ZD_TREE_ZARR] = "zarr", [ZD_TREE_ZMETADATA] = "zmetadata"};
    return names[format];
}

bool zd_tree_document_may_have(const struct zd_meta *meta)
{
    return meta != NULL && meta->document != NULL &&
           !zd_faults_have(&meta->faults, ZD_FAULT_INVALID);
}

/* The start's document with a consolidated block (Zarr v3, consolidated_metadata). */
static void begin_block(const struct zd_meta *start, struct zd_emit *emit)
{
    for (void *iter = zd_json_next(start->document, NULL); iter != NULL;
        iter = zd_json_next(start->document, iter)) {
        zd_emit_member_json(emit, zd_json_iter_name(iter), zd_json_iter_value(iter));
    }
    zd_emit_member_object(emit, "consolidated_metadata");
    zd_emit_member_string(emit, "kind", "inline");
    zd_emit_member_bool(emit, "must_understand", false);
    zd_emit_member_object(emit, "metadata");
}

enum zd_status zd_tree_document_begin(
    enum zd_tree_format format, const struct zd_meta *start, struct zd_emit *emit)
{
    if (format == ZD_TREE_ZARR) {
        begin_block(start, emit);
        return ZD_OK;
    }
    zd_emit_member_object(emit, "metadata");
    return zd_v2_listing_write_any("", start, emit);
}

/* What other dialects store is rendered only when it is supported; a view shows what its chunks can
 * be read by. */
static bool is_shown(enum zd_view_kind view, const struct zd_meta *meta)
{
    if (view != ZD_VIEW_NONE) {
        return !zd_meta_is_refused(meta) && zd_rendition_refusal(meta) == NULL;
    }
    return !zd_meta_is_refused(meta) || strcmp(meta->dialect->name, "v3") == 0;
}

enum zd_status zd_tree_document_add(enum zd_tree_format format, enum zd_view_kind view,
    const char *path, struct zd_meta *meta, struct zd_emit *emit, struct zd_error *err)
{
    if (!zd_tree_document_may_have(meta)) {
        return ZD_OK;
    }
    if (format == ZD_TREE_ZMETADATA) {
        return zd_v2_listing_write_any(path, meta, emit);
    }
    if (is_shown(view, meta)) {
        ZD_AUTO(zd_json) document = NULL;
        ZD_TRY(zd_rendition_document(meta, view, &document, err));
        zd_emit_member_json(emit, path, document);
    }
    return ZD_OK;
}

void zd_tree_document_end(enum zd_tree_format format, struct zd_emit *emit)
{
    if (format == ZD_TREE_ZMETADATA) {
        zd_v2_listing_write_end(emit);
        return;
    }
    zd_emit_object_end(emit);
    zd_emit_object_end(emit);
}
