/* Batches: many chunks in one answer. */
#include <string.h>

#include "core/base/num.h"
#include "server/http/accept.h"
#include "server/request/admit.h"
#include "server/request/body.h"
#include "server/data/chunk_read.h"
#include "server/describe/chunk_params.h"
#include "server/request/dependence.h"
#include "server/request/handler.h"
#include "server/http/multipart.h"
#include "server/runtime/server.h"
#include "server/request/task.h"

#define IN_FLIGHT_MAX       32
#define IN_FLIGHT_BYTES_MAX (UINT64_C(64) << 20) /* decoded chunks held at once */
#define MEDIA_TYPE_BYTES    96
#define PART_BYTES_MAX      1024 /* the head of one part */
#define COPY_BYTES_PER_NS   2
#define LOT_PART            2 /* of http.stream_bytes, is one lot of a streamed batch */

/* The state of a request for a batch. */
struct batch {
    struct zd_task task; /* first: makes the parts of one lot */
    struct zd_node *node;
    bool is_decoded;
    uint32_t level;
    const struct zd_grid *grid; /* of the level */
    uint64_t *index;            /* n_chunks times rank; owned */
    size_t n_chunks;
    bool is_frames;
    bool wants_json;  /* and gets multipart, with a warning */
    bool is_streamed; /* once there is a lot of it */
    bool takes_slow;  /* asked for with slow=1 */
    bool is_slow;
    char boundary[ZD_BOUNDARY_BYTES];
    struct zd_chunk_read *read; /* n_read of them; owned */
    size_t n_read;
    size_t n_asked;      /* read[0 .. n_asked): chunks next .. next + n_asked */
    size_t next;         /* in the order of the request */
    uint64_t body_bytes; /* of the chunks made so far */
    struct zd_text text; /* the body under construction */
    enum zd_status made;
    struct zd_error err;
};

static zd_step step_ask;

static void release(struct batch *batch)
{
    for (size_t i = 0; i < batch->n_asked; i++) {
        zd_chunk_read_done(&batch->read[i]);
    }
    batch->n_asked = 0;
}

static void free_batch(struct zd_task *task)
{
    struct batch *batch = ZD_CONTAINER(task, struct batch, task);
    release(batch);
    zd_free(batch->read);
    zd_free(batch->index);
    zd_text_done(&batch->text);
    zd_node_unref(batch->node);
    zd_free(batch);
}

static uint64_t bytes_max(const struct batch *batch)
{
    return batch->node->dataset->server->config->settings.limits_batch_bytes;
}

static enum zd_status too_large(const struct batch *batch, uint64_t n_bytes, struct zd_error *err)
{
    return zd_fail_limit(err, bytes_max(batch), n_bytes,
        "the batch has at least %llu bytes; limits.batch_bytes is %llu",
        (unsigned long long)n_bytes, (unsigned long long)bytes_max(batch));
}

static enum zd_status add_part(struct batch *batch, size_t i)
{
    struct zd_chunk_read *read = &batch->read[i];
    zd_chunk_read_make(read);
    if (read->status != ZD_OK) {
        batch->err = read->err;
        return read->status;
    }
    const struct zd_span none = {0};
    const struct zd_span bytes = read->body == NULL ? none : zd_buf_span(read->body);
    const size_t position = batch->next + i;
    batch->body_bytes += bytes.len;
    if (batch->body_bytes > bytes_max(batch)) {
        return too_large(batch, batch->body_bytes, &batch->err);
    }
    if (!batch->is_frames) {
        zd_multipart_add(
            &batch->text, batch->boundary, read->index, batch->grid->rank, bytes, read->is_absent);
    } else {
        zd_multipart_frame_add(&batch->text, (uint32_t)position, bytes, read->body == NULL);
    }
    return ZD_OK;
}

static void make(struct zd_task *task)
{
    struct batch *batch = ZD_CONTAINER(task, struct batch, task);
    batch->made = ZD_OK;
    for (size_t i = 0; i < batch->n_asked && batch->made == ZD_OK; i++) {
        batch->made = add_part(batch, i);
    }
}

/* With a body, or with one that is streamed. */
static enum zd_next respond(struct zd_request *req, struct zd_buf *body)
{
    const struct batch *batch = req->state;
    ZD_SCOPED_TEXT(media_type, MEDIA_TYPE_BYTES);
    const char *warning = !batch->wants_json ? "slow_tier"
                          : batch->is_slow   ? "slow_tier,not_json"
                                             : "not_json";
    if (batch->is_frames) {
        zd_text_add(&media_type, ZD_FRAMES_TYPE);
    } else {
        zd_text_addf(&media_type, ZD_MULTIPART_TYPE "; boundary=%s", batch->boundary);
    }
    if (media_type.status != ZD_OK) {
        return zd_respond_no_memory(req, "the batch");
    }
    const struct zd_representation answer = {
        .media_type = media_type.at,
        .body = body,
        .header = {{.name = "Zarr-Warning", .value = warning}},
        .n_headers = batch->is_slow || batch->wants_json ? 1 : 0,
    };
    return body == NULL ? zd_respond_stream(req, &answer) : zd_respond(req, &answer);
}

/* Send the text made so far; there is room for it. */
static enum zd_next give_text(struct zd_request *req, zd_step *next)
{
    struct batch *batch = req->state;
    struct zd_buf *piece = NULL;
    if (zd_text_buf(&batch->text, &piece) != ZD_OK) {
        return zd_respond_no_memory(req, "the batch");
    }
    zd_text_clear(&batch->text);
    zd_request_give(req, piece, 0, piece->len);
    req->step = next;
    return ZD_NEXT;
}

static uint64_t lot_bytes(const struct batch *batch)
{
    return batch->node->dataset->server->config->settings.http_stream_bytes / LOT_PART;
}

/* The most that is read of one chunk. A shard may have gaps of any length: one that is longer with
 * them is refused. */
static uint64_t stored_bytes(const struct batch *batch)
{
    const uint64_t most = batch->node->dataset->server->config->settings.limits_object_bytes;
    return zd_min_u64(zd_chain_encoded_max(batch->node->layout->level[batch->level].chain), most);
}

/* Bounds the bytes held of one chunk, and of indexes while an inner one is looked for. */
static uint64_t part_bytes(const struct batch *batch)
{
    const struct zd_layout *layout = batch->node->layout;
    const uint64_t index_bytes = batch->level > 0 ? zd_layout_index_held_bytes(layout) : 0;
    const uint64_t decoded_bytes =
        batch->is_decoded ? layout->level[batch->level].chunk_bytes : 0; /* at most bytes_max */
    return zd_max_u64(decoded_bytes, stored_bytes(batch)) + index_bytes;
}

/* A lot of a streamed batch is made. Send the head only now: earlier failures get a status, and a
 * short body gets Content-Length. */
static enum zd_next step_give(struct zd_request *req)
{
    const struct batch *batch = req->state;
    if (batch->text.len < lot_bytes(batch)) {
        req->step = step_ask;
        return ZD_NEXT;
    }
    if (zd_request_want_room(req, batch->text.len) == ZD_WAIT) {
        return ZD_WAIT;
    }
    if (!zd_stream_is_open(&req->stream) && respond(req, NULL) == ZD_DONE) {
        return ZD_DONE;
    }
    return give_text(req, step_ask);
}

/* All is made. */
static enum zd_next step_end(struct zd_request *req)
{
    const struct batch *batch = req->state;
    if (zd_stream_is_open(&req->stream)) {
        if (batch->text.len == 0) {
            return zd_request_end_stream(req);
        }
        return zd_request_want_room(req, batch->text.len) == ZD_WAIT ? ZD_WAIT
                                                                     : give_text(req, step_end);
    }
    ZD_AUTO(zd_buf) body = NULL;
    if (zd_text_buf(&batch->text, &body) != ZD_OK) {
        return zd_respond_no_memory(req, "the batch");
    }
    return respond(req, body);
}

static enum zd_next step_made(struct zd_request *req)
{
    struct batch *batch = req->state;
    if (batch->made != ZD_OK) {
        return zd_respond_error(req, NULL, &batch->err);
    }
    batch->next += batch->n_asked;
    release(batch);
    req->step = batch->is_streamed ? step_give : step_ask;
    return ZD_NEXT;
}

static enum zd_next step_arrived(struct zd_request *req)
{
    struct batch *batch = req->state;
    struct zd_error err = {0};
    uint64_t cost_ns = 0;
    for (size_t i = 0; i < batch->n_asked; i++) {
        struct zd_chunk_read *read = &batch->read[i];
        if (zd_chunk_read_collect(read, &err) != ZD_OK) {
            return zd_respond_error(req, NULL, &err);
        }
        cost_ns += zd_chunk_read_cost_ns(read) +
                   batch->node->layout->level[batch->level].chunk_bytes / COPY_BYTES_PER_NS;
    }
    req->step = step_made;
    return zd_task_run(&batch->task, cost_ns);
}

static enum zd_next step_ask(struct zd_request *req)
{
    struct batch *batch = req->state;
    const uint32_t rank = batch->grid->rank;
    if (batch->next == batch->n_chunks) {
        if (!batch->is_frames) {
            zd_multipart_end(&batch->text, batch->boundary);
        }
        req->step = step_end;
        return ZD_NEXT;
    }
    const size_t n = zd_min_u64(batch->n_read, batch->n_chunks - batch->next);
    req->gather = zd_task_gather(req);
    zd_gather_begin(&req->gather);
    for (size_t i = 0; i < n; i++) {
        struct zd_chunk_read *read = &batch->read[i];
        *read = (struct zd_chunk_read){
            .gather = &req->gather,
            .node = batch->node,
            .level = batch->level,
            .is_decoded = batch->is_decoded,
            .bytes_max = stored_bytes(batch),
        };
        memcpy(read->index, batch->index + (batch->next + i) * rank, rank * sizeof *read->index);
        batch->n_asked++;
        zd_chunk_read_want(read);
    }
    req->step = step_arrived;
    return zd_gather_end(&req->gather);
}

static enum zd_status read_index(struct batch *batch, const struct zd_json *list,
    const struct zd_pointer *at, uint64_t *ret_index, struct zd_error *err)
{
    const uint32_t rank = batch->grid->rank;
    if (!zd_json_is(list, ZD_JSON_ARRAY) || zd_json_count(list) != rank) {
        ZD_SCOPED_TEXT(expected, ZD_FACT_TEXT_BYTES);
        zd_text_addf(&expected, "a list of %u integers", (unsigned)rank);
        return zd_body_fault(err, at->text, expected.at, list);
    }
    uint64_t index[ZD_RANK_MAX];
    for (uint32_t d = 0; d < rank; d++) {
        const struct zd_pointer place = zd_pointer_element(at, d);
        if (!zd_json_u64(zd_json_element(list, d), &index[d])) {
            return zd_body_fault(
                err, place.text, "a non-negative integer", zd_json_element(list, d));
        }
    }
    const enum zd_status status = zd_grid_check(batch->grid, index, err);
    if (status != ZD_OK) {
        zd_fact_pointer(err, at->text);
        return status;
    }
    memcpy(ret_index, index, rank * sizeof *index);
    return ZD_OK;
}

static enum zd_status read_indices(
    struct batch *batch, const struct zd_json *lists, struct zd_error *err)
{
    const uint64_t most = batch->node->dataset->server->config->settings.limits_batch_chunks;
    const struct zd_pointer root = {.text = "/indices"};
    const uint32_t rank = batch->grid->rank;
    if (!zd_json_is(lists, ZD_JSON_ARRAY)) {
        return zd_body_fault(err, root.text, "a list of chunk indices", lists);
    }
    const size_t n = zd_json_count(lists);
    if (n > most) {
        return zd_fail_limit(err, most, n, "the batch has %zu chunks; limits.batch_chunks is %llu",
            n, (unsigned long long)most);
    }
    batch->index = zd_alloc_zero(n, rank * sizeof *batch->index);
    if (batch->index == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for %zu indices", n);
    }
    for (size_t i = 0; i < n; i++) {
        const struct zd_pointer at = zd_pointer_element(&root, i);
        ZD_TRY(read_index(batch, zd_json_element(lists, i), &at, batch->index + i * rank, err));
    }
    batch->n_chunks = n;
    return ZD_OK;
}

static enum zd_status read_level(
    struct batch *batch, const struct zd_json *value, struct zd_error *err)
{
    const struct zd_layout *layout = batch->node->layout;
    const char *text = value == NULL ? "outer" : zd_json_string(value);
    if (text == NULL || (strcmp(text, "outer") != 0 && strcmp(text, "inner") != 0)) {
        return zd_body_fault(err, "/level", "\"outer\" or \"inner\"", value);
    }
    const enum zd_status status =
        zd_chunk_read_level(layout, strcmp(text, "inner") == 0, &batch->level, err);
    if (status != ZD_OK) {
        zd_fact_pointer(err, "/level");
        return status;
    }
    batch->grid = &layout->level[batch->level].grid;
    return ZD_OK;
}

static enum zd_status read_body(
    struct batch *batch, const struct zd_json *body, struct zd_error *err)
{
    static const char *const members[] = {"indices", "decoded", "level", NULL};
    ZD_TRY(zd_body_check_members(body, members, "only indices, decoded, level", err));
    const struct zd_json *decoded = zd_json_member(body, "decoded");
    if (decoded != NULL && !zd_json_is(decoded, ZD_JSON_BOOL)) {
        return zd_body_fault(err, "/decoded", "true or false", decoded);
    }
    batch->is_decoded = zd_json_is_true(decoded);
    if (batch->is_decoded) {
        ZD_TRY(zd_chunk_params_check_decoded(batch->node->meta, err));
    }
    ZD_TRY(read_level(batch, zd_json_member(body, "level"), err));
    return read_indices(batch, zd_json_member(body, "indices"), err);
}

/* Counts the bytes of all chunks, decoded; UINT64_MAX when the sum does not fit. */
static uint64_t all_bytes(const struct batch *batch)
{
    const uint32_t rank = batch->grid->rank;
    uint64_t sum = 0;
    for (size_t i = 0; i < batch->n_chunks; i++) {
        const uint64_t *index = batch->index + i * rank;
        if (ckd_add(&sum, sum, zd_layout_chunk_bytes(batch->node->layout, batch->level, index))) {
            return UINT64_MAX;
        }
    }
    return sum;
}

/* Refuses decoded chunks that are too large, as far as sizes are known before anything is read. */
static enum zd_status prepare(struct batch *batch, struct zd_error *err)
{
    const uint64_t n_bytes = all_bytes(batch);
    uint64_t heads;
    if (batch->is_decoded && n_bytes > bytes_max(batch)) {
        return too_large(batch, n_bytes, err);
    }
    if (ckd_mul(&heads, (uint64_t)PART_BYTES_MAX, (uint64_t)batch->n_chunks + 1) ||
        ckd_add(&heads, heads, bytes_max(batch))) {
        return zd_fail(err, ZD_TOO_LARGE, "the batch has too many chunks");
    }
    zd_text_init(&batch->text, heads);
    /* Stored chunks that may be too many bytes are counted before any goes out. */
    batch->is_streamed = n_bytes > 2 * lot_bytes(batch) && n_bytes <= bytes_max(batch);
    const uint64_t lot = batch->is_streamed
                             ? lot_bytes(batch)
                             : zd_admit_flight_bytes(batch->task.req, IN_FLIGHT_BYTES_MAX);
    const uint64_t n_held = lot / zd_max_u64(part_bytes(batch), 1);
    batch->n_read = zd_min_u64(zd_max_u64(n_held, 1), IN_FLIGHT_MAX);
    batch->n_read = zd_min_u64(batch->n_read, batch->n_chunks);
    batch->read = zd_alloc_zero(batch->n_read, sizeof *batch->read);
    return batch->read == NULL ? zd_fail(err, ZD_NO_MEMORY, "no memory for the batch") : ZD_OK;
}

/* The body, and the chunks of one lot. */
static uint64_t held_bytes(const struct batch *batch)
{
    const uint64_t most = bytes_max(batch);
    const uint64_t chunk_bytes =
        zd_min_u64(batch->node->layout->level[batch->level].chunk_bytes, most);
    const uint64_t lot = batch->n_read * part_bytes(batch); /* one, or several that were counted */
    if (batch->is_streamed) {
        const uint64_t text = 2 * zd_max_u64(lot_bytes(batch), chunk_bytes);
        return lot + text + batch->task.req->stream.bytes_max;
    }
    const uint64_t body = zd_min_u64(batch->n_chunks * chunk_bytes, most);
    return lot + body + batch->n_chunks * PART_BYTES_MAX;
}

/* Clients that send JSON often ask for JSON without a thought (curl --json): they get multipart.
 */
static enum zd_next choose_form(struct zd_request *req, struct batch *batch)
{
    static const char *const allowed[] = {ZD_MULTIPART_TYPE, ZD_FRAMES_TYPE, NULL};
    const uint32_t multipart = zd_accept_quality(zd_dependence_accept(req), ZD_MULTIPART_TYPE);
    const uint32_t frames = zd_accept_quality(zd_dependence_accept(req), ZD_FRAMES_TYPE);
    batch->is_frames = frames > multipart; /* only for clients that prefer them */
    batch->wants_json = frames == 0 && multipart == 0 &&
                        zd_accept_quality(zd_dependence_accept(req), "application/json") > 0;
    if (frames > 0 || multipart > 0 || batch->wants_json) {
        return ZD_NEXT;
    }
    const struct zd_problem problem = {
        .code = "not_acceptable",
        .detail = "a batch has the format multipart/mixed or frames",
        .allowed = allowed,
    };
    return zd_respond_problem(req, &problem);
}

/* An array that is slow to read is left out, unless that is asked for: then no chunk is in it. */
static enum zd_next step_admit(struct zd_request *req)
{
    struct batch *batch = req->state;
    batch->is_slow = zd_request_listing(req).tier != NULL;
    if (batch->is_slow && !batch->takes_slow) {
        batch->n_chunks = 0;
    }
    if (!batch->is_streamed) {
        return zd_admit_want(req, held_bytes(batch), step_ask);
    }
    const uint64_t stream_bytes = req->server->config->settings.http_stream_bytes;
    zd_stream_init(&req->stream, ZD_STREAM_WINDOW_TIMES * stream_bytes);
    return zd_admit_want(req, zd_admit_stream_bytes(req, held_bytes(batch)), step_ask);
}

static enum zd_next step_prepare(struct zd_request *req)
{
    struct batch *batch = req->state;
    struct zd_error err = {0};
    if (choose_form(req, batch) != ZD_NEXT) {
        return ZD_DONE;
    }
    enum zd_status status = read_body(batch, req->json, &err);
    zd_json_unref(ZD_TAKE(req->json)); /* do not hold it while waiting for memory */
    if (status == ZD_OK) {
        status = prepare(batch, &err);
    }
    if (status != ZD_OK) {
        const char *code = status == ZD_INVALID       ? "bad_body"
                           : status == ZD_UNSUPPORTED ? "not_acceptable"
                                                      : NULL;
        return zd_respond_error(req, code, &err);
    }
    return zd_request_want_parent_groups(req, step_admit);
}

static enum zd_next step_plan(struct zd_request *req)
{
    struct zd_error err = {0};
    if (zd_request_check_array(req) != ZD_NEXT) {
        return ZD_DONE;
    }
    struct batch *batch = zd_request_new_state(req, sizeof *batch, zd_task_leave_state);
    if (batch == NULL) {
        return ZD_DONE;
    }
    zd_task_init(&batch->task, req, make, free_batch);
    zd_text_init(&batch->text, 0);
    zd_multipart_boundary(batch->boundary, zd_span_of(req->id));
    batch->node = zd_node_ref(req->node);
    if (zd_params_flag(&req->params, "slow", false, &batch->takes_slow, &err) != ZD_OK) {
        return zd_respond_error(req, "bad_parameter", &err);
    }
    return zd_body_want_json(req, ZD_BODY_JSON, step_prepare);
}

static const struct zd_route routes[] = {
    {.method = "POST",
        .path = "/v1/datasets/{d}/chunks/{path}",
        .first = step_plan,
        .scope = ZD_SCOPE_READ,
        .needs_node = true,
        .params = ZD_PARAMS("slow")},
};

const struct zd_handler zd_handler_batch = {.route = routes, .n_routes = ZD_COUNT_OF(routes)};
