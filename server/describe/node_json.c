/* A node as JSON. */
#include "server/describe/node_json.h"

#include <string.h>

#include "core/base/num.h"
#include "core/dialect/v3/v3_grid.h"
#include "core/grid/scalar.h"
#include "core/grid/widen.h"
#include "server/format/format.h"
#include "server/http/problem.h"

const char *const zd_node_fields[] = {"path", "node_type", "dialect", "metadata", "array",
    "refused", "tier", "levels", "children", "warnings", "links", NULL};

static bool wants(const struct zd_node_view *view, const char *path)
{
    return zd_fields_match(view->fields, path) != ZD_FIELD_OUT;
}

const char *zd_node_json_type_name(enum zd_node_type type)
{
    switch (type) {
    case ZD_NODE_GROUP:
        return "group";
    case ZD_NODE_ARRAY:
        return "array";
    case ZD_NODE_UNKNOWN:
        return NULL;
    }
    return NULL;
}

void zd_node_json_emit_lengths(struct zd_emit *emit, const uint64_t *length, uint32_t n)
{
    zd_emit_array(emit);
    for (uint32_t d = 0; d < n; d++) {
        zd_emit_u64(emit, length[d]);
    }
    zd_emit_array_end(emit);
}

static void emit_shape(const struct zd_meta *meta, struct zd_emit *emit)
{
    uint64_t shape[ZD_RANK_MAX];
    zd_meta_shape(meta, shape);
    zd_node_json_emit_lengths(emit, shape, meta->grid.rank);
}

static void emit_dtype(const struct zd_meta *meta, struct zd_emit *emit)
{
    char typestr[ZD_DTYPE_TYPESTR_BYTES];
    if (meta->dtype.fields != NULL) {
        zd_emit_raw(emit, zd_span_of(meta->dtype.fields->typestr));
        return;
    }
    zd_dtype_typestr(&meta->dtype, typestr);
    zd_emit_string(emit, typestr);
}

static void emit_data_type(const struct zd_meta *meta, struct zd_emit *emit)
{
    zd_emit_string(emit, meta->dtype.name);
}

static void emit_itemsize(const struct zd_meta *meta, struct zd_emit *emit)
{
    if (zd_dtype_is_variable(&meta->dtype)) {
        zd_emit_null(emit);
    } else {
        zd_emit_u64(emit, zd_widen_dtype(&meta->dtype).bytes);
    }
}

static void emit_dimension_names(const struct zd_meta *meta, struct zd_emit *emit)
{
    if (meta->dimension_name == NULL) {
        zd_emit_null(emit);
        return;
    }
    zd_emit_array(emit);
    for (uint32_t d = 0; d < meta->grid.rank; d++) {
        zd_emit_string(emit, meta->dimension_name[d]);
    }
    zd_emit_array_end(emit);
}

/* Null where chunks differ: `chunk_shapes` has them. */
static void emit_chunk_shape(const struct zd_meta *meta, struct zd_emit *emit)
{
    if (meta->grid.edges != NULL) {
        zd_emit_null(emit);
        return;
    }
    zd_node_json_emit_lengths(emit, meta->grid.chunk, meta->grid.rank);
}

/* In the axes of the array: the codec sees them permuted. Null unless chunks are shards. */
static void emit_inner_chunk_shape(const struct zd_meta *meta, struct zd_emit *emit)
{
    const uint32_t place = zd_chain_array_bytes(meta->chain);
    const struct zd_codec *codec = zd_chain_codec(meta->chain, place);
    const struct zd_shard *shard =
        codec->shard == NULL ? NULL : codec->shard(zd_chain_state(meta->chain, place));
    uint32_t order[ZD_RANK_MAX];
    if (shard == NULL || !zd_chain_order(meta->chain, order)) {
        zd_emit_null(emit);
        return;
    }
    uint64_t shape[ZD_RANK_MAX] = {0};
    for (uint32_t i = 0; i < shard->rank; i++) {
        shape[order[i]] = shard->chunk_shape[i];
    }
    zd_node_json_emit_lengths(emit, shape, shard->rank);
}

static void emit_chunk_grid_shape(const struct zd_meta *meta, struct zd_emit *emit)
{
    uint64_t count[ZD_RANK_MAX];
    for (uint32_t d = 0; d < meta->grid.rank; d++) {
        count[d] = zd_grid_count(&meta->grid, d);
    }
    zd_node_json_emit_lengths(emit, count, meta->grid.rank);
}

static void emit_fill_value(const struct zd_meta *meta, struct zd_emit *emit)
{
    ZD_AUTO(zd_json) fill = zd_scalar_json(&meta->dtype, meta->fill);
    if (fill == NULL) {
        emit->text->status = ZD_NO_MEMORY;
    }
    zd_emit_json(emit, fill);
}

static void emit_codecs(const struct zd_meta *meta, struct zd_emit *emit)
{
    zd_emit_array(emit);
    for (uint32_t i = 0; i < zd_chain_count(meta->chain); i++) {
        zd_emit_string(emit, zd_chain_codec(meta->chain, i)->name);
    }
    zd_emit_array_end(emit);
}

/* The number of elements that clients see. */
static bool elements_overflow(const struct zd_meta *meta, uint64_t *ret_n_elements)
{
    uint64_t shape[ZD_RANK_MAX];
    zd_meta_shape(meta, shape);
    return zd_product_overflows(ret_n_elements, shape, meta->grid.rank);
}

static void emit_n_elements(const struct zd_meta *meta, struct zd_emit *emit)
{
    uint64_t n_elements = 0;
    if (elements_overflow(meta, &n_elements)) {
        zd_emit_null(emit);
    } else {
        zd_emit_u64(emit, n_elements);
    }
}

/* Null when it does not fit 64 bits, or stands in no document. */
static void emit_n_bytes(const struct zd_meta *meta, struct zd_emit *emit)
{
    uint64_t n_bytes = 0;
    if (zd_dtype_is_variable(&meta->dtype) || elements_overflow(meta, &n_bytes) ||
        ckd_mul(&n_bytes, n_bytes, zd_widen_dtype(&meta->dtype).bytes)) {
        zd_emit_null(emit);
    } else {
        zd_emit_u64(emit, n_bytes);
    }
}

/* A slice may have any rank up to the array's. */
static bool can_format(const struct zd_format *format, const struct zd_meta *meta)
{
    for (uint32_t rank = 0; rank <= meta->grid.rank; rank++) {
        if (zd_format_accepts(format, &meta->dtype, rank, NULL)) {
            return true;
        }
    }
    return false;
}

static void emit_formats(const struct zd_meta *meta, struct zd_emit *emit)
{
    zd_emit_array(emit);
    for (size_t i = 0; zd_formats[i] != NULL; i++) {
        if (can_format(zd_formats[i], meta)) {
            zd_emit_string(emit, zd_formats[i]->name);
        }
    }
    zd_emit_array_end(emit);
}

/* The members of "array", in the order of the answer; paths as in `fields`. */
static const struct array_member {
    const char *path;
    void (*emit)(const struct zd_meta *meta, struct zd_emit *emit);
} array_members[] = {
    {"array.shape", emit_shape},
    {"array.dtype", emit_dtype},
    {"array.data_type", emit_data_type},
    {"array.itemsize", emit_itemsize},
    {"array.dimension_names", emit_dimension_names},
    {"array.chunk_shape", emit_chunk_shape},
    {"array.inner_chunk_shape", emit_inner_chunk_shape},
    {"array.chunk_grid_shape", emit_chunk_grid_shape},
    {"array.fill_value", emit_fill_value},
    {"array.codecs", emit_codecs},
    {"array.n_elements", emit_n_elements},
    {"array.n_bytes", emit_n_bytes},
    {"array.formats", emit_formats},
};

/* Show the chunk shapes of a grid whose chunks differ, as its document has them. */
static void emit_chunk_shapes(const struct zd_node_view *view, struct zd_emit *emit)
{
    if (view->meta->grid.edges == NULL || !wants(view, "array.chunk_shapes")) {
        return;
    }
    struct zd_json *shapes = NULL;
    if (zd_v3_grid_shapes(view->meta, &shapes) != ZD_OK) {
        emit->text->status = ZD_NO_MEMORY;
    }
    zd_emit_key(emit, "chunk_shapes");
    zd_emit_json(emit, shapes);
    zd_json_unref(shapes);
}

/* An array with an ignored codec is read-only, too: other programs would decode with that codec
 * what was written without it. */
static enum zd_status check_writes(const struct zd_meta *meta, struct zd_error *err)
{
    ZD_TRY(zd_dialect_check_writes_chunks(meta, err));
    return zd_chain_check_encodes(meta->chain, err);
}

static void emit_can(const struct zd_node_view *view, struct zd_emit *emit)
{
    struct zd_error err = {0};
    const bool is_open = view->can_slice && view->is_writable;
    const bool can_write = is_open && check_writes(view->meta, &err) == ZD_OK;
    zd_emit_member_object(emit, "can");
    zd_emit_member_bool(emit, "slice", view->can_slice);
    zd_emit_member_bool(emit, "write", can_write);
    if (is_open && !can_write) {
        zd_emit_member_string(emit, "reason", err.text);
    }
    zd_emit_object_end(emit);
}

static void emit_array(const struct zd_node_view *view, struct zd_emit *emit)
{
    if (!wants(view, "array")) {
        return;
    }
    zd_emit_member_object(emit, "array");
    for (size_t i = 0; i < ZD_COUNT_OF(array_members); i++) {
        if (wants(view, array_members[i].path)) {
            zd_emit_key(emit, array_members[i].path + strlen("array."));
            array_members[i].emit(view->meta, emit);
        }
    }
    emit_chunk_shapes(view, emit);
    if (view->meta->view.has_origin && wants(view, "array.origin")) {
        zd_emit_key(emit, "origin");
        zd_node_json_emit_lengths(emit, view->meta->view.origin, view->meta->grid.rank);
    }
    if (wants(view, "array.can")) {
        emit_can(view, emit);
    }
    zd_emit_object_end(emit);
}

/* The first finding of the gravest kind; NULL when none was kept. */
static const struct zd_fault *gravest(const struct zd_faults *faults)
{
    const struct zd_fault *found = NULL;
    for (size_t i = 0; i < faults->n_items; i++) {
        const struct zd_fault *fault = &faults->item[i];
        if (fault->severity == ZD_FAULT_INVALID) {
            return fault;
        }
        if (fault->severity == ZD_FAULT_UNSUPPORTED && found == NULL) {
            found = fault;
        }
    }
    return found;
}

static void emit_refused(const struct zd_node_view *view, struct zd_emit *emit)
{
    const struct zd_faults *faults = &view->meta->faults;
    if (!wants(view, "refused")) {
        return;
    }
    zd_emit_member_object(emit, "refused");
    zd_emit_member_string(emit, "code", zd_problem_code_of_faults(faults));
    zd_problem_emit_names(faults, emit);
    const struct zd_fault *fault = gravest(faults);
    zd_emit_member_string(emit, "pointer", fault == NULL ? NULL : fault->pointer);
    zd_emit_member_string(emit, "detail", fault == NULL ? NULL : fault->detail);
    zd_emit_object_end(emit);
}

void zd_node_json_emit(const struct zd_node_view *view, struct zd_emit *emit)
{
    const struct zd_meta *meta = view->meta;
    if (wants(view, "path")) {
        zd_emit_member_string(emit, "path", view->path);
    }
    if (wants(view, "node_type")) {
        zd_emit_member_string(emit, "node_type", zd_node_json_type_name(meta->type));
    }
    if (wants(view, "dialect")) {
        zd_emit_member_string(emit, "dialect", meta->dialect->name);
    }
    if (meta->document == NULL) {
        if (wants(view, "metadata")) {
            zd_emit_member_json(emit, "metadata", NULL);
        }
    } else {
        zd_fields_emit(view->fields, "metadata", "metadata", meta->document, emit);
    }
    if (zd_meta_is_refused(meta)) {
        emit_refused(view, emit);
    } else if (meta->type == ZD_NODE_ARRAY) {
        emit_array(view, emit);
    }
    if (view->tier != NULL && wants(view, "tier")) {
        zd_emit_member_string(emit, "tier", view->tier);
    }
}

static void emit_warning(const struct zd_fault *fault, struct zd_emit *emit)
{
    zd_emit_object(emit);
    zd_emit_member_string(emit, "code", fault->code);
    zd_emit_member_string(emit, "pointer", fault->pointer);
    zd_emit_member_string(emit, "detail", fault->detail);
    zd_emit_object_end(emit);
}

void zd_node_json_emit_warnings(const struct zd_node_view *view, struct zd_emit *emit)
{
    const bool are_others = view->warnings != NULL;
    const struct zd_faults *faults = are_others ? view->warnings : &view->meta->faults;
    const struct zd_faults *more = view->more_warnings;
    if (!wants(view, "warnings")) {
        return;
    }
    zd_emit_member_array(emit, "warnings");
    for (size_t i = 0; i < faults->n_items; i++) {
        const struct zd_fault *fault = &faults->item[i];
        const bool is_hidden = view->hides_listing && fault->is_of_listing;
        if ((fault->severity == ZD_FAULT_WARNING || are_others) && !is_hidden) {
            emit_warning(fault, emit);
        }
    }
    for (size_t i = 0; more != NULL && i < more->n_items; i++) {
        emit_warning(&more->item[i], emit);
    }
    zd_emit_array_end(emit);
}

void zd_node_json_emit_counts(const struct zd_edit_counts *counts, struct zd_emit *emit)
{
    zd_emit_member_object(emit, "chunks");
    zd_emit_member_u64(emit, "written", counts->n_written);
    zd_emit_member_u64(emit, "erased", counts->n_erased);
    zd_emit_member_u64(emit, "unchanged", counts->n_unchanged);
    zd_emit_object_end(emit);
}
