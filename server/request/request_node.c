/* What handlers ask of a request's node: the waits of server/request/request.h. */
#include "server/request/request.h"
#include "server/request/respond.h"

static enum zd_next step_with_node(struct zd_request *req)
{
    struct zd_node_want *want = &req->node_want;
    if (want->wait.status == ZD_NOT_FOUND) {
        struct zd_error err = {0};
        err.status = zd_fail(&err, ZD_NOT_FOUND, "dataset '%s' has no node at '%.256s'",
            req->dataset->config.name, req->path);
        return zd_respond_error(req, "node_not_found", &err);
    }
    if (want->wait.status != ZD_OK) {
        return zd_respond_error(req, NULL, &want->wait.err);
    }
    zd_node_unref(req->node); /* of who asks again */
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

enum zd_next zd_request_want_above(struct zd_request *req, zd_step *next)
{
    req->step = next;
    req->look.wait = zd_machine_wait(&req->machine);
    return zd_parent_groups_want(req->dataset, req->node->path, &req->look);
}

struct zd_listing zd_request_listing(const struct zd_request *req)
{
    return zd_parent_groups_listing(&req->look.groups, req->node->path);
}

enum zd_next zd_request_want_scales(struct zd_request *req, zd_step *next)
{
    req->step = next;
    req->scales.wait = zd_machine_wait(&req->machine);
    return zd_multiscale_want(&req->scales, req->node);
}

void zd_request_set_node(struct zd_request *req, struct zd_node *node)
{
    struct zd_node *before = req->node;
    req->node = zd_node_ref(node);
    zd_node_unref(before);
}
