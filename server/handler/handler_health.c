/* /livez: the loop turns. /readyz: datasets are open, their stores sound, and nothing drains. */
#include "server/request/handler.h"
#include "server/runtime/server.h"

#define DOCUMENT_BYTES_MAX (256U << 10)
#define NAMED_MAX          100 /* of the unavailable datasets: then their number must do */

static void emit_unavailable(struct zd_emit *emit, const struct zd_server *server)
{
    size_t n = 0;
    for (size_t i = 0; i < server->n_datasets; i++) {
        const struct zd_dataset *dataset = server->dataset[i];
        if (dataset->store != NULL || ++n > NAMED_MAX) {
            continue;
        }
        if (n == 1) {
            zd_emit_member_array(emit, "unavailable");
        }
        zd_emit_object(emit);
        zd_emit_member_string(emit, "name", dataset->config.name);
        zd_emit_member_string(emit, "reason", zd_dataset_reason(dataset));
        zd_emit_object_end(emit);
    }
    if (n > 0) {
        zd_emit_array_end(emit);
        zd_emit_member_u64(emit, "n_unavailable", n);
    }
}

static enum zd_next respond_status(struct zd_request *req, const char *status)
{
    ZD_SCOPED_TEXT(text, DOCUMENT_BYTES_MAX);
    struct zd_emit emit;
    zd_emit_init(&emit, &text, false);
    zd_emit_object(&emit);
    zd_emit_member_string(&emit, "status", status);
    zd_emit_member_u64(&emit, "datasets", req->server->n_datasets);
    emit_unavailable(&emit, req->server);
    zd_emit_object_end(&emit);
    return zd_respond_text(req, &text, &(struct zd_representation){0});
}

static enum zd_next step_livez(struct zd_request *req)
{
    return respond_status(req, "alive");
}

/* The dataset that takes no writes although it should; NULL: there is none. */
static const struct zd_dataset *find_failed(const struct zd_server *server)
{
    for (size_t i = 0; i < server->n_datasets; i++) {
        const struct zd_store *store = server->dataset[i]->store;
        if (store != NULL && zd_store_failure(store)[0] != '\0') {
            return server->dataset[i];
        }
    }
    return NULL;
}

static enum zd_next respond_failed(struct zd_request *req, const struct zd_dataset *dataset)
{
    struct zd_error err = {0};
    err.status =
        zd_fail(&err, ZD_STORE, "dataset '%s' stopped accepting writes after a failed sync: %s",
            dataset->config.name, zd_store_failure(dataset->store));
    const struct zd_problem problem = {.code = "store_error", .http_status = 503, .err = &err};
    return zd_respond_problem(req, &problem);
}

/* Datasets are configured, and none can be served. */
static bool all_are_unavailable(const struct zd_server *server)
{
    size_t n = 0;
    while (n < server->n_datasets && server->dataset[n]->store == NULL) {
        n++;
    }
    return n > 0 && n == server->n_datasets;
}

static enum zd_next respond_none(struct zd_request *req)
{
    struct zd_error err = {0};
    const struct zd_dataset *first = req->server->dataset[0];
    err.status = zd_fail(&err, ZD_STORE,
        "none of %zu datasets can be served; the first of them is '%s': %.300s",
        req->server->n_datasets, first->config.name, zd_dataset_reason(first));
    const struct zd_problem problem = {.code = "store_error", .http_status = 503, .err = &err};
    return zd_respond_problem(req, &problem);
}

static enum zd_next step_seen(struct zd_request *req)
{
    const struct zd_dataset *failed = find_failed(req->server);
    if (all_are_unavailable(req->server)) {
        return respond_none(req);
    }
    return failed == NULL ? respond_status(req, "ready") : respond_failed(req, failed);
}

static enum zd_next step_readyz(struct zd_request *req)
{
    if (!req->server->is_draining) {
        return zd_request_want_datasets(req, step_seen);
    }
    const struct zd_problem problem = {
        .code = "draining",
        .detail = "shutting down: finishing running requests, accepting no new ones",
        .retry_after_s = 1,
    };
    return zd_respond_problem(req, &problem);
}

static const struct zd_route routes[] = {
    {.method = "GET",
        .path = "/livez",
        .first = step_livez,
        .scope = ZD_SCOPE_NONE,
        .params = zd_params_none},
    {.method = "GET",
        .path = "/readyz",
        .first = step_readyz,
        .scope = ZD_SCOPE_NONE,
        .params = zd_params_none},
};

const struct zd_handler zd_handler_health = {.route = routes, .n_routes = ZD_COUNT_OF(routes)};
