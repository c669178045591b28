/* A node: made, shared, released. */
#include "core/dialect/meta.h"

#include <assert.h>
#include <string.h>

#include "core/grid/struct_fields.h"

#include "core/base/json_nonfinite.h"

struct zd_meta *zd_meta_new(const struct zd_dialect *dialect)
{
    struct zd_meta *meta = zd_alloc_zero(1, sizeof *meta);
    if (meta != NULL) {
        atomic_init(&meta->refs, 1);
        meta->dialect = dialect;
        meta->type = ZD_NODE_UNKNOWN;
    }
    return meta;
}

struct zd_meta *zd_meta_ref(struct zd_meta *meta)
{
    const uint32_t before = atomic_fetch_add_explicit(&meta->refs, 1, memory_order_relaxed);
    assert(before > 0);
    (void)before;
    return meta;
}

enum zd_status zd_meta_show_stored(struct zd_meta *meta, const struct zd_json *stored)
{
    zd_json_unref(ZD_TAKE(meta->document));
    meta->document = zd_json_nonfinite_quote(stored);
    return meta->document == NULL ? ZD_NO_MEMORY : ZD_OK;
}

enum zd_status zd_meta_keep_texts(
    struct zd_meta *meta, const struct zd_documents *documents, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (documents->present[i]) {
            struct zd_buf *bytes = documents->bytes[i];
            meta->text[i] = bytes == NULL ? zd_buf_copy(documents->text[i]) : zd_buf_ref(bytes);
        }
        if (documents->present[i] && meta->text[i] == NULL) {
            return ZD_NO_MEMORY;
        }
    }
    return ZD_OK;
}

struct zd_documents zd_meta_documents(const struct zd_meta *meta)
{
    struct zd_documents documents = {0};
    for (size_t i = 0; i < ZD_DOCUMENTS_MAX; i++) {
        if (meta->text[i] != NULL) {
            documents.text[i] = zd_buf_span(meta->text[i]);
            documents.present[i] = true;
            documents.bytes[i] = meta->text[i];
        }
    }
    return documents;
}

void zd_meta_be_counted(struct zd_meta *meta, struct zd_tally *tally, uint64_t bytes)
{
    assert(meta->tally == NULL);
    meta->tally = tally;
    meta->tally_bytes = bytes;
}

void zd_meta_leave_listing(struct zd_meta *meta)
{
    if (meta->listing != NULL) {
        meta->listing_index_bytes = zd_stored_listing_index_bytes(meta->listing);
    }
    zd_stored_listing_unref(ZD_TAKE(meta->listing));
}

static void release(struct zd_meta *meta)
{
    for (uint32_t d = 0; meta->dimension_name != NULL && d < meta->grid.rank; d++) {
        zd_free(meta->dimension_name[d]);
    }
    zd_free((void *)meta->dimension_name);
    for (size_t i = 0; i < ZD_DOCUMENTS_MAX; i++) {
        zd_buf_unref(meta->text[i]);
    }
    zd_applied_done(&meta->applied);
    zd_relative_free(meta->ome_levels);
    zd_free(meta->key_suffix);
    zd_chain_unref(meta->chain);
    zd_edges_unref(meta->edges);
    zd_struct_fields_unref(meta->dtype.fields);
    zd_free(meta->fill);
    zd_faults_done(&meta->faults);
    zd_stored_listing_unref(meta->listing);
    zd_json_unref(meta->attributes);
    zd_json_unref(meta->document);
    if (meta->tally != NULL) {
        zd_tally_sub(meta->tally, meta->tally_bytes);
    }
    zd_free(meta);
}

void zd_meta_unref(struct zd_meta *meta)
{
    if (meta == NULL) {
        return;
    }
    if (atomic_fetch_sub_explicit(&meta->refs, 1, memory_order_acq_rel) == 1) {
        release(meta);
    }
}

static bool has_same_suffix(const struct zd_meta *a, const struct zd_meta *b)
{
    return a->key_suffix == NULL || b->key_suffix == NULL
               ? a->key_suffix == b->key_suffix
               : strcmp(a->key_suffix, b->key_suffix) == 0;
}

bool zd_meta_has_same_encoding(const struct zd_meta *a, const struct zd_meta *b)
{
    if (!zd_meta_is_array(a) || !zd_meta_is_array(b) || a->grid.rank != b->grid.rank) {
        return false;
    }
    return zd_grid_agree(&a->grid, &b->grid) && a->key_encoding == b->key_encoding &&
           a->key_separator == b->key_separator && a->has_reversed_keys == b->has_reversed_keys &&
           has_same_suffix(a, b) &&
           zd_json_equal(zd_json_member(a->document, "data_type"),
               zd_json_member(b->document, "data_type")) &&
           zd_json_equal(
               zd_json_member(a->document, "codecs"), zd_json_member(b->document, "codecs"));
}

bool zd_meta_has_same_chunks(const struct zd_meta *a, const struct zd_meta *b)
{
    if (!zd_meta_has_same_encoding(a, b)) {
        return false;
    }
    for (uint32_t d = 0; d < a->grid.rank; d++) {
        if (a->grid.shape[d] != b->grid.shape[d] ||
            zd_grid_count(&a->grid, d) > zd_grid_count(&b->grid, d)) {
            return false;
        }
    }
    return true;
}

bool zd_meta_takes_chunks(const struct zd_meta *meta, const struct zd_meta *of)
{
    return zd_meta_has_same_encoding(meta, of) && meta->dialect == of->dialect &&
           meta->has_no_fill == of->has_no_fill &&
           zd_dtype_same_elements(&meta->dtype, meta->fill, of->fill, 1);
}
