/* Writing a hierarchy: documents and chunks by the program's own dialect, codecs and store. */
#include "deploy/demo_write.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/array/chunk.h"
#include "core/base/emit.h"
#include "core/dialect/dialect.h"

#define CHUNK_BYTES_MAX    (64U << 20)
#define DOCUMENT_BYTES_MAX (1U << 20)
#define DOCUMENT_NODES_MAX 100000
#define DOCUMENT_DEPTH_MAX 64

static const struct zd_json_limits document_limits = {
    .bytes_max = DOCUMENT_BYTES_MAX,
    .nodes_max = DOCUMENT_NODES_MAX,
    .depth_max = DOCUMENT_DEPTH_MAX,
};

enum zd_status zd_demo_open(struct zd_demo *demo, const char *directory, struct zd_error *err)
{
    const struct zd_store_config config = {
        .location = directory,
        .loop = &demo->loop,
        .writable = true,
    };
    if (uv_loop_init(&demo->loop) != 0) {
        return zd_fail(err, ZD_NO_MEMORY, "cannot begin an event loop");
    }
    const enum zd_status status = zd_store_open(&config, &demo->store, err);
    if (status != ZD_OK) {
        uv_loop_close(&demo->loop);
    }
    return status;
}

void zd_demo_close(struct zd_demo *demo)
{
    for (size_t i = 0; i < demo->n_nodes; i++) {
        zd_free(demo->node[i].path);
        zd_json_unref(demo->node[i].document);
    }
    if (demo->store != NULL) {
        zd_store_close(demo->store);
        uv_loop_close(&demo->loop);
    }
}

static enum zd_status no_memory(struct zd_error *err)
{
    return zd_fail(err, ZD_NO_MEMORY, "memory is short");
}

static void note_done(struct zd_store_op *op)
{
    (void)op; /* the loop ends when nothing is under way */
}

static enum zd_status put(
    struct zd_demo *demo, const char *key, struct zd_buf *bytes, struct zd_error *err)
{
    struct zd_store_write write = {.op = {.done = note_done}, .bytes = bytes};
    snprintf(write.key, sizeof write.key, "%s", key);
    zd_store_write(demo->store, &write);
    uv_run(&demo->loop, UV_RUN_DEFAULT);
    demo->n_objects++;
    demo->n_bytes += bytes->len;
    return write.op.status == ZD_OK ? ZD_OK
                                    : zd_fail(err, write.op.status, "%s", write.op.err.text);
}

static enum zd_status put_document(
    struct zd_demo *demo, const char *path, const struct zd_json *document, struct zd_error *err)
{
    struct zd_emit emit;
    ZD_AUTO(zd_buf) bytes = NULL;
    ZD_SCOPED_TEXT(key, ZD_KEY_BYTES_MAX);
    ZD_SCOPED_TEXT(text, DOCUMENT_BYTES_MAX);
    ZD_TRY(zd_dialect_find("v3")->document_key(path, 0, &key));
    zd_emit_init(&emit, &text, true);
    zd_emit_json(&emit, document);
    if (zd_text_buf(&text, &bytes) != ZD_OK) {
        return no_memory(err);
    }
    return put(demo, key.at, bytes, err);
}

static enum zd_status note_node(
    struct zd_demo *demo, const char *path, const struct zd_json *document, struct zd_error *err)
{
    assert(demo->n_nodes < ZD_DEMO_NODES_MAX);
    char *copy = zd_strdup(path);
    if (copy == NULL) {
        return no_memory(err);
    }
    demo->node[demo->n_nodes++] =
        (struct zd_demo_node){.path = copy, .document = zd_json_ref(document)};
    return ZD_OK;
}

/* A document as the v3 dialect understands it; faults are an error. */
static enum zd_status parse_document(
    const char *path, const char *text, struct zd_meta **ret_meta, struct zd_error *err)
{
    const struct zd_documents documents = {.text = {zd_span_of(text)}, .present = {true}};
    const struct zd_reading reading = {
        .judgement = ZD_JUDGE_WRITE,
        .limits = document_limits,
        .consolidated_bytes_max = DOCUMENT_BYTES_MAX,
    };
    struct zd_error fault = {0};
    ZD_AUTO(zd_meta) meta = NULL;
    ZD_TRY(zd_dialect_find("v3")->parse(&documents, &reading, &meta, err));
    const enum zd_status status = zd_faults_status(&meta->faults, &fault);
    if (status != ZD_OK) {
        return zd_fail(err, status, "/%s: %s", path, fault.text);
    }
    *ret_meta = ZD_TAKE(meta);
    return ZD_OK;
}

enum zd_status zd_demo_add_group(
    struct zd_demo *demo, const char *path, const char *attributes, struct zd_error *err)
{
    ZD_SCOPED_TEXT(text, DOCUMENT_BYTES_MAX);
    ZD_AUTO(zd_meta) meta = NULL;
    ZD_TRY(zd_text_addf(
        &text, "{\"zarr_format\": 3, \"node_type\": \"group\", \"attributes\": %s}", attributes));
    ZD_TRY(parse_document(path, text.at, &meta, err));
    return note_node(demo, path, meta->document, err);
}

/* The next index in C order within shape; false after the last, and for a scalar at once. */
static bool next_index(uint64_t *index, const uint64_t *shape, uint32_t rank)
{
    for (uint32_t dim = rank; dim-- > 0;) {
        if (++index[dim] < shape[dim]) {
            return true;
        }
        index[dim] = 0;
    }
    return false;
}

/* All elements of one chunk; what lies beyond the array's end is the fill value. */
static void compute_chunk(const struct zd_demo_array *array, const struct zd_meta *meta,
    const uint64_t *chunk_index, struct zd_buf *chunk)
{
    const struct zd_grid *grid = &meta->grid;
    uint64_t within[ZD_RANK_MAX] = {0};
    uint64_t at[ZD_RANK_MAX] = {0};
    uint8_t *element = chunk->data;
    do {
        bool is_inside = true;
        for (uint32_t dim = 0; dim < grid->rank; dim++) {
            at[dim] = chunk_index[dim] * grid->chunk[dim] + within[dim];
            is_inside = is_inside && at[dim] < grid->shape[dim];
        }
        if (is_inside) {
            array->element(array->context, at, element);
        } else {
            memcpy(element, meta->fill, meta->dtype.bytes);
        }
        element += meta->dtype.bytes;
    } while (next_index(within, grid->chunk, grid->rank));
}

static enum zd_status write_chunk(struct zd_demo *demo, const struct zd_demo_array *array,
    const struct zd_layout *layout, const uint64_t *index, struct zd_error *err)
{
    const struct zd_meta *meta = layout->meta;
    const size_t len = (size_t)layout->level[0].n_elements * meta->dtype.bytes;
    ZD_AUTO(zd_buf) stored = NULL;
    ZD_SCOPED_TEXT(key, ZD_KEY_BYTES_MAX);
    ZD_AUTO(zd_buf) chunk = zd_buf_new(len);
    if (chunk == NULL) {
        return no_memory(err);
    }
    chunk->len = len;
    compute_chunk(array, meta, index, chunk);
    if (zd_chunk_is_fill(chunk, len / meta->dtype.bytes, meta)) {
        return ZD_OK; /* Zarr v3: an absent chunk is a chunk of the fill value */
    }
    ZD_TRY(zd_chunk_encode(&layout->level[0], chunk, &stored, err));
    ZD_TRY(meta->dialect->chunk_key(meta, array->path, index, &key));
    return put(demo, key.at, stored, err);
}

enum zd_status zd_demo_add_array(
    struct zd_demo *demo, const struct zd_demo_array *array, struct zd_error *err)
{
    uint64_t index[ZD_RANK_MAX] = {0};
    uint64_t n_chunks[ZD_RANK_MAX];
    ZD_AUTO(zd_meta) meta = NULL;
    ZD_AUTO(zd_layout) layout = NULL;
    ZD_TRY(parse_document(array->path, array->document, &meta, err));
    ZD_TRY(zd_layout_new(meta, CHUNK_BYTES_MAX, &layout, err));
    for (uint32_t dim = 0; dim < meta->grid.rank; dim++) {
        n_chunks[dim] = zd_grid_count(&meta->grid, dim);
    }
    do {
        ZD_TRY(write_chunk(demo, array, layout, index, err));
    } while (next_index(index, n_chunks, meta->grid.rank));
    ZD_TRY(put_document(demo, array->path, meta->document, err));
    return note_node(demo, array->path, meta->document, err);
}

static size_t depth_of(const char *path)
{
    size_t depth = 0;
    for (const char *at = path; *at != '\0'; at++) {
        depth += *at == '/';
    }
    return depth;
}

/* Order nodes like other writers: by depth, then by name. */
static int compare_nodes(const void *a, const void *b)
{
    const char *left = ((const struct zd_demo_node *)a)->path;
    const char *right = ((const struct zd_demo_node *)b)->path;
    const size_t left_depth = depth_of(left);
    const size_t right_depth = depth_of(right);
    if (left_depth != right_depth) {
        return left_depth < right_depth ? -1 : 1;
    }
    return strcmp(left, right);
}

/* The path of a node relative to a group above it, or NULL when it is not below that group. */
static const char *path_below(const char *group, const char *path)
{
    const size_t len = strlen(group);
    if (len == 0) {
        return path[0] == '\0' ? NULL : path;
    }
    return strncmp(path, group, len) == 0 && path[len] == '/' ? path + len + 1 : NULL;
}

/* The inline consolidated block of a group: every node below it. */
static enum zd_status consolidate(
    const struct zd_demo *demo, const char *group, struct zd_json **ret_block)
{
    ZD_AUTO(zd_json) block = zd_json_new_object();
    ZD_AUTO(zd_json) metadata = zd_json_new_object();
    for (size_t i = 0; i < demo->n_nodes && metadata != NULL; i++) {
        const char *path = path_below(group, demo->node[i].path);
        if (path != NULL) {
            ZD_TRY(zd_json_set(metadata, path, zd_json_ref(demo->node[i].document)));
        }
    }
    if (block == NULL || metadata == NULL) {
        return ZD_NO_MEMORY;
    }
    ZD_TRY(zd_json_set(block, "kind", zd_json_new_text("inline")));
    ZD_TRY(zd_json_set(block, "must_understand", zd_json_new_bool(false)));
    ZD_TRY(zd_json_set(block, "metadata", ZD_TAKE(metadata)));
    *ret_block = ZD_TAKE(block);
    return ZD_OK;
}

static enum zd_status finish_group(
    struct zd_demo *demo, const struct zd_demo_node *node, struct zd_error *err)
{
    struct zd_json *block = NULL;
    ZD_AUTO(zd_json) document = zd_json_copy(node->document);
    if (document == NULL || consolidate(demo, node->path, &block) != ZD_OK ||
        zd_json_set(document, "consolidated_metadata", block) != ZD_OK) {
        return no_memory(err);
    }
    return put_document(demo, node->path, document, err);
}

enum zd_status zd_demo_finish(struct zd_demo *demo, struct zd_error *err)
{
    qsort(demo->node, demo->n_nodes, sizeof demo->node[0], compare_nodes);
    /* The root comes last: whoever sees it sees everything. */
    for (size_t i = demo->n_nodes; i-- > 0;) {
        const struct zd_json *type = zd_json_member(demo->node[i].document, "node_type");
        if (strcmp(zd_json_string(type), "group") == 0) {
            ZD_TRY(finish_group(demo, &demo->node[i], err));
        }
    }
    return ZD_OK;
}
