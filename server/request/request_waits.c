/* The waits and belongings of a request: its node, room in its answer, its handler's state, and
 * their end. */
#include <assert.h>

#include "core/base/hash.h"
#include "core/base/num.h"
#include "server/data/catalog.h"
#include "server/data/dataset.h"
#include "server/data/suggest_nodes.h"
#include "server/request/admit.h"
#include "server/request/body.h"
#include "server/request/client.h"
#include "server/request/connection.h"
#include "server/request/identity.h"
#include "server/request/permission.h"
#include "server/request/respond.h"
#include "server/runtime/server.h"
#include "server/write/lock.h"

void *zd_request_new_state(
    struct zd_request *req, size_t bytes, void (*leave)(struct zd_request *req))
{
    void *state = zd_alloc_zero(1, bytes);
    if (state == NULL) {
        (void)zd_respond_no_memory(req, "the request");
        return NULL;
    }
    req->state = state;
    req->state_free = leave;
    return state;
}

uint64_t zd_request_client(const struct zd_request *req)
{
    const struct zd_peer peer = zd_client_peer(req);
    struct zd_hash hash = {0};
    zd_hash_add_u64(&hash, peer.family);
    zd_hash_add_u64(&hash, peer.prefix);
    return zd_max_u64(hash.value, 1);
}

/* ---- the node ---- */

enum zd_next zd_request_check_array(struct zd_request *req)
{
    const struct zd_meta *meta = req->node->meta;
    if (zd_meta_is_refused(meta)) {
        struct zd_error err = {0};
        const enum zd_status status = zd_faults_status(&meta->faults, &err);
        return zd_respond_faults(req, &meta->faults, status == ZD_OK ? NULL : &err);
    }
    if (!zd_meta_is_array(meta)) {
        const struct zd_error err = {.status = ZD_INVALID,
            .text = "the node is a group, but only arrays have slices and chunks"};
        return zd_respond_error(req, "not_an_array", &err);
    }
    const struct zd_error *fault = req->node->fault;
    return fault == NULL ? ZD_NEXT : zd_respond_error(req, "unsupported_grid", fault);
}

enum zd_next zd_request_check_group(
    struct zd_request *req, const struct zd_meta *meta, const char *detail)
{
    if (zd_meta_is_refused(meta)) {
        return zd_respond_faults(req, &meta->faults, NULL);
    }
    const struct zd_problem problem = {.code = "not_a_group", .detail = detail};
    return meta->type == ZD_NODE_GROUP ? ZD_NEXT : zd_respond_problem(req, &problem);
}

enum zd_next zd_request_check_writable(struct zd_request *req)
{
    if (zd_request_check_array(req) != ZD_NEXT) {
        return ZD_DONE;
    }
    struct zd_error err = {0};
    const enum zd_status status = zd_dialect_check_writes_chunks(req->node->meta, &err);
    if (status != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    if (req->node->meta->view.skips_empty && zd_permission_is_blind(req)) {
        /* Whether a chunk is there afterwards would tell whether its other elements are empty. */
        return zd_permission_refuse_blind(req);
    }
    return ZD_NEXT;
}

static enum zd_next respond_missing(struct zd_request *req, const struct zd_suggest *nearest)
{
    struct zd_error err = {0};
    const bool is_root = req->path[0] == '\0';
    const char *kind = is_root ? zd_dataset_other(req->dataset) : NULL;
    if (kind != NULL) {
        err.status = zd_fail(&err, ZD_NOT_FOUND,
            "dataset '%s' holds no Zarr hierarchy: it is %s, which this version does not read",
            req->dataset->config.name, kind);
    } else if (is_root) {
        err.status = zd_fail(&err, ZD_NOT_FOUND, "dataset '%s' has no Zarr metadata at its root",
            req->dataset->config.name);
    } else {
        err.status = zd_fail(&err, ZD_NOT_FOUND, "dataset '%s' has no node at '%.256s'",
            req->dataset->config.name, req->path);
    }
    return zd_respond_suggestions(req, "node_not_found", &err, nearest);
}

static enum zd_next step_missing(struct zd_request *req)
{
    return respond_missing(req, &req->own.near->nearest);
}

/* The nearest nodes lie anywhere in the last group on the way. */
enum zd_next zd_request_refuse_missing(struct zd_request *req)
{
    if (!zd_permission_reaches(req, "")) {
        return respond_missing(req, &(struct zd_suggest){.n = 0});
    }
    struct zd_suggest_nodes *near = zd_alloc_zero(1, sizeof *near);
    if (near == NULL) {
        return zd_respond_no_memory(req, "suggestions");
    }
    req->own.near = near;
    near->wait = zd_machine_wait(&req->machine);
    req->step = step_missing;
    return zd_suggest_nodes_want(near, req->dataset, req->path);
}

enum zd_next zd_request_check_found(struct zd_request *req, const struct zd_wait *wait)
{
    const struct zd_suggest none = {.n = 0};
    if (wait->status == ZD_NOT_FOUND) {
        return respond_missing(req, &none);
    }
    return wait->status == ZD_OK ? ZD_NEXT : zd_respond_error(req, NULL, &wait->err);
}

void zd_request_set_node(struct zd_request *req, struct zd_node *node)
{
    struct zd_node *before = req->node;
    req->node = zd_node_ref(node);
    zd_node_unref(before);
}

enum zd_next zd_request_check_locked(struct zd_request *req, const struct zd_node_lock *lock)
{
    if (zd_request_check_found(req, &lock->wait) != ZD_NEXT) {
        return ZD_DONE;
    }
    zd_request_set_node(req, lock->node);
    return zd_request_check_writable(req);
}

/* A dataset that does not answer delays one request, not all requests for the list. */
static enum zd_next step_look(struct zd_request *req)
{
    const struct zd_server *server = req->server;
    if (req->own.n_looked >= server->n_datasets) {
        req->step = req->own.next;
        return ZD_NEXT;
    }
    struct zd_dataset *dataset = server->dataset[req->own.n_looked++];
    req->wait.done = zd_machine_wake;
    req->wait.context = &req->machine;
    return dataset->look.is_under_way ? ZD_NEXT : zd_dataset_look(dataset, ZD_TRUSTED, &req->wait);
}

enum zd_next zd_request_want_datasets(struct zd_request *req, zd_step *next)
{
    req->own.n_looked = 0;
    req->own.next = next;
    req->step = step_look;
    return ZD_NEXT;
}

static enum zd_next step_with_node(struct zd_request *req)
{
    struct zd_node_want *want = &req->node_want;
    if (want->wait.status == ZD_NOT_FOUND) {
        return zd_request_refuse_missing(req);
    }
    if (zd_request_check_found(req, &want->wait) != ZD_NEXT) {
        return ZD_DONE;
    }
    zd_node_unref(req->node); /* when it is asked for again */
    req->node = ZD_TAKE(want->node);
    req->step = req->own.next;
    return ZD_NEXT;
}

enum zd_next zd_request_want_node(struct zd_request *req, zd_step *next)
{
    req->node_want.wait = zd_machine_wait(&req->machine);
    req->node_want.node = NULL;
    req->has_seen_store = true;
    req->own.next = next;
    req->step = step_with_node;
    return zd_catalog_want(req->dataset, req->path, &req->node_want);
}

enum zd_next zd_request_want_parent_groups(struct zd_request *req, zd_step *next)
{
    req->step = next;
    req->parent_groups.wait = zd_machine_wait(&req->machine);
    req->parent_groups.reader = zd_permission_reader(req);
    return zd_parent_groups_want(req->dataset, req->node->path, &req->parent_groups);
}

struct zd_listing zd_request_listing(const struct zd_request *req)
{
    return zd_parent_groups_listing(&req->parent_groups.groups, req->node->path);
}

/* ---- an answer that is given piece by piece ---- */

/* Not at once: this runs while the connection takes bytes. */
static void has_room(struct zd_wait *wait)
{
    zd_connection_queue_turn(wait->context);
}

enum zd_next zd_request_want_room(struct zd_request *req, uint64_t bytes)
{
    req->wait.done = has_room;
    req->wait.context = req;
    const enum zd_next next = zd_stream_want_room(&req->stream, bytes, &req->wait);
    if (next == ZD_WAIT) {
        zd_admit_answered(req); /* a slow reader keeps its bytes, not its place */
        req->times.waits_for = ZD_TIME_SEND;
    }
    return next;
}

enum zd_next zd_request_want_turn(struct zd_request *req, zd_step *next)
{
    req->step = next;
    req->wait = zd_machine_wait(&req->machine);
    zd_deferred_want(&req->server->later, &req->wait);
    req->times.waits_for = ZD_TIME_NONE;
    return ZD_WAIT;
}

void zd_request_give(struct zd_request *req, struct zd_buf *buf, size_t from, size_t len)
{
    assert(req->stream.state == ZD_STREAM_OPEN);
    zd_stream_push(&req->stream, buf, from, len);
    zd_connection_wake(req);
}

enum zd_next zd_request_end_stream(struct zd_request *req)
{
    assert(req->stream.state == ZD_STREAM_OPEN);
    req->stream.state = ZD_STREAM_ENDED;
    return ZD_DONE;
}

enum zd_next zd_request_end_over(struct zd_request *req)
{
    if (!req->stream.may_end) {
        return zd_permission_refuse_credential(req);
    }
    zd_stream_drop(&req->stream);
    return zd_request_end_stream(req);
}

/* ---- the end ---- */

void zd_request_drop_state(struct zd_request *req)
{
    if (req->state_free != NULL) {
        req->state_free(req);
    }
    req->state = NULL;
    req->state_free = NULL;
}

void zd_request_end_waits(struct zd_request *req)
{
    zd_wait_cancel(&req->wait);
    zd_wait_cancel(&req->node_want.wait);
    zd_parent_groups_release(&req->parent_groups);
    if (req->own.near != NULL) {
        zd_suggest_nodes_release(req->own.near);
        zd_free(ZD_TAKE(req->own.near));
    }
    zd_request_drop_state(req);
    zd_body_release(req);
    zd_json_unref(ZD_TAKE(req->json));
    zd_gather_cancel(&req->gather);
    zd_admit_release(req);
}

void zd_request_end(struct zd_request *req)
{
    zd_request_end_waits(req);
    zd_node_unref(req->node);
    zd_node_unref(ZD_TAKE(req->node_want.node));
    zd_buf_unref(req->body);
    zd_params_done(&req->params);
    zd_dataset_unref(req->dataset);
    zd_upload_done(&req->upload);
    zd_stream_done(&req->stream);
    zd_identity_unref(ZD_TAKE(req->identity));
    zd_client_done(req);
}
