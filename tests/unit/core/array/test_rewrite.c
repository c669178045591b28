/* Facts about core/array/rewrite: random edits against a model that knows no chunks. */
#include "core/array/rewrite.h"

#include <string.h>
#include <sys/resource.h>

#include "core/array/chunk.h"
#include "core/array/rewrite_cost.h"
#include "core/array/rewrite_verify.h"
#include "core/array/verify.h"
#include "core/base/num.h"
#include "core/codec/shard_index.h"
#include "tests/support/array.h"
#include "tests/support/unit.h"

#define LITTLE    "{'name':'bytes','configuration':{'endian':'little'}}"
#define BIG       "{'name':'bytes','configuration':{'endian':'big'}}"
#define CRC       "{'name':'crc32c'}"
#define GZIP      "{'name':'gzip','configuration':{'level':1}}"
#define ZSTD      "{'name':'zstd','configuration':{'level':1,'checksum':true}}"
#define UNKNOWN   "{'name':'https://example.com/none','must_understand':false}"
#define AXES(o)   "{'name':'transpose','configuration':{'order':[" o "]}}"
#define INDEX_CRC "[" LITTLE "," CRC "]"
#define SHARD_AT(chunk, codecs, index, location)                                                   \
    "{'name':'sharding_indexed','configuration':{'chunk_shape':[" chunk "],'codecs':[" codecs      \
    "],'index_codecs':" index ",'index_location':'" location "'}}"
#define SHARD(chunk, codecs) SHARD_AT(chunk, codecs, INDEX_CRC, "end")

#define N_OBJECTS    60 /* random ones of each array */
#define N_ROUNDS     6  /* of edits of each */
#define N_EDITS_MAX  4  /* in a round */
#define N_LEAVES_MAX 256
#define NO_LIMIT     UINT64_MAX

static const struct zd_unit_array arrays[] = {
    {0, {0}, {0}, NULL, "[" LITTLE "," CRC "]"},
    {1, {10}, {4}, NULL, "[" LITTLE "]"},
    {2, {7, 9}, {3, 4}, NULL, "[" BIG "]"},
    {3, {7, 4, 5}, {2, 3, 4}, NULL, "[" AXES("2,0,1") "," BIG "," GZIP "]"},
    {2, {7, 9}, {3, 12}, NULL, "[" LITTLE "," ZSTD "," CRC "]"},
    {2, {20, 20}, {8, 6}, NULL, "[" SHARD("4,3", BIG) "]"},
    {2, {20, 20}, {8, 6}, NULL, "[" SHARD_AT("2,2", LITTLE "," ZSTD, "[" BIG "]", "start") "]"},
    {2, {20, 17}, {10, 12}, NULL, "[" AXES("1,0") "," SHARD("6,5", AXES("1,0") "," BIG) "]"},
    {1, {30}, {16}, NULL, "[" SHARD("8", SHARD("4", SHARD("2", LITTLE))) "]"},
    {2, {9, 9}, {8, 8}, NULL,
        "[" AXES("1,0") "," SHARD_AT(
            "4,4", AXES("1,0") "," SHARD("2,4", LITTLE "," CRC), INDEX_CRC, "start") "]"},
    /* a shard within anything but permutations is one chunk */
    {1, {30}, {16}, NULL, "[" SHARD("8", LITTLE) "," CRC "]"},
    {1, {30}, {16}, NULL, "[" SHARD("8", SHARD("4", LITTLE) "," GZIP) "]"},
};

static const char *const types[] = {
    "bool", "uint8", "int16", "float32", "float64", "complex64", "complex128", "r24"};

/* A stored object, and its expected content. */
struct scene {
    struct zd_layout *layout;
    const struct zd_level *leaf;
    size_t element_bytes;
    uint64_t object[ZD_RANK_MAX]; /* in level 0's grid */
    struct zd_buf *stored;        /* NULL: absent */
    uint8_t *elements;            /* of all its chunk, padding included, C order */
    uint64_t n_elements;
    bool write_empty;
    /* of the round */
    struct zd_edit *edit[N_EDITS_MAX];
    uint32_t n_edits;
    bool is_touched[N_LEAVES_MAX];
    bool has_encoded; /* a client's chunk may be stored although it is all fill value */
};

static void random_elements(const struct scene *scene, uint8_t *to, uint64_t n)
{
    const struct zd_dtype *dtype = &scene->layout->meta->dtype;
    const uint64_t mode = zd_unit_random() % 4;
    if (mode == 0) {
        zd_dtype_fill(dtype, to, scene->layout->meta->fill, n);
        return;
    }
    for (uint64_t i = 0; i < n * dtype->bytes; i++) {
        to[i] = (uint8_t)(zd_unit_random() % (dtype->kind == ZD_DTYPE_BOOL ? 2 : 256));
    }
    if (mode == 1 && n > 1) {
        zd_dtype_fill(dtype, to, scene->layout->meta->fill, n - 1);
    }
}

static void scene_init(struct scene *scene, const struct zd_unit_array *array)
{
    static const uint8_t fills[2][16] = {{0}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}};
    struct zd_unit_array typed = *array;
    typed.data_type = types[zd_unit_random() % ZD_COUNT_OF(types)];
    *scene = (struct scene){.write_empty = zd_unit_random() % 3 == 0};
    ZD_AUTO(zd_meta) meta = zd_unit_meta_filled(&typed, fills[zd_unit_random() % 2]);
    ck_assert_int_eq(zd_layout_new(meta, NO_LIMIT, &scene->layout, NULL), ZD_OK);
    scene->leaf = zd_layout_leaf(scene->layout);
    scene->element_bytes = meta->dtype.bytes;
    for (uint32_t d = 0; d < array->rank; d++) {
        scene->object[d] = zd_unit_random() % zd_grid_count(&meta->grid, d);
    }
    scene->n_elements = scene->layout->level[0].chunk_bytes / scene->element_bytes;
    scene->elements = zd_alloc(scene->layout->level[0].chunk_bytes);
    ck_assert_ptr_nonnull(scene->elements);
    zd_dtype_fill(&meta->dtype, scene->elements, meta->fill, scene->n_elements);
}

static void forget_edits(struct scene *scene)
{
    for (uint32_t i = 0; i < scene->n_edits; i++) {
        zd_rewrite_edit_free(scene->edit[i]);
    }
    scene->n_edits = 0;
}

static void scene_done(struct scene *scene)
{
    forget_edits(scene);
    zd_buf_unref(scene->stored);
    zd_free(scene->elements);
    zd_layout_free(scene->layout);
}

/* An element of the object, by its coordinates in the array. */
static uint8_t *element_at(const struct scene *scene, const uint64_t *x)
{
    const struct zd_grid *grid = &scene->layout->level[0].grid;
    uint64_t i = 0;
    for (uint32_t d = 0; d < grid->rank; d++) {
        i = i * grid->chunk[d] + (x[d] - scene->object[d] * grid->chunk[d]);
    }
    return scene->elements + i * scene->element_bytes;
}

/* Which of the object's chunks of the last level has that element. */
static uint64_t leaf_number(const struct scene *scene, const uint64_t *x)
{
    const struct zd_grid *outer = &scene->layout->level[0].grid;
    uint64_t i = 0;
    for (uint32_t d = 0; d < outer->rank; d++) {
        const uint64_t in_object = x[d] - scene->object[d] * outer->chunk[d];
        i = i * (outer->chunk[d] / scene->leaf->grid.chunk[d]) +
            in_object / scene->leaf->grid.chunk[d];
    }
    ck_assert_uint_lt(i, N_LEAVES_MAX);
    return i;
}

/* Coordinates of the i-th element, in C order, of a chunk of some level. */
static void coordinates(
    const struct zd_grid *grid, const uint64_t *chunk, uint64_t i, uint64_t *ret_x)
{
    for (uint32_t d = grid->rank; d-- > 0;) {
        ret_x[d] = chunk[d] * grid->chunk[d] + i % grid->chunk[d];
        i /= grid->chunk[d];
    }
}

/* A random chunk of a level, in the object and in the array. */
static void random_chunk(const struct scene *scene, uint32_t level, uint64_t *ret_chunk)
{
    const struct zd_grid *outer = &scene->layout->level[0].grid;
    const struct zd_grid *grid = &scene->layout->level[level].grid;
    for (uint32_t d = 0; d < grid->rank; d++) {
        const uint64_t n = outer->chunk[d] / grid->chunk[d];
        const uint64_t first = scene->object[d] * n;
        ret_chunk[d] = first + zd_unit_random() % zd_min_u64(n, zd_grid_count(grid, d) - first);
    }
}

static struct zd_edit *add_edit(struct scene *scene, enum zd_edit_kind kind)
{
    struct zd_edit *edit = zd_rewrite_edit_new();
    ck_assert_ptr_nonnull(edit);
    edit->kind = kind;
    edit->level = (uint32_t)(zd_unit_random() % scene->layout->n_levels);
    random_chunk(scene, edit->level, edit->part.chunk);
    scene->edit[scene->n_edits++] = edit;
    return edit;
}

static void random_box(const struct zd_grid *grid, struct zd_part *part)
{
    for (uint32_t d = 0; d < grid->rank; d++) {
        const uint64_t origin = part->chunk[d] * grid->chunk[d];
        const uint64_t n = zd_min_u64(grid->chunk[d], grid->shape[d] - origin);
        const uint64_t stride = zd_unit_random() % 3 == 0 ? 2 : 1;
        const uint64_t count_max = zd_div_up(n, stride);
        const bool is_all = zd_unit_random() % 2 == 0;
        part->count[d] = is_all ? count_max : 1 + zd_unit_random() % count_max;
        const uint64_t extent = (part->count[d] - 1) * stride + 1;
        const uint64_t least = zd_unit_random() % (n - extent + 1);
        const bool backwards = zd_unit_random() % 2 == 0;
        part->from[d] = backwards ? least + extent - 1 : least;
        part->step[d] = backwards ? -(int64_t)stride : (int64_t)stride;
        part->to[d] = zd_unit_random() % 3;
    }
}

/* The block around a box: more than its elements. */
static void random_source(const struct scene *scene, struct zd_edit *edit)
{
    const struct zd_dtype *dtype = &scene->layout->meta->dtype;
    const uint32_t rank = scene->leaf->grid.rank;
    struct zd_block block = {.rank = rank, .dtype = *dtype};
    uint64_t n = 1;
    for (uint32_t d = 0; d < rank; d++) {
        block.shape[d] = edit->part.to[d] + edit->part.count[d] + zd_unit_random() % 2;
        n *= block.shape[d];
    }
    const bool is_one = zd_unit_random() % 4 == 0;
    edit->bytes = zd_buf_new((is_one ? 1 : n) * dtype->bytes);
    ck_assert_ptr_nonnull(edit->bytes);
    edit->bytes->len = edit->bytes->cap;
    random_elements(scene, edit->bytes->data, is_one ? 1 : n);
    block.data = edit->bytes->data;
    edit->source = is_one ? zd_scatter_source_of_element(rank, dtype, block.data)
                          : zd_scatter_source_of_block(&block);
}

static void model_box(struct scene *scene, const struct zd_edit *edit)
{
    const struct zd_grid *grid = &scene->layout->level[edit->level].grid;
    uint64_t n = 1;
    for (uint32_t d = 0; d < grid->rank; d++) {
        n *= edit->part.count[d];
    }
    for (uint64_t i = 0; i < n; i++) {
        uint64_t x[ZD_RANK_MAX];
        const uint8_t *from = edit->source.data;
        uint64_t rest = i;
        for (uint32_t d = grid->rank; d-- > 0;) {
            const uint64_t at = rest % edit->part.count[d];
            rest /= edit->part.count[d];
            x[d] = edit->part.chunk[d] * grid->chunk[d] + edit->part.from[d] +
                   at * (uint64_t)edit->part.step[d];
            from += (int64_t)(edit->part.to[d] + at) * edit->source.stride[d];
        }
        memcpy(element_at(scene, x), from, scene->element_bytes);
        scene->is_touched[leaf_number(scene, x)] = true;
    }
}

static void add_box(struct scene *scene)
{
    struct zd_edit *edit = add_edit(scene, ZD_EDIT_BOX);
    random_box(&scene->layout->level[edit->level].grid, &edit->part);
    random_source(scene, edit);
    model_box(scene, edit);
}

/* A whole chunk of some level: its elements in the model. NULL: the fill value. */
static void model_chunk(struct scene *scene, const struct zd_edit *edit, const uint8_t *elements)
{
    const struct zd_level *level = &scene->layout->level[edit->level];
    const uint64_t n = level->chunk_bytes / scene->element_bytes;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t x[ZD_RANK_MAX];
        coordinates(&level->grid, edit->part.chunk, i, x);
        memcpy(element_at(scene, x),
            elements == NULL ? scene->layout->meta->fill : elements + i * scene->element_bytes,
            scene->element_bytes);
        scene->is_touched[leaf_number(scene, x)] = true;
    }
}

static struct zd_buf *random_chunk_elements(const struct scene *scene, uint32_t level)
{
    const uint64_t n_bytes = scene->layout->level[level].chunk_bytes;
    struct zd_buf *elements = zd_buf_new(n_bytes);
    ck_assert_ptr_nonnull(elements);
    elements->len = n_bytes;
    random_elements(scene, elements->data, n_bytes / scene->element_bytes);
    return elements;
}

static void verify(const struct scene *scene, struct zd_edit *edit)
{
    struct zd_error err = {0};
    ck_assert_msg(zd_rewrite_verify(scene->layout, edit, 1U << 20, &err) == ZD_OK, "%s", err.text);
}

static void add_decoded(struct scene *scene)
{
    struct zd_edit *edit = add_edit(scene, ZD_EDIT_DECODED);
    edit->bytes = random_chunk_elements(scene, edit->level);
    verify(scene, edit);
    model_chunk(scene, edit, edit->bytes->data);
}

static void add_encoded(struct scene *scene)
{
    struct zd_edit *edit = add_edit(scene, ZD_EDIT_ENCODED);
    ZD_AUTO(zd_buf) elements = random_chunk_elements(scene, edit->level);
    const struct zd_chain *chain = scene->layout->level[edit->level].chain;
    ck_assert_int_eq(zd_chain_encode(chain, elements, &edit->bytes, NULL), ZD_OK);
    verify(scene, edit);
    model_chunk(scene, edit, elements->data);
    scene->has_encoded = true;
}

static void add_erasure(struct scene *scene)
{
    struct zd_edit *edit = add_edit(scene, ZD_EDIT_ERASE);
    model_chunk(scene, edit, NULL);
}

static void add_random_edit(struct scene *scene)
{
    static void (*const add[])(struct scene *scene) = {
        add_box, add_box, add_box, add_decoded, add_encoded, add_erasure};
    add[zd_unit_random() % ZD_COUNT_OF(add)](scene);
}

/* The decoded index of a shard. */
static struct zd_buf *read_index(
    const struct zd_level *level, const struct zd_buf *stored, struct zd_byte_range shard)
{
    struct zd_byte_range range;
    struct zd_buf *index = NULL;
    ck_assert_int_eq(zd_layout_index_range(level, shard, &range, NULL), ZD_OK);
    ZD_AUTO(zd_buf)
    encoded = zd_buf_copy((struct zd_span){.ptr = stored->data + range.first, .len = range.len});
    ck_assert_int_eq(zd_layout_index_decode(level, encoded, &index, NULL), ZD_OK);
    return index;
}

/* The bytes of a chunk of the last level in a stored object. @param ret_bytes owned */
static enum zd_status read_leaf(const struct zd_layout *layout, const struct zd_buf *stored,
    const uint64_t *leaf, struct zd_buf **ret_bytes)
{
    struct zd_byte_range run = {.len = stored->len};
    for (uint32_t level = 0; level + 1 < layout->n_levels; level++) {
        const struct zd_level *at = &layout->level[level];
        uint64_t inner[ZD_RANK_MAX];
        ZD_AUTO(zd_buf) index = read_index(at, stored, run);
        zd_layout_ancestor(layout, layout->n_levels - 1, level + 1, leaf, inner);
        ZD_TRY(zd_layout_find(at, index, run, inner, &run, NULL));
    }
    *ret_bytes = zd_buf_copy((struct zd_span){.ptr = stored->data + run.first, .len = run.len});
    return ZD_OK;
}

/* The same; NULL: it is not there. Owned. */
static struct zd_buf *find_leaf(
    const struct scene *scene, const struct zd_buf *stored, const uint64_t *leaf)
{
    struct zd_buf *bytes = NULL;
    const enum zd_status status =
        stored == NULL ? ZD_NOT_FOUND : read_leaf(scene->layout, stored, leaf, &bytes);
    ck_assert(status == ZD_OK || status == ZD_NOT_FOUND);
    return bytes;
}

static bool model_is_fill(const struct scene *scene, const uint64_t *leaf)
{
    const uint64_t n = scene->leaf->chunk_bytes / scene->element_bytes;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t x[ZD_RANK_MAX];
        coordinates(&scene->leaf->grid, leaf, i, x);
        if (memcmp(element_at(scene, x), scene->layout->meta->fill, scene->element_bytes) != 0) {
            return false;
        }
    }
    return true;
}

/* Chunks that nobody touched have their bytes; none is stored that need not be. */
static void check_leaves(const struct scene *scene, const struct zd_buf *old)
{
    for (uint64_t i = 0; i < scene->n_elements; i++) {
        uint64_t x[ZD_RANK_MAX];
        uint64_t leaf[ZD_RANK_MAX];
        coordinates(&scene->layout->level[0].grid, scene->object, i, x);
        for (uint32_t d = 0; d < scene->leaf->grid.rank; d++) {
            leaf[d] = x[d] / scene->leaf->grid.chunk[d];
        }
        ZD_AUTO(zd_buf) before = find_leaf(scene, old, leaf);
        ZD_AUTO(zd_buf) after = find_leaf(scene, scene->stored, leaf);
        if (!scene->is_touched[leaf_number(scene, x)]) {
            ck_assert_int_eq(before == NULL, after == NULL);
            ck_assert(before == NULL || zd_span_equal(zd_buf_span(before), zd_buf_span(after)));
        }
        if (!scene->write_empty && !scene->has_encoded && model_is_fill(scene, leaf)) {
            ck_assert_ptr_null(after);
        }
    }
}

static void check_elements(const struct scene *scene)
{
    if (scene->stored == NULL) {
        for (uint64_t i = 0; i < scene->n_elements; i++) {
            ck_assert_mem_eq(scene->elements + i * scene->element_bytes, scene->layout->meta->fill,
                scene->element_bytes);
        }
        return;
    }
    ZD_AUTO(zd_buf) decoded = NULL;
    struct zd_error err = {0};
    ck_assert_msg(zd_chunk_decode(&scene->layout->level[0], scene->stored, &decoded, &err) == ZD_OK,
        "%s", err.text);
    ck_assert_mem_eq(decoded->data, scene->elements, decoded->len);
}

static void check_counts(const struct scene *scene, const struct zd_rewrite *rewrite)
{
    uint64_t n_changes = 0;
    for (uint32_t i = 0; i < scene->n_edits; i++) {
        const struct zd_edit *edit = scene->edit[i];
        ck_assert_msg(edit->status == ZD_OK, "%s", edit->err == NULL ? "" : edit->err->text);
        const uint64_t n =
            edit->counts.n_written + edit->counts.n_erased + edit->counts.n_unchanged;
        n_changes += edit->counts.n_written + edit->counts.n_erased;
        ck_assert_uint_ge(n, 1);
        if (edit->kind != ZD_EDIT_BOX) {
            ck_assert_uint_eq(n, 1);
        }
    }
    ck_assert_int_eq(rewrite->is_changed, n_changes > 0);
}

static void play_round(struct scene *scene)
{
    memset(scene->is_touched, 0, sizeof scene->is_touched);
    const uint64_t n_edits = 1 + zd_unit_random() % N_EDITS_MAX;
    for (uint64_t i = 0; i < n_edits; i++) {
        add_random_edit(scene);
    }
    struct zd_rewrite rewrite = {
        .layout = scene->layout,
        .old = scene->stored,
        .write_empty = scene->write_empty,
        .bytes_max = 1U << 20,
        .edit = scene->edit,
        .n_edits = scene->n_edits,
    };
    if (n_edits == 1 && zd_rewrite_edit_is_whole(scene->layout, scene->edit[0]) &&
        zd_unit_random() % 2 == 0) {
        rewrite.old = NULL;
        rewrite.old_is_unknown = true;
    }
    struct zd_error err = {0};
    ck_assert_msg(zd_rewrite(&rewrite, &err) == ZD_OK, "%s", err.text);
    check_counts(scene, &rewrite);
    ZD_AUTO(zd_buf) old = scene->stored;
    scene->stored = rewrite.is_changed ? rewrite.bytes : (old == NULL ? NULL : zd_buf_ref(old));
    ck_assert(rewrite.is_changed || rewrite.bytes == NULL);
    check_elements(scene);
    check_leaves(scene, old);
    forget_edits(scene);
}

START_TEST(random_edits_are_what_a_model_without_chunks_says)
{
    for (int i = 0; i < N_OBJECTS; i++) {
        struct scene scene;
        scene_init(&scene, &arrays[_i]);
        for (int round = 0; round < N_ROUNDS; round++) {
            play_round(&scene);
        }
        scene_done(&scene);
    }
}
END_TEST

/* The arrays of the facts below: 16 bytes an object, inner chunks of 4 where there are any. */
static const struct zd_unit_array plain = {1, {30}, {16}, "uint8", "[" LITTLE "," CRC "]"};
static const struct zd_unit_array sharded = {
    1, {30}, {16}, "uint8", "[" SHARD("4", LITTLE "," CRC) "]"};
static const struct zd_unit_array nested = {
    1, {30}, {16}, "uint8", "[" SHARD("8", SHARD("4", LITTLE "," CRC)) "]"};

static struct zd_layout *open_layout(const struct zd_unit_array *array)
{
    ZD_AUTO(zd_meta) meta = zd_unit_meta(array);
    struct zd_layout *layout = NULL;
    ck_assert_int_eq(zd_layout_new(meta, NO_LIMIT, &layout, NULL), ZD_OK);
    return layout;
}

/* The first object: 1, 2 ... 16, but for chunks of the last level that are absent (bits). */
static struct zd_buf *new_object(const struct zd_layout *layout, uint32_t absent)
{
    ZD_AUTO(zd_buf) elements = zd_unit_hex("0102030405060708090a0b0c0d0e0f10");
    for (uint32_t i = 0; i < elements->len; i++) {
        elements->data[i] = (absent >> (i / 4) & 1) != 0 ? 0 : elements->data[i];
    }
    struct zd_buf *stored = NULL;
    ck_assert_int_eq(zd_chunk_encode(&layout->level[0], elements, &stored, NULL), ZD_OK);
    return stored;
}

/* An edit of one chunk; bytes are hexadecimal, NULL for an erasure. */
static struct zd_edit *new_edit(
    enum zd_edit_kind kind, uint32_t level, uint64_t chunk, const char *bytes)
{
    struct zd_edit *edit = zd_rewrite_edit_new();
    ck_assert_ptr_nonnull(edit);
    edit->kind = kind;
    edit->level = level;
    edit->part.chunk[0] = chunk;
    edit->bytes = bytes == NULL ? NULL : zd_unit_hex(bytes);
    edit->is_verified = true;
    return edit;
}

/* A box in the first object: elements [from, from + n). */
static struct zd_edit *new_box(const struct zd_layout *layout, uint64_t from, const char *bytes)
{
    struct zd_edit *edit = new_edit(ZD_EDIT_BOX, 0, 0, bytes);
    edit->part.from[0] = from;
    edit->part.step[0] = 1;
    edit->part.count[0] = edit->bytes->len;
    struct zd_block block = {.data = edit->bytes->data,
        .rank = 1,
        .shape = {edit->bytes->len},
        .dtype = layout->meta->dtype};
    edit->source = zd_scatter_source_of_block(&block);
    return edit;
}

struct result {
    enum zd_status status; /* of the whole */
    bool is_changed;
    struct zd_buf *bytes;
};

static struct result rewrite_with(
    const struct zd_layout *layout, struct zd_buf *old, struct zd_edit **edit, uint32_t n_edits)
{
    struct zd_rewrite rewrite = {
        .layout = layout,
        .old = old,
        .bytes_max = 4096,
        .edit = edit,
        .n_edits = n_edits,
    };
    const enum zd_status status = zd_rewrite(&rewrite, NULL);
    return (struct result){
        .status = status, .is_changed = rewrite.is_changed, .bytes = rewrite.bytes};
}

/* The elements of the first object are those. */
static void check_object(
    const struct zd_layout *layout, struct zd_buf *stored, const char *expected)
{
    ZD_AUTO(zd_buf) want = zd_unit_hex(expected);
    ZD_AUTO(zd_buf) found = NULL;
    ck_assert_int_eq(zd_chunk_decode(&layout->level[0], stored, &found, NULL), ZD_OK);
    ck_assert_uint_eq(found->len, want->len);
    ck_assert_mem_eq(found->data, want->data, want->len);
}

/* The second inner chunk of new_object's shard begins with these bytes. */
static void spoil(struct zd_buf *stored)
{
    for (size_t i = 0; i + 4 <= stored->len; i++) {
        if (memcmp(stored->data + i, "\5\6\7\10", 4) == 0) {
            stored->data[i] ^= 0xff;
            return;
        }
    }
    ck_abort_msg("the chunk was not found");
}

START_TEST(a_corrupt_chunk_is_not_overwritten_in_part)
{
    const struct zd_unit_array *const all[] = {&plain, &sharded, &nested};
    ZD_AUTO(zd_layout) layout = open_layout(all[_i]);
    ZD_AUTO(zd_buf) old = new_object(layout, 0);
    spoil(old);
    struct zd_edit *edit = new_box(layout, 6, "aabb"); /* into the second inner chunk */
    const struct result result = rewrite_with(layout, old, &edit, 1);
    ck_assert_int_eq(result.status, ZD_OK);
    ck_assert_int_eq(edit->status, ZD_CORRUPT);
    ck_assert(!result.is_changed);
    zd_rewrite_edit_free(edit);
}
END_TEST

START_TEST(a_corrupt_chunk_is_overwritten_as_a_whole)
{
    const struct zd_unit_array *const all[] = {&plain, &sharded, &nested};
    ZD_AUTO(zd_layout) layout = open_layout(all[_i]);
    ZD_AUTO(zd_buf) old = new_object(layout, 0);
    spoil(old);
    struct zd_edit *edit = _i == 0 ? new_box(layout, 0, "101112131415161718191a1b1c1d1e1f")
                                   : new_box(layout, 4, "14151617");
    struct result result = rewrite_with(layout, old, &edit, 1);
    ck_assert_int_eq(result.status, ZD_OK);
    ck_assert_int_eq(edit->status, ZD_OK);
    check_object(layout, result.bytes,
        _i == 0 ? "101112131415161718191a1b1c1d1e1f" : "0102030414151617090a0b0c0d0e0f10");
    zd_buf_unref(result.bytes);
    zd_rewrite_edit_free(edit);
}
END_TEST

/* No inner chunk can be kept, and none can be told from the others. */
START_TEST(a_shard_whose_index_does_not_decode_is_only_written_whole)
{
    const struct zd_unit_array *const all[] = {&sharded, &nested};
    ZD_AUTO(zd_layout) layout = open_layout(all[_i]);
    ZD_AUTO(zd_buf) old = new_object(layout, 0);
    old->data[old->len - 1] ^= 1; /* of the index' checksum */
    struct zd_edit *edit[] = {
        new_box(layout, 4, "14151617"),
        new_edit(ZD_EDIT_ERASE, 1, 0, NULL),
        new_box(layout, 0, "101112131415161718191a1b1c1d1e1f"),
        new_box(layout, 0, "aa"),
    };
    struct result result = rewrite_with(layout, old, edit, ZD_COUNT_OF(edit));
    ck_assert_int_eq(result.status, ZD_OK);
    ck_assert_int_eq(edit[0]->status, ZD_CORRUPT);
    ck_assert_int_eq(edit[1]->status, ZD_CORRUPT);
    ck_assert_int_eq(edit[2]->status, ZD_OK);
    ck_assert_int_eq(edit[3]->status, ZD_OK); /* by then it is another shard */
    check_object(layout, result.bytes, "aa1112131415161718191a1b1c1d1e1f");
    zd_buf_unref(result.bytes);
    for (size_t i = 0; i < ZD_COUNT_OF(edit); i++) {
        zd_rewrite_edit_free(edit[i]);
    }
}
END_TEST

/* The inner shards of a nested shard are equally long; one has lost its index, the other an
 * element. */
static const struct lost_fact {
    uint64_t chunk; /* of level 0: the array ends in the second one */
    uint64_t from;
    const char *bytes; /* of the box */
    enum zd_status status;
    struct zd_edit_counts counts;
    const char *after; /* the object; NULL: it is what it was */
} lost_facts[] = {
    {0, 0, "a0a1a2a3a4a5a6a7", ZD_OK, {2, 0, 0}, "a0a1a2a3a4a5a6a7090a0b0c0d0e0f10"},
    {0, 0, "a0a1a2a3a4a5a6a7a8", ZD_OK, {3, 0, 0}, "a0a1a2a3a4a5a6a7a80a0b0c0d0e0f10"},
    {0, 0, "0000000000000000", ZD_OK, {0, 2, 0}, "0000000000000000090a0b0c0d0e0f10"},
    {0, 0, "00000000a4a5a6a7", ZD_OK, {1, 1, 0}, "00000000a4a5a6a7090a0b0c0d0e0f10"},
    {0, 1, "a1a2a3a4a5a6a7a8", ZD_CORRUPT, {0, 0, 0}, NULL},
    {0, 0, "a0a1a2a3", ZD_CORRUPT, {0, 0, 0}, NULL},
    {0, 0, "a0a1a2a3a4a5a6a7a8a9aaabacad", ZD_CORRUPT, {0, 0, 0}, NULL}, /* ends in the other */
    {1, 0, "a0a1a2a3a4a5a6a7a8a9aaabacad", ZD_OK, {4, 0, 0}, "a0a1a2a3a4a5a6a7a8a9aaabacad0000"},
};

START_TEST(a_nested_shard_whose_index_does_not_decode_is_written_over_with_others)
{
    const struct lost_fact *fact = &lost_facts[_i];
    ZD_AUTO(zd_layout) layout = open_layout(&nested);
    ZD_AUTO(zd_buf) old = new_object(layout, 0);
    const size_t inner_len = (old->len - layout->level[0].shard->index_bytes) / 2;
    old->data[inner_len - 1] ^= 1; /* of the index' checksum */
    old->data[inner_len + 8] ^= 1; /* of the last chunk */
    struct zd_edit *edit[] = {
        new_box(layout, fact->from, fact->bytes),
        new_box(layout, 0, "aa"), /* finds the shard made anew, or as it was */
    };
    edit[0]->part.chunk[0] = fact->chunk;
    edit[1]->part.chunk[0] = fact->chunk;
    struct result result = rewrite_with(layout, old, edit, 1);
    ck_assert_int_eq(result.status, ZD_OK);
    ck_assert_int_eq(edit[0]->status, fact->status);
    ck_assert_uint_eq(edit[0]->counts.n_written, fact->counts.n_written);
    ck_assert_uint_eq(edit[0]->counts.n_erased, fact->counts.n_erased);
    ck_assert_uint_eq(edit[0]->counts.n_unchanged, fact->counts.n_unchanged);
    ck_assert_int_eq(result.is_changed, fact->after != NULL);
    if (fact->after != NULL && fact->chunk > 0) {
        check_object(layout, result.bytes, fact->after);
    } else if (fact->after != NULL) {
        struct zd_edit *mend = new_edit(ZD_EDIT_DECODED, 2, 3, "0d0e0f10");
        struct result mended = rewrite_with(layout, result.bytes, &mend, 1);
        check_object(layout, mended.bytes, fact->after);
        zd_buf_unref(mended.bytes);
        zd_rewrite_edit_free(mend);
    }
    zd_buf_unref(result.bytes);
    result = rewrite_with(layout, old, edit, 2);
    ck_assert_int_eq(edit[1]->status, fact->status);
    zd_buf_unref(result.bytes);
    zd_rewrite_edit_free(edit[0]);
    zd_rewrite_edit_free(edit[1]);
}
END_TEST

/* Untrue entries that the index of a shard of 16 elements can have. */
static const struct zd_shard_entry damages[] = {
    {4096, 8}, {0, 4096}, {UINT64_MAX - 7, 16}, {ZD_SHARD_MISSING, 8}, {0, ZD_SHARD_MISSING},
    {INT64_MAX - 1, 1}, /* as it is written for one of these */
};

static struct zd_buf *damaged_object(
    const struct zd_layout *layout, uint64_t i, struct zd_shard_entry entry)
{
    struct zd_buf *stored = new_object(layout, 0);
    const struct zd_level *level = &layout->level[0];
    const struct zd_byte_range whole = {.len = stored->len};
    struct zd_byte_range range;
    struct zd_buf *encoded = NULL;
    ZD_AUTO(zd_buf) index = read_index(level, stored, whole);
    zd_store_u64(index->data + i * ZD_SHARD_ENTRY_BYTES, entry.first);
    zd_store_u64(index->data + i * ZD_SHARD_ENTRY_BYTES + 8, entry.len);
    ck_assert_int_eq(zd_chain_encode(level->shard->index, index, &encoded, NULL), ZD_OK);
    ck_assert_int_eq(zd_layout_index_range(level, whole, &range, NULL), ZD_OK);
    memcpy(stored->data + range.first, encoded->data, range.len);
    zd_buf_unref(encoded);
    return stored;
}

/* All chunks have those elements; but for those of that chunk of level 1, which cannot be told. */
static void check_beside(
    const struct zd_layout *layout, const struct zd_buf *stored, uint64_t damaged, const char *hex)
{
    const struct zd_level *leaf = zd_layout_leaf(layout);
    ZD_AUTO(zd_buf) want = zd_unit_hex(hex);
    for (uint64_t i = 0; i < want->len / 4; i++) {
        ZD_AUTO(zd_buf) bytes = NULL;
        ZD_AUTO(zd_buf) elements = NULL;
        const uint64_t per_chunk = layout->level[1].grid.chunk[0] / 4;
        const enum zd_status status = read_leaf(layout, stored, &i, &bytes);
        ck_assert_int_eq(status, i / per_chunk == damaged ? ZD_CORRUPT : ZD_OK);
        if (status == ZD_OK) {
            ck_assert_int_eq(zd_chunk_decode(leaf, bytes, &elements, NULL), ZD_OK);
            ck_assert_mem_eq(elements->data, want->data + 4 * i, 4);
        }
    }
}

static void write_beside(const struct zd_layout *layout, struct zd_buf *old, uint64_t damaged)
{
    const uint64_t width = layout->level[1].grid.chunk[0];
    const uint64_t other = damaged == 0 ? 1 : 0;
    char expected[] = "0102030405060708090a0b0c0d0e0f10";
    struct zd_edit *edit[] = {
        new_box(layout, damaged * width, "aabb"), /* keeps some of what nobody knows */
        new_box(layout, other * width, "ccdd"),
        new_edit(ZD_EDIT_DECODED, 1, damaged, width == 4 ? "00000000" : "0000000000000000"),
    };
    edit[2]->only_absent = true;
    memcpy(expected + 2 * other * width, "ccdd", 4);
    check_beside(layout, old, damaged, "0102030405060708090a0b0c0d0e0f10");
    struct result result = rewrite_with(layout, old, edit, ZD_COUNT_OF(edit));
    ck_assert_int_eq(result.status, ZD_OK);
    ck_assert_int_eq(edit[0]->status, ZD_CORRUPT);
    ck_assert_int_eq(edit[1]->status, ZD_OK);
    ck_assert_int_eq(edit[2]->status, ZD_PRECONDITION); /* it is not absent */
    check_beside(layout, result.bytes, damaged, expected);
    zd_buf_unref(result.bytes);
    for (size_t i = 0; i < ZD_COUNT_OF(edit); i++) {
        zd_rewrite_edit_free(edit[i]);
    }
}

static void mend(const struct zd_layout *layout, struct zd_buf *old, uint64_t damaged)
{
    const uint64_t width = layout->level[1].grid.chunk[0];
    char expected[] = "0102030405060708090a0b0c0d0e0f10";
    char box[] = "a1a2a3a4a5a6a7a8";
    box[2 * width] = '\0';
    memcpy(expected + 2 * damaged * width, box, 2 * width);
    struct zd_edit *edit = new_box(layout, damaged * width, box);
    struct result result = rewrite_with(layout, old, &edit, 1);
    ck_assert_int_eq(edit->status, ZD_OK);
    check_object(layout, result.bytes, expected);
    zd_buf_unref(result.bytes);
    zd_rewrite_edit_free(edit);

    edit = new_edit(ZD_EDIT_ERASE, 1, damaged, NULL);
    memset(expected + 2 * damaged * width, '0', 2 * width);
    result = rewrite_with(layout, old, &edit, 1);
    ck_assert_uint_eq(edit->counts.n_erased, 1);
    check_object(layout, result.bytes, expected);
    zd_buf_unref(result.bytes);
    zd_rewrite_edit_free(edit);
}

/* A damaged chunk that is left alone is no missing one. */
static void erase_beside(const struct zd_layout *layout, struct zd_buf *old, uint64_t damaged)
{
    struct zd_edit *edit[4];
    uint32_t n_edits = 0;
    for (uint64_t i = 0; i < 16 / layout->level[1].grid.chunk[0]; i++) {
        if (i != damaged) {
            edit[n_edits++] = new_edit(ZD_EDIT_ERASE, 1, i, NULL);
        }
    }
    const struct result result = rewrite_with(layout, old, edit, n_edits);
    const uint64_t leaf = damaged * layout->level[1].grid.chunk[0] / 4;
    struct zd_buf *bytes = NULL;
    ck_assert_ptr_nonnull(result.bytes);
    ck_assert_int_eq(read_leaf(layout, result.bytes, &leaf, &bytes), ZD_CORRUPT);
    zd_buf_unref(result.bytes);
    for (uint32_t i = 0; i < n_edits; i++) {
        zd_rewrite_edit_free(edit[i]);
    }
}

START_TEST(a_damaged_entry_of_an_index_is_the_fault_of_its_chunk_alone)
{
    const struct zd_unit_array *const all[] = {&sharded, &nested};
    ZD_AUTO(zd_layout) layout = open_layout(all[_i]);
    for (size_t i = 0; i < ZD_COUNT_OF(damages); i++) {
        for (uint64_t chunk = 0; chunk < layout->level[0].shard->n_chunks; chunk++) {
            ZD_AUTO(zd_buf) old = damaged_object(layout, chunk, damages[i]);
            write_beside(layout, old, chunk);
            mend(layout, old, chunk);
            erase_beside(layout, old, chunk);
        }
    }
}
END_TEST

/* A client's encoded shard is taken as a whole, or not. */
START_TEST(a_shard_with_a_damaged_entry_is_no_chunk)
{
    const struct zd_unit_array *const all[] = {&sharded, &nested};
    ZD_AUTO(zd_layout) layout = open_layout(all[_i]);
    for (size_t i = 0; i < ZD_COUNT_OF(damages); i++) {
        ZD_AUTO(zd_buf) shard = damaged_object(layout, 1, damages[i]);
        const uint64_t origin[ZD_RANK_MAX] = {0};
        struct zd_verified verified = {0};
        ck_assert_int_eq(
            zd_verify_chunk(layout, 0, origin, shard, NO_LIMIT, &verified, NULL), ZD_CORRUPT);
    }
}
END_TEST

/* "" and one byte are no chunk; a byte too many is none either. */
START_TEST(an_object_of_an_impossible_size_is_corrupt)
{
    const struct zd_unit_array *const all[] = {&plain, &sharded};
    const size_t len[] = {0, 1, 4096};
    ZD_AUTO(zd_layout) layout = open_layout(all[_i % 2]);
    ZD_AUTO(zd_buf) old = zd_buf_new(4096);
    ck_assert_ptr_nonnull(old);
    memset(old->data, 0, 4096);
    old->len = len[_i / 2];
    struct zd_edit *edit = new_box(layout, 6, "aabb");
    const struct result result = rewrite_with(layout, old, &edit, 1);
    ck_assert_int_eq(result.status, ZD_OK);
    ck_assert_int_eq(edit->status, ZD_CORRUPT);
    ck_assert(!result.is_changed);
    zd_rewrite_edit_free(edit);
}
END_TEST

START_TEST(a_box_fails_as_a_whole)
{
    ZD_AUTO(zd_layout) layout = open_layout(&sharded);
    ZD_AUTO(zd_buf) old = new_object(layout, 0);
    spoil(old);
    struct zd_edit *edit[] = {
        new_box(layout, 0, "a0a1a2a3a4a5"),          /* ends in the chunk that is corrupt */
        new_edit(ZD_EDIT_DECODED, 1, 3, "00000000"), /* others go on */
    };
    struct result result = rewrite_with(layout, old, edit, ZD_COUNT_OF(edit));
    ck_assert_int_eq(result.status, ZD_OK);
    ck_assert_int_eq(edit[0]->status, ZD_CORRUPT);
    ck_assert_int_eq(edit[1]->status, ZD_OK);
    ck_assert_uint_eq(edit[1]->counts.n_erased, 1);
    struct zd_edit *mend = new_edit(ZD_EDIT_DECODED, 1, 1, "05060708");
    struct result mended = rewrite_with(layout, result.bytes, &mend, 1);
    check_object(layout, mended.bytes, "0102030405060708090a0b0c00000000");
    zd_buf_unref(result.bytes);
    zd_buf_unref(mended.bytes);
    zd_rewrite_edit_free(mend);
    zd_rewrite_edit_free(edit[0]);
    zd_rewrite_edit_free(edit[1]);
}
END_TEST

static const struct count_fact {
    const struct zd_unit_array *array;
    uint32_t absent; /* of the object that is there; 16: there is none */
    bool write_empty;
    enum zd_edit_kind kind;
    uint32_t level;
    uint64_t from; /* of a box; else the chunk's index */
    const char *bytes;
    struct zd_edit_counts counts;
    bool is_erased; /* nothing is left of the object */
} count_facts[] = {
    {&plain, 0, false, ZD_EDIT_BOX, 0, 0, "ff", {1, 0, 0}, false},
    {&plain, 0, false, ZD_EDIT_BOX, 0, 0, "01", {0, 0, 1}, false},
    {&plain, 0, false, ZD_EDIT_BOX, 0, 0, "0102030405060708090a0b0c0d0e0f10", {0, 0, 1}, false},
    {&plain, 14, false, ZD_EDIT_BOX, 0, 0, "00000000", {0, 1, 0}, true},
    {&plain, 14, true, ZD_EDIT_BOX, 0, 0, "00000000", {1, 0, 0}, false},
    {&plain, 16, false, ZD_EDIT_BOX, 0, 0, "00000000", {0, 0, 1}, false},
    {&plain, 16, true, ZD_EDIT_BOX, 0, 0, "00000000", {1, 0, 0}, false},
    {&plain, 16, false, ZD_EDIT_ERASE, 0, 0, NULL, {0, 0, 1}, false},
    {&plain, 0, false, ZD_EDIT_ERASE, 0, 0, NULL, {0, 1, 0}, true},
    {&sharded, 0, false, ZD_EDIT_BOX, 0, 3, "04ff", {1, 0, 1}, false},
    {&sharded, 2, false, ZD_EDIT_BOX, 0, 0, "0000000000000000ff", {1, 1, 1}, false},
    {&sharded, 14, false, ZD_EDIT_BOX, 0, 0, "00000000", {0, 1, 0}, true},
    {&sharded, 14, true, ZD_EDIT_BOX, 0, 0, "00000000", {1, 0, 0}, false},
    {&sharded, 14, false, ZD_EDIT_ERASE, 1, 0, NULL, {0, 1, 0}, true},
    {&sharded, 14, false, ZD_EDIT_ERASE, 1, 1, NULL, {0, 0, 1}, false},
    {&sharded, 16, false, ZD_EDIT_ERASE, 1, 1, NULL, {0, 0, 1}, false},
    {&sharded, 0, false, ZD_EDIT_DECODED, 0, 0, "00000000000000000000000000000000", {0, 1, 0},
        true},
    {&sharded, 0, true, ZD_EDIT_DECODED, 0, 0, "00000000000000000000000000000000", {1, 0, 0},
        false},
    {&sharded, 0, false, ZD_EDIT_DECODED, 0, 0, "00000000000000000000000000000001", {1, 0, 0},
        false},
    {&sharded, 0, false, ZD_EDIT_DECODED, 1, 2, "090a0b0c", {0, 0, 1}, false},
    {&nested, 14, false, ZD_EDIT_ERASE, 2, 0, NULL, {0, 1, 0}, true},
    {&nested, 12, false, ZD_EDIT_ERASE, 1, 0, NULL, {0, 1, 0}, true},
    {&nested, 12, false, ZD_EDIT_ERASE, 1, 1, NULL, {0, 0, 1}, false},
};

/* An edit that keeps empty chunks does as one of an object that keeps all. */
START_TEST(counts_say_what_became_of_chunks)
{
    const struct count_fact *fact = &count_facts[_i / 2];
    const bool keeps_empty = _i % 2 != 0 && fact->write_empty;
    ZD_AUTO(zd_layout) layout = open_layout(fact->array);
    ZD_AUTO(zd_buf) old = fact->absent == 16 ? NULL : new_object(layout, fact->absent);
    struct zd_edit *edit = fact->kind == ZD_EDIT_BOX
                               ? new_box(layout, fact->from, fact->bytes)
                               : new_edit(fact->kind, fact->level, fact->from, fact->bytes);
    edit->keeps_empty = keeps_empty;
    struct zd_rewrite rewrite = {
        .layout = layout,
        .old = old,
        .write_empty = fact->write_empty && !keeps_empty,
        .bytes_max = 4096,
        .edit = &edit,
        .n_edits = 1,
    };
    ck_assert_int_eq(zd_rewrite(&rewrite, NULL), ZD_OK);
    ck_assert_int_eq(edit->status, ZD_OK);
    ck_assert_uint_eq(edit->counts.n_written, fact->counts.n_written);
    ck_assert_uint_eq(edit->counts.n_erased, fact->counts.n_erased);
    ck_assert_uint_eq(edit->counts.n_unchanged, fact->counts.n_unchanged);
    ck_assert_int_eq(rewrite.is_changed && rewrite.bytes == NULL, fact->is_erased);
    zd_buf_unref(rewrite.bytes);
    zd_rewrite_edit_free(edit);
}
END_TEST

START_TEST(an_erasure_unread_is_counted_by_what_the_store_says)
{
    ZD_AUTO(zd_layout) layout = open_layout(&sharded);
    struct zd_edit *edit = new_edit(ZD_EDIT_ERASE, 0, 0, NULL);
    ck_assert(zd_rewrite_edit_is_whole(layout, edit));
    struct zd_rewrite rewrite = {
        .layout = layout, .old_is_unknown = true, .bytes_max = 4096, .edit = &edit, .n_edits = 1};
    ck_assert_int_eq(zd_rewrite(&rewrite, NULL), ZD_OK);
    ck_assert(rewrite.is_changed);
    ck_assert_ptr_null(rewrite.bytes);
    ck_assert_uint_eq(edit->counts.n_erased, 1);
    zd_rewrite_was_absent(&rewrite);
    ck_assert_uint_eq(edit->counts.n_erased, 0);
    ck_assert_uint_eq(edit->counts.n_unchanged, 1);
    zd_rewrite_edit_free(edit);
}
END_TEST

/* Chunks of nothing but the fill value were not stored before, for all that anybody knows. */
START_TEST(empty_chunks_of_an_object_made_afresh_are_not_counted_as_erased)
{
    const struct zd_unit_array *const all[] = {&sharded, &nested};
    ZD_AUTO(zd_layout) layout = open_layout(all[_i / 2]);
    const bool is_known = _i % 2 != 0;
    struct zd_edit *edit = new_box(layout, 0, "00000000000000000000000000000001");
    struct zd_rewrite rewrite = {.layout = layout,
        .old_is_unknown = !is_known,
        .bytes_max = 4096,
        .edit = &edit,
        .n_edits = 1};
    ck_assert_int_eq(zd_rewrite(&rewrite, NULL), ZD_OK);
    ck_assert_uint_eq(edit->counts.n_written, 1);
    ck_assert_uint_eq(edit->counts.n_erased, 0);
    ck_assert_uint_eq(edit->counts.n_unchanged, 3);
    zd_buf_unref(rewrite.bytes);
    zd_rewrite_edit_free(edit);
}
END_TEST

START_TEST(only_absent_chunks_are_created)
{
    const struct zd_unit_array *const all[] = {&sharded, &nested};
    ZD_AUTO(zd_layout) layout = open_layout(all[_i]);
    const uint32_t leaf = layout->n_levels - 1;
    ZD_AUTO(zd_buf) old = new_object(layout, 2);
    struct zd_edit *edit[] = {
        new_edit(ZD_EDIT_DECODED, leaf, 0, "01010101"),
        new_edit(ZD_EDIT_DECODED, leaf, 1, "02020202"),
        new_edit(ZD_EDIT_DECODED, leaf, 1, "03030303"),
        new_edit(ZD_EDIT_ERASE, leaf, 0, NULL),
        new_edit(ZD_EDIT_DECODED, leaf, 0, "04040404"),
    };
    const enum zd_status expected[] = {ZD_PRECONDITION, ZD_OK, ZD_PRECONDITION, ZD_OK, ZD_OK};
    for (size_t i = 0; i < ZD_COUNT_OF(edit); i++) {
        edit[i]->only_absent = edit[i]->kind == ZD_EDIT_DECODED;
    }
    struct result result = rewrite_with(layout, old, edit, ZD_COUNT_OF(edit));
    for (size_t i = 0; i < ZD_COUNT_OF(edit); i++) {
        ck_assert_int_eq(edit[i]->status, expected[i]);
        zd_rewrite_edit_free(edit[i]);
    }
    check_object(layout, result.bytes, "0404040402020202090a0b0c0d0e0f10");
    zd_buf_unref(result.bytes);
}
END_TEST

/* An object in which a chunk that a box left is changed by the next: it is encoded once. */
START_TEST(edits_of_one_chunk_follow_each_other)
{
    ZD_AUTO(zd_layout) layout = open_layout(&sharded);
    ZD_AUTO(zd_buf) old = new_object(layout, 0);
    struct zd_edit *edit[] = {
        new_box(layout, 4, "a0"),
        new_box(layout, 5, "a1a2"),
        new_box(layout, 12, "b0"),
        new_box(layout, 7, "a3"),
        new_edit(ZD_EDIT_ERASE, 1, 3, NULL),
        new_box(layout, 15, "b3"),
    };
    struct result result = rewrite_with(layout, old, edit, ZD_COUNT_OF(edit));
    check_object(layout, result.bytes, "01020304a0a1a2a3090a0b0c000000b3");
    for (size_t i = 0; i < ZD_COUNT_OF(edit); i++) {
        ck_assert_int_eq(edit[i]->status, ZD_OK);
        zd_rewrite_edit_free(edit[i]);
    }
    zd_buf_unref(result.bytes);
}
END_TEST

static const struct verify_fact {
    const struct zd_unit_array *array;
    enum zd_edit_kind kind;
    uint32_t level;
    const char *bytes;
    enum zd_status status;
} verify_facts[] = {
    {&plain, ZD_EDIT_DECODED, 0, "0102030405060708090a0b0c0d0e0f10", ZD_OK},
    {&plain, ZD_EDIT_DECODED, 0, "0102030405060708090a0b0c0d0e0f", ZD_INVALID},
    {&plain, ZD_EDIT_DECODED, 0, "0102030405060708090a0b0c0d0e0f1000", ZD_INVALID},
    {&plain, ZD_EDIT_DECODED, 0, "", ZD_INVALID},
    {&plain, ZD_EDIT_ENCODED, 0, "", ZD_CORRUPT},
    {&plain, ZD_EDIT_ENCODED, 0, "0102030405060708090a0b0c0d0e0f1000000000", ZD_CORRUPT},
    {&sharded, ZD_EDIT_DECODED, 1, "01020304", ZD_OK},
    {&sharded, ZD_EDIT_DECODED, 1, "0102030405", ZD_INVALID},
    {&sharded, ZD_EDIT_ENCODED, 1, "0102030400000000", ZD_CORRUPT},
    {&sharded, ZD_EDIT_ENCODED, 0, "", ZD_CORRUPT},
    {&sharded, ZD_EDIT_ERASE, 1, NULL, ZD_OK},
};

START_TEST(a_key_that_is_no_chunk_is_told_without_the_object)
{
    const struct verify_fact *fact = &verify_facts[_i];
    ZD_AUTO(zd_layout) layout = open_layout(fact->array);
    struct zd_edit *edit = new_edit(fact->kind, fact->level, 0, fact->bytes);
    edit->is_verified = false;
    struct zd_error err = {0};
    ck_assert_int_eq(zd_rewrite_verify(layout, edit, 1024, &err), fact->status);
    ck_assert_int_eq(edit->is_verified, fact->status == ZD_OK);
    ck_assert(fact->status != ZD_INVALID || (err.facts.set & ZD_FACT_FOUND) != 0);
    zd_rewrite_edit_free(edit);
}
END_TEST

/* A shard of which every byte matters: any bit that changes is found. */
START_TEST(an_encoded_shard_is_verified_chunk_by_chunk)
{
    const struct zd_unit_array *const all[] = {&sharded, &nested};
    ZD_AUTO(zd_layout) layout = open_layout(all[_i]);
    struct zd_edit *edit = new_edit(ZD_EDIT_ENCODED, 0, 0, "");
    zd_buf_unref(edit->bytes);
    edit->bytes = new_object(layout, 4);
    ck_assert_int_eq(zd_rewrite_verify(layout, edit, 1024, NULL), ZD_OK);
    for (size_t i = 0; i < edit->bytes->len; i++) {
        edit->bytes->data[i] ^= 0x10;
        ck_assert_int_eq(zd_rewrite_verify(layout, edit, 1024, NULL), ZD_CORRUPT);
        edit->bytes->data[i] ^= 0x10;
    }
    edit->bytes->len--;
    ck_assert_int_eq(zd_rewrite_verify(layout, edit, 1024, NULL), ZD_CORRUPT);
    edit->bytes->len++;
    struct zd_error err = {0};
    ck_assert_int_eq(zd_rewrite_verify(layout, edit, 11, &err), ZD_TOO_LARGE);
    ck_assert_uint_eq(err.facts.limit, 11);
    zd_rewrite_edit_free(edit);
}
END_TEST

START_TEST(an_array_with_a_dropped_codec_is_only_erased)
{
    const struct zd_unit_array array = {
        1, {30}, {16}, "uint8", "[" SHARD("4", LITTLE "," UNKNOWN) "]"};
    ZD_AUTO(zd_layout) layout = open_layout(&array);
    struct zd_edit *edit[] = {
        new_box(layout, 0, "01"),
        new_edit(ZD_EDIT_DECODED, 1, 0, "01020304"),
        new_edit(ZD_EDIT_ENCODED, 1, 0, "01020304"),
        new_edit(ZD_EDIT_ERASE, 0, 0, NULL),
    };
    for (size_t i = 0; i < ZD_COUNT_OF(edit); i++) {
        const bool is_erasure = edit[i]->kind == ZD_EDIT_ERASE;
        const enum zd_status expected = is_erasure ? ZD_OK : ZD_UNSUPPORTED;
        ck_assert_int_eq(zd_rewrite_verify(layout, edit[i], 1024, NULL), expected);
    }
    const struct result result = rewrite_with(layout, NULL, edit, ZD_COUNT_OF(edit));
    ck_assert_int_eq(result.status, ZD_OK);
    ck_assert(!result.is_changed);
    for (size_t i = 0; i < ZD_COUNT_OF(edit); i++) {
        ck_assert_int_eq(edit[i]->status, edit[i]->kind == ZD_EDIT_ERASE ? ZD_OK : ZD_UNSUPPORTED);
        zd_rewrite_edit_free(edit[i]);
    }
}
END_TEST

START_TEST(an_object_beyond_the_limit_is_not_made)
{
    const struct zd_unit_array *const all[] = {&plain, &sharded, &nested};
    ZD_AUTO(zd_layout) layout = open_layout(all[_i]);
    ZD_AUTO(zd_buf) old = new_object(layout, 0);
    struct zd_edit *edit = new_box(layout, 6, "aabb");
    struct zd_rewrite rewrite = {
        .layout = layout, .old = old, .bytes_max = old->len - 1, .edit = &edit, .n_edits = 1};
    struct zd_error err = {0};
    ck_assert_int_eq(zd_rewrite(&rewrite, &err), ZD_TOO_LARGE);
    ck_assert_uint_eq(err.facts.limit, old->len - 1);
    rewrite.bytes_max = old->len;
    ck_assert_int_eq(zd_rewrite(&rewrite, &err), ZD_OK);
    zd_buf_unref(rewrite.bytes);
    zd_rewrite_edit_free(edit);
}
END_TEST

/* Shards of many small chunks: their index is nearly all there is of them. */
static const struct zd_unit_array fine = {
    1, {1 << 20}, {1 << 20}, "uint8", "[" SHARD("1", LITTLE) "]"};
static const struct zd_unit_array twice_fine = {
    1, {1 << 20}, {1 << 20}, "uint8", "[" SHARD("1024", SHARD("1", LITTLE)) "]"};
#define FINE_INDEX_BYTES (16ULL << 20)

START_TEST(indexes_are_counted)
{
    ZD_AUTO(zd_layout) layout = open_layout(_i == 0 ? &fine : &twice_fine);
    ZD_AUTO(zd_layout) coarse = open_layout(&sharded);
    const uint64_t held = zd_rewrite_cost_bytes(layout, NO_LIMIT);
    ck_assert_uint_ge(held, (5 + 2) * FINE_INDEX_BYTES);
    ck_assert_uint_lt(held, (5 + 2 + 1) * FINE_INDEX_BYTES);
    /* Whatever the object holds, its index has to be read and made. */
    ck_assert_uint_ge(zd_rewrite_cost_bytes(layout, 1), 5 * FINE_INDEX_BYTES);
    ck_assert_uint_eq(zd_rewrite_cost_bytes(coarse, 1), 3 * 4 + 2 + 5 * (4 * 16 + 4));

    struct zd_edit *box = new_box(layout, 6, "aa");
    struct zd_edit *erasure = new_edit(ZD_EDIT_ERASE, layout->n_levels - 1, 6, NULL);
    struct zd_edit *whole = new_edit(ZD_EDIT_ERASE, 0, 0, NULL);
    const uint64_t least = layout->level[0].shard->index_bytes;
    ck_assert_uint_ge(zd_rewrite_cost_ns(layout, box), least);
    ck_assert_uint_ge(zd_rewrite_cost_ns(layout, erasure), least);
    ck_assert_uint_eq(zd_rewrite_cost_ns(layout, whole), 0);
    zd_rewrite_edit_free(box);
    zd_rewrite_edit_free(erasure);
    zd_rewrite_edit_free(whole);
}
END_TEST

/* Sanitizers take more: GCC says so, and Clang. */
#ifdef __has_feature
#define IS_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED true
#else
#define IS_SANITIZED false
#endif

/* The most memory that this process has had, in bytes. */
static uint64_t peak_bytes(void)
{
    struct rusage usage;
    ck_assert_int_eq(getrusage(RUSAGE_SELF, &usage), 0);
    return (uint64_t)usage.ru_maxrss * 1024;
}

START_TEST(no_more_memory_is_taken_than_is_said)
{
    ZD_AUTO(zd_layout) layout = open_layout(&fine);
    struct zd_edit *edit = new_box(layout, 6, "aa");
    const uint64_t before = peak_bytes();
    struct zd_rewrite made = {.layout = layout, .bytes_max = NO_LIMIT, .edit = &edit, .n_edits = 1};
    ck_assert_int_eq(zd_rewrite(&made, NULL), ZD_OK);
    struct zd_edit *next = new_box(layout, 7, "bb");
    struct zd_rewrite result = {
        .layout = layout, .old = made.bytes, .bytes_max = NO_LIMIT, .edit = &next, .n_edits = 1};
    ck_assert_int_eq(zd_rewrite(&result, NULL), ZD_OK);
    ck_assert_uint_gt(peak_bytes() - before, 2 * FINE_INDEX_BYTES);
    ck_assert_uint_le(peak_bytes() - before, zd_rewrite_cost_bytes(layout, NO_LIMIT));
    zd_buf_unref(made.bytes);
    zd_buf_unref(result.bytes);
    zd_rewrite_edit_free(edit);
    zd_rewrite_edit_free(next);
}
END_TEST

/* A rewrite while memory is short. */
struct shortage {
    struct zd_layout *layout;
    struct zd_buf *old;
    struct zd_edit *edit[5];
};

static enum zd_status rewrite_in_need(void *context)
{
    struct shortage *shortage = context;
    struct result result =
        rewrite_with(shortage->layout, shortage->old, shortage->edit, ZD_COUNT_OF(shortage->edit));
    zd_buf_unref(result.status == ZD_OK ? result.bytes : NULL);
    for (size_t i = 0; i < ZD_COUNT_OF(shortage->edit) && result.status == ZD_OK; i++) {
        result.status = shortage->edit[i]->status;
    }
    return result.status;
}

START_TEST(allocations_may_fail)
{
    const struct zd_unit_array *const all[] = {&plain, &sharded, &nested};
    struct shortage shortage = {.layout = open_layout(all[_i])};
    const uint32_t leaf = shortage.layout->n_levels - 1;
    shortage.old = new_object(shortage.layout, 4);
    shortage.edit[0] = new_box(shortage.layout, 3, "a1a2a3a4a5a6");
    shortage.edit[1] = new_box(shortage.layout, 1, "a1a2");
    shortage.edit[2] = new_edit(ZD_EDIT_ERASE, leaf, 0, NULL);
    shortage.edit[3] = new_box(shortage.layout, 2, "a1");
    shortage.edit[4] = new_box(shortage.layout, 0, "101112131415161718191a1b1c1d1e1f");
    zd_unit_with_failing_memory(rewrite_in_need, &shortage);
    for (size_t i = 0; i < ZD_COUNT_OF(shortage.edit); i++) {
        zd_rewrite_edit_free(shortage.edit[i]);
    }
    zd_buf_unref(shortage.old);
    zd_layout_free(shortage.layout);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(
        tests, random_edits_are_what_a_model_without_chunks_says, 0, ZD_COUNT_OF(arrays));
    tcase_add_loop_test(tests, a_corrupt_chunk_is_not_overwritten_in_part, 0, 3);
    tcase_add_loop_test(tests, a_corrupt_chunk_is_overwritten_as_a_whole, 0, 3);
    tcase_add_loop_test(tests, a_shard_whose_index_does_not_decode_is_only_written_whole, 0, 2);
    tcase_add_loop_test(tests,
        a_nested_shard_whose_index_does_not_decode_is_written_over_with_others, 0,
        ZD_COUNT_OF(lost_facts));
    tcase_add_loop_test(tests, a_damaged_entry_of_an_index_is_the_fault_of_its_chunk_alone, 0, 2);
    tcase_add_loop_test(tests, a_shard_with_a_damaged_entry_is_no_chunk, 0, 2);
    tcase_add_loop_test(tests, an_object_of_an_impossible_size_is_corrupt, 0, 6);
    tcase_add_test(tests, a_box_fails_as_a_whole);
    tcase_add_loop_test(tests, counts_say_what_became_of_chunks, 0, 2 * ZD_COUNT_OF(count_facts));
    tcase_add_test(tests, an_erasure_unread_is_counted_by_what_the_store_says);
    tcase_add_loop_test(
        tests, empty_chunks_of_an_object_made_afresh_are_not_counted_as_erased, 0, 4);
    tcase_add_loop_test(tests, only_absent_chunks_are_created, 0, 2);
    tcase_add_test(tests, edits_of_one_chunk_follow_each_other);
    tcase_add_loop_test(
        tests, a_key_that_is_no_chunk_is_told_without_the_object, 0, ZD_COUNT_OF(verify_facts));
    tcase_add_loop_test(tests, an_encoded_shard_is_verified_chunk_by_chunk, 0, 2);
    tcase_add_test(tests, an_array_with_a_dropped_codec_is_only_erased);
    tcase_add_loop_test(tests, an_object_beyond_the_limit_is_not_made, 0, 3);
    tcase_add_loop_test(tests, indexes_are_counted, 0, 2);
    tcase_add_loop_test(tests, no_more_memory_is_taken_than_is_said, 0, IS_SANITIZED ? 0 : 1);
    tcase_add_loop_test(tests, allocations_may_fail, 0, 3);
}
