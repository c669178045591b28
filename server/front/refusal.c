/* Answers that libmicrohttpd never sees, as bytes: to what the guard refuses, and before a body is
 * read. */
#include "server/front/refusal.h"

#include <microhttpd.h>
#include <strings.h>
#include <time.h>

#include "server/front/head.h"
#include "server/front/response.h"
#include "server/http/conditions.h"
#include "server/http/date.h"
#include "server/runtime/server.h"

static void give_line(void *to, const char *name, const char *value)
{
    zd_text_addf(to, "%s: %s\r\n", name, value);
}

static void add_status_line(unsigned http_status, struct zd_text *to)
{
    char date[ZD_DATE_BYTES];
    zd_date_format(date, (int64_t)time(NULL) * 1000);
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

void zd_refusal_add_last(const struct zd_exchange *exchange, struct zd_text *to)
{
    const struct zd_buf *document = exchange->now.document;
    const struct zd_span body =
        document == NULL ? zd_span_of(zd_response_emergency) : zd_buf_span(document);
    add_status_line(exchange->now.access.http_status, to);
    (void)MHD_get_response_headers(exchange->now.response, give_own, to);
    zd_text_addf(to, "Content-Length: %zu\r\n\r\n", body.len);
    zd_text_add_bytes(to, body.ptr, body.len);
}

static void count(struct zd_server *server, const struct zd_refusal *refusal, const char *id,
    const struct zd_text *document)
{
    const struct zd_access access = {
        .method = refusal->method,
        .target = refusal->target,
        .id = id,
        .client = refusal->client,
        .was_refused = true,
        .duration_ns = refusal->duration_ns,
        .http_status = zd_problem_kind(refusal->code)->http_status,
        .body_bytes = refusal->is_head ? 0 : document->len,
        .problem_code = refusal->code,
        .reason = refusal->detail,
    };
    server->metrics.n_problems++;
    server->metrics.n_refused++;
    zd_metrics_access(&server->metrics, &access);
    zd_log_access(&server->log, &access);
}

void zd_refusal_add(struct zd_server *server, const struct zd_refusal *refusal, struct zd_text *to)
{
    struct zd_text *document = &server->front->scratch;
    struct zd_error err = {.status = ZD_INVALID};
    err.facts.limit = refusal->limit;
    err.facts.set = refusal->limit > 0 ? ZD_FACT_LIMIT : 0;
    const struct zd_problem problem = {
        .code = refusal->code, .detail = refusal->detail, .err = &err};
    char id[ZD_FRONT_MADE_ID_LEN + 1];
    zd_head_make_id(server->front, id);
    zd_text_clear(document);
    zd_problem_add(&problem, id, document);
    add_status_line(zd_problem_kind(refusal->code)->http_status, to);
    zd_response_give_common(server, id, give_line, to);
    zd_text_addf(to,
        "Content-Type: application/problem+json\r\nCache-Control: no-cache\r\n"
        "Content-Length: %zu\r\n\r\n",
        document->len);
    if (!refusal->is_head) {
        zd_text_add_bytes(to, document->at, document->len);
    }
    count(server, refusal, id, document);
}
