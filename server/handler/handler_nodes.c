/* Shows a node, with its normalised metadata and links, and makes, replaces, patches or erases it.
 */
#include <string.h>

#include "core/base/num.h"
#include "server/data/catalog.h"
#include "server/describe/node_show.h"
#include "server/http/accept.h"
#include "server/request/admit.h"
#include "server/request/access/audit.h"
#include "server/request/body.h"
#include "server/request/dependence.h"
#include "server/request/handler.h"
#include "server/request/permission.h"
#include "server/runtime/server.h"
#include "server/write/metadata.h"

#define PATCH_TYPE "application/merge-patch+json"

#define SHOWN_FREE   65536 /* of the texts of an answer, before memory is admitted */
#define SHOWN_COPIES 2     /* of a text: it grows */

#define TEXT_COPIES 2 /* of the body of a change */
#define TREE_COPIES 2 /* the body, and the metadata that is judged */

/* A condition is judged by the stored node, and must hold when the change is made. When another
 * writer comes in between it is judged again, so often at most. */
#define JUDGED_MAX 16

/* ---- reading ---- */

static void leave_show(struct zd_request *req)
{
    zd_node_show_done(req->state);
    zd_free(req->state);
}

static enum zd_next step_respond_get(struct zd_request *req)
{
    struct zd_node_show *show = req->state;
    const struct zd_node *node = req->node;
    struct zd_error err = {0};
    struct zd_representation answer = {
        .media_type = ZD_BODY_JSON,
        .mtime_ms = zd_node_show_mtime(show, node),
    };
    if (zd_node_show_tag(show, answer.etag, &err) != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    const struct zd_node_shown shown = {
        .path = node->path, .meta = node->meta, .can_slice = node->layout != NULL};
    ZD_SCOPED_TEXT(text, req->server->config->settings.limits_tree_bytes);
    zd_node_show_emit(show, &shown, &text);
    answer.keep_until_ms =
        show->is_partial ? 0 : zd_dataset_trusts_until(req->dataset, show->checked_ms);
    return zd_respond_text(req, &text, &answer);
}

/* A client may take the answer of a large node slowly, so its memory is admitted. */
static enum zd_next step_shown(struct zd_request *req)
{
    const struct zd_node_show *show = req->state;
    const uint64_t bytes = SHOWN_COPIES * (req->node->text_bytes + 2 * show->children.len);
    if (bytes > SHOWN_FREE) {
        return zd_admit_want(req, bytes, step_respond_get);
    }
    req->step = step_respond_get;
    return ZD_NEXT;
}

static enum zd_next step_children(struct zd_request *req)
{
    req->step = step_shown;
    return zd_node_show_gather(req->state, req->node);
}

static enum zd_next step_get(struct zd_request *req)
{
    static const char *const allowed[] = {ZD_BODY_JSON, NULL};
    struct zd_error err = {0};
    if (zd_accept_quality(zd_dependence_accept(req), ZD_BODY_JSON) == 0) {
        const struct zd_problem problem = {.code = "not_acceptable",
            .detail = "node descriptions are available as JSON only",
            .allowed = allowed};
        return zd_respond_problem(req, &problem);
    }
    struct zd_node_show *show = zd_request_new_state(req, sizeof *show, leave_show);
    if (show == NULL) {
        return ZD_DONE;
    }
    zd_node_show_init(show, req);
    struct zd_span fields;
    if (zd_params_find(&req->params, "fields", &fields)) {
        if (zd_fields_parse(fields, zd_node_fields, &show->fields, &err) != ZD_OK) {
            return zd_respond_error(req, err.status == ZD_INVALID ? "bad_parameter" : NULL, &err);
        }
        zd_hash_add(&show->hash, fields);
    }
    return zd_request_want_node(req, step_children);
}

/* ---- writing ---- */

/* A change on its way. */
struct node_write {
    struct zd_request *req; /* borrowed */
    struct zd_metadata_input input;
    struct zd_node_want found;
    struct zd_node *node; /* judged by the conditions, or shown; or NULL */
    struct zd_node_show show;
    struct zd_metadata_want change;
    uint32_t n_judged;
};

static zd_step step_judge;
static zd_step step_change;
static zd_step step_changed;
static zd_step step_show_dry;
static zd_step step_respond;

static void leave(struct zd_request *req)
{
    struct node_write *write = req->state;
    zd_catalog_release(&write->found);
    zd_node_unref(write->node);
    zd_node_show_done(&write->show);
    zd_metadata_release(&write->change);
    zd_free(write);
}

static void forget_node(struct node_write *write)
{
    zd_node_unref(ZD_TAKE(write->node));
    zd_node_show_done(&write->show);
    zd_node_show_init(&write->show, write->req);
}

/* The node as it is in the store; then that step runs. */
static enum zd_next look(struct zd_request *req, zd_step *next)
{
    struct node_write *write = req->state;
    forget_node(write);
    write->found = (struct zd_node_want){.wait = zd_machine_wait(&req->machine)};
    req->has_seen_store = true;
    req->step = next;
    return zd_catalog_want_fresh(req->dataset, req->path, &write->found);
}

/* ---- conditions ---- */

static enum zd_next refuse_condition(struct zd_request *req, const struct zd_node *node)
{
    struct zd_error err = {0};
    err.status = zd_fail(&err, ZD_PRECONDITION, "the node '%.256s' %s", req->path,
        node == NULL ? "does not exist" : "is not in the state that the request requires");
    return zd_respond_error(req, NULL, &err);
}

/* Judges the tag, which is known: the node that the client saw, or its absence, must last until the
 * change is made. */
static enum zd_next step_condition(struct zd_request *req)
{
    struct node_write *write = req->state;
    const struct zd_node *node = write->node;
    char etag[ZD_TAG_BYTES];
    struct zd_error err = {0};
    if (node != NULL && zd_node_show_tag(&write->show, etag, &err) != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    const int64_t mtime_ms = node == NULL ? 0 : zd_node_show_mtime(&write->show, node);
    zd_audit_before(req, node == NULL ? "" : etag);
    if (zd_tag_judge_write(&req->conditions, node == NULL ? NULL : etag, mtime_ms) != ZD_OK) {
        return refuse_condition(req, node);
    }
    write->input.expected = write->node;
    write->input.expects_absent = node == NULL;
    req->step = step_change;
    return ZD_NEXT;
}

static enum zd_next step_found(struct zd_request *req)
{
    struct node_write *write = req->state;
    const struct zd_wait *wait = &write->found.wait;
    if (wait->status != ZD_OK && wait->status != ZD_NOT_FOUND) {
        return zd_respond_error(req, NULL, &wait->err);
    }
    write->node = ZD_TAKE(write->found.node);
    req->step = step_condition;
    return write->node == NULL ? ZD_NEXT : zd_node_show_gather(&write->show, write->node);
}

static enum zd_next step_judge(struct zd_request *req)
{
    struct node_write *write = req->state;
    write->n_judged++;
    if (!zd_conditions_bind_writes(&req->conditions)) {
        return step_change(req);
    }
    return look(req, step_found);
}

/* ---- the change ---- */

static enum zd_next step_change(struct zd_request *req)
{
    struct node_write *write = req->state;
    write->input.place = req->path;
    write->input.bytes = req->body;
    write->input.json = req->json;
    zd_metadata_release(&write->change);
    write->change = (struct zd_metadata_want){.wait = zd_machine_wait(&req->machine)};
    req->has_seen_store = true;
    req->step = step_changed;
    return zd_metadata_want(req->dataset, &write->input, &write->change);
}

static enum zd_next refuse_not_empty(struct zd_request *req)
{
    const struct node_write *write = req->state;
    const struct zd_metadata_want *change = &write->change;
    ZD_AUTO(zd_json) extra = zd_json_new_object();
    const struct zd_problem problem = {
        .code = change->code, .err = &change->wait.err, .extra = extra};
    if (extra == NULL ||
        zd_json_set(extra, "n_children", zd_json_new_u64(change->n_children)) != ZD_OK) {
        return zd_respond_no_memory(req, "a refusal");
    }
    return zd_respond_problem(req, &problem);
}

static enum zd_next refuse_change(struct zd_request *req)
{
    const struct node_write *write = req->state;
    const struct zd_metadata_want *change = &write->change;
    const struct zd_error *err = &change->wait.err;
    req->has_seen_store = !change->blames_input;
    if (change->wait.status == ZD_NOT_FOUND) {
        return zd_request_refuse_missing(req);
    }
    if (change->wait.status == ZD_PRECONDITION && write->n_judged < JUDGED_MAX &&
        zd_conditions_bind_writes(&req->conditions)) {
        req->step = step_judge;
        return ZD_NEXT;
    }
    if (change->parent_is_denied) {
        return zd_permission_refuse_parent(req, change->parent_len);
    }
    if (change->meta != NULL && change->code == NULL && zd_meta_is_refused(change->meta)) {
        return zd_respond_faults(req, &change->meta->faults, err);
    }
    return write->input.kind == ZD_METADATA_ERASE && change->code != NULL &&
                   !write->input.is_recursive
               ? refuse_not_empty(req)
               : zd_respond_error(req, change->code, err);
}

/* Shows the metadata that this change has stored, and not what other writers have made of it since.
 * Children, and the groups above, are shown as they are now. */
static enum zd_next show_stored(struct zd_request *req)
{
    struct node_write *write = req->state;
    forget_node(write);
    write->node = ZD_TAKE(write->change.node);
    req->step = step_respond;
    return write->node == NULL ? ZD_NEXT : zd_node_show_gather(&write->show, write->node);
}

static enum zd_next respond_blind(struct zd_request *req)
{
    const struct node_write *write = req->state;
    return zd_respond_blind(req, write->change.has_made ? 201 : 200);
}

static enum zd_next step_changed(struct zd_request *req)
{
    const struct node_write *write = req->state;
    if (write->change.wait.status != ZD_OK) {
        return refuse_change(req);
    }
    if (write->input.kind == ZD_METADATA_ERASE) {
        const struct zd_representation answer = {.http_status = 204};
        return zd_respond(req, &answer);
    }
    if (write->input.is_blind) {
        return respond_blind(req);
    }
    return write->input.is_dry ? look(req, step_show_dry) : show_stored(req);
}

/* ---- the answer ---- */

/* Shows a change that a dry run did not store: the children belong to the stored node, if there is
 * one. */
static enum zd_next step_show_dry(struct zd_request *req)
{
    struct node_write *write = req->state;
    const struct zd_meta *meta = write->change.meta;
    write->node = ZD_TAKE(write->found.node);
    req->step = step_respond;
    if (write->node != NULL && meta->type == write->node->meta->type) {
        return zd_node_show_gather(&write->show, write->node);
    }
    if (write->found.wait.status == ZD_NOT_FOUND && meta->type == ZD_NODE_GROUP &&
        !zd_meta_is_refused(meta)) {
        zd_node_show_no_children(&write->show);
    }
    return ZD_NEXT;
}

static enum zd_next step_respond(struct zd_request *req)
{
    struct node_write *write = req->state;
    const struct zd_meta *judged = write->change.meta;
    char etag[ZD_TAG_BYTES] = "";
    if (write->node != NULL && zd_node_show_tag(&write->show, etag, NULL) != ZD_OK) {
        /* The change is made although the store fails now: the answer has no tag, and lacks unknown
         * children. */
        forget_node(write);
    }
    const struct zd_node *node = write->input.is_dry ? NULL : write->node;
    struct zd_representation answer = {
        .http_status = write->change.has_made ? 201 : 200,
        .media_type = ZD_BODY_JSON,
        .mtime_ms = node == NULL ? 0 : zd_node_show_mtime(&write->show, node),
    };
    if (node != NULL) {
        memcpy(answer.etag, etag, sizeof etag);
    }
    const struct zd_node_shown shown = {
        .path = req->path,
        .meta = node == NULL ? judged : node->meta,
        .warnings = &judged->faults,
        .can_slice = node == NULL ? zd_meta_is_array(judged) : node->layout != NULL,
    };
    ZD_SCOPED_TEXT(text, req->server->config->settings.limits_tree_bytes);
    zd_node_show_emit(&write->show, &shown, &text);
    return zd_respond_text(req, &text, &answer);
}

/* ---- requests ---- */

static ZD_RESULT read_flags(
    const struct zd_request *req, struct node_write *write, struct zd_error *err)
{
    const struct zd_params *params = &req->params;
    ZD_TRY(zd_params_flag(params, "dry_run", false, &write->input.is_dry, err));
    ZD_TRY(zd_params_flag(params, "erase_chunks", false, &write->input.erases_chunks, err));
    return zd_params_flag(params, "recursive", false, &write->input.is_recursive, err);
}

static bool is_storing(const struct zd_request *req)
{
    const struct node_write *write = req->state;
    return zd_metadata_is_storing(&write->change);
}

static bool may_make(const void *maker, const char *path)
{
    return zd_permission_makes(maker, path);
}

static enum zd_next begin(struct zd_request *req, enum zd_metadata_kind kind)
{
    struct node_write *write = zd_request_new_state(req, sizeof *write, leave);
    struct zd_error err = {0};
    if (write == NULL) {
        return ZD_DONE;
    }
    req->is_storing = is_storing;
    write->req = req;
    write->input.kind = kind;
    write->input.client = zd_request_client(req);
    write->input.is_blind = zd_permission_is_blind(req);
    write->input.wants_node = kind != ZD_METADATA_ERASE && !write->input.is_blind;
    write->input.may_make = may_make;
    write->input.maker = req;
    write->input.reader = zd_permission_reader(req);
    zd_node_show_init(&write->show, req);
    if (read_flags(req, write, &err) != ZD_OK) {
        return zd_respond_error(req, "bad_parameter", &err);
    }
    return ZD_NEXT;
}

/* Memory is admitted before the body is parsed, and for the nodes on the way. Its place is given
 * back at once: the change may wait for a lock for long. */
static enum zd_next admit_change(struct zd_request *req, zd_step *next)
{
    uint64_t bytes = zd_metadata_bytes(req->path);
    if (req->body != NULL) {
        const struct zd_span text = zd_buf_span(req->body);
        bytes += TEXT_COPIES * text.len + TREE_COPIES * zd_json_tree_bytes(text);
    }
    return zd_admit_want(req, bytes, next);
}

static enum zd_next step_admitted(struct zd_request *req)
{
    zd_admit_answered(req);
    return step_judge(req);
}

static enum zd_next step_put(struct zd_request *req)
{
    struct zd_error err = {0};
    const char *code = NULL;
    if (begin(req, ZD_METADATA_PUT) != ZD_NEXT) {
        return ZD_DONE;
    }
    if (zd_body_check(req, ZD_BODY_JSON, &code, &err) != ZD_OK) {
        return zd_body_refuse(req, ZD_BODY_JSON, code, &err);
    }
    return admit_change(req, step_admitted);
}

/* Checks the names of the members alone: their values are judged with the whole document. */
static enum zd_next step_read_patch(struct zd_request *req)
{
    static const char *const members[] = {
        "attributes", "dimension_names", "shape", "extensions", NULL};
    static const char expected[] = "attributes, dimension_names, shape or extensions";
    struct zd_error err = {0};
    if (zd_body_check_members(req->json, members, expected, &err) != ZD_OK) {
        return zd_body_refuse(req, PATCH_TYPE, "bad_body", &err);
    }
    const struct node_write *write = req->state;
    if (write->input.is_blind && zd_json_member(req->json, "extensions") != NULL) {
        /* They are merged with the stored ones. A bound is refused or not by the other one. */
        return zd_permission_refuse_blind(req);
    }
    return step_judge(req);
}

static enum zd_next step_patch_admitted(struct zd_request *req)
{
    zd_admit_answered(req);
    return zd_body_want_json(req, PATCH_TYPE, step_read_patch);
}

static enum zd_next step_patch(struct zd_request *req)
{
    return begin(req, ZD_METADATA_PATCH) == ZD_NEXT ? admit_change(req, step_patch_admitted)
                                                    : ZD_DONE;
}

static enum zd_next step_delete(struct zd_request *req)
{
    return begin(req, ZD_METADATA_ERASE) == ZD_NEXT ? admit_change(req, step_admitted) : ZD_DONE;
}

static const struct zd_route routes[] = {
    {.method = "GET",
        .path = "/v1/datasets/{d}/nodes/{path}",
        .first = step_get,
        .scope = ZD_SCOPE_READ,
        .params = ZD_PARAMS("fields")},
    {.method = "PUT",
        .path = "/v1/datasets/{d}/nodes/{path}",
        .first = step_put,
        .params = ZD_PARAMS("dry_run", "erase_chunks"),
        .scope = ZD_SCOPE_WRITE},
    {.method = "PATCH",
        .path = "/v1/datasets/{d}/nodes/{path}",
        .first = step_patch,
        .params = ZD_PARAMS("dry_run"),
        .scope = ZD_SCOPE_WRITE},
    {.method = "DELETE",
        .path = "/v1/datasets/{d}/nodes/{path}",
        .first = step_delete,
        .params = ZD_PARAMS("dry_run", "recursive"),
        .scope = ZD_SCOPE_WRITE,
        .reaches_below = true},
};

const struct zd_handler zd_handler_nodes = {.route = routes, .n_routes = ZD_COUNT_OF(routes)};
