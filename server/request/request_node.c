/* What handlers ask of a request: memory for their state, and the waits for its node. */
#include "server/data/catalog.h"
#include "server/request/node_check.h"
#include "server/request/request.h"
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
    req->step = req->after_node;
    return ZD_NEXT;
}

static struct zd_node_want *begin_node(struct zd_request *req, zd_step *next)
{
    struct zd_node_want *want = &req->node_want;
    want->wait = zd_machine_wait(&req->machine);
    want->node = NULL;
    req->after_node = next;
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
