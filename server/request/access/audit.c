/* The audit file: changes with their authors, and refused credentials. */
#include "server/request/access/audit.h"

#include <stdio.h>
#include <string.h>
#include <uv.h>

#include "core/base/emit.h"
#include "server/config/networks.h"
#include "server/data/dataset.h"
#include "server/http/redact.h"
#include "server/http/signed_url.h"
#include "server/request/identity.h"
#include "server/request/request.h"
#include "server/request/respond.h"
#include "server/request/route.h"
#include "server/runtime/server.h"

#define LINE_BYTES_MAX (32U << 10)
#define PATH_BYTES_MAX 4096 /* that are shown of a path, before they are escaped */
#define NAME_BYTES_MAX 256
#define REFUSED_MAX    100 /* lines of refused credentials in a second: who guesses fills no disk */
#define ESCAPE_BYTES   5   /* "\xff" and NUL */
#define MS_PER_S       1000
#define ERRORS         400 /* and above */
#define UNAUTHORIZED   401
#define FORBIDDEN      403

/* ---- lines ---- */

/* Nothing that a client sends becomes anything but printable ASCII. */
static void emit_plain(struct zd_emit *emit, const char *name, struct zd_span from, size_t len_max)
{
    ZD_SCOPED_TEXT(plain, LINE_BYTES_MAX);
    for (size_t i = 0; i < from.len && i < len_max; i++) {
        char escape[ESCAPE_BYTES] = {(char)from.ptr[i]};
        if (from.ptr[i] < ' ' || from.ptr[i] > '~') {
            (void)snprintf(escape, sizeof escape, "\\x%02x", from.ptr[i]);
        }
        zd_text_add(&plain, escape);
    }
    zd_emit_member_text(emit, name, &plain);
}

static void begin_line(struct zd_emit *emit, struct zd_text *line, const char *state)
{
    char now[ZD_LOG_TIME_BYTES];
    zd_log_format_time(now);
    zd_emit_init(emit, line, false);
    zd_emit_object(emit);
    zd_emit_member_string(emit, "time", now);
    zd_emit_member_string(emit, "state", state);
}

/* Without the query: it may hold a token or a signature. */
static void emit_path(struct zd_emit *emit, const struct zd_request *req)
{
    struct zd_span query;
    emit_plain(emit, "path", zd_route_path(req->shown, &query), PATH_BYTES_MAX);
}

static void emit_request(struct zd_emit *emit, const struct zd_request *req)
{
    char client[ZD_NETWORKS_IP_TEXT_BYTES];
    const struct zd_identity *identity = req->identity;
    zd_emit_member_string(emit, "id", req->id);
    if (identity != NULL) {
        emit_plain(emit, "name", zd_span_of(identity->name), NAME_BYTES_MAX);
        zd_emit_member_string(emit, "from", identity->from);
    }
    zd_emit_member_string(emit, "client", zd_networks_name_ip(&req->client.ip, client));
    emit_plain(emit, "method", zd_span_of(zd_redact_word(req->method)), NAME_BYTES_MAX);
    emit_path(emit, req);
}

static enum zd_status end_line(struct zd_emit *emit, struct zd_text *line)
{
    zd_emit_object_end(emit);
    return zd_text_add_char(line, '\n');
}

/* ---- changes ---- */

static bool is_change(const struct zd_request *req)
{
    const struct zd_route *route = req->route;
    if (zd_request_is_reading(req) || route == NULL || route->scope != ZD_SCOPE_WRITE) {
        return false;
    }
    const struct zd_dataset *dataset = zd_dataset_find(req->server, req->dataset_name);
    return dataset != NULL && dataset->config.writable;
}

static enum zd_status write_begin(struct zd_request *req, struct zd_error *err)
{
    struct zd_emit emit;
    ZD_SCOPED_TEXT(line, LINE_BYTES_MAX);
    begin_line(&emit, &line, "begin");
    emit_request(&emit, req);
    if (end_line(&emit, &line) != ZD_OK) {
        return zd_fail(err, line.status, "no memory for a line of log.audit_file");
    }
    return zd_audit_file_write(&req->server->audit_file, zd_text_span(&line), err);
}

enum zd_status zd_audit_signed(struct zd_request *req, const struct zd_signed_url *url,
    const char *until, struct zd_error *err)
{
    struct zd_emit emit;
    if (!zd_audit_file_is_on(&req->server->audit_file)) {
        return ZD_OK;
    }
    ZD_SCOPED_TEXT(line, LINE_BYTES_MAX);
    begin_line(&emit, &line, "signed");
    emit_request(&emit, req);
    emit_plain(&emit, "signed_method", url->method, NAME_BYTES_MAX);
    emit_plain(&emit, "signed_path", url->path, PATH_BYTES_MAX);
    zd_emit_member_bool(&emit, "prefix", url->is_prefix);
    zd_emit_member_string(&emit, "expires", until);
    if (end_line(&emit, &line) != ZD_OK) {
        return zd_fail(err, line.status, "no memory for a line of log.audit_file");
    }
    return zd_audit_file_write(&req->server->audit_file, zd_text_span(&line), err);
}

enum zd_next zd_audit_refuse(struct zd_request *req)
{
    const struct zd_problem problem = {
        .code = "store_error",
        .http_status = 503,
        .detail =
            "changes and signing are refused while log.audit_file cannot be written; see the log",
        .unavailable = ZD_UNAVAILABLE_STORE,
        .retry_after_s = 1,
    };
    return zd_respond_problem(req, &problem);
}

void zd_audit_begin(struct zd_request *req)
{
    if (!zd_audit_file_is_on(&req->server->audit_file) || req->step != NULL || !is_change(req)) {
        return;
    }
    struct zd_error err = {0};
    if (write_begin(req, &err) == ZD_OK) {
        req->own.is_audited = true;
    } else {
        req->step = zd_audit_refuse;
    }
}

void zd_audit_before(struct zd_request *req, const char *etag)
{
    memcpy(req->own.tag_before, etag, strnlen(etag, sizeof req->own.tag_before - 1));
}

void zd_audit_after(struct zd_request *req, const char *etag)
{
    memcpy(req->own.tag_after, etag, strnlen(etag, sizeof req->own.tag_after - 1));
}

static void end_change(const struct zd_request *req, unsigned http_status, const char *etag)
{
    struct zd_emit emit;
    ZD_SCOPED_TEXT(line, LINE_BYTES_MAX);
    begin_line(&emit, &line, "end");
    emit_request(&emit, req);
    zd_emit_member_u64(&emit, "status", http_status);
    zd_emit_member_u64(&emit, "bytes", req->body == NULL ? req->upload.came_bytes : req->body->len);
    if (req->own.tag_before[0] != '\0') {
        zd_emit_member_string(&emit, "before", req->own.tag_before);
    }
    etag = etag == NULL && req->own.tag_after[0] != '\0' ? req->own.tag_after : etag;
    if (etag != NULL && http_status < ERRORS) {
        emit_plain(&emit, "after", zd_span_of(etag), NAME_BYTES_MAX);
    }
    if (end_line(&emit, &line) == ZD_OK) {
        zd_audit_file_owe(&req->server->audit_file, zd_text_span(&line));
    }
}

/* ---- refused credentials ---- */

static void tell_omitted(struct zd_audit_file *file)
{
    struct zd_emit emit;
    ZD_SCOPED_TEXT(line, LINE_BYTES_MAX);
    begin_line(&emit, &line, "omitted");
    zd_emit_member_u64(&emit, "refused", file->n_omitted);
    if (end_line(&emit, &line) == ZD_OK) {
        zd_audit_file_owe(file, zd_text_span(&line));
        file->n_omitted = 0;
    }
}

static bool may_tell(struct zd_audit_file *file, uint64_t now_ms)
{
    if (now_ms / MS_PER_S != file->refused_s) {
        file->refused_s = now_ms / MS_PER_S;
        file->n_refused = 0;
    }
    if (file->n_refused == REFUSED_MAX) {
        file->n_omitted++;
        return false;
    }
    if (file->n_omitted > 0) {
        tell_omitted(file);
    }
    file->n_refused++;
    return true;
}

static void tell_refused(struct zd_request *req, unsigned http_status)
{
    struct zd_audit_file *file = &req->server->audit_file;
    struct zd_emit emit;
    if (!may_tell(file, uv_now(req->server->loop))) {
        return;
    }
    ZD_SCOPED_TEXT(line, LINE_BYTES_MAX);
    begin_line(&emit, &line, "refused");
    emit_request(&emit, req);
    zd_emit_member_u64(&emit, "status", http_status);
    if (end_line(&emit, &line) == ZD_OK) {
        zd_audit_file_owe(file, zd_text_span(&line));
    }
}

void zd_audit_end(struct zd_request *req, unsigned http_status, const char *etag)
{
    if (!zd_audit_file_is_on(&req->server->audit_file) || req->own.was_audited) {
        return;
    }
    if (req->own.is_audited) {
        end_change(req, http_status, etag);
    } else if (req->has_credential && (http_status == UNAUTHORIZED || http_status == FORBIDDEN)) {
        tell_refused(req, http_status);
    }
    req->own.was_audited = true;
}
