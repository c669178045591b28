/* Facts about core/array/layout. */
#include "core/array/layout.h"

#include <stdio.h>
#include <string.h>

#include "core/array/block.h"
#include "core/array/chunk.h"
#include "core/base/num.h"
#include "tests/support/array.h"
#include "tests/support/geometry.h"
#include "tests/support/unit.h"

#define LITTLE    "{'name':'bytes','configuration':{'endian':'little'}}"
#define BIG       "{'name':'bytes','configuration':{'endian':'big'}}"
#define CRC       "{'name':'crc32c'}"
#define GZIP      "{'name':'gzip','configuration':{'level':1}}"
#define AXES(o)   "{'name':'transpose','configuration':{'order':[" o "]}}"
#define INDEX_CRC "[" LITTLE "," CRC "]"
#define SHARD_AT(chunk, codecs, index, location)                                                   \
    "{'name':'sharding_indexed','configuration':{'chunk_shape':[" chunk "],'codecs':[" codecs      \
    "],'index_codecs':" index ",'index_location':'" location "'}}"
#define SHARD(chunk, codecs) SHARD_AT(chunk, codecs, INDEX_CRC, "end")

#define NO_LIMIT UINT64_MAX

static struct zd_layout *open_layout(const struct zd_unit_array *array)
{
    ZD_AUTO(zd_meta) meta = zd_unit_meta(array);
    struct zd_layout *layout = NULL;
    struct zd_error err = {0};
    ck_assert_msg(zd_layout_new(meta, NO_LIMIT, &layout, &err) == ZD_OK, "%s", err.text);
    return layout;
}

/* Expected layouts of arrays with int32 elements. */
static const struct layout_fact {
    struct zd_unit_array array;
    uint32_t n_levels;
    uint64_t chunk[ZD_LEVELS_MAX][3];
    bool is_linear;
    bool is_swapped;
    uint64_t stride[3];
} layout_facts[] = {
    {{0, {0}, {0}, "int32", "[" LITTLE "]"}, 1, {{0}}, true, false, {0}},
    {{2, {7, 9}, {3, 4}, "int32", "[" LITTLE "]"}, 1, {{3, 4}}, true, false, {16, 4}},
    {{2, {7, 9}, {3, 4}, "int32", "[" BIG "]"}, 1, {{3, 4}}, true, true, {16, 4}},
    {{2, {0, 9}, {3, 4}, "int32", "[" BIG "]"}, 1, {{3, 4}}, true, true, {16, 4}},
    {{2, {7, 9}, {3, 4}, "int32", "[" AXES("1,0") "," LITTLE "]"}, 1, {{3, 4}}, true, false,
        {4, 12}},
    {{3, {7, 9, 5}, {2, 3, 4}, "int32", "[" AXES("2,0,1") "," LITTLE "]"}, 1, {{2, 3, 4}}, true,
        false, {12, 4, 24}},
    {{3, {7, 9, 5}, {2, 3, 4}, "int32", "[" AXES("2,0,1") "," AXES("1,0,2") "," LITTLE "]"}, 1,
        {{2, 3, 4}}, true, false, {48, 4, 12}},
    {{2, {7, 9}, {3, 4}, "int32", "[" LITTLE "," GZIP "]"}, 1, {{3, 4}}, false, false, {0}},
    {{2, {7, 9}, {3, 4}, "int32", "[" LITTLE "," CRC "]"}, 1, {{3, 4}}, false, false, {0}},
    {{2, {20, 20}, {8, 6}, "int32", "[" SHARD("4,3", BIG) "]"}, 2, {{8, 6}, {4, 3}}, true, true,
        {12, 4}},
    {{2, {20, 20}, {8, 6}, "int32", "[" SHARD("4,3", LITTLE "," GZIP) "]"}, 2, {{8, 6}, {4, 3}},
        false, false, {0}},
    /* Zarr v3, sharding_indexed: the inner shape divides the shard as it reaches the codec */
    {{2, {20, 20}, {10, 12}, "int32", "[" AXES("1,0") "," SHARD("6,5", LITTLE) "]"}, 2,
        {{10, 12}, {5, 6}}, true, false, {4, 20}},
    {{2, {20, 20}, {10, 12}, "int32", "[" AXES("1,0") "," SHARD("6,5", AXES("1,0") "," LITTLE) "]"},
        2, {{10, 12}, {5, 6}}, true, false, {24, 4}},
    {{1, {100}, {16}, "int32", "[" SHARD("8", SHARD("4", LITTLE)) "]"}, 3, {{16}, {8}, {4}}, true,
        false, {4}},
    {{1, {100}, {16}, "int32", "[" SHARD("8", SHARD("4", SHARD("2", LITTLE))) "]"}, 4,
        {{16}, {8}, {4}, {2}}, true, false, {4}},
    /* one nest too deep: the last level's chunks are shards that are decoded whole */
    {{1, {100}, {16}, "int32", "[" SHARD("8", SHARD("4", SHARD("2", SHARD("1", LITTLE)))) "]"}, 4,
        {{16}, {8}, {4}, {2}}, false, false, {0}},
    /* a shard within anything but permutations is one chunk */
    {{1, {100}, {16}, "int32", "[" SHARD("8", LITTLE) "," CRC "]"}, 1, {{16}}, false, false, {0}},
    {{1, {100}, {16}, "int32", "[" SHARD("8", SHARD("4", LITTLE) "," GZIP) "]"}, 2, {{16}, {8}},
        false, false, {0}},
};

START_TEST(layouts_are_what_the_codecs_say)
{
    const struct layout_fact *fact = &layout_facts[_i];
    const uint32_t rank = fact->array.rank;
    ZD_AUTO(zd_layout) layout = open_layout(&fact->array);
    ck_assert_uint_eq(layout->n_levels, fact->n_levels);
    for (uint32_t i = 0; i < layout->n_levels; i++) {
        const struct zd_level *level = &layout->level[i];
        uint64_t n_elements = 1;
        for (uint32_t d = 0; d < rank; d++) {
            ck_assert_uint_eq(level->grid.shape[d], fact->array.shape[d]);
            ck_assert_uint_eq(level->grid.chunk[d], fact->chunk[i][d]);
            n_elements *= fact->chunk[i][d];
            ck_assert(i + 1 == layout->n_levels ||
                      level->ratio[d] * level[1].grid.chunk[d] == level->grid.chunk[d]);
        }
        ck_assert_uint_eq(level->chunk_bytes, n_elements * sizeof(int32_t));
        ck_assert_int_eq(level->shard != NULL, i + 1 < layout->n_levels);
    }
    ck_assert_ptr_eq(zd_layout_leaf(layout), &layout->level[layout->n_levels - 1]);
    ck_assert_int_eq(layout->is_linear, fact->is_linear);
    ck_assert_int_eq(layout->is_swapped, fact->is_swapped);
    for (uint32_t d = 0; d < rank; d++) {
        ck_assert_uint_eq(layout->stride[d], fact->stride[d]);
    }
}
END_TEST

/* Follows the indexes down to a chunk of the last level; NULL when it is missing. */
static struct zd_buf *find_leaf(
    const struct zd_layout *layout, struct zd_span stored, const uint64_t *leaf_index)
{
    struct zd_byte_range run = {.first = 0, .len = stored.len};
    for (uint32_t i = 0; i + 1 < layout->n_levels; i++) {
        const struct zd_level *level = &layout->level[i];
        struct zd_byte_range index_run = {0};
        ck_assert_int_eq(zd_layout_index_range(level, run, &index_run, NULL), ZD_OK);
        ZD_AUTO(zd_buf)
        encoded = zd_buf_copy(
            (struct zd_span){.ptr = stored.ptr + index_run.first, .len = index_run.len});
        ZD_AUTO(zd_buf) shard_index = NULL;
        ck_assert_int_eq(zd_layout_index_decode(level, encoded, &shard_index, NULL), ZD_OK);
        uint64_t index[ZD_RANK_MAX];
        zd_layout_ancestor(layout, layout->n_levels - 1, i + 1, leaf_index, index);
        const enum zd_status status = zd_layout_find(level, shard_index, run, index, &run, NULL);
        if (status == ZD_NOT_FOUND) {
            return NULL;
        }
        ck_assert_int_eq(status, ZD_OK);
        ck_assert_uint_le(run.first + run.len, stored.len);
    }
    return zd_buf_copy((struct zd_span){.ptr = stored.ptr + run.first, .len = run.len});
}

/* Arrays of 2 dimensions whose chunks have these lengths; 0 ends them. */
static const struct irregular_fact {
    uint64_t shape[2];
    uint64_t edge[2][4];
    const char *codecs;
    uint64_t inner[2]; /* in the array's axes; 0: the chunks are no shards */
} irregular_facts[] = {
    {{7, 9}, {{1, 3, 3}, {4, 5}}, "[" LITTLE "]", {0}},
    {{6, 9}, {{1, 3, 3}, {4, 5, 1}}, "[" AXES("1,0") "," BIG "," GZIP "]", {0}},
    {{11, 18}, {{2, 6, 4}, {9, 3, 6}}, "[" SHARD("2,3", LITTLE) "]", {2, 3}},
    {{11, 17}, {{2, 6, 4}, {9, 3, 6}}, "[" AXES("1,0") "," SHARD("3,2", LITTLE) "]", {2, 3}},
    {{12, 8}, {{4, 8}, {8, 0}}, "[" SHARD("4,4", SHARD("2,1", LITTLE)) "]", {4, 4}},
};

static struct zd_layout *open_irregular(const struct irregular_fact *fact)
{
    struct zd_unit_array array = {.rank = 2, .data_type = "int32", .codecs = fact->codecs};
    ZD_AUTO(zd_edges) edges = zd_edges_new();
    ck_assert_ptr_nonnull(edges);
    for (uint32_t d = 0; d < 2; d++) {
        for (size_t i = 0; i < 4 && fact->edge[d][i] > 0; i++) {
            ck_assert_int_eq(zd_edges_add(edges, d, fact->edge[d][i], 1), ZD_OK);
        }
        array.shape[d] = fact->shape[d];
        array.chunk[d] = edges->axis[d].longest;
    }
    ZD_AUTO(zd_meta) meta = zd_unit_meta(&array);
    meta->edges = zd_edges_ref(edges);
    meta->grid.edges = meta->edges;
    meta->document = zd_json_new_object();
    ck_assert_int_eq(zd_json_set(meta->document, "codecs", zd_chain_json(meta->chain)), ZD_OK);
    struct zd_layout *layout = NULL;
    struct zd_error err = {0};
    ck_assert_msg(zd_layout_new(meta, NO_LIMIT, &layout, &err) == ZD_OK, "%s", err.text);
    return layout;
}

/* Every inner chunk of a shard is found in it, each with an entry of its own. */
static void check_inner(const struct zd_layout *layout, const struct zd_level *one,
    const uint64_t *index, const uint64_t *inner)
{
    uint8_t seen[64] = {0};
    const struct zd_cell row = zd_unit_cell(&one->grid, 0, index[0]);
    const struct zd_cell column = zd_unit_cell(&one->grid, 1, index[1]);
    ck_assert_uint_eq(one->shard->n_chunks, row.edge * column.edge / (inner[0] * inner[1]));
    for (uint64_t x = row.origin; x < row.origin + row.edge; x += inner[0]) {
        for (uint64_t y = column.origin; y < column.origin + column.edge; y += inner[1]) {
            const uint64_t at[ZD_RANK_MAX] = {x / inner[0], y / inner[1]};
            uint64_t outer[ZD_RANK_MAX];
            zd_layout_ancestor(layout, 1, 0, at, outer);
            ck_assert_mem_eq(outer, index, 2 * sizeof *index);
            const uint64_t entry = zd_layout_entry(one, at);
            ck_assert_uint_lt(entry, one->shard->n_chunks);
            ck_assert_uint_eq(seen[entry], 0);
            seen[entry] = 1;
        }
    }
}

START_TEST(chunks_that_differ_are_opened_as_they_are)
{
    const struct irregular_fact *fact = &irregular_facts[_i];
    ZD_AUTO(zd_layout) layout = open_irregular(fact);
    const struct zd_grid *grid = &layout->level[0].grid;
    for (uint64_t i = 0; i < zd_grid_count(grid, 0) * zd_grid_count(grid, 1); i++) {
        const uint64_t index[ZD_RANK_MAX] = {
            i / zd_grid_count(grid, 1), i % zd_grid_count(grid, 1)};
        const uint64_t n = fact->edge[0][index[0]] * fact->edge[1][index[1]];
        const struct zd_level *one;
        ck_assert_int_eq(zd_layout_open(layout, 0, index, &one, NULL), ZD_OK);
        ck_assert(one->is_one);
        ck_assert_uint_eq(one->n_elements, n);
        ck_assert_uint_eq(one->chunk_bytes, n * sizeof(int32_t));
        ck_assert_uint_eq(zd_layout_chunk_bytes(layout, 0, index), one->chunk_bytes);
        ck_assert_uint_eq(zd_chain_decoded(one->chain)->size, one->chunk_bytes);
        ck_assert_uint_le(one->chunk_bytes, layout->level[0].chunk_bytes);
        ck_assert_int_eq(one->shard != NULL, fact->inner[0] > 0);
        if (one->shard != NULL) {
            check_inner(layout, one, index, fact->inner);
        }
        zd_layout_close(one);
    }
}
END_TEST

static enum zd_status open_with_little_memory(void *context)
{
    const uint64_t index[ZD_RANK_MAX] = {1, 1};
    const struct zd_level *one;
    ZD_TRY(zd_layout_open(context, 0, index, &one, NULL));
    zd_layout_close(one);
    return ZD_OK;
}

START_TEST(failing_memory_opens_nothing)
{
    ZD_AUTO(zd_layout) layout = open_irregular(&irregular_facts[2]);
    zd_unit_with_failing_memory(open_with_little_memory, layout);
}
END_TEST

/* Such a shape was judged with the document; here nobody did. */
START_TEST(chunks_that_codecs_do_not_take_are_refused)
{
    const struct irregular_fact fact = {
        {7, 6}, {{4, 3}, {6}}, "[" SHARD("2,3", LITTLE) "]", {2, 3}};
    ZD_AUTO(zd_layout) layout = open_irregular(&fact);
    const uint64_t index[ZD_RANK_MAX] = {1, 0};
    const struct zd_level *one;
    struct zd_error err = {0};
    ck_assert_int_eq(zd_layout_open(layout, 0, index, &one, &err), ZD_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(err.text, "divisor of 3"));
}
END_TEST

/* A stored object made by the array's own encoder, and its elements. */
struct stored {
    struct zd_buf *data;
    struct zd_buf *bytes;
};

static struct stored store_chunk(const struct zd_layout *layout)
{
    struct stored stored = {.data = zd_buf_new(layout->level[0].chunk_bytes)};
    ck_assert_ptr_nonnull(stored.data);
    stored.data->len = stored.data->cap;
    for (size_t i = 0; i < stored.data->len; i++) {
        stored.data->data[i] = (uint8_t)(1 + zd_unit_random() % UINT8_MAX); /* never the fill */
    }
    struct zd_error err = {0};
    ck_assert_msg(zd_chunk_encode(&layout->level[0], stored.data, &stored.bytes, &err) == ZD_OK,
        "%s", err.text);
    return stored;
}

/* The elements of a last-level chunk, cut out of the whole level 0 chunk at index 0. */
static struct zd_buf *cut_leaf(
    const struct zd_layout *layout, const struct zd_buf *data, const uint64_t *leaf_index)
{
    const struct zd_level *leaf = zd_layout_leaf(layout);
    const struct zd_grid *grid = &layout->level[0].grid;
    struct zd_selection selection = {.rank = grid->rank};
    for (uint32_t d = 0; d < grid->rank; d++) {
        selection.axis[d] = (struct zd_axis){
            .start = leaf_index[d] * leaf->grid.chunk[d], .count = leaf->grid.chunk[d], .step = 1};
    }
    struct zd_buf *cut = zd_buf_new(leaf->chunk_bytes);
    ck_assert_ptr_nonnull(cut);
    cut->len = leaf->chunk_bytes;
    const struct zd_block block = zd_block_of(&selection, &layout->meta->dtype, cut->data);
    struct zd_plan plan;
    struct zd_part part;
    zd_plan_init(&plan, grid, &selection);
    ck_assert(zd_plan_next(&plan, &part));
    zd_block_copy(&block, &part, grid, data);
    ck_assert(!zd_plan_next(&plan, &part));
    return cut;
}

/* A whole last-level chunk, gathered from its bytes as they are stored. */
static void check_gathered(
    const struct zd_layout *layout, const struct zd_buf *bytes, const struct zd_buf *want)
{
    struct zd_grid grid = zd_layout_leaf(layout)->grid;
    struct zd_selection whole;
    zd_selection_whole(grid.rank, grid.chunk, &whole);
    memcpy(grid.shape, grid.chunk, sizeof grid.shape);
    struct zd_plan plan;
    struct zd_part part;
    zd_plan_init(&plan, &grid, &whole);
    ck_assert(zd_plan_next(&plan, &part));
    const struct zd_byte_range run = zd_layout_span(layout, &part);
    ck_assert_uint_eq(run.first, 0);
    ck_assert_uint_eq(run.len, bytes->len);
    ZD_AUTO(zd_buf) data = zd_buf_new(want->len);
    ck_assert_ptr_nonnull(data);
    const struct zd_block block = zd_block_of(&whole, &layout->meta->dtype, data->data);
    zd_block_gather(&block, &part, layout, zd_buf_span(bytes));
    ck_assert_mem_eq(data->data, want->data, want->len);
}

START_TEST(every_inner_chunk_is_found_and_decodes_to_its_elements)
{
    struct zd_unit_array array = layout_facts[_i].array;
    for (uint32_t d = 0; d < array.rank; d++) {
        array.shape[d] = array.chunk[d]; /* one stored object */
    }
    ZD_AUTO(zd_layout) layout = open_layout(&array);
    const struct stored stored = store_chunk(layout);
    const struct zd_level *leaf = zd_layout_leaf(layout);
    uint64_t n_chunks = 0;
    ck_assert(!zd_grid_overflows(&leaf->grid, &n_chunks));
    for (uint64_t i = 0; i < n_chunks; i++) {
        uint64_t index[ZD_RANK_MAX];
        uint64_t left = i;
        for (uint32_t d = array.rank; d-- > 0;) {
            index[d] = left % zd_grid_count(&leaf->grid, d);
            left /= zd_grid_count(&leaf->grid, d);
        }
        ZD_AUTO(zd_buf) want = cut_leaf(layout, stored.data, index);
        ZD_AUTO(zd_buf) bytes = find_leaf(layout, zd_buf_span(stored.bytes), index);
        ck_assert_ptr_nonnull(bytes);
        ZD_AUTO(zd_buf) data = NULL;
        struct zd_error err = {0};
        ck_assert_msg(zd_chunk_decode(leaf, bytes, &data, &err) == ZD_OK, "%s", err.text);
        ck_assert_uint_eq(data->len, want->len);
        ck_assert_mem_eq(data->data, want->data, want->len);
        if (layout->is_linear) {
            check_gathered(layout, bytes, want);
        }
    }
    zd_buf_unref(stored.data);
    zd_buf_unref(stored.bytes);
}
END_TEST

/* Reference 10: two inner chunks of 2 x uint8, the second one missing. */
static const struct vector_fact {
    const char *codecs;
    const char *stored;
    uint64_t index_first;
    uint64_t chunk_first;
} vector_facts[] = {
    {"[" SHARD("2", LITTLE) "]",
        "0102 0000000000000000 0200000000000000 ffffffffffffffff ffffffffffffffff bd13bd56", 2, 0},
    {"[" SHARD_AT("2", LITTLE, INDEX_CRC, "start") "]",
        "2400000000000000 0200000000000000 ffffffffffffffff ffffffffffffffff 2609790d 0102", 0, 36},
};

START_TEST(shards_of_the_reference_are_understood)
{
    const struct vector_fact *fact = &vector_facts[_i];
    const struct zd_unit_array array = {1, {4}, {4}, "uint8", fact->codecs};
    ZD_AUTO(zd_layout) layout = open_layout(&array);
    const struct zd_level *level = &layout->level[0];
    ZD_AUTO(zd_buf) stored = zd_unit_hex(fact->stored);
    const struct zd_byte_range shard = {.first = 100, .len = stored->len};
    struct zd_byte_range run = {0};
    ck_assert_int_eq(zd_layout_index_range(level, shard, &run, NULL), ZD_OK);
    ck_assert_uint_eq(run.first, 100 + fact->index_first);
    ck_assert_uint_eq(run.len, 36);
    ZD_AUTO(zd_buf)
    encoded =
        zd_buf_copy((struct zd_span){.ptr = stored->data + fact->index_first, .len = run.len});
    ZD_AUTO(zd_buf) shard_index = NULL;
    ck_assert_int_eq(zd_layout_index_decode(level, encoded, &shard_index, NULL), ZD_OK);
    const uint64_t first[] = {0};
    const uint64_t second[] = {1};
    ck_assert_int_eq(zd_layout_find(level, shard_index, shard, first, &run, NULL), ZD_OK);
    ck_assert_uint_eq(run.first, 100 + fact->chunk_first);
    ck_assert_uint_eq(run.len, 2);
    ck_assert_int_eq(zd_layout_find(level, shard_index, shard, second, &run, NULL), ZD_NOT_FOUND);

    encoded->data[0] ^= 1; /* the checksum sees it */
    ZD_AUTO(zd_buf) broken = NULL;
    ck_assert_int_eq(zd_layout_index_decode(level, encoded, &broken, NULL), ZD_CORRUPT);
    ck_assert_ptr_null(broken);
}
END_TEST

START_TEST(index_entries_must_lie_in_their_shard)
{
    const struct zd_unit_array array = {
        1, {2}, {2}, "uint8", "[" SHARD_AT("2", LITTLE, "[" LITTLE "]", "end") "]"};
    ZD_AUTO(zd_layout) layout = open_layout(&array);
    const struct zd_level *level = &layout->level[0];
    ZD_AUTO(zd_buf) encoded = zd_unit_hex("0100000000000000 0200000000000000");
    const uint64_t index[] = {0};
    for (uint64_t len = 0; len < 5; len++) {
        const struct zd_byte_range shard = {.first = 10, .len = len};
        const bool lies_in = len >= 3;
        struct zd_byte_range run = {0};
        struct zd_error err = {0};
        ZD_AUTO(zd_buf) shard_index = NULL;
        ck_assert_int_eq(zd_layout_index_decode(level, encoded, &shard_index, &err), ZD_OK);
        ck_assert_int_eq(
            zd_layout_find(level, encoded, shard, index, &run, &err), lies_in ? ZD_OK : ZD_CORRUPT);
        ck_assert_uint_eq(run.first, lies_in ? 11 : 0);
    }
}
END_TEST

static const struct piece_fact {
    const char *codecs; /* of the index of 20000 chunks */
    uint64_t chunk;
    struct zd_byte_range piece;
    uint64_t held_bytes;
} piece_facts[] = {
    {"[" LITTLE "]", 0, {0, 16384}, 16384},
    {INDEX_CRC, 1023, {0, 16384}, 16384},
    {INDEX_CRC, 1024, {16384, 16384}, 16384},
    {INDEX_CRC, 19999, {311296, 8704}, 16384},
    {"[" LITTLE "," CRC "," CRC "]", 19455, {294912, 16384}, 16384},
    {"[" BIG "]", 19999, {0, 320000}, 640000},
    {"[" AXES("1,0") "," LITTLE "]", 19999, {0, 320000}, 640000},
};

START_TEST(a_page_of_a_large_index_with_fixed_places_is_enough)
{
    const struct piece_fact *fact = &piece_facts[_i];
    char codecs[512];
    (void)snprintf(codecs, sizeof codecs, "[" SHARD_AT("1", LITTLE, "%s", "end") "]", fact->codecs);
    const struct zd_unit_array array = {1, {20000}, {20000}, "uint8", codecs};
    ZD_AUTO(zd_layout) layout = open_layout(&array);
    const struct zd_level *level = &layout->level[0];
    const struct zd_byte_range piece = zd_layout_index_piece(level, &fact->chunk);
    ck_assert_uint_eq(piece.first, fact->piece.first);
    ck_assert_uint_eq(piece.len, fact->piece.len);
    ck_assert_uint_eq(zd_layout_index_held_bytes(layout), fact->held_bytes);
    ZD_AUTO(zd_buf) entries = zd_buf_new(piece.len);
    entries->len = piece.len;
    memset(entries->data, 0xff, entries->len);
    struct zd_byte_range run = {0};
    const struct zd_byte_range shard = {.first = 5, .len = 400000};
    ck_assert_int_eq(zd_layout_find(level, entries, shard, &fact->chunk, &run, NULL), ZD_NOT_FOUND);
    uint8_t *entry = entries->data + (fact->chunk * 16 - piece.first);
    zd_store_u64(entry, 7);
    zd_store_u64(entry + 8, 1);
    ck_assert_int_eq(zd_layout_find(level, entries, shard, &fact->chunk, &run, NULL), ZD_OK);
    ck_assert_uint_eq(run.first, 12);
    ck_assert_uint_eq(run.len, 1);
}
END_TEST

START_TEST(a_shard_holds_its_index)
{
    const struct zd_unit_array array = {1, {4}, {4}, "uint8", "[" SHARD("2", LITTLE) "]"};
    ZD_AUTO(zd_layout) layout = open_layout(&array);
    const uint64_t lens[] = {0, 1, 35};
    struct zd_byte_range run = {.first = 7};
    for (size_t i = 0; i < ZD_COUNT_OF(lens); i++) {
        const struct zd_byte_range shard = {.first = 0, .len = lens[i]};
        ck_assert_int_eq(zd_layout_index_range(&layout->level[0], shard, &run, NULL), ZD_CORRUPT);
        ck_assert_uint_eq(run.first, 7);
    }
    const struct zd_byte_range bare = {.first = 0, .len = 36};
    ck_assert_int_eq(zd_layout_index_range(&layout->level[0], bare, &run, NULL), ZD_OK);
    ck_assert_uint_eq(run.first, 0);
    ck_assert_uint_eq(run.len, 36);
}
END_TEST

static const struct limit_fact {
    const char *codecs;
    uint64_t chunk_bytes_max;
    enum zd_status status;
} limit_facts[] = {
    /* chunks of 16 x int32 */
    {"[" LITTLE "]", 64, ZD_OK}, {"[" LITTLE "]", 63, ZD_UNSUPPORTED},
    {"[" LITTLE "]", 0, ZD_UNSUPPORTED}, {"[" LITTLE "]", UINT64_MAX, ZD_OK},
    {"[" SHARD("4", LITTLE) "]", 16, ZD_OK}, /* a shard is never decoded whole */
    {"[" SHARD("4", LITTLE) "]", 15, ZD_UNSUPPORTED},
    {"[" SHARD("4", LITTLE) "," CRC "]", 16, ZD_UNSUPPORTED}, /* but here it is */
};

START_TEST(chunks_past_the_limit_are_refused)
{
    const struct limit_fact *fact = &limit_facts[_i];
    const struct zd_unit_array array = {1, {100}, {16}, "int32", fact->codecs};
    ZD_AUTO(zd_meta) meta = zd_unit_meta(&array);
    ZD_AUTO(zd_layout) layout = NULL;
    struct zd_error err = {0};
    ck_assert_int_eq(zd_layout_new(meta, fact->chunk_bytes_max, &layout, &err), fact->status);
    if (fact->status != ZD_OK) {
        ck_assert_ptr_null(layout);
        ck_assert_uint_eq(err.facts.limit, fact->chunk_bytes_max);
        ck_assert_uint_gt(err.facts.requested, fact->chunk_bytes_max);
    }
}
END_TEST

static enum zd_status make_layout(void *context)
{
    ZD_AUTO(zd_layout) layout = NULL;
    return zd_layout_new(context, NO_LIMIT, &layout, NULL);
}

START_TEST(a_layout_survives_missing_memory)
{
    const struct zd_unit_array array = {
        2, {20, 20}, {10, 12}, "int32", "[" AXES("1,0") "," SHARD("6,5", LITTLE "," GZIP) "]"};
    ZD_AUTO(zd_meta) meta = zd_unit_meta(&array);
    zd_unit_with_failing_memory(make_layout, meta);
    zd_layout_free(NULL);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(
        tests, chunks_that_differ_are_opened_as_they_are, 0, ZD_COUNT_OF(irregular_facts));
    tcase_add_test(tests, failing_memory_opens_nothing);
    tcase_add_test(tests, chunks_that_codecs_do_not_take_are_refused);
    tcase_add_loop_test(tests, layouts_are_what_the_codecs_say, 0, ZD_COUNT_OF(layout_facts));
    tcase_add_loop_test(tests, every_inner_chunk_is_found_and_decodes_to_its_elements, 0,
        ZD_COUNT_OF(layout_facts));
    tcase_add_loop_test(
        tests, shards_of_the_reference_are_understood, 0, ZD_COUNT_OF(vector_facts));
    tcase_add_test(tests, index_entries_must_lie_in_their_shard);
    tcase_add_loop_test(
        tests, a_page_of_a_large_index_with_fixed_places_is_enough, 0, ZD_COUNT_OF(piece_facts));
    tcase_add_test(tests, a_shard_holds_its_index);
    tcase_add_loop_test(tests, chunks_past_the_limit_are_refused, 0, ZD_COUNT_OF(limit_facts));
    tcase_add_test(tests, a_layout_survives_missing_memory);
}
