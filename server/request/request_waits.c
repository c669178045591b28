/* What a request waits for and holds: its node, its handler's state, and the end of it all. */
#include "server/data/catalog.h"
#include "server/data/dataset.h"
#include "server/request/admit.h"
#include "server/request/body.h"
#include "server/request/node_check.h"
#include "server/request/respond.h"

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

static enum zd_next step_with_node(struct zd_request *req)
{
    struct zd_node_want *want = &req->node_want;
    if (zd_node_check_found(req, &want->wait)) {
        return ZD_DONE;
    }
    zd_node_unref(req->node); /* when it is asked for again */
    req->node = ZD_TAKE(want->node);
    req->step = req->own.next;
    return ZD_NEXT;
}

static struct zd_node_want *begin_node(struct zd_request *req, zd_step *next)
{
    struct zd_node_want *want = &req->node_want;
    want->wait = zd_machine_wait(&req->machine);
    want->node = NULL;
    req->own.next = next;
    req->step = step_with_node;
    return want;
}

enum zd_next zd_request_want_node(struct zd_request *req, zd_step *next)
{
    return zd_catalog_want(req->dataset, req->path, begin_node(req, next));
}

struct zd_node *zd_request_node(const struct zd_request *req)
{
    return req->node;
}

enum zd_next zd_request_want_parent_groups(struct zd_request *req, zd_step *next)
{
    req->step = next;
    req->parent_groups.wait = zd_machine_wait(&req->machine);
    return zd_parent_groups_want(req->dataset, req->node->path, &req->parent_groups);
}

struct zd_listing zd_request_listing(const struct zd_request *req)
{
    return zd_parent_groups_listing(&req->parent_groups.groups, req->node->path);
}

void zd_request_set_node(struct zd_request *req, struct zd_node *node)
{
    struct zd_node *before = req->node;
    req->node = zd_node_ref(node);
    zd_node_unref(before);
}

void zd_request_end_waits(struct zd_request *req)
{
    zd_wait_cancel(&req->node_want.wait);
    zd_parent_groups_release(&req->parent_groups);
    if (req->state_free != NULL) {
        req->state_free(req);
    }
    req->state = NULL;
    req->state_free = NULL;
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
}
