/* A consolidated listing as one document. */
#include "server/describe/tree_document.h"

#include <stdio.h>
#include <string.h>

#include "core/dialect/v2/v2_listing_write.h"

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

static ZD_RESULT leave_out(
    struct zd_tree_document *document, const char *path, const struct zd_error *why)
{
    struct zd_pointer at;
    (void)snprintf(at.text, sizeof at.text, "%s", why->facts.pointer);
    document->n_left_out++;
    zd_faults_add(&document->left_out, ZD_FAULT_WARNING, "left_out", path, &at, NULL, NULL,
        "omitted: %s", why->text);
    return document->left_out.out_of_memory ? ZD_NO_MEMORY : ZD_OK;
}

/* Leave out nodes that v2 cannot describe. */
static ZD_RESULT add_v2(
    struct zd_tree_document *document, const char *path, const struct zd_meta *meta)
{
    struct zd_error why = {0};
    const enum zd_status status = zd_v2_listing_write_any(path, meta, document->emit, &why);
    const bool is_unsayable = status == ZD_INVALID || status == ZD_UNSUPPORTED;
    return is_unsayable ? leave_out(document, path, &why) : status;
}

enum zd_status zd_tree_document_begin(
    struct zd_tree_document *document, const struct zd_meta *start)
{
    if (document->format == ZD_TREE_ZARR) {
        begin_block(start, document->emit);
        return ZD_OK;
    }
    zd_emit_member_object(document->emit, "metadata");
    return add_v2(document, "", start);
}

/* Nodes of other dialects are rendered only when they are supported; a view shows the codecs that
 * can read its chunks. */
static bool is_shown(enum zd_view_kind view, const struct zd_meta *meta)
{
    if (view != ZD_VIEW_NONE) {
        return !zd_meta_is_refused(meta) && zd_rendition_refusal(meta) == NULL;
    }
    return !zd_meta_is_refused(meta) || strcmp(meta->dialect->name, "v3") == 0;
}

/* Pass over a node that no listing has. */
static ZD_RESULT pass_over(struct zd_tree_document *document, const char *path,
    const struct zd_meta *meta, const char *text)
{
    struct zd_error why = {0};
    if (document->format != ZD_TREE_ZMETADATA) {
        return ZD_OK;
    }
    why.status =
        meta == NULL ? zd_fail(&why, ZD_STORE, "%s", text) : zd_faults_status(&meta->faults, &why);
    return leave_out(document, path, &why);
}

enum zd_status zd_tree_document_add(struct zd_tree_document *document, const char *path,
    struct zd_meta *meta, const char *why, struct zd_error *err)
{
    if (!zd_tree_document_may_have(meta)) {
        return pass_over(document, path, meta, why);
    }
    if (document->format == ZD_TREE_ZMETADATA) {
        return add_v2(document, path, meta);
    }
    if (is_shown(document->view, meta)) {
        ZD_AUTO(zd_json) rendition = NULL;
        ZD_TRY(zd_rendition_document(meta, document->view, &rendition, err));
        zd_emit_member_json(document->emit, path, rendition);
    }
    return ZD_OK;
}

static void emit_left_out(const struct zd_tree_document *document)
{
    struct zd_emit *emit = document->emit;
    zd_emit_member_array(emit, "warnings");
    for (size_t i = 0; i < document->left_out.n_items; i++) {
        const struct zd_fault *fault = &document->left_out.item[i];
        zd_emit_object(emit);
        zd_emit_member_string(emit, "path", fault->name);
        zd_emit_member_string(emit, "code", fault->code);
        zd_emit_member_string(emit, "pointer", fault->pointer);
        zd_emit_member_string(emit, "detail", fault->detail);
        zd_emit_object_end(emit);
    }
    zd_emit_array_end(emit);
    zd_emit_member_u64(emit, "n_left_out", document->n_left_out);
}

void zd_tree_document_end(struct zd_tree_document *document)
{
    if (document->format == ZD_TREE_ZMETADATA) {
        zd_v2_listing_write_end(document->emit);
        if (document->n_left_out > 0) {
            emit_left_out(document);
        }
        return;
    }
    zd_emit_object_end(document->emit);
    zd_emit_object_end(document->emit);
}

void zd_tree_document_done(struct zd_tree_document *document)
{
    zd_faults_done(&document->left_out);
    *document = (struct zd_tree_document){.format = ZD_TREE_JSON};
}
