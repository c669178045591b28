/* Consolidated metadata of a group, made from the live store and stored. */
#include <string.h>

#include "server/request/admit.h"
#include "server/data/dataset.h"
#include "server/request/handler.h"
#include "server/request/permission.h"
#include "server/write/lock.h"
#include "server/write/metadata.h"
#include "server/describe/node_show.h"
#include "server/runtime/server.h"
#include "server/request/task.h"
#include "server/describe/tree.h"
#include "server/data/walk.h"

#define ROW_NS    20000 /* to list or to render one node, estimated */
#define ROW_BYTES 2048  /* of one, beside its documents */
#define TEXTS     3     /* that have its documents: the listing, the group's with it, the answer */
#define KEPT_FREE 1048576 /* of the nodes, before memory is admitted */

/** A listing on its way into the store, and into the answer. */
struct consolidation {
    struct zd_task task;        /* makes the listing, then the answer */
    struct zd_dataset *dataset; /* a reference */
    struct zd_tree tree;
    struct zd_node_lock lock; /* nothing below the group changes while it is listed */
    struct zd_node *node;     /* the group; a reference */
    struct zd_node_show show; /* of it, for its tag */
    struct zd_walk_want walk;
    struct zd_node_memory_share share; /* for the nodes that are kept */
    struct zd_metadata_want change;
    struct zd_stored_listing *listing; /* a reference, or NULL */
    uint64_t nodes_max;
    uint64_t n_nodes;    /* that were met */
    uint64_t bytes;      /* that they take, and storing them */
    uint64_t bytes_kept; /* so many may be held: of more nodes none is kept */
    uint64_t bytes_max;  /* that any request may have */
    bool is_kept;
    bool is_dry;
    struct zd_text text;
    enum zd_status status; /* of gathering, listing and rendering */
    struct zd_error err;
};

static zd_step step_lock;
static zd_step step_locked;
static zd_step step_walked;
static zd_step step_list;
static zd_step step_listed;
static zd_step step_stored;
static zd_step step_respond;

/* Makes the node that the group is once the listing is stored. */
static enum zd_status put_listing(struct consolidation *consolidation)
{
    const struct zd_meta *start = consolidation->tree.start;
    ZD_AUTO(zd_meta) meta = zd_meta_new(start->dialect);
    if (meta == NULL) {
        return zd_fail(&consolidation->err, ZD_NO_MEMORY, "no memory for a node");
    }
    meta->type = start->type;
    meta->document = zd_json_ref(start->document);
    zd_meta_unref(consolidation->tree.start);
    consolidation->tree.start = ZD_TAKE(meta);
    consolidation->tree.listing = zd_stored_listing_ref(consolidation->listing);
    return ZD_OK;
}

static enum zd_status make_listing(struct consolidation *consolidation)
{
    struct zd_error *err = &consolidation->err;
    ZD_AUTO(zd_buf) bytes = NULL;
    ZD_SCOPED_TEXT(text, SIZE_MAX);
    zd_tree_add_listing(&consolidation->tree, &text);
    if (zd_text_take_buf(&text, &bytes) != ZD_OK) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for consolidated metadata");
    }
    return zd_stored_listing_new(bytes, zd_buf_span(bytes),
        consolidation->tree.start->dialect->tell, &consolidation->listing, err);
}

static enum zd_status work_on(struct consolidation *consolidation)
{
    struct zd_tree *tree = &consolidation->tree;
    if (consolidation->listing == NULL) {
        return make_listing(consolidation);
    }
    ZD_TRY(put_listing(consolidation));
    return zd_tree_render(tree, &consolidation->text, &consolidation->err);
}

static void work(struct zd_task *task)
{
    struct consolidation *consolidation = ZD_CONTAINER(task, struct consolidation, task);
    consolidation->status = work_on(consolidation);
}

static void release(struct zd_task *task)
{
    struct consolidation *consolidation = ZD_CONTAINER(task, struct consolidation, task);
    zd_tree_done(&consolidation->tree);
    zd_stored_listing_unref(consolidation->listing);
    zd_text_done(&consolidation->text);
    zd_dataset_unref(consolidation->dataset);
    zd_free(consolidation);
}

static void end(struct consolidation *consolidation)
{
    zd_metadata_release(&consolidation->change);
    zd_lock_release_node(&consolidation->lock);
    zd_task_leave(&consolidation->task);
}

/* The client has hung up: the change under way ends by itself. */
static void change_ended(struct zd_wait *wait)
{
    end(ZD_CONTAINER(wait, struct consolidation, change.wait));
}

/* A change that is being stored goes on, and until its end nothing below the group may change. */
static void leave(struct zd_request *req)
{
    struct consolidation *consolidation = req->state;
    zd_node_unref(ZD_TAKE(consolidation->node));
    zd_node_show_done(&consolidation->show);
    zd_walk_release(&consolidation->walk);
    zd_node_memory_leave(&consolidation->share);
    consolidation->change.wait.done = change_ended;
    if (zd_metadata_withdraw(&consolidation->change)) {
        end(consolidation);
    }
}

static bool is_storing(const struct zd_request *req)
{
    const struct consolidation *consolidation = req->state;
    return zd_metadata_is_storing(&consolidation->change);
}

/* ---- the stored listing ---- */

static enum zd_next step_begin(struct zd_request *req)
{
    struct consolidation *consolidation = zd_request_new_state(req, sizeof *consolidation, leave);
    struct zd_error err = {0};
    if (consolidation == NULL) {
        return ZD_DONE;
    }
    const struct zd_settings *settings = &req->server->config->settings;
    struct zd_tree_ask *ask = &consolidation->tree.ask;
    req->is_storing = is_storing;
    zd_task_init(&consolidation->task, req, work, release);
    zd_node_show_init(&consolidation->show, req);
    zd_text_init(&consolidation->text, settings->limits_tree_bytes);
    consolidation->dataset = zd_dataset_ref(req->dataset);
    consolidation->nodes_max = settings->limits_tree_nodes;
    consolidation->bytes_max = zd_admit_bytes_max(req);
    *ask = (struct zd_tree_ask){
        .path = zd_strdup(req->path),
        .depth_max = UINT64_MAX,
        .type = ZD_NODE_UNKNOWN,
        .limit = settings->limits_tree_nodes,
        .check = true,
        .pretty = zd_request_is_pretty(req),
    };
    if (ask->path == NULL) {
        return zd_respond_no_memory(req, "a path");
    }
    if (zd_params_flag(&req->params, "dry_run", false, &consolidation->is_dry, &err) != ZD_OK) {
        return zd_respond_error(req, "bad_parameter", &err);
    }
    req->has_seen_store = true;
    return step_lock(req);
}

static enum zd_next step_lock(struct zd_request *req)
{
    struct consolidation *consolidation = req->state;
    consolidation->lock.wait = zd_machine_wait(&req->machine);
    consolidation->lock.client = zd_request_client(req);
    req->step = step_locked;
    return zd_lock_want_node(req->dataset, ZD_LOCK_TREE, req->path, &consolidation->lock);
}

/* Nodes are kept as far as their memory is admitted; else they are counted, to be read again. */
static void count(struct consolidation *consolidation, const struct zd_node *node)
{
    consolidation->n_nodes++;
    consolidation->bytes += ROW_BYTES + node->tree_bytes + TEXTS * node->text_bytes;
    if (consolidation->is_kept && consolidation->bytes > consolidation->bytes_kept) {
        consolidation->is_kept = false;
        zd_tree_release_rows(&consolidation->tree);
    }
}

static bool visit(struct zd_walk_want *want, const struct zd_walk_node *found)
{
    struct consolidation *consolidation = ZD_CONTAINER(want, struct consolidation, walk);
    struct zd_tree_rows *rows = &consolidation->tree.live;
    if (found->node == NULL) {
        /* A listing without it would say that it is not there. */
        consolidation->status = found->err->status;
        consolidation->err = *found->err;
        return false;
    }
    if (consolidation->n_nodes >= consolidation->nodes_max) {
        consolidation->status = zd_fail_limit(&consolidation->err, consolidation->nodes_max,
            consolidation->n_nodes + 1, "the group has more nodes than limits.tree_nodes");
        return false;
    }
    count(consolidation, found->node);
    if (!consolidation->is_kept) {
        return consolidation->bytes <= consolidation->bytes_max;
    }
    consolidation->status =
        zd_tree_add(rows, found->path, found->node->meta, found->node->layout != NULL, NULL);
    if (consolidation->status != ZD_OK) {
        consolidation->status =
            zd_fail(&consolidation->err, consolidation->status, "no memory for a listing");
    }
    return consolidation->status == ZD_OK;
}

static void forget_nodes(struct consolidation *consolidation)
{
    zd_walk_release(&consolidation->walk);
    zd_tree_release_rows(&consolidation->tree);
    zd_node_memory_leave(&consolidation->share);
}

static enum zd_next walk(struct zd_request *req)
{
    struct consolidation *consolidation = req->state;
    const bool is_admitted = req->ticket.state != ZD_TICKET_NONE;
    forget_nodes(consolidation);
    consolidation->n_nodes = 0;
    consolidation->bytes = zd_metadata_bytes(req->path);
    consolidation->bytes_kept = is_admitted ? req->ticket.bytes : consolidation->bytes + KEPT_FREE;
    consolidation->is_kept = true;
    if (is_admitted) {
        zd_node_memory_admit(
            &req->server->parsed, consolidation->bytes_kept, &consolidation->share);
    }
    consolidation->walk = (struct zd_walk_want){
        .wait = zd_machine_wait(&req->machine),
        .start = consolidation->node,
        .depth_max = UINT64_MAX,
        .is_fresh = true,
        .is_admitted = is_admitted,
        .visit = visit,
    };
    req->step = step_walked;
    return zd_walk_want(&consolidation->walk);
}

/* The tag is the same as of GET nodes. It is judged again when the listing is stored. */
static enum zd_next step_condition(struct zd_request *req)
{
    struct consolidation *consolidation = req->state;
    char etag[ZD_TAG_BYTES];
    struct zd_error err = {0};
    if (zd_node_show_tag(&consolidation->show, etag, &err) != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    const int64_t mtime_ms = zd_node_show_mtime(&consolidation->show, consolidation->node);
    if (zd_tag_judge_write(&req->conditions, etag, mtime_ms) != ZD_OK) {
        err.status = zd_fail(&err, ZD_PRECONDITION,
            "the node '%.256s' is not in the state that the request requires", req->path);
        return zd_respond_error(req, NULL, &err);
    }
    return walk(req);
}

static enum zd_next step_locked(struct zd_request *req)
{
    struct consolidation *consolidation = req->state;
    if (zd_request_check_found(req, &consolidation->lock.wait) != ZD_NEXT) {
        return ZD_DONE;
    }
    struct zd_node *node = zd_node_ref(consolidation->lock.node);
    consolidation->node = node;
    if (zd_request_check_group(req, node->meta, "only groups have consolidated metadata") !=
        ZD_NEXT) {
        return ZD_DONE;
    }
    if (node->meta->dialect->list == NULL) {
        struct zd_error err = {0};
        err.status =
            zd_fail(&err, ZD_READ_ONLY, "\"%.200s\" is of the dialect %s, which is read-only",
                req->path, node->meta->dialect->name);
        return zd_respond_error(req, NULL, &err);
    }
    consolidation->tree.start = zd_meta_ref(node->meta);
    consolidation->tree.reading = zd_dataset_reading(req->dataset);
    consolidation->tree.is_writable = req->dataset->config.writable;
    if (!zd_conditions_bind_writes(&req->conditions)) {
        return walk(req);
    }
    req->step = step_condition;
    return zd_node_show_gather(&consolidation->show, node);
}

/* ---- the new listing ---- */

/* While the request waits for memory the nodes below may change: read them again. */
static void give_way(struct zd_request *req)
{
    struct consolidation *consolidation = req->state;
    forget_nodes(consolidation);
    zd_meta_unref(ZD_TAKE(consolidation->tree.start));
    zd_node_unref(ZD_TAKE(consolidation->node));
    zd_node_show_done(&consolidation->show);
    zd_node_show_init(&consolidation->show, req);
    zd_lock_release_node(&consolidation->lock);
}

static enum zd_next step_walked(struct zd_request *req)
{
    struct consolidation *consolidation = req->state;
    if (consolidation->status == ZD_OK && consolidation->walk.wait.status != ZD_OK) {
        consolidation->status = consolidation->walk.wait.status;
        consolidation->err = consolidation->walk.wait.err;
    }
    if (consolidation->status != ZD_OK) {
        return zd_respond_error(req, NULL, &consolidation->err);
    }
    const enum zd_next next = zd_admit_want_locked(
        req, consolidation->bytes, consolidation->is_kept ? step_list : walk, step_lock);
    if (next != ZD_NEXT) {
        give_way(req);
    }
    return next;
}

static enum zd_next step_list(struct zd_request *req)
{
    struct consolidation *consolidation = req->state;
    req->step = step_listed;
    return zd_task_run(&consolidation->task, consolidation->tree.live.n * ROW_NS);
}

static enum zd_next step_listed(struct zd_request *req)
{
    struct consolidation *consolidation = req->state;
    if (consolidation->status != ZD_OK) {
        return zd_respond_error(req, NULL, &consolidation->err);
    }
    const struct zd_metadata_input input = {
        .kind = ZD_METADATA_CONSOLIDATE,
        .client = zd_request_client(req),
        .place = req->path,
        .listing = consolidation->listing,
        .expected = zd_conditions_bind_writes(&req->conditions) ? consolidation->node : NULL,
        .is_dry = consolidation->is_dry,
        .has_lock = true,
    };
    consolidation->change.wait = zd_machine_wait(&req->machine);
    req->step = step_stored;
    return zd_metadata_want(req->dataset, &input, &consolidation->change);
}

static enum zd_next step_stored(struct zd_request *req)
{
    struct consolidation *consolidation = req->state;
    const struct zd_metadata_want *change = &consolidation->change;
    if (change->wait.status != ZD_OK) {
        return zd_respond_error(req, change->code, &change->wait.err);
    }
    zd_lock_release_node(&consolidation->lock);
    if (zd_permission_is_blind(req)) {
        return zd_respond_blind(req, 200);
    }
    req->step = step_respond;
    return zd_task_run(&consolidation->task, consolidation->tree.live.n * ROW_NS);
}

static enum zd_next step_respond(struct zd_request *req)
{
    struct consolidation *consolidation = req->state;
    if (consolidation->status != ZD_OK) {
        return zd_respond_error(req, NULL, &consolidation->err);
    }
    struct zd_representation answer = {.media_type = "application/json"};
    return zd_respond_text(req, &consolidation->text, &answer);
}

static const struct zd_route routes[] = {
    {.method = "POST",
        .path = "/v1/datasets/{d}/consolidate/{path}",
        .first = step_begin,
        .params = ZD_PARAMS("dry_run"),
        .scope = ZD_SCOPE_WRITE,
        .reaches_below = true},
};

const struct zd_handler zd_handler_consolidate = {.route = routes, .n_routes = ZD_COUNT_OF(routes)};
