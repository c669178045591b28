/* Fuzzes core/dialect/v3/dialect_v3: any bytes make a node, refused or not, and a good one reads
 * back as itself. */
#include "core/array/layout.h"
#include "core/base/emit.h"
#include "core/dialect/dialect.h"
#include "tests/fuzz/input.h"

#define INPUT_BYTES_MAX (1U << 16)
#define TEXT_BYTES_MAX  (1U << 22) /* a document may grow when it is normalised: 1e300 */

static struct zd_meta *parse(struct zd_span text, enum zd_judgement judgement, size_t bytes_max)
{
    const struct zd_reading reading = {
        .zep10 = true,
        .judgement = judgement,
        .limits = {.bytes_max = bytes_max, .nodes_max = 10000, .depth_max = 64},
        .consolidated_bytes_max = 1U << 20,
    };
    const struct zd_documents documents = {.text = {text}, .present = {true}};
    struct zd_meta *meta = NULL;
    zd_fuzz_insist(zd_dialect_find("v3")->parse(&documents, &reading, &meta, NULL) == ZD_OK);
    return meta;
}

/* A normalised document needs no leniency. */
static void check_normal(const struct zd_meta *meta)
{
    ZD_SCOPED_TEXT(text, TEXT_BYTES_MAX);
    struct zd_emit emit;
    zd_emit_init(&emit, &text, false);
    zd_emit_json(&emit, meta->document);
    zd_fuzz_insist(text.status == ZD_OK);
    /* Keys of a proposal are never written. */
    const enum zd_judgement judgement =
        meta->type == ZD_NODE_ARRAY && meta->key_suffix != NULL ? ZD_JUDGE_READ : ZD_JUDGE_WRITE;
    ZD_AUTO(zd_meta) again = parse(zd_text_span(&text), judgement, TEXT_BYTES_MAX);
    zd_fuzz_insist(!zd_meta_is_refused(again));
    zd_fuzz_insist(zd_json_equal(again->document, meta->document));
}

/* Check both ends of each dimension, and an inner chunk. */
static void check_grid(struct zd_meta *meta)
{
    const struct zd_grid *grid = &meta->grid;
    uint64_t index[ZD_RANK_MAX] = {0};
    bool has_chunk = true;
    for (uint32_t d = 0; d < grid->rank; d++) {
        const uint64_t n = zd_grid_count(grid, d);
        zd_fuzz_insist(zd_grid_count_inside(grid, d) <= n);
        has_chunk = has_chunk && n > 0;
        if (grid->shape[d] > 0) {
            const uint64_t x = grid->shape[d] - 1;
            const struct zd_cell cell = zd_grid_cell_at(grid, d, x);
            zd_fuzz_insist(cell.index < n && cell.origin <= x && x - cell.origin < cell.edge);
            zd_fuzz_insist(cell.edge <= grid->chunk[d]);
            zd_fuzz_insist(zd_grid_cell_of(grid, d, cell.index).origin == cell.origin);
        }
        index[d] = n > 0 ? n - 1 : 0;
    }
    ZD_AUTO(zd_layout) layout = NULL;
    if (!has_chunk || zd_layout_new(meta, UINT64_MAX, &layout, NULL) != ZD_OK) {
        return;
    }
    const struct zd_level *level;
    if (zd_layout_open(layout, 0, index, &level, NULL) == ZD_OK) {
        zd_fuzz_insist(level->chunk_bytes <= layout->level[0].chunk_bytes);
        zd_layout_close(level);
    }
}

static void walk_listing(const struct zd_meta *meta)
{
    for (size_t i = 0; i < zd_stored_listing_count(meta->listing); i++) {
        const struct zd_stored_entry entry = zd_stored_listing_entry(meta->listing, i);
        zd_fuzz_insist(entry.path.len > 0 && entry.path.ptr[0] != '/');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct zd_span text = {.ptr = data, .len = size};
    ZD_AUTO(zd_meta) written = parse(text, ZD_JUDGE_WRITE, INPUT_BYTES_MAX);
    ZD_AUTO(zd_meta) meta = parse(text, ZD_JUDGE_READ, INPUT_BYTES_MAX);
    /* A document that may be written can be read, except for unknown extensions. */
    zd_fuzz_insist(zd_meta_is_refused(written) || meta->faults.n_invalid == 0);
    if (!zd_meta_is_refused(meta)) {
        check_normal(meta);
        walk_listing(meta);
    }
    if (zd_meta_is_array(meta)) {
        check_grid(meta);
    }
    return 0;
}
