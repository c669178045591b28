/* Fuzzes core/array/rewrite: whatever is stored and whatever is changed, an edit fails and changes
 * nothing, or it is done, and then doing it again changes nothing. The first bytes of the input
 * name the array and the edit; the rest is what is stored. */
#include "core/array/chunk.h"
#include "core/array/rewrite.h"
#include "core/array/rewrite_verify.h"
#include "core/base/num.h"
#include "tests/fuzz/input.h"

#define INPUT_BYTES_MAX (1U << 14)
#define OBJECT_MAX      (1U << 15)
#define EDGE            16U /* of the array and of its objects */

#define BYTES "{\"name\":\"bytes\",\"configuration\":{\"endian\":\"big\"}}"
#define AXES  "{\"name\":\"transpose\",\"configuration\":{\"order\":[1,0]}}"
#define ZSTD  "{\"name\":\"zstd\",\"configuration\":{\"level\":1}}"
#define SHARD(shape, codecs, index, location)                                                      \
    "{\"name\":\"sharding_indexed\",\"configuration\":{\"chunk_shape\":" shape                     \
    ",\"codecs\":" codecs ",\"index_codecs\":" index ",\"index_location\":\"" location "\"}}"

static const char *const lists[] = {
    "[" BYTES "]",
    "[" AXES "," BYTES "," ZSTD "]",
    "[" SHARD("[8,8]", "[" BYTES "]", "[" BYTES "]", "end") "]",
    "[" SHARD("[8,4]", "[" BYTES "," ZSTD "]", "[" BYTES "]", "start") "]",
    "[" AXES
    "," SHARD("[8,8]", "[" AXES "," SHARD("[4,8]", "[" BYTES "]", "[" BYTES "]", "start") "]",
        "[" BYTES "]", "end") "]",
    "[" SHARD("[8,8]", "[" BYTES ",\"crc32c\"]", "[" BYTES ",\"crc32c\"]", "end") "]",
};

/* Opened once: chunks of one shape, then those that differ. */
static struct zd_layout *layouts[2 * ZD_COUNT_OF(lists)];

/* Along both dimensions a chunk of EDGE and one of half of that. */
static void make_irregular(struct zd_meta *meta, const struct zd_json *codecs)
{
    meta->edges = zd_edges_new();
    meta->document = zd_json_new_object();
    zd_fuzz_insist(meta->edges != NULL);
    zd_fuzz_insist(zd_json_set(meta->document, "codecs", zd_json_ref(codecs)) == ZD_OK);
    for (uint32_t d = 0; d < 2; d++) {
        zd_fuzz_insist(zd_edges_add(meta->edges, d, d == 0 ? EDGE : EDGE / 2, 1) == ZD_OK);
        zd_fuzz_insist(zd_edges_add(meta->edges, d, d == 0 ? EDGE / 2 : EDGE, 1) == ZD_OK);
    }
    meta->grid.edges = meta->edges;
}

static struct zd_layout *open_layout(size_t row)
{
    static const uint16_t fill = 0x0101;
    if (layouts[row] != NULL) {
        return layouts[row];
    }
    const struct zd_json_limits limits = {.bytes_max = 4096, .nodes_max = 1000, .depth_max = 32};
    ZD_AUTO(zd_json) codecs = NULL;
    zd_fuzz_insist(zd_json_parse(zd_span_of(lists[row % ZD_COUNT_OF(lists)]), &limits, &codecs,
                       NULL) == ZD_OK);
    ZD_AUTO(zd_meta) meta = zd_meta_new(NULL);
    zd_fuzz_insist(meta != NULL);
    meta->type = ZD_NODE_ARRAY;
    meta->grid = (struct zd_grid){.rank = 2, .shape = {EDGE + 5, EDGE + 3}, .chunk = {EDGE, EDGE}};
    zd_fuzz_insist(zd_dtype_find("uint16", &meta->dtype) == ZD_OK);
    meta->fill = zd_alloc(sizeof fill);
    zd_fuzz_insist(meta->fill != NULL);
    memcpy(meta->fill, &fill, sizeof fill);
    struct zd_repr decoded = {.dtype = meta->dtype,
        .rank = 2,
        .shape = {EDGE, EDGE},
        .fill = meta->fill,
        .size_is_exact = true};
    zd_fuzz_insist(!zd_codec_repr_overflows(&decoded, &decoded.size));
    const struct zd_chain_config config = {.codecs = codecs, .decoded = &decoded};
    struct zd_faults faults = {0};
    zd_fuzz_insist(zd_chain_open(&config, &meta->chain, &faults) == ZD_OK);
    if (row >= ZD_COUNT_OF(lists)) {
        make_irregular(meta, codecs);
    }
    zd_fuzz_insist(zd_layout_new(meta, UINT64_MAX, &layouts[row], NULL) == ZD_OK);
    return layouts[row];
}

/* Along one dimension; the chunk may reach beyond the array. */
static void read_axis(
    const struct zd_grid *grid, uint32_t d, struct zd_span *input, struct zd_part *part)
{
    const uint64_t n_chunks = zd_grid_count(grid, d);
    part->chunk[d] = zd_fuzz_byte(input) % n_chunks;
    const struct zd_cell cell = zd_grid_cell_of(grid, d, part->chunk[d]);
    const uint64_t n = zd_min_u64(cell.edge, grid->shape[d] - cell.origin);
    const uint8_t shape = zd_fuzz_byte(input);
    const uint64_t stride = 1 + (shape & 1);
    const uint64_t count_max = zd_div_up(n, stride);
    part->count[d] = count_max - (shape >> 2) % count_max;
    const bool backwards = (shape & 2) != 0;
    part->from[d] = backwards ? (part->count[d] - 1) * stride : 0;
    part->step[d] = backwards ? -(int64_t)stride : (int64_t)stride;
}

/* The elements: one number, and those that follow it. */
static struct zd_buf *read_elements(const struct zd_level *level, struct zd_span *input)
{
    struct zd_buf *elements = zd_buf_new(level->chunk_bytes);
    zd_fuzz_insist(elements != NULL);
    const uint8_t value = zd_fuzz_byte(input);
    const uint8_t step = zd_fuzz_byte(input) % 2;
    for (size_t i = 0; i < level->chunk_bytes; i++) {
        elements->data[i] = (uint8_t)(value + step * i);
    }
    elements->len = level->chunk_bytes;
    return elements;
}

static struct zd_edit *read_edit(const struct zd_layout *layout, struct zd_span *input)
{
    struct zd_edit *edit = zd_rewrite_edit_new();
    zd_fuzz_insist(edit != NULL);
    edit->kind = (enum zd_edit_kind)(zd_fuzz_byte(input) % 4);
    edit->level = zd_fuzz_byte(input) % layout->n_levels;
    for (uint32_t d = 0; d < 2; d++) {
        read_axis(&layout->level[edit->level].grid, d, input, &edit->part);
    }
    const struct zd_level *level;
    zd_fuzz_insist(zd_layout_open(layout, edit->level, edit->part.chunk, &level, NULL) == ZD_OK);
    ZD_AUTO(zd_buf) elements = read_elements(level, input);
    switch (edit->kind) {
    case ZD_EDIT_ERASE:
        break;
    case ZD_EDIT_ENCODED:
        zd_fuzz_insist(zd_chain_encode(level->chain, elements, &edit->bytes, NULL) == ZD_OK);
        break;
    case ZD_EDIT_BOX:
    case ZD_EDIT_DECODED: {
        edit->bytes = zd_buf_ref(elements);
        uint64_t space[ZD_RANK_MAX];
        const uint64_t *shape = zd_grid_chunk_shape(&level->grid, edit->part.chunk, space);
        struct zd_block block = {.data = edit->bytes->data,
            .rank = 2,
            .shape = {shape[0], shape[1]},
            .dtype = layout->meta->dtype};
        edit->source = zd_scatter_source_of_block(&block);
        break;
    }
    }
    zd_layout_close(level);
    zd_fuzz_insist(zd_rewrite_verify(layout, edit, OBJECT_MAX, NULL) == ZD_OK);
    return edit;
}

static void check_edit(const struct zd_layout *layout, struct zd_edit *edit, struct zd_buf *old)
{
    struct zd_rewrite rewrite = {
        .layout = layout, .old = old, .bytes_max = OBJECT_MAX, .edit = &edit, .n_edits = 1};
    const enum zd_status status = zd_rewrite(&rewrite, NULL);
    zd_fuzz_insist(status == ZD_OK || status == ZD_TOO_LARGE);
    if (status != ZD_OK) {
        return;
    }
    zd_fuzz_insist(edit->status == ZD_OK || edit->status == ZD_CORRUPT);
    zd_fuzz_insist(edit->status == ZD_OK || !rewrite.is_changed);
    if (edit->status == ZD_OK) {
        ZD_AUTO(zd_buf) stored = rewrite.is_changed ? rewrite.bytes : zd_buf_ref(old);
        struct zd_rewrite again = {
            .layout = layout, .old = stored, .bytes_max = OBJECT_MAX, .edit = &edit, .n_edits = 1};
        zd_fuzz_insist(zd_rewrite(&again, NULL) == ZD_OK);
        zd_fuzz_insist(edit->status == ZD_OK && !again.is_changed);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct zd_span input = {.ptr = data, .len = size};
    if (size == 0 || size > INPUT_BYTES_MAX) {
        return 0;
    }
    const struct zd_layout *layout = open_layout(zd_fuzz_byte(&input) % ZD_COUNT_OF(layouts));
    ZD_AUTO(zd_edit) edit = read_edit(layout, &input);
    ZD_AUTO(zd_buf) old = zd_buf_copy(input);
    zd_fuzz_insist(old != NULL);
    check_edit(layout, edit, old);
    return 0;
}
