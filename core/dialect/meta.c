/* A node: made, shared, released. */
#include "core/dialect/meta.h"

#include <assert.h>
#include <string.h>

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

static void release(struct zd_meta *meta)
{
    for (uint32_t d = 0; meta->dimension_name != NULL && d < meta->grid.rank; d++) {
        zd_free(meta->dimension_name[d]);
    }
    zd_free((void *)meta->dimension_name);
    zd_applied_done(&meta->applied);
    zd_chain_unref(meta->chain);
    zd_free(meta->fill);
    zd_faults_done(&meta->faults);
    zd_json_unref(meta->consolidated);
    zd_json_unref(meta->attributes);
    zd_json_unref(meta->document);
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

static bool has_same_lengths(const uint64_t *a, const uint64_t *b, uint32_t rank)
{
    return rank == 0 || memcmp(a, b, rank * sizeof *a) == 0;
}

bool zd_meta_has_same_encoding(const struct zd_meta *a, const struct zd_meta *b)
{
    if (!zd_meta_is_array(a) || !zd_meta_is_array(b) || a->grid.rank != b->grid.rank) {
        return false;
    }
    return has_same_lengths(a->grid.chunk, b->grid.chunk, a->grid.rank) &&
           a->key_encoding == b->key_encoding && a->key_separator == b->key_separator &&
           zd_json_equal(zd_json_member(a->document, "data_type"),
               zd_json_member(b->document, "data_type")) &&
           zd_json_equal(
               zd_json_member(a->document, "codecs"), zd_json_member(b->document, "codecs"));
}

bool zd_meta_has_same_chunks(const struct zd_meta *a, const struct zd_meta *b)
{
    return zd_meta_has_same_encoding(a, b) &&
           has_same_lengths(a->grid.shape, b->grid.shape, a->grid.rank);
}

bool zd_meta_takes_chunks(const struct zd_meta *meta, const struct zd_meta *of)
{
    return zd_meta_has_same_encoding(meta, of) && meta->dialect == of->dialect &&
           memcmp(meta->fill, of->fill, meta->dtype.bytes) == 0;
}
