/* /livez: the loop turns. /readyz: datasets are open, their stores sound, and nothing drains.
 * /healthz and /health are other names of /readyz. */
#include "server/request/handler.h"
#include "server/request/permission.h"
#include "server/runtime/server.h"

#define DOCUMENT_BYTES_MAX (256U << 10)
#define NAMED_MAX          100 /* of the unavailable datasets: then their number must do */

static void emit_unavailable(struct zd_emit *emit, const struct zd_request *req)
{
    size_t n = 0;
    for (size_t i = 0; i < req->server->n_datasets; i++) {
        const struct zd_dataset *dataset = req->server->dataset[i];
        const bool is_told = dataset->store == NULL && zd_permission_sees(req, dataset);
        if (!is_told || ++n > NAMED_MAX) {
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

static uint64_t count_seen(const struct zd_request *req)
{
    uint64_t n = 0;
    for (size_t i = 0; i < req->server->n_datasets; i++) {
        n += zd_permission_sees(req, req->server->dataset[i]);
    }
    return n;
}

static enum zd_next respond_status(struct zd_request *req, const char *status)
{
    ZD_SCOPED_TEXT(text, DOCUMENT_BYTES_MAX);
    struct zd_emit emit;
    zd_emit_init(&emit, &text, false);
    zd_emit_object(&emit);
    zd_emit_member_string(&emit, "status", status);
    zd_emit_member_u64(&emit, "datasets", count_seen(req));
    emit_unavailable(&emit, req);
    if (req->server->has_broken_tokens) {
        zd_emit_member_string(&emit, "tokens",
            "access.tokens_file is invalid: the tokens read before stay valid; see the log");
    }
    if (req->server->has_stale_keys) {
        zd_emit_member_string(&emit, "keys",
            "access.jwks_url has failed for access.jwks_stale_ms: every JSON Web Token is refused; "
            "see the log");
    }
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
    err.status = zd_permission_sees(req, dataset)
                     ? zd_fail(&err, ZD_STORE,
                           "dataset '%s' stopped accepting writes after a failed sync: %s",
                           dataset->config.name, zd_store_failure(dataset->store))
                     : zd_fail(&err, ZD_STORE,
                           "a dataset stopped accepting writes after a failed sync; see the log");
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
    err.status =
        zd_permission_sees(req, first)
            ? zd_fail(&err, ZD_STORE,
                  "none of the %zu datasets can be served; the first is dataset '%s': %.300s",
                  req->server->n_datasets, first->config.name, zd_dataset_reason(first))
            : zd_fail(&err, ZD_STORE, "no dataset can be served; see the log");
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

/* A client that sends a credential is not answered yet. */
static enum zd_next respond_early(struct zd_request *req)
{
    const struct zd_problem problem = {
        .code = "overloaded",
        .detail =
            "access.tokens_file is being read: requests with a credential wait until it is read",
        .unavailable = ZD_UNAVAILABLE_WAIT_EXPECTED,
        .retry_after_s = 1,
    };
    return zd_respond_problem(req, &problem);
}

static enum zd_next step_readyz(struct zd_request *req)
{
    if (req->server->tokens_are_coming) {
        return respond_early(req);
    }
    if (!req->server->is_stopping && !req->server->is_draining) {
        return zd_request_want_datasets(req, step_seen);
    }
    const struct zd_problem problem = {
        .code = "draining",
        .detail =
            "shutting down: send new requests to another server; running requests are answered",
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
    {.method = "GET",
        .path = "/healthz",
        .first = step_readyz,
        .scope = ZD_SCOPE_NONE,
        .params = zd_params_none},
    {.method = "GET",
        .path = "/health",
        .first = step_readyz,
        .scope = ZD_SCOPE_NONE,
        .params = zd_params_none},
};

const struct zd_handler zd_handler_health = {.route = routes, .n_routes = ZD_COUNT_OF(routes)};
