/* Answers that libmicrohttpd never sees, as bytes. */
#include "server/front/response_bytes.h"

#include <microhttpd.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "server/front/cors.h"
#include "server/front/response.h"
#include "server/front/response_headers.h"
#include "server/http/conditions.h"
#include "server/http/guard.h"
#include "server/runtime/server.h"

static void give_line(void *to, const char *name, const char *value)
{
    zd_text_addf(to, "%s: %s\r\n", name, value);
}

static void add_status_line(unsigned http_status, struct zd_text *to)
{
    char date[ZD_DATE_BYTES];
    zd_conditions_format_date(date, (int64_t)time(NULL) * 1000);
    zd_text_addf(to, "HTTP/1.1 %u %s\r\nConnection: close\r\nDate: %s\r\n", http_status,
        MHD_get_reason_phrase_for(http_status), date);
}

static enum MHD_Result give_own(
    void *to, enum MHD_ValueKind kind, const char *name, const char *value)
{
    (void)kind;
    if (strcasecmp(name, "Connection") != 0) {
        give_line(to, name, value);
    }
    return MHD_YES;
}

void zd_response_add_last(const struct zd_exchange *exchange, struct zd_text *to)
{
    const struct zd_buf *document = exchange->now.document;
    const struct zd_span body =
        document == NULL ? zd_span_of(zd_response_emergency) : zd_buf_span(document);
    add_status_line(exchange->now.access.http_status, to);
    (void)MHD_get_response_headers(exchange->now.response, give_own, to);
    zd_text_addf(to, "Content-Length: %zu\r\n\r\n", body.len);
    zd_text_add_bytes(to, body.ptr, body.len);
}

void zd_response_refuse(struct zd_server *server, const struct zd_guard *guard,
    const struct zd_access *request, struct zd_text *to)
{
    struct zd_text *document = &server->front->scratch;
    struct zd_error err = {.status = ZD_INVALID};
    if (strcmp(guard->code, "too_large") == 0) {
        err.facts.limit = zd_guard_body_max(guard);
        err.facts.set = err.facts.limit > 0 ? ZD_FACT_LIMIT : 0;
    }
    const struct zd_problem problem = {.code = guard->code,
        .detail = guard->detail,
        .err = &err,
        .unavailable = ZD_UNAVAILABLE_CONNECTIONS};
    char id[ZD_FRONT_MADE_ID_LEN + 1];
    zd_response_make_id(server->front, id);
    zd_text_clear(document);
    zd_problem_add(&problem, id, document);
    struct zd_access access = *request;
    access.id = id;
    access.problem_code = guard->code;
    access.reason = guard->detail;
    access.http_status = zd_problem_kind(guard->code)->http_status;
    access.body_bytes = guard->is_head ? 0 : document->len;
    add_status_line(access.http_status, to);
    zd_response_give_common(server, id, zd_cors_origin_of_all(server), give_line, to);
    if (access.http_status == MHD_HTTP_SERVICE_UNAVAILABLE) {
        server->metrics.n_unavailable[ZD_UNAVAILABLE_CONNECTIONS]++;
    }
    if (access.http_status == MHD_HTTP_SERVICE_UNAVAILABLE ||
        access.http_status == MHD_HTTP_TOO_MANY_REQUESTS) {
        give_line(to, "Retry-After", "1");
    }
    zd_text_addf(to,
        "Content-Type: application/problem+json\r\nCache-Control: no-cache\r\n"
        "Content-Length: %zu\r\n\r\n",
        document->len);
    zd_text_add_bytes(to, document->at, access.body_bytes);
    server->metrics.n_problems++;
    server->metrics.n_refused++;
    zd_metrics_access(&server->metrics, &access);
    zd_log_access(&server->log, &access);
}
