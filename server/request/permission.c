/* The permissions of a request. */
#include "server/request/permission.h"

#include <string.h>

#include "core/base/emit.h"
#include "core/base/hash.h"
#include "core/base/json.h"
#include "server/request/anonymous.h"
#include "server/request/handler.h"
#include "server/request/identity.h"
#include "server/request/respond.h"
#include "server/runtime/server.h"

#define SCOPE_BYTES_MAX (64U << 10) /* longer than any target */

/* Whether everybody reads it. */
static bool is_open(const struct zd_request *req, const struct zd_dataset *dataset)
{
    return !dataset->config.is_private && !zd_anonymous_is(req, "none");
}

bool zd_permission_sees(const struct zd_request *req, const struct zd_dataset *dataset)
{
    return is_open(req, dataset) ||
           (req->identity != NULL && zd_identity_names(req->identity, &dataset->config));
}

bool zd_permission_names(const struct zd_request *req, const struct zd_dataset *dataset)
{
    return zd_permission_sees(req, dataset) ||
           (req->identity != NULL && zd_identity_may(req->identity, ZD_IDENTITY_ADMIN, NULL, NULL));
}

static bool is_protected(const struct zd_request *req)
{
    return req->route->scope == ZD_SCOPE_ADMIN &&
           req->server->config->settings.access_protect_service;
}

/* A credential that names a dataset says all that its holder may do there. */
static bool is_named(const struct zd_request *req, const struct zd_dataset *dataset)
{
    return req->identity != NULL && zd_identity_names(req->identity, &dataset->config);
}

bool zd_permission_reaches(const struct zd_request *req, const char *path)
{
    const struct zd_dataset *dataset = req->dataset;
    return !is_named(req, dataset) ||
           zd_identity_may_below(req->identity, ZD_IDENTITY_READ, &dataset->config, path);
}

bool zd_permission_reads(const struct zd_request *req, const char *path)
{
    const struct zd_dataset *dataset = req->dataset;
    return !is_named(req, dataset) ||
           zd_identity_may(req->identity, ZD_IDENTITY_READ, &dataset->config, path);
}

bool zd_permission_reads_root(const struct zd_request *req, const struct zd_dataset *dataset)
{
    return !is_named(req, dataset) ||
           zd_identity_may(req->identity, ZD_IDENTITY_READ, &dataset->config, "");
}

static bool may_read(const void *client, const char *path)
{
    return zd_permission_reads(client, path);
}

struct zd_reader zd_permission_reader(const struct zd_request *req)
{
    return (struct zd_reader){.may_read = may_read, .client = req};
}

/* Whether its documents may list nodes that the client may not read. */
static bool lists_hidden(const struct zd_request *req, const struct zd_node *node)
{
    return node->meta->type == ZD_NODE_GROUP && node->meta->document != NULL &&
           !zd_permission_reaches(req, node->path);
}

uint64_t zd_permission_tag(const struct zd_request *req, const struct zd_node *node)
{
    struct zd_hash hash = {0};
    struct zd_emit emit;
    if (!lists_hidden(req, node)) {
        return node->tag;
    }
    ZD_SCOPED_TEXT(text, req->server->config->settings.limits_tree_bytes);
    zd_emit_init(&emit, &text, false);
    zd_emit_json(&emit, node->meta->document);
    zd_hash_add(&hash, zd_span_of(node->meta->dialect->name));
    zd_hash_add(&hash, zd_text_span(&text));
    return hash.value;
}

int64_t zd_permission_mtime(const struct zd_request *req, const struct zd_node *node)
{
    return lists_hidden(req, node) ? 0 : node->mtime_ms;
}

bool zd_permission_is_limited(const struct zd_request *req, const struct zd_dataset *dataset)
{
    return dataset != NULL && is_named(req, dataset) &&
           !zd_identity_may_below(req->identity, ZD_IDENTITY_READ, &dataset->config, "");
}

/* ---- what answers tell of ---- */

/* Documents that may list what lies below their nodes. */
static bool is_listing(const char *name)
{
    return strcmp(name, "zarr.json") == 0 || strcmp(name, ".zmetadata") == 0;
}

/* Whether a key is the document of a node or the index of a directory. @param ret_len the length of
 * the path whose children it names @return false: it describes itself alone */
static bool is_index(const struct zd_request *req, size_t *ret_len)
{
    const char *slash = strrchr(req->path, '/');
    const bool is_whole = req->path_ends_in_slash || req->path[0] == '\0';
    *ret_len = is_whole ? strlen(req->path) : slash == NULL ? 0 : (size_t)(slash - req->path);
    return is_whole || is_listing(slash == NULL ? req->path : slash + 1);
}

/* Whether an answer tells of all that is below a path, which is the first bytes of the request's.
 */
static bool tells_below(const struct zd_request *req, size_t *ret_len)
{
    *ret_len = strlen(req->path);
    if (req->route->reaches_below) {
        return true;
    }
    return req->route->scope == ZD_SCOPE_READ && strstr(req->route->path, "{key}") != NULL &&
           is_index(req, ret_len);
}

/* ---- refusals ---- */

enum zd_next zd_permission_refuse_credential(struct zd_request *req)
{
    const struct zd_problem problem = {
        .code = "unauthorized",
        .detail = "the credential is not valid: it is unknown, malformed, expired or revoked",
    };
    return zd_respond_problem(req, &problem);
}

enum zd_next zd_permission_refuse_several(struct zd_request *req)
{
    const struct zd_problem problem = {
        .code = "bad_request",
        .detail = "send exactly one credential; this request has several",
    };
    return zd_respond_problem(req, &problem);
}

static const char *word_of(const struct zd_route *route)
{
    return route->scope == ZD_SCOPE_WRITE   ? "write"
           : route->scope == ZD_SCOPE_ADMIN ? "admin"
                                            : "read";
}

/* @param scope that would allow it */
static enum zd_next refuse(struct zd_request *req, const struct zd_text *scope)
{
    ZD_SCOPED_TEXT(detail, ZD_ERROR_TEXT_BYTES);
    zd_text_addf(&detail,
        "the credential does not allow this request, which needs the scope %.300s",
        scope->status == ZD_OK ? scope->at : word_of(req->route));
    ZD_AUTO(zd_json) extra = zd_json_new_object();
    if (extra == NULL || scope->status != ZD_OK || detail.status != ZD_OK ||
        zd_json_set(extra, "scope", zd_json_new_text(scope->at)) != ZD_OK) {
        return zd_respond_no_memory(req, "the scope");
    }
    const struct zd_problem problem = {.code = "forbidden", .detail = detail.at, .extra = extra};
    return zd_respond_problem(req, &problem);
}

/* A word, and where it must hold: the first bytes of a path in the request's dataset. */
static void add_scope(
    const struct zd_request *req, const char *word, struct zd_span path, struct zd_text *scope)
{
    zd_text_addf(scope, "%s:", word);
    zd_text_add_bytes(scope, req->dataset_name.ptr, req->dataset_name.len);
    zd_text_add(scope, path.len == 0 ? "" : "/");
    zd_text_add_bytes(scope, path.ptr, path.len);
}

enum zd_next zd_permission_refuse_scope(struct zd_request *req)
{
    ZD_SCOPED_TEXT(scope, SCOPE_BYTES_MAX);
    if (req->dataset_name.len > 0) {
        size_t len = 0;
        const bool tells = tells_below(req, &len);
        const struct zd_span path = {
            .ptr = (const uint8_t *)req->path, .len = tells ? len : strlen(req->path)};
        add_scope(req, word_of(req->route), path, &scope);
        zd_text_add(&scope, tells ? "/**" : "");
    } else {
        zd_text_add(&scope, word_of(req->route));
    }
    return refuse(req, &scope);
}

enum zd_next zd_permission_refuse_reading(struct zd_request *req, const char *path)
{
    ZD_SCOPED_TEXT(scope, SCOPE_BYTES_MAX);
    add_scope(req, "read", zd_span_of(path), &scope);
    return refuse(req, &scope);
}

enum zd_next zd_permission_refuse_blind(struct zd_request *req)
{
    ZD_SCOPED_TEXT(scope, SCOPE_BYTES_MAX);
    req->has_seen_store = false; /* the scope follows from the request alone */
    add_scope(req, "read", zd_span_of(req->path), &scope);
    zd_text_add(&scope, req->route->reaches_below ? "/**" : "");
    return refuse(req, &scope);
}

enum zd_next zd_permission_refuse_parent(struct zd_request *req, size_t len)
{
    ZD_SCOPED_TEXT(scope, SCOPE_BYTES_MAX);
    const struct zd_span path = {.ptr = (const uint8_t *)req->path, .len = len};
    req->has_seen_store = false; /* the client learns which group it would have to make */
    add_scope(req, "write", path, &scope);
    return refuse(req, &scope);
}

/* ---- judging ---- */

static zd_step *judge_anonymous(const struct zd_request *req, const struct zd_dataset *dataset)
{
    if (zd_anonymous_is(req, "none")) {
        return zd_anonymous_refuse;
    }
    if (is_protected(req)) {
        return zd_anonymous_refuse_service;
    }
    const bool may_be_hidden = req->dataset_name.len > 0 && req->server->has_private;
    if (may_be_hidden && (dataset == NULL || dataset->config.is_private)) {
        return zd_anonymous_refuse_dataset;
    }
    const bool is_write =
        req->route->scope == ZD_SCOPE_WRITE && dataset != NULL && dataset->config.writable;
    return is_write && !zd_anonymous_may_write(req) ? zd_anonymous_refuse_write : NULL;
}

/* NULL: the template has none. */
static const char *path_of(const struct zd_request *req)
{
    const char *template = req->route->path;
    const bool has_path = strstr(template, "{path}") != NULL || strstr(template, "{key}") != NULL;
    return has_path ? req->path : NULL;
}

static bool is_granted(
    const struct zd_request *req, uint32_t scopes, const struct zd_dataset *dataset)
{
    size_t len;
    if (!tells_below(req, &len)) {
        return zd_identity_may(req->identity, scopes, &dataset->config, path_of(req));
    }
    ZD_SCOPED_TEXT(path, SCOPE_BYTES_MAX);
    return zd_text_add_bytes(&path, req->path, len) == ZD_OK &&
           zd_identity_may_below(req->identity, scopes, &dataset->config, path.at);
}

bool zd_permission_is_blind(const struct zd_request *req)
{
    return req->route != NULL && req->route->scope == ZD_SCOPE_WRITE && req->dataset != NULL &&
           req->identity != NULL && !is_granted(req, ZD_IDENTITY_READ, req->dataset);
}

/* A credential may allow the key of a chunk and not its array. */
static bool is_of_hidden_node(const struct zd_request *req)
{
    return req->route != NULL && req->route->scope == ZD_SCOPE_WRITE && req->node != NULL &&
           !zd_permission_reads(req, req->node->path);
}

bool zd_permission_hides_facts(const struct zd_request *req)
{
    return req->has_seen_store && (zd_permission_is_blind(req) || is_of_hidden_node(req));
}

bool zd_permission_makes(const struct zd_request *req, const char *path)
{
    return req->identity == NULL ||
           zd_identity_may(req->identity, ZD_IDENTITY_WRITE, &req->dataset->config, path);
}

/* A credential says all that its holder may do in the datasets that it names. In others he reads
 * what everybody reads. */
static bool may(const struct zd_request *req, const struct zd_dataset *dataset)
{
    if (req->route->scope == ZD_SCOPE_WRITE) {
        return !dataset->config.writable || is_granted(req, ZD_IDENTITY_WRITE, dataset);
    }
    return is_named(req, dataset) ? is_granted(req, ZD_IDENTITY_READ, dataset)
                                  : is_open(req, dataset);
}

/* The outcome of a condition with a tag or a time would tell whether a guess of what is stored is
 * right. */
static bool is_guess(const struct zd_request *req, const struct zd_dataset *dataset)
{
    return req->route->scope == ZD_SCOPE_WRITE && dataset->config.writable &&
           zd_conditions_name_state(&req->conditions) &&
           !is_granted(req, ZD_IDENTITY_READ, dataset);
}

zd_step *zd_permission_judge(const struct zd_request *req, const struct zd_dataset *dataset)
{
    if (req->route->scope == ZD_SCOPE_NONE) {
        return NULL;
    }
    if (req->identity == NULL) {
        return judge_anonymous(req, dataset);
    }
    if (is_protected(req)) {
        return zd_identity_may(req->identity, ZD_IDENTITY_ADMIN, NULL, NULL)
                   ? NULL
                   : zd_permission_refuse_scope;
    }
    if (dataset == NULL || !zd_permission_sees(req, dataset)) {
        return NULL;
    }
    if (!may(req, dataset)) {
        return zd_permission_refuse_scope;
    }
    return is_guess(req, dataset) ? zd_permission_refuse_blind : NULL;
}
