/* The end of a request, whatever it was waiting for. */
#include "server/request/request_end.h"

#include "server/data/datasets.h"
#include "server/request/admit.h"
#include "server/request/body.h"

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
    zd_node_unref(req->node_want.node);
    zd_buf_unref(req->body);
    zd_params_done(&req->params);
    zd_dataset_unref(req->dataset);
    zd_upload_done(&req->upload);
    zd_stream_done(&req->stream);
}
