/* Chunks: answers with one chunk, by its index in the grid, as it is stored or decoded; or tells
 * which chunks are stored. */
#include "server/handler/handler_chunks.h"

#include <string.h>

#include "core/base/base64.h"
#include "core/base/num.h"
#include "core/grid/widen.h"
#include "server/data/chunk_read.h"
#include "server/data/object_cache.h"
#include "server/data/shard_lookup.h"
#include "server/data/survey.h"
#include "server/describe/chunk_params.h"
#include "server/describe/headers.h"
#include "server/describe/node_json.h"
#include "server/request/admit.h"
#include "server/request/handler.h"
#include "server/request/task.h"
#include "server/runtime/server.h"

#define LIST_BYTES_MAX      1024 /* 32 numbers of 20 digits */
#define SELECTION_BYTES_MAX 4096
#define ANSWER_BYTES_MAX    (UINT64_C(64) << 20)

/* ---- one chunk ---- */

/* The state of a request for one chunk. */
struct chunk {
    struct zd_task task; /* first: makes the body */
    struct zd_node *node;
    struct zd_chunk_params ask;
    bool needs_stored; /* an absent chunk is none, decoded too */
    struct zd_chunk_read read;
    /* when validators are enough: the stored object, or the place of an inner chunk in it */
    char key[ZD_KEY_BYTES_MAX + 1];
    struct zd_object_want object;
    struct zd_place_want place;
    uint32_t n_restarts;
    struct zd_headers headers;
};

static zd_step step_place;

static void free_chunk(struct zd_task *task)
{
    struct chunk *chunk = ZD_CONTAINER(task, struct chunk, task);
    zd_objects_release(&chunk->object);
    zd_shards_release(&chunk->place);
    zd_chunk_read_done(&chunk->read);
    zd_headers_done(&chunk->headers);
    zd_node_unref(chunk->node);
    zd_free(chunk);
}

static void make(struct zd_task *task)
{
    zd_chunk_read_make(&ZD_CONTAINER(task, struct chunk, task)->read);
}

static const struct zd_level *level_of(const struct chunk *chunk)
{
    return &chunk->node->layout->level[chunk->read.level];
}

/* Decoded. */
static uint64_t chunk_bytes(const struct chunk *chunk)
{
    return zd_layout_chunk_bytes(chunk->node->layout, chunk->read.level, chunk->ask.index);
}

static void add_codecs(struct chunk *chunk)
{
    const struct zd_chain *chain = level_of(chunk)->chain;
    struct zd_text *value = zd_headers_add(&chunk->headers, "Zarr-Codecs");
    for (uint32_t i = 0; i < zd_chain_count(chain); i++) {
        zd_text_add(value, i == 0 ? "" : ",");
        zd_text_add(value, zd_chain_codec(chain, i)->name);
    }
}

static void add_headers(struct chunk *chunk, bool is_absent)
{
    const struct zd_meta *meta = chunk->node->meta;
    const struct zd_grid *grid = &level_of(chunk)->grid;
    if (chunk->read.is_decoded) {
        struct zd_dtype dtype = meta->dtype; /* in memory, where NumPy may have no such elements */
        if (zd_widen_is_needed(&dtype)) {
            dtype.kind = ZD_DTYPE_RAW;
            dtype.unit_bytes = 1;
            dtype.small = NULL;
        }
        uint64_t space[ZD_RANK_MAX];
        const uint64_t *shape = zd_grid_chunk_shape(grid, chunk->ask.index, space);
        zd_headers_add_elements(&chunk->headers, &dtype, grid->rank, shape);
    } else {
        add_codecs(chunk);
    }
    if (is_absent) {
        zd_text_add(zd_headers_add(&chunk->headers, "Zarr-Chunk"), "absent");
    }
    const struct zd_listing listing = zd_request_listing(chunk->task.req);
    zd_headers_add_warnings(&chunk->headers, &meta->faults, &listing);
}

static enum zd_status describe(struct chunk *chunk, struct zd_generation generation,
    struct zd_representation *ret_answer, struct zd_error *err)
{
    *ret_answer = (struct zd_representation){
        .media_type = "application/octet-stream",
        .accepts_ranges = true,
    };
    zd_chunk_params_tag(chunk->node, &chunk->ask, generation, ret_answer->etag);
    const bool is_absent = chunk->read.is_absent || !zd_generation_is_set(generation);
    zd_headers_done(&chunk->headers);
    zd_headers_init(&chunk->headers);
    add_headers(chunk, is_absent);
    return zd_headers_give(&chunk->headers, ret_answer, err);
}

static bool is_missing(const struct chunk *chunk)
{
    return chunk->read.is_absent && (chunk->needs_stored || !chunk->read.is_decoded);
}

static enum zd_next respond_absent(struct zd_request *req)
{
    const struct chunk *chunk = req->state;
    struct zd_error err = {0};
    ZD_SCOPED_TEXT(index, LIST_BYTES_MAX);
    zd_format_add_lengths(&index, chunk->ask.index, level_of(chunk)->grid.rank);
    err.status = zd_fail(&err, ZD_NOT_FOUND,
        "chunk (%s) is not stored: all its elements are the fill value%s", index.at,
        chunk->needs_stored ? "" : "; decoded=1 returns them");
    return zd_respond_error(req, "chunk_absent", &err);
}

static enum zd_next step_respond(struct zd_request *req)
{
    struct chunk *chunk = req->state;
    struct zd_representation answer;
    struct zd_error err = {0};
    if (chunk->read.status != ZD_OK) {
        return zd_respond_error(req, NULL, &chunk->read.err);
    }
    if (describe(chunk, chunk->read.generation, &answer, &err) != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    answer.body = chunk->read.body;
    answer.mtime_ms = chunk->read.is_decoded ? 0 : chunk->read.mtime_ms;
    return zd_respond(req, &answer);
}

static enum zd_next step_arrived(struct zd_request *req)
{
    struct chunk *chunk = req->state;
    struct zd_error err = {0};
    if (zd_chunk_read_collect(&chunk->read, &err) != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    if (is_missing(chunk)) {
        return respond_absent(req);
    }
    req->step = step_respond;
    return zd_task_run(&chunk->task, zd_chunk_read_cost_ns(&chunk->read));
}

static enum zd_next step_want(struct zd_request *req)
{
    struct chunk *chunk = req->state;
    req->step = step_arrived;
    req->gather = zd_task_gather(req);
    zd_gather_begin(&req->gather);
    zd_chunk_read_want(&chunk->read);
    return zd_gather_end(&req->gather);
}

/* Whether its stored object is read whole, in any length that it has. */
static bool is_whole_object(const struct chunk *chunk)
{
    return chunk->read.level == 0 &&
           !(chunk->read.is_decoded && chunk->node->layout->n_levels == 1);
}

/* Bounds the bytes held of indexes while an inner chunk is looked for. */
static uint64_t index_bytes(const struct chunk *chunk)
{
    return chunk->read.level > 0 ? zd_layout_index_held_bytes(chunk->node->layout) : 0;
}

/* Asks for room for the chunk's bytes as stored, and decoded too when the client wants them so. The
 * size of an object that is read whole is known; other chunks may be smaller than decoded. */
static enum zd_next want_chunk(struct zd_request *req)
{
    struct chunk *chunk = req->state;
    const uint64_t most = req->server->config->settings.limits_object_bytes;
    const uint64_t decoded = zd_min_u64(level_of(chunk)->chunk_bytes, most);
    const uint64_t stored = is_whole_object(chunk) ? chunk->object.stat.size : decoded;
    const uint64_t bytes = stored + (chunk->read.is_decoded ? decoded : 0) + index_bytes(chunk);
    /* Another object may be there by then. */
    chunk->read.bytes_max = zd_max_u64(stored, zd_chain_encoded_max(level_of(chunk)->chain));
    return zd_admit_want_locked(req, bytes, step_want, step_want);
}

/* Absence, tag and length are known without the chunk's bytes. */
static enum zd_next judge_validators(
    struct zd_request *req, const struct zd_wait *wait, const struct zd_stat *stat, uint64_t length)
{
    struct chunk *chunk = req->state;
    struct zd_representation answer;
    struct zd_error err = {0};
    chunk->read.is_absent = wait->status == ZD_NOT_FOUND;
    if (wait->status != ZD_OK && !chunk->read.is_absent) {
        return zd_respond_error(req, NULL, &wait->err);
    }
    if (is_missing(chunk)) {
        return respond_absent(req);
    }
    if (describe(chunk, stat->generation, &answer, &err) != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    answer.mtime_ms = chunk->read.is_decoded ? 0 : stat->mtime_ms;
    answer.length = chunk->read.is_decoded ? chunk_bytes(chunk) : length;
    answer.length_is_known =
        !chunk->read.is_decoded || !zd_dtype_is_variable(&chunk->node->meta->dtype);
    if (req->is_head || zd_request_condition(req, answer.etag, answer.mtime_ms) != ZD_OK) {
        return zd_respond(req, &answer); /* without its body: 200, 304 or 412 */
    }
    return want_chunk(req);
}

static enum zd_next step_object(struct zd_request *req)
{
    struct chunk *chunk = req->state;
    const struct zd_stat absent = {0};
    const bool is_there = chunk->object.wait.status == ZD_OK;
    if (is_there && !req->is_head && !zd_conditions_exist(&req->conditions)) {
        return want_chunk(req);
    }
    return judge_validators(req, &chunk->object.wait, is_there ? &chunk->object.stat : &absent,
        chunk->object.stat.size);
}

static enum zd_next want_place(struct zd_request *req)
{
    struct chunk *chunk = req->state;
    req->step = step_place;
    chunk->place.wait = zd_machine_wait(&req->machine);
    chunk->place.level = chunk->read.level;
    memcpy(chunk->place.index, chunk->read.index, sizeof chunk->place.index);
    return zd_shards_want(chunk->node, chunk->key, &chunk->place);
}

static enum zd_next step_place(struct zd_request *req)
{
    struct chunk *chunk = req->state;
    struct zd_place_want *place = &chunk->place;
    if (place->wait.status == ZD_PRECONDITION && chunk->n_restarts++ < ZD_RESTARTS_MAX) {
        place->gone = place->stat.generation;
        return want_place(req);
    }
    return judge_validators(req, &place->wait, &place->stat, place->range.len);
}

/* The index of a shard tells the length of an inner chunk; nothing else of it is read. */
static enum zd_next want_validators(struct zd_request *req)
{
    struct chunk *chunk = req->state;
    struct zd_error err = {0};
    if (zd_object_key_of(chunk->node, chunk->read.level, chunk->read.index, chunk->key, &err) !=
        ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    if (chunk->read.level > 0) {
        return zd_admit_want(req, index_bytes(chunk), want_place);
    }
    req->step = step_object;
    chunk->object.wait = zd_machine_wait(&req->machine);
    return zd_objects_want(chunk->node->dataset, chunk->key, ZD_OBJECT_STATUS, &chunk->object);
}

static enum zd_status parse_query(struct zd_request *req, struct chunk *chunk, struct zd_error *err)
{
    struct zd_span text;
    if (zd_params_find(&req->params, "slice", &text)) {
        return zd_fail_name(err, "slice", "slice requires present=1");
    }
    return zd_chunk_params_parse(&req->params, chunk->node->layout, &chunk->ask, err);
}

static enum zd_status take_ask(struct zd_request *req, struct chunk *chunk, struct zd_error *err)
{
    chunk->read.level = chunk->ask.level;
    chunk->read.is_decoded = chunk->ask.is_decoded;
    memcpy(chunk->read.index, chunk->ask.index, sizeof chunk->read.index);
    const uint64_t most = req->server->config->settings.limits_slice_bytes;
    const uint64_t n_bytes = chunk_bytes(chunk);
    if (chunk->read.is_decoded && n_bytes > most) {
        return zd_fail_limit(err, most, n_bytes,
            "the decoded chunk has %llu bytes; limits.slice_bytes is %llu",
            (unsigned long long)n_bytes, (unsigned long long)most);
    }
    return ZD_OK;
}

static enum zd_next step_read(struct zd_request *req)
{
    const bool is_judged = req->is_head || zd_conditions_exist(&req->conditions);
    return is_judged || is_whole_object(req->state) ? want_validators(req) : want_chunk(req);
}

/* NULL: the request is answered. */
static struct chunk *new_chunk(struct zd_request *req)
{
    struct chunk *chunk = zd_request_new_state(req, sizeof *chunk, zd_task_leave_state);
    if (chunk == NULL) {
        return NULL;
    }
    zd_task_init(&chunk->task, req, make, free_chunk);
    zd_headers_init(&chunk->headers);
    chunk->node = zd_node_ref(req->node);
    chunk->read.node = chunk->node;
    chunk->read.gather = &req->gather;
    return chunk;
}

static enum zd_next one_chunk(struct zd_request *req)
{
    struct zd_error err = {0};
    struct chunk *chunk = new_chunk(req);
    if (chunk == NULL) {
        return ZD_DONE;
    }
    enum zd_status status = parse_query(req, chunk, &err);
    if (status == ZD_OK) {
        status = take_ask(req, chunk, &err);
    }
    if (status != ZD_OK) {
        const char *code = status == ZD_INVALID       ? "bad_parameter"
                           : status == ZD_UNSUPPORTED ? "not_acceptable"
                                                      : NULL;
        return zd_respond_error(req, code, &err);
    }
    return zd_request_want_parent_groups(req, step_read);
}

enum zd_next zd_handler_chunks_stored(struct zd_request *req, const struct zd_chunk_params *ask)
{
    struct zd_error err = {0};
    struct chunk *chunk = new_chunk(req);
    if (chunk == NULL) {
        return ZD_DONE;
    }
    chunk->ask = *ask;
    chunk->needs_stored = true;
    if (take_ask(req, chunk, &err) != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    return zd_request_want_parent_groups(req, step_read);
}

/* ---- which chunks are stored: present=1 ---- */

struct presence {
    struct zd_grid grid; /* of which each element is a chunk of the array */
    struct zd_selection selection;
    uint64_t n_chunks;
    uint64_t n_present;
    struct zd_survey survey;
    struct zd_buf *bitmap; /* least significant bit first */
};

static void leave_presence(struct zd_request *req)
{
    struct presence *presence = req->state;
    zd_survey_done(&presence->survey);
    zd_buf_unref(presence->bitmap);
    zd_free(presence);
}

static void see_object(struct zd_survey *survey, uint64_t number, struct zd_generation generation)
{
    struct presence *presence = ZD_CONTAINER(survey, struct presence, survey);
    if (zd_generation_is_set(generation)) {
        presence->n_present++;
        presence->bitmap->data[number / 8] |= (uint8_t)(1U << number % 8);
    }
}

static enum zd_next respond_presence(struct zd_request *req)
{
    const struct presence *presence = req->state;
    ZD_SCOPED_TEXT(selection, SELECTION_BYTES_MAX);
    ZD_SCOPED_TEXT(bitmap, ANSWER_BYTES_MAX);
    ZD_SCOPED_TEXT(json, ANSWER_BYTES_MAX);
    zd_selection_add(&presence->selection, &selection);
    zd_base64_add(&bitmap, zd_buf_span(presence->bitmap));
    struct zd_emit emit;
    zd_emit_init(&emit, &json, zd_request_is_pretty(req));
    zd_emit_object(&emit);
    zd_emit_key(&emit, "chunk_grid_shape");
    zd_node_json_emit_lengths(&emit, presence->grid.shape, presence->grid.rank);
    zd_emit_member_text(&emit, "selection", &selection);
    zd_emit_member_u64(&emit, "n_present", presence->n_present);
    zd_emit_member_text(&emit, "bitmap", &bitmap);
    zd_emit_object_end(&emit);
    return zd_respond_text(req, &json, &(struct zd_representation){0});
}

static enum zd_next step_round(struct zd_request *req)
{
    struct presence *presence = req->state;
    struct zd_error err = {0};
    enum zd_next next;
    if (zd_survey_round(&presence->survey, &next, &err) != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    return presence->survey.is_done ? respond_presence(req) : next;
}

static enum zd_status check_limit(
    struct zd_request *req, struct presence *presence, struct zd_error *err)
{
    const uint64_t most = req->server->config->settings.limits_slice_chunks;
    if (zd_selection_overflows(&presence->selection, &presence->n_chunks)) {
        presence->n_chunks = UINT64_MAX;
    }
    if (presence->n_chunks <= most) {
        return ZD_OK;
    }
    return zd_fail_limit(err, most, presence->n_chunks,
        "the request covers %llu chunks; limits.slice_chunks is %llu; request a part with slice=",
        (unsigned long long)presence->n_chunks, (unsigned long long)most);
}

static enum zd_status prepare_presence(
    struct zd_request *req, struct presence *presence, const char **ret_code, struct zd_error *err)
{
    struct zd_node *node = req->node;
    const struct zd_grid *chunks = &node->layout->level[0].grid;
    struct zd_span slice = {0};
    presence->grid.rank = chunks->rank;
    for (uint32_t d = 0; d < chunks->rank; d++) {
        presence->grid.shape[d] = zd_grid_count(chunks, d);
        presence->grid.chunk[d] = 1;
    }
    zd_params_find(&req->params, "slice", &slice);
    const enum zd_status status =
        zd_selection_parse(slice, chunks->rank, presence->grid.shape, &presence->selection, err);
    *ret_code = status == ZD_OUT_OF_BOUNDS ? "out_of_bounds" : "bad_slice";
    ZD_TRY(status);
    *ret_code = NULL;
    ZD_TRY(check_limit(req, presence, err));
    const uint64_t n_bytes = zd_div_up(presence->n_chunks, 8);
    presence->bitmap = zd_buf_new(n_bytes);
    if (presence->bitmap == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for the bitmap");
    }
    memset(presence->bitmap->data, 0, n_bytes);
    presence->bitmap->len = n_bytes;
    return zd_survey_init(
        &presence->survey, &req->machine, node, &presence->grid, &presence->selection, err);
}

static enum zd_next list_chunks(struct zd_request *req)
{
    struct zd_error err = {0};
    const char *code = NULL;
    struct presence *presence = zd_request_new_state(req, sizeof *presence, leave_presence);
    if (presence == NULL) {
        return ZD_DONE;
    }
    if (prepare_presence(req, presence, &code, &err) != ZD_OK) {
        return zd_respond_error(req, code, &err);
    }
    presence->survey.see = see_object;
    req->step = step_round;
    return ZD_NEXT;
}

/* ---- requests ---- */

static enum zd_next step_plan(struct zd_request *req)
{
    static const char *const others[] = {"index", "decoded", "level"};
    struct zd_error err = {0};
    struct zd_span text;
    bool is_present;
    if (zd_request_check_array(req) != ZD_NEXT) {
        return ZD_DONE;
    }
    if (zd_params_flag(&req->params, "present", false, &is_present, &err) != ZD_OK) {
        return zd_respond_error(req, "bad_parameter", &err);
    }
    if (!is_present) {
        return one_chunk(req);
    }
    for (size_t i = 0; i < ZD_COUNT_OF(others); i++) {
        if (zd_params_find(&req->params, others[i], &text)) {
            err.status = zd_fail_name(&err, others[i], "present=1 can be combined with slice only");
            return zd_respond_error(req, "bad_parameter", &err);
        }
    }
    return list_chunks(req);
}

static const struct zd_route routes[] = {
    {.method = "GET",
        .path = "/v1/datasets/{d}/chunks/{path}",
        .first = step_plan,
        .scope = ZD_SCOPE_READ,
        .needs_node = true,
        .params = ZD_PARAMS("index", "decoded", "level", "present", "slice")},
};

const struct zd_handler zd_handler_chunks = {.route = routes, .n_routes = ZD_COUNT_OF(routes)};
