/* PUT and DELETE of /zarr/{d}/{key}. The meaning of a key decides how it is judged:
 *
 *     a node's document        as every change of metadata (server/write/metadata.h)
 *     a chunk of an array      it lies inside the grid, and decodes to exactly one chunk
 *     any other                is stored as it is
 *
 *     head -> meaning -> body -> lock of the path -> meaning again -> bytes of a chunk judged
 *          -> lock of the chunk -> conditions -> bounds widened -> stored
 *
 * A long body that is not judged is staged while it comes, piece by piece. */
#include <string.h>

#include "core/array/rewrite_cost.h"
#include "core/array/rewrite_verify.h"
#include "server/data/dataset.h"
#include "server/data/events.h"
#include "server/data/object_cache.h"
#include "server/request/admit.h"
#include "server/request/access/audit.h"
#include "server/request/body.h"
#include "server/request/handler.h"
#include "server/request/permission.h"
#include "server/request/respond.h"
#include "server/request/task.h"
#include "server/runtime/server.h"
#include "server/write/bounds.h"
#include "server/write/lock.h"
#include "server/write/metadata.h"
#include "server/write/store_write.h"

struct change {
    struct zd_task task;        /* judges the bytes of a chunk */
    struct zd_dataset *dataset; /* a reference */
    struct zd_key_lock key;
    struct zd_lock_want object_lock; /* of a chunk's key; taken after the path's lock */
    struct zd_object_want object;
    struct zd_store_write_want write;
    struct zd_metadata_want metadata;
    struct zd_metadata_input input;
    struct zd_edit *edit; /* the bytes of a chunk; owned, or NULL */
    struct zd_written written;
    struct zd_bounds_want widen;
    enum zd_status verdict;
    struct zd_error err;
    uint32_t n_tries;
    bool is_erase;
    bool is_staged; /* the body; or a part of it */
};

static struct change *change_of(const struct zd_request *req)
{
    return req->state;
}

static bool is_chunk(const struct change *change)
{
    return change->key.meaning == ZD_KEY_CHUNK;
}

/* ---- the end ---- */

static void release(struct zd_task *task)
{
    struct change *change = ZD_CONTAINER(task, struct change, task);
    zd_rewrite_edit_free(change->edit);
    zd_lock_release_key(&change->key);
    zd_dataset_unref(change->dataset);
    zd_free(change);
}

static void end(struct change *change)
{
    zd_objects_release(&change->object);
    zd_store_write_release(&change->write);
    zd_metadata_release(&change->metadata);
    zd_node_unref(ZD_TAKE(change->widen.node));
    zd_lock_release(&change->object_lock);
    zd_task_leave(&change->task);
}

/* Whether the key is to be empty: the client erases it, or the array leaves such chunks out. */
static bool is_erased(const struct change *change)
{
    return change->is_erase || (change->edit != NULL && change->edit->kind == ZD_EDIT_ERASE);
}

static void tell(const struct change *change)
{
    const struct zd_node *node = change->key.node;
    if (is_chunk(change) && change->write.wait.status == ZD_OK) {
        zd_events_chunks(change->dataset->events, node->path, node->meta->grid.rank,
            change->key.index, 1, is_erased(change) ? ZD_CHUNKS_ERASED : ZD_CHUNKS_WRITTEN);
    }
}

static void write_ended(struct zd_wait *wait)
{
    struct change *change = ZD_CONTAINER(wait, struct change, write.wait);
    tell(change);
    end(change);
}

static void widen_ended(struct zd_wait *wait)
{
    end(ZD_CONTAINER(wait, struct change, widen.wait));
}

/* Whether the store works on the key itself, and not only on bytes that are staged for it. */
static bool is_being_written(const struct change *change)
{
    const enum zd_store_write_kind kind = change->write.kind;
    return change->write.load != NULL && kind != ZD_WRITE_STAGE && kind != ZD_WRITE_EXTEND;
}

/* Keeps the locks until the store has done its work on the key. */
static void leave(struct zd_request *req)
{
    struct change *change = change_of(req);
    if (is_being_written(change)) {
        change->write.wait.done = write_ended;
    } else if (change->widen.is_under_way) {
        change->widen.wait.done = widen_ended;
    } else {
        end(change);
    }
}

static bool is_storing(const struct zd_request *req)
{
    const struct change *change = change_of(req);
    return is_being_written(change) || zd_metadata_is_storing(&change->metadata);
}

static enum zd_next refuse(struct zd_request *req, const char *code, const char *detail)
{
    const struct zd_problem problem = {.code = code, .detail = detail};
    return zd_respond_problem(req, &problem);
}

/* @param stat of the object that is stored now; nothing after an erasure */
static enum zd_next respond_done(struct zd_request *req, const struct zd_stat *stat)
{
    struct zd_representation answer = {.http_status = change_of(req)->is_erase ? 204 : 200};
    char etag[ZD_TAG_BYTES] = "";
    if (!is_erased(change_of(req))) {
        zd_tag_object(etag, stat);
    }
    zd_audit_after(req, etag);
    if (!zd_permission_is_blind(req)) {
        answer.mtime_ms = stat->mtime_ms;
        memcpy(answer.etag, etag, sizeof etag);
    }
    return zd_respond(req, &answer);
}

/* ---- a key that is written as it is ---- */

static enum zd_next step_written(struct zd_request *req)
{
    const struct change *change = change_of(req);
    const struct zd_wait *wait = &change->write.wait;
    tell(change);
    if (wait->status != ZD_OK && wait->status != ZD_NOT_FOUND) { /* nothing to erase: as wanted */
        return zd_respond_error(req, wait->status == ZD_INVALID ? "bad_path" : NULL, &wait->err);
    }
    return respond_done(req, &change->write.stat);
}

static enum zd_next write_key(struct zd_request *req)
{
    struct change *change = change_of(req);
    change->write.wait = zd_machine_wait(&req->machine);
    change->write.kind = change->is_staged   ? ZD_WRITE_COMMIT
                         : is_erased(change) ? ZD_WRITE_ERASE
                                             : ZD_WRITE_PUT;
    /* Where an array skips empty chunks, the edit has taken them out of the shard. */
    change->write.bytes = change->edit != NULL ? change->edit->bytes : req->body;
    req->step = step_written;
    return zd_store_write_want(req->dataset, req->path, &change->write);
}

/* ---- a key that is a document ---- */

static zd_step step_condition;

static enum zd_next refuse_document(struct zd_request *req)
{
    struct change *change = change_of(req);
    const struct zd_metadata_want *metadata = &change->metadata;
    const struct zd_error *err = &metadata->wait.err;
    req->has_seen_store = !metadata->blames_input;
    if (metadata->wait.status == ZD_PRECONDITION && zd_conditions_bind_writes(&req->conditions) &&
        ++change->n_tries < ZD_TRIES_MAX) {
        req->step = step_condition; /* another writer came first: judge the new state */
        return ZD_NEXT;
    }
    if (metadata->meta != NULL && metadata->code == NULL && zd_meta_is_refused(metadata->meta)) {
        return zd_respond_faults(req, &metadata->meta->faults, err);
    }
    return zd_respond_error(req, metadata->code, err);
}

static enum zd_next step_changed(struct zd_request *req)
{
    const struct change *change = change_of(req);
    const enum zd_status status = change->metadata.wait.status;
    if (status == ZD_OK || (status == ZD_NOT_FOUND && change->is_erase)) {
        return respond_done(req, &change->metadata.stat);
    }
    return refuse_document(req);
}

static enum zd_next change_document(struct zd_request *req)
{
    struct change *change = change_of(req);
    change->input.place = req->path;
    change->input.bytes = req->body;
    change->input.condition = change->write.condition;
    change->input.generation = change->write.generation;
    zd_metadata_release(&change->metadata);
    change->metadata = (struct zd_metadata_want){.wait = zd_machine_wait(&req->machine)};
    req->step = step_changed;
    return zd_metadata_want(req->dataset, &change->input, &change->metadata);
}

/* ---- conditions ---- */

static enum zd_next step_widened(struct zd_request *req)
{
    const struct zd_wait *wait = &change_of(req)->widen.wait;
    return wait->status == ZD_OK ? write_key(req) : zd_respond_error(req, NULL, &wait->err);
}

/* Before the chunk is stored, so that no reader finds an element that the document denies. */
static enum zd_next widen(struct zd_request *req)
{
    struct change *change = change_of(req);
    zd_node_unref(ZD_TAKE(change->widen.node));
    change->widen = (struct zd_bounds_want){
        .wait = zd_machine_wait(&req->machine),
        .node = zd_node_ref(change->key.node),
        .written = &change->written,
    };
    req->step = step_widened;
    return zd_bounds_want(&change->widen);
}

static enum zd_next write_now(struct zd_request *req)
{
    const struct change *change = change_of(req);
    if (change->key.meaning == ZD_KEY_DOCUMENT) {
        return change_document(req);
    }
    return is_chunk(change) && !change->is_erase ? widen(req) : write_key(req);
}

/* The store requires the judged generation, so that no other writer is overwritten. */
static enum zd_next step_judge(struct zd_request *req)
{
    struct change *change = change_of(req);
    const struct zd_object_want *object = &change->object;
    const bool exists = object->wait.status == ZD_OK;
    char etag[ZD_TAG_BYTES] = "";
    if (!exists && object->wait.status != ZD_NOT_FOUND) {
        return zd_respond_error(req, NULL, &object->wait.err);
    }
    if (exists) {
        zd_tag_object(etag, &object->stat);
        zd_audit_before(req, etag);
    }
    if (zd_tag_judge_write(&req->conditions, exists ? etag : NULL, object->stat.mtime_ms) !=
        ZD_OK) {
        return zd_respond_precondition(req, etag);
    }
    change->write.condition = exists ? ZD_CONDITION_GENERATION : ZD_CONDITION_ABSENT;
    change->write.generation = object->stat.generation;
    return write_now(req);
}

static enum zd_next step_condition(struct zd_request *req)
{
    struct change *change = change_of(req);
    if (!zd_conditions_bind_writes(&req->conditions)) {
        return write_now(req);
    }
    zd_objects_forget(req->dataset, req->path); /* read the current state */
    change->object.wait = zd_machine_wait(&req->machine);
    req->step = step_judge;
    return zd_objects_want(req->dataset, req->path, ZD_OBJECT_STATUS, &change->object);
}

static enum zd_next step_object_locked(struct zd_request *req)
{
    const struct zd_wait *wait = &change_of(req)->object_lock.wait;
    return wait->status == ZD_OK ? step_condition(req) : zd_respond_error(req, NULL, &wait->err);
}

/* Alone with a chunk: a slice under a condition looks at all of its own, and then writes them. */
static enum zd_next lock_object(struct zd_request *req)
{
    struct change *change = change_of(req);
    change->object_lock.wait = zd_machine_wait(&req->machine);
    req->step = step_object_locked;
    return zd_lock_want(req->dataset, ZD_LOCK_OBJECT, req->path, &change->object_lock);
}

/* ---- the bytes of a chunk ---- */

static void verify(struct zd_task *task)
{
    struct change *change = ZD_CONTAINER(task, struct change, task);
    const struct zd_settings *settings = &change->dataset->server->config->settings;
    change->verdict = zd_rewrite_verify(
        change->key.node->layout, change->edit, settings->limits_slice_bytes, &change->err);
}

static enum zd_next step_verified(struct zd_request *req)
{
    struct change *change = change_of(req);
    struct zd_error *err = &change->err;
    if (change->verdict == ZD_CORRUPT) {
        zd_object_key_in_error(err, "chunk", req->path);
        const struct zd_problem problem = {.code = "corrupt_chunk", .http_status = 422, .err = err};
        return zd_respond_problem(req, &problem);
    }
    if (change->verdict != ZD_OK) {
        return zd_respond_error(
            req, change->verdict == ZD_UNSUPPORTED ? "unsupported_codec" : NULL, err);
    }
    return lock_object(req);
}

static enum zd_next judge_chunk(struct zd_request *req)
{
    struct change *change = change_of(req);
    const struct zd_node *node = change->key.node;
    if (change->is_erase) {
        return lock_object(req);
    }
    change->edit = zd_rewrite_edit_new();
    if (change->edit == NULL) {
        return zd_respond_no_memory(req, "a request");
    }
    memcpy(change->edit->part.chunk, change->key.index, node->meta->grid.rank * sizeof(uint64_t));
    change->edit->kind = ZD_EDIT_ENCODED;
    change->edit->bytes = zd_buf_ref(req->body);
    zd_written_init(&change->written, node->meta);
    change->edit->written = &change->written;
    req->step = step_verified;
    return zd_task_run(&change->task, zd_rewrite_cost_ns(node->layout, change->edit));
}

/* ---- the meaning of a key ---- */

/* Refuses keys below an array that cannot be interpreted, since they cannot be judged. A dataset
 * that takes unknown keys stores them. */
static enum zd_next judge_meaning(struct zd_request *req)
{
    struct zd_key_lock *key = &change_of(req)->key;
    const bool is_erase = change_of(req)->is_erase;
    if (key->wait.status != ZD_OK) {
        return zd_respond_error(req, NULL, &key->wait.err);
    }
    if (key->meaning == ZD_KEY_OUTSIDE && !is_erase) {
        ZD_SCOPED_TEXT(detail, ZD_ERROR_TEXT_BYTES);
        zd_text_addf(&detail, "'%.200s' lies outside the grid of the array's chunks", key->rest);
        return refuse(req, "out_of_bounds", detail.at);
    }
    const bool is_unknown =
        key->meaning == ZD_KEY_UNKNOWN && !is_erase && !req->dataset->config.accept_unknown;
    if (key->meaning != ZD_KEY_CHUNK && !is_unknown) {
        return ZD_NEXT;
    }
    zd_request_set_node(req, key->node);
    return zd_request_check_writable(req);
}

/* The meaning is known, and stays until the key is written. */
static enum zd_next step_locked(struct zd_request *req)
{
    const struct change *change = change_of(req);
    if (judge_meaning(req) != ZD_NEXT) {
        return ZD_DONE;
    }
    if (is_chunk(change) && change->is_staged) {
        struct zd_error err = {0};
        err.status = zd_fail(&err, ZD_AGAIN,
            "%.200s: an array was created above it while the body arrived: send the body again",
            req->path);
        return zd_respond_error(req, NULL, &err);
    }
    return is_chunk(change) ? judge_chunk(req) : step_condition(req);
}

static enum zd_next lock_path(struct zd_request *req)
{
    struct zd_key_lock *key = &change_of(req)->key;
    if (key->meaning == ZD_KEY_DOCUMENT) {
        return step_condition(req);
    }
    req->step = step_locked;
    return zd_lock_want_key(key);
}

/* ---- the body ---- */

static enum zd_next step_have_body(struct zd_request *req)
{
    if (req->body == NULL) {
        req->body = zd_buf_new(1); /* empty, and stored so */
    }
    return req->body == NULL ? zd_respond_no_memory(req, "a request") : lock_path(req);
}

/* ---- a long body, piece by piece ---- */

static uint64_t piece_bytes(const struct zd_request *req)
{
    return req->server->config->settings.http_stream_bytes;
}

static bool comes_in_pieces(const struct zd_request *req)
{
    const enum zd_key_meaning meaning = change_of(req)->key.meaning;
    return (meaning == ZD_KEY_PLAIN || meaning == ZD_KEY_UNKNOWN) && req->upload.has_length &&
           req->upload.length > piece_bytes(req) && zd_store_extends(req->dataset->store);
}

static enum zd_next step_piece(struct zd_request *req);

static enum zd_next step_piece_staged(struct zd_request *req)
{
    struct change *change = change_of(req);
    const struct zd_wait *wait = &change->write.wait;
    change->is_staged = wait->status == ZD_OK;
    if (wait->status != ZD_OK) {
        return zd_respond_error(req, wait->status == ZD_INVALID ? "bad_path" : NULL, &wait->err);
    }
    req->step = step_piece;
    return ZD_NEXT;
}

static enum zd_next stage_piece(struct zd_request *req, struct zd_buf *piece)
{
    struct change *change = change_of(req);
    change->write.wait = zd_machine_wait(&req->machine);
    change->write.kind = change->is_staged ? ZD_WRITE_EXTEND : ZD_WRITE_STAGE;
    change->write.bytes = piece;
    req->step = step_piece_staged;
    return zd_store_write_want(req->dataset, req->path, &change->write);
}

/* The window holds one piece: bytes that come while the piece is staged wait in the connection. */
static enum zd_next step_piece(struct zd_request *req)
{
    struct zd_upload *upload = &req->upload;
    if (zd_upload_is_over(upload)) {
        return lock_path(req);
    }
    if (zd_body_stream_want(req, upload->window->cap) == ZD_WAIT) {
        return ZD_WAIT;
    }
    ZD_AUTO(zd_buf) piece = zd_buf_new(zd_max_u64(upload->held_bytes, 1));
    if (piece == NULL) {
        return zd_respond_no_memory(req, "the body");
    }
    piece->len = zd_body_stream_take(req, piece->data, piece->cap);
    return piece->len == 0 ? ZD_NEXT : stage_piece(req, piece);
}

static enum zd_next step_take_pieces(struct zd_request *req)
{
    struct zd_error err = {0};
    req->step = step_piece;
    return zd_body_stream_ask(req, piece_bytes(req), &err) == ZD_OK
               ? ZD_NEXT
               : zd_respond_error(req, NULL, &err);
}

/* ---- other bodies ---- */

/* Limit a body of unknown length to limits.body_bytes. */
static uint64_t body_max(const struct zd_request *req)
{
    const struct zd_settings *settings = &req->server->config->settings;
    const bool is_document = change_of(req)->key.meaning == ZD_KEY_DOCUMENT;
    return !req->upload.has_length ? settings->limits_body_bytes
           : is_document           ? settings->limits_consolidated_bytes
                                   : settings->limits_object_bytes;
}

static enum zd_next step_take_body(struct zd_request *req)
{
    return zd_body_collect(req, body_max(req), step_have_body);
}

/* Beside the body. */
static uint64_t held_bytes(const struct zd_request *req)
{
    const struct change *change = change_of(req);
    return change->key.meaning == ZD_KEY_DOCUMENT ? zd_metadata_bytes(req->path)
           : is_chunk(change) ? zd_layout_leaf(change->key.node->layout)->chunk_bytes
                              : 0;
}

static enum zd_next want_body(struct zd_request *req)
{
    const uint64_t body_bytes = req->upload.has_length ? req->upload.length : body_max(req);
    if (body_bytes > body_max(req)) {
        return step_take_body(req); /* which refuses it */
    }
    if (comes_in_pieces(req)) {
        return zd_admit_want(
            req, zd_admit_stream_bytes(req, 2 * piece_bytes(req)), step_take_pieces);
    }
    return zd_admit_want(req, body_bytes + held_bytes(req), step_take_body);
}

/* Its place is given back at once: it may wait for a lock for long. */
static enum zd_next step_erase_document(struct zd_request *req)
{
    zd_admit_answered(req);
    return lock_path(req);
}

static enum zd_next step_found(struct zd_request *req)
{
    const struct change *change = change_of(req);
    if (judge_meaning(req) != ZD_NEXT) {
        return ZD_DONE;
    }
    if (!change->is_erase) {
        return want_body(req);
    }
    return change->key.meaning == ZD_KEY_DOCUMENT
               ? zd_admit_want(req, held_bytes(req), step_erase_document)
               : lock_path(req);
}

/* ---- requests ---- */

/* Judges the request by its head. */
static enum zd_next judge_head(struct zd_request *req)
{
    if (!req->dataset->config.allow_keys) {
        return refuse(req, "forbidden", "this dataset does not serve its stored keys");
    }
    if (req->path_ends_in_slash || !zd_key_is_valid(req->path)) {
        return refuse(req, "bad_path", "stored objects cannot have that key");
    }
    return zd_body_check_plain(req);
}

static enum zd_next step_begin(struct zd_request *req)
{
    if (judge_head(req) != ZD_NEXT) {
        return ZD_DONE;
    }
    struct change *change = zd_request_new_state(req, sizeof *change, leave);
    if (change == NULL) {
        return ZD_DONE;
    }
    req->is_storing = is_storing;
    zd_task_init(&change->task, req, verify, release);
    change->dataset = zd_dataset_ref(req->dataset);
    change->key = (struct zd_key_lock){.wait = zd_machine_wait(&req->machine),
        .dataset = req->dataset,
        .key = req->path,
        .client = zd_request_client(req)};
    change->is_erase = strcmp(req->method, "DELETE") == 0;
    req->has_seen_store = true;
    change->input.client = zd_request_client(req);
    change->input.is_blind = zd_permission_is_blind(req);
    change->input.reader = zd_permission_reader(req);
    change->input.kind = change->is_erase ? ZD_METADATA_ERASE_KEY : ZD_METADATA_PUT_KEY;
    req->step = step_found;
    return zd_lock_find_key(&change->key);
}

static const struct zd_route routes[] = {
    {
        .method = "PUT",
        .path = "/zarr/{d}/{key}",
        .first = step_begin,
        .params = NULL, /* unknown ones are ignored: clients add their own */
        .collapse_slashes = true,
        .scope = ZD_SCOPE_WRITE,
        .streams_body = true,
    },
    {
        .method = "DELETE",
        .path = "/zarr/{d}/{key}",
        .first = step_begin,
        .params = NULL,
        .collapse_slashes = true,
        .scope = ZD_SCOPE_WRITE,
    },
};

const struct zd_handler zd_handler_keys_write = {.route = routes, .n_routes = ZD_COUNT_OF(routes)};
