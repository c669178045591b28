/* Stores a chunk, encoded or not, or erases it.
 *
 *     head -> body -> lock of the array -> the array as it is now -> bytes judged by it
 *          -> conditions -> bounds widened -> edit of the stored object -> answer
 *
 * When the stored object has changed between the conditions and the edit, the conditions are judged
 * again. */
#include <string.h>

#include "core/array/rewrite_cost.h"
#include "core/array/rewrite_verify.h"
#include "core/base/num.h"
#include "server/data/object_cache.h"
#include "server/data/shard_lookup.h"
#include "server/describe/chunk_params.h"
#include "server/describe/node_json.h"
#include "server/request/admit.h"
#include "server/request/access/audit.h"
#include "server/request/body.h"
#include "server/request/connection.h"
#include "server/request/handler.h"
#include "server/request/permission.h"
#include "server/request/task.h"
#include "server/runtime/server.h"
#include "server/write/bounds.h"
#include "server/write/edit.h"
#include "server/write/lock.h"

#define BYTES_TYPE       "application/octet-stream"
#define ANSWER_BYTES_MAX 1024
#define JUDGED_MAX       16 /* conditions of a chunk that others write again and again */

struct writing {
    struct zd_task task; /* judges the bytes */
    struct zd_chunk_params ask;
    struct zd_node_lock lock;
    struct zd_node *node;     /* as it is under the lock; a reference */
    struct zd_edit *verified; /* owned; NULL while the edit has it */
    struct zd_written written;
    struct zd_error err;
    struct zd_object_want object; /* for the conditions, as the next two */
    struct zd_place_want place;
    char key[ZD_KEY_BYTES_MAX + 1]; /* of the stored object */
    bool is_erase;
    bool is_dry;
    enum zd_status verdict;
    uint32_t n_judged;
    struct zd_bounds_want widen;
    struct zd_edit_want edit;
};

static zd_step step_judge;

/* ---- the end ---- */

static void release(struct zd_task *task)
{
    struct writing *writing = ZD_CONTAINER(task, struct writing, task);
    zd_rewrite_edit_free(writing->verified);
    zd_edit_release(&writing->edit);
    zd_node_unref(writing->node);
    zd_free(writing);
}

/* Frees the change once no part of it is under way: the lock is kept until then. */
static void end(struct writing *writing)
{
    if (writing->widen.is_under_way || !zd_edit_give_up(&writing->edit)) {
        return;
    }
    zd_node_unref(ZD_TAKE(writing->widen.node));
    zd_lock_release_node(&writing->lock);
    zd_task_leave(&writing->task);
}

static void widen_ended(struct zd_wait *wait)
{
    end(ZD_CONTAINER(wait, struct writing, widen.wait));
}

static void edit_ended(struct zd_wait *wait)
{
    end(ZD_CONTAINER(wait, struct writing, edit.wait));
}

static void leave(struct zd_request *req)
{
    struct writing *writing = req->state;
    zd_objects_release(&writing->object);
    zd_shards_release(&writing->place);
    writing->widen.wait.done = widen_ended;
    writing->edit.wait.done = edit_ended;
    end(writing);
}

static bool is_storing(const struct zd_request *req)
{
    const struct writing *writing = req->state;
    return zd_edit_is_storing(&writing->edit);
}

/* ---- the answer ---- */

/* The tag is the same as of a GET of the chunk. */
static enum zd_next respond_done(struct zd_request *req)
{
    const struct writing *writing = req->state;
    struct zd_representation answer = {.http_status = 200};
    if (writing->is_erase) {
        answer.http_status = 204;
        return zd_respond(req, &answer);
    }
    zd_chunk_params_tag(writing->node, &writing->ask, writing->edit.stat.generation, answer.etag);
    zd_audit_after(req, answer.etag);
    if (zd_permission_is_blind(req)) {
        return zd_respond_blind(req, answer.http_status);
    }
    answer.media_type = "application/json";
    ZD_SCOPED_TEXT(text, ANSWER_BYTES_MAX);
    struct zd_emit emit;
    zd_emit_init(&emit, &text, zd_request_is_pretty(req));
    zd_emit_object(&emit);
    zd_node_json_emit_counts(&writing->edit.edit->counts, &emit);
    zd_emit_object_end(&emit);
    return zd_respond_text(req, &text, &answer);
}

static enum zd_next refuse(struct zd_request *req, const struct zd_error *err)
{
    return zd_respond_error(req, err->status == ZD_UNSUPPORTED ? "unsupported_codec" : NULL, err);
}

static enum zd_next step_edited(struct zd_request *req)
{
    struct writing *writing = req->state;
    const struct zd_wait *wait = &writing->edit.wait;
    const bool may_hold =
        wait->status == ZD_PRECONDITION && zd_conditions_bind_writes(&req->conditions);
    if (may_hold && writing->n_judged < JUDGED_MAX) {
        writing->verified = ZD_TAKE(writing->edit.edit);
        req->step = step_judge;
        return ZD_NEXT;
    }
    return wait->status == ZD_OK ? respond_done(req) : refuse(req, &wait->err);
}

static enum zd_next step_edit(struct zd_request *req)
{
    struct writing *writing = req->state;
    writing->edit.wait = zd_machine_wait(&req->machine);
    writing->edit.edit = ZD_TAKE(writing->verified);
    writing->edit.is_dry = writing->is_dry;
    writing->edit.owner = zd_task_owner(req);
    req->step = step_edited;
    return zd_edit_want(writing->node, &writing->edit);
}

/* ---- bounds ---- */

static enum zd_next step_widened(struct zd_request *req)
{
    struct writing *writing = req->state;
    if (writing->widen.wait.status != ZD_OK) {
        return refuse(req, &writing->widen.wait.err);
    }
    zd_node_unref(writing->node);
    writing->node = ZD_TAKE(writing->widen.node);
    return step_edit(req);
}

/* Before the first element is stored, no reader may find one that the document denies. */
static enum zd_next step_widen(struct zd_request *req)
{
    struct writing *writing = req->state;
    if (writing->is_dry) {
        return step_edit(req);
    }
    writing->widen = (struct zd_bounds_want){
        .wait = zd_machine_wait(&req->machine),
        .node = zd_node_ref(writing->node),
        .written = &writing->written,
    };
    req->step = step_widened;
    return zd_bounds_want(&writing->widen);
}

/* ---- conditions ---- */

/* A decoded GET of an absent chunk returns the fill value with a tag, so If-Match may name it
 * although nothing is stored. */
static enum zd_status judge(const struct zd_request *req, const struct zd_stat *stat, bool exists)
{
    const struct writing *writing = req->state;
    struct zd_chunk_params form = writing->ask;
    char tags[2][ZD_TAG_BYTES];
    const char *const etag[] = {tags[0], tags[1]};
    for (size_t i = 0; i < ZD_COUNT_OF(tags); i++) {
        form.is_decoded = i == 0;
        zd_chunk_params_tag(writing->node, &form, stat->generation, tags[i]);
    }
    const struct zd_validators now = {
        .etag = etag,
        .n_etags = exists ? 2 : 1,
        .mtime_ms = stat->mtime_ms,
        .exists = exists,
        .absent_has_tag = writing->ask.is_decoded,
    };
    return zd_conditions_judge_write(&req->conditions, &now);
}

/* The edit requires the generation that was judged. */
static enum zd_next decide(struct zd_request *req, const struct zd_stat *stat, bool exists)
{
    struct writing *writing = req->state;
    char etag[ZD_TAG_BYTES] = "";
    if (exists || writing->ask.is_decoded) {
        zd_chunk_params_tag(writing->node, &writing->ask, stat->generation, etag);
    }
    if (judge(req, stat, exists) != ZD_OK) {
        return zd_respond_precondition(req, etag);
    }
    /* Other writers may change the same shard while this request creates a chunk. */
    const bool is_creation = !exists && req->conditions.if_match == NULL;
    writing->verified->only_absent = is_creation;
    writing->edit.condition =
        is_creation ? ZD_CONDITION_NONE : zd_store_condition_of(stat->generation);
    writing->edit.generation = stat->generation;
    return step_widen(req);
}

static enum zd_next step_have_object(struct zd_request *req)
{
    const struct writing *writing = req->state;
    const struct zd_wait *wait = &writing->object.wait;
    const struct zd_stat absent = {0};
    if (wait->status != ZD_OK && wait->status != ZD_NOT_FOUND) {
        return refuse(req, &wait->err);
    }
    const bool exists = wait->status == ZD_OK;
    return decide(req, exists ? &writing->object.stat : &absent, exists);
}

static enum zd_next step_have_place(struct zd_request *req)
{
    struct writing *writing = req->state;
    const struct zd_wait *wait = &writing->place.wait;
    if (wait->status == ZD_PRECONDITION && writing->n_judged < JUDGED_MAX) {
        req->step = step_judge; /* it was replaced meanwhile */
        return ZD_NEXT;
    }
    if (wait->status != ZD_OK && wait->status != ZD_NOT_FOUND) {
        return refuse(req, &wait->err);
    }
    return decide(req, &writing->place.stat, wait->status == ZD_OK);
}

/* Read the current state, not a cached one. */
static enum zd_next step_judge(struct zd_request *req)
{
    struct writing *writing = req->state;
    struct zd_error err = {0};
    writing->n_judged++;
    if (!zd_conditions_bind_writes(&req->conditions)) {
        return step_widen(req);
    }
    if (zd_object_key_of(
            writing->node, writing->ask.level, writing->ask.index, writing->key, &err) != ZD_OK) {
        return refuse(req, &err);
    }
    zd_objects_forget(req->dataset, writing->key);
    if (writing->ask.level > 0) {
        zd_shards_release(&writing->place);
        writing->place = (struct zd_place_want){
            .wait = zd_machine_wait(&req->machine), .level = writing->ask.level};
        memcpy(writing->place.index, writing->ask.index, sizeof writing->place.index);
        req->step = step_have_place;
        return zd_shards_want(writing->node, writing->key, &writing->place);
    }
    zd_objects_release(&writing->object);
    writing->object = (struct zd_object_want){.wait = zd_machine_wait(&req->machine)};
    req->step = step_have_object;
    return zd_objects_want(req->dataset, writing->key, ZD_OBJECT_STATUS, &writing->object);
}

/* ---- the bytes ---- */

static void verify(struct zd_task *task)
{
    struct writing *writing = ZD_CONTAINER(task, struct writing, task);
    const struct zd_node *node = writing->node;
    const struct zd_settings *settings = &node->dataset->server->config->settings;
    writing->verdict = zd_rewrite_verify(
        node->layout, writing->verified, settings->limits_slice_bytes, &writing->err);
}

static enum zd_next step_verified(struct zd_request *req)
{
    struct writing *writing = req->state;
    if (writing->verdict == ZD_OK) {
        return step_judge(req);
    }
    if (writing->verdict == ZD_CORRUPT) {
        const struct zd_problem problem = {
            .code = "corrupt_chunk", .http_status = 422, .err = &writing->err};
        return zd_respond_problem(req, &problem);
    }
    return writing->verdict == ZD_INVALID ? zd_respond_error(req, "bad_body", &writing->err)
                                          : refuse(req, &writing->err);
}

static enum zd_edit_kind kind_of(const struct writing *writing)
{
    if (writing->is_erase) {
        return ZD_EDIT_ERASE;
    }
    return writing->ask.is_decoded ? ZD_EDIT_DECODED : ZD_EDIT_ENCODED;
}

static enum zd_next verify_bytes(struct zd_request *req)
{
    struct writing *writing = req->state;
    struct zd_edit *edit = zd_rewrite_edit_new();
    if (edit == NULL) {
        return zd_respond_no_memory(req, "a change of a chunk");
    }
    writing->verified = edit;
    edit->kind = kind_of(writing);
    edit->level = writing->ask.level;
    edit->keeps_empty = zd_permission_is_blind(req);
    memcpy(edit->part.chunk, writing->ask.index, sizeof writing->ask.index);
    edit->bytes = writing->is_erase ? NULL : zd_buf_ref(req->body);
    edit->written = &writing->written;
    zd_written_init(&writing->written, writing->node->meta);
    /* Elements are only counted, unless somebody asks for their extremes. */
    const bool is_costly = edit->kind == ZD_EDIT_ENCODED || writing->written.is_wanted;
    req->step = step_verified;
    return zd_task_run(
        &writing->task, is_costly ? zd_rewrite_cost_ns(writing->node->layout, edit) : 0);
}

/* ---- the array ---- */

/* Parses the parameters that name a chunk of the array, as it is now. */
static enum zd_next parse(struct zd_request *req)
{
    struct writing *writing = req->state;
    struct zd_error err = {0};
    const enum zd_status status =
        zd_chunk_params_parse(&req->params, req->node->layout, &writing->ask, &err);
    if (status != ZD_OK) {
        const char *code = status == ZD_INVALID       ? "bad_parameter"
                           : status == ZD_UNSUPPORTED ? "unsupported_data_type"
                                                      : NULL;
        return zd_respond_error(req, code, &err);
    }
    return ZD_NEXT;
}

static enum zd_next step_locked(struct zd_request *req)
{
    struct writing *writing = req->state;
    if (zd_request_check_locked(req, &writing->lock) != ZD_NEXT || parse(req) != ZD_NEXT) {
        return ZD_DONE;
    }
    writing->node = zd_node_ref(writing->lock.node);
    return verify_bytes(req);
}

static enum zd_next step_lock(struct zd_request *req)
{
    struct writing *writing = req->state;
    writing->lock.wait = zd_machine_wait(&req->machine);
    writing->lock.client = zd_request_client(req);
    req->step = step_locked;
    return zd_lock_want_node(req->dataset, ZD_LOCK_CHUNKS, req->path, &writing->lock);
}

/* ---- the body ---- */

static enum zd_next step_have_body(struct zd_request *req)
{
    if (req->body == NULL) {
        req->body = zd_buf_new(1); /* of length 0: refused like any other wrong length */
    }
    return req->body == NULL ? zd_respond_no_memory(req, "the body") : step_lock(req);
}

/* A body of unknown length is admitted with room for the longest, so its limit is lower. */
static uint64_t body_max(const struct zd_request *req)
{
    const struct writing *writing = req->state;
    const struct zd_settings *settings = &req->server->config->settings;
    const uint64_t chunk_bytes =
        zd_layout_chunk_bytes(req->node->layout, writing->ask.level, writing->ask.index);
    if (req->upload.has_length) {
        return settings->limits_object_bytes;
    }
    return zd_min_u64(
        settings->limits_object_bytes, zd_max_u64(settings->limits_body_bytes, chunk_bytes + 1));
}

static enum zd_next step_body(struct zd_request *req)
{
    return zd_body_collect(req, body_max(req), step_have_body);
}

/* The body, and the object made of it; for a chunk within a shard, the shard before and after. */
static uint64_t held_bytes(const struct zd_request *req)
{
    const struct writing *writing = req->state;
    const struct zd_layout *layout = req->node->layout;
    const uint64_t object_max = req->server->config->settings.limits_object_bytes;
    const uint64_t body = req->upload.has_length ? req->upload.length : body_max(req);
    if (writing->is_erase) {
        return writing->ask.level == 0 ? 0 : zd_rewrite_cost_bytes(layout, object_max);
    }
    if (writing->ask.level == 0 && !writing->ask.is_decoded) {
        return body + zd_layout_leaf(layout)->chunk_bytes;
    }
    const bool is_made_at_once = writing->ask.level == 0 && layout->n_levels == 1;
    return is_made_at_once ? 3 * body : body + zd_rewrite_cost_bytes(layout, object_max);
}

/* A length that is known to be wrong is refused before the first byte comes. */
static enum zd_next judge_length(struct zd_request *req)
{
    const struct writing *writing = req->state;
    const uint64_t chunk_bytes =
        zd_layout_chunk_bytes(req->node->layout, writing->ask.level, writing->ask.index);
    const uint64_t found = req->upload.length;
    if (!writing->ask.is_decoded || !req->upload.has_length || found == chunk_bytes) {
        return ZD_NEXT;
    }
    struct zd_error err = {0};
    err.status = zd_fail(&err, ZD_INVALID, "a decoded chunk has %llu bytes, but the body has %llu",
        (unsigned long long)chunk_bytes, (unsigned long long)found);
    zd_fact_expected(&err, "%llu bytes", (unsigned long long)chunk_bytes);
    zd_fact_found(&err, "%llu bytes", (unsigned long long)found);
    return zd_respond_error(req, "bad_body", &err);
}

/* So are elements of an array whose codecs are only read. */
static enum zd_next judge_elements(struct zd_request *req)
{
    const struct writing *writing = req->state;
    struct zd_error err = {0};
    const enum zd_status status =
        writing->ask.is_decoded ? zd_chain_check_encodes(req->node->meta->chain, &err) : ZD_OK;
    return status == ZD_OK ? ZD_NEXT : zd_respond_error(req, NULL, &err);
}

static enum zd_next step_plan(struct zd_request *req)
{
    const struct writing *writing = req->state;
    if (zd_request_check_writable(req) != ZD_NEXT || parse(req) != ZD_NEXT) {
        return ZD_DONE;
    }
    if (!writing->is_erase && (judge_elements(req) != ZD_NEXT || judge_length(req) != ZD_NEXT)) {
        return ZD_DONE;
    }
    const bool is_too_long = !writing->is_erase && req->upload.length > body_max(req);
    if (is_too_long) {
        return step_body(req); /* which refuses it */
    }
    return zd_admit_want(req, held_bytes(req), writing->is_erase ? step_lock : step_body);
}

/* ---- requests ---- */

static enum zd_next judge_head(struct zd_request *req)
{
    static const char *const allowed[] = {BYTES_TYPE, NULL};
    const char *type = zd_connection_header(req, "Content-Type");
    if (type == NULL || zd_body_is_type(type, BYTES_TYPE)) {
        return zd_body_check_plain(req);
    }
    const struct zd_problem problem = {
        .code = "unsupported_media_type",
        .detail = "the Content-Type must be " BYTES_TYPE " or absent",
        .allowed = allowed,
    };
    return zd_respond_problem(req, &problem);
}

static enum zd_next step_begin(struct zd_request *req)
{
    struct zd_error err = {0};
    const bool is_erase = strcmp(req->method, "DELETE") == 0;
    if (!is_erase && judge_head(req) != ZD_NEXT) {
        return ZD_DONE;
    }
    struct writing *writing = zd_request_new_state(req, sizeof *writing, leave);
    if (writing == NULL) {
        return ZD_DONE;
    }
    req->is_storing = is_storing;
    zd_task_init(&writing->task, req, verify, release);
    writing->is_erase = is_erase;
    if (zd_params_flag(&req->params, "dry_run", false, &writing->is_dry, &err) != ZD_OK) {
        return zd_respond_error(req, "bad_parameter", &err);
    }
    return zd_request_want_node(req, step_plan);
}

static const struct zd_route routes[] = {
    {.method = "PUT",
        .path = "/v1/datasets/{d}/chunks/{path}",
        .first = step_begin,
        .params = ZD_PARAMS("index", "decoded", "level", "dry_run"),
        .scope = ZD_SCOPE_WRITE,
        .streams_body = true},
    {.method = "DELETE",
        .path = "/v1/datasets/{d}/chunks/{path}",
        .first = step_begin,
        .params = ZD_PARAMS("index", "level", "dry_run"),
        .scope = ZD_SCOPE_WRITE},
};

const struct zd_handler zd_handler_chunks_write = {
    .route = routes, .n_routes = ZD_COUNT_OF(routes)};
