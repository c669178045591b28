/* The head of a request, as an exchange keeps it: target, headers, id, trace and framing. */
#include "server/front/exchange_head.h"

#include <microhttpd.h>
#include <string.h>
#include <strings.h>

#include "core/base/num.h"
#include "server/front/response_headers.h"
#include "server/http/credential.h"
#include "server/http/forwarded.h"
#include "server/http/redact.h"
#include "server/http/signed_url.h"
#include "server/request/connection.h"
#include "server/runtime/server.h"

/* ---- the target ---- */

/* Takes token and signature out of the target. From here on it names the resource, and caches use
 * it as a key. */
enum zd_status zd_exchange_take_target(struct zd_exchange *exchange, const char *target)
{
    struct zd_request *req = &exchange->request;
    struct zd_text *text = &exchange->memory.target;
    struct zd_text *signature = &exchange->memory.signature;
    zd_text_clear(text);
    ZD_TRY(zd_text_add(text, target));
    req->n_url_tokens = zd_credential_take(text->at, &exchange->memory.token);
    req->url_token = zd_text_span(&exchange->memory.token);
    ZD_TRY(zd_signed_url_take(text->at, signature));
    zd_text_cut(text, strlen(text->at));
    req->target = text->at;
    req->shown = ""; /* until the head was read */
    req->signature = zd_text_span(signature);
    return ZD_OK;
}

/* ---- the headers ---- */

/* Joins the lines of one list (RFC 9110, 5.3). Few clients send several: the first line is borrowed
 * as it is. */
static void add_line(const char **place, struct zd_text *list, const char *value)
{
    if (list->len == 0) {
        zd_text_add(list, *place);
    }
    zd_text_addf(list, ", %s", value);
    *place = list->at;
}

/* A header that is kept, and where in the exchange. */
struct field {
    const char *name;
    size_t len;   /* of the name */
    size_t place; /* of a const char * */
    size_t list;  /* where its further lines go; ONCE: the first line counts */
};

#define ONCE SIZE_MAX
#define FIELD(name, member, list)                                                                  \
    {(name), sizeof(name) - 1, offsetof(struct zd_exchange, member), (list)}

static const struct field fields[] = {
    FIELD("Authorization", request.authorization, ONCE),
    FIELD("If-None-Match", request.conditions.if_none_match, 0),
    FIELD("If-Modified-Since", request.conditions.if_modified_since, ONCE),
    FIELD("Range", request.conditions.range, ONCE),
    FIELD("If-Range", request.conditions.if_range, ONCE),
    FIELD("If-Match", request.conditions.if_match, 1),
    FIELD("If-Unmodified-Since", request.conditions.if_unmodified_since, ONCE),
    FIELD("X-Request-Id", now.sent_id, ONCE), FIELD("Accept", request.sent_accept, 2),
    FIELD("Accept-Encoding", request.sent_accept_encoding, 3),
    FIELD("Content-Encoding", request.content_encoding, 4),
    FIELD("traceparent", now.sent_trace, 5), /* of several none counts */
};

static const struct field *field_of(const char *name)
{
    const size_t len = strlen(name);
    for (size_t i = 0; i < ZD_COUNT_OF(fields); i++) {
        if (fields[i].len == len && strcasecmp(fields[i].name, name) == 0) {
            return &fields[i];
        }
    }
    return NULL;
}

static void note_proxy(struct zd_client *client, const char *name)
{
    if (client->via == NULL && zd_forwarded_is_field(name, strlen(name))) {
        client->via = name;
    }
}

/* Reads all headers in one pass: looking each one up would walk the list as many times. */
static enum MHD_Result on_header(
    void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
    (void)kind;
    const struct field *field = field_of(name);
    struct zd_exchange *exchange = cls;
    if (field == NULL) {
        note_proxy(&exchange->request.client, name);
        return MHD_YES;
    }
    const char **place = (const char **)(void *)((char *)exchange + field->place);
    if (field == &fields[0]) {
        if (!zd_credential_is_bearer(value)) {
            return MHD_YES; /* a proxy's, or another program's */
        }
        exchange->request.n_authorizations++;
    }
    if (*place == NULL) {
        *place = value;
    } else if (field->list != ONCE) {
        add_line(place, &exchange->memory.list[field->list], value);
    }
    return MHD_YES;
}

/* ---- the whole head ---- */

/* The token of an Authorization. A token that was pasted into the target too is found by it. */
static struct zd_span sent_credential(const struct zd_request *req)
{
    return req->authorization == NULL ? (struct zd_span){.len = 0}
                                      : zd_credential_of_bearer(req->authorization);
}

/* Hides everything that looks like a credential from log, traces and audit file. */
static void show_target(struct zd_exchange *exchange)
{
    struct zd_request *req = &exchange->request;
    struct zd_exchange_memory *memory = &exchange->memory;
    zd_text_clear(&memory->secrets);
    zd_redact_know(&memory->secrets, req->url_token);
    zd_redact_know(&memory->secrets, sent_credential(req));
    const bool hides = zd_redact_target(req->target, &memory->secrets, &memory->shown);
    req->shown = hides ? memory->shown.at : req->target;
}

/* Takes the client's id when it is well formed; else makes one. */
static void take_id(struct zd_exchange *exchange)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    struct zd_exchange_now *now = &exchange->now;
    const char *sent = now->sent_id;
    exchange->request.id = now->id;
    if (sent != NULL && sent[0] != '\0') {
        const size_t len = strnlen(sent, ZD_FRONT_ID_MAX + 1);
        if (len <= ZD_FRONT_ID_MAX && strspn(sent, allowed) == len) {
            memcpy(now->id, sent, len + 1);
            return;
        }
    }
    zd_response_make_id(exchange->front, now->id);
}

/* Begins the trace that the request's stores get, or passes on the trace of the client. */
static void take_trace(struct zd_exchange *exchange)
{
    struct zd_exchange_now *now = &exchange->now;
    struct zd_request *req = &exchange->request;
    const bool has_parent =
        now->sent_trace != NULL && zd_traceparent_parse(now->sent_trace, &now->trace);
    req->trace =
        zd_trace_begin(&req->server->tracer, has_parent ? &now->trace : NULL, now->began_ns);
    if (req->trace != NULL) {
        now->trace = req->trace->own;
    }
    if (req->trace != NULL || has_parent) {
        zd_traceparent_format(&now->trace, now->traceparent);
        req->traceparent = now->traceparent;
    }
}

/* The guard let the value pass: digits, perhaps zeros in front, and no more than 64 bits. */
static uint64_t number_in(const char *value)
{
    uint64_t number = 0;
    for (const char *at = value + strspn(value, " \t"); *at >= '0' && *at <= '9'; at++) {
        number = number * 10 + (uint64_t)(*at - '0');
    }
    return number;
}

static void read_framing(struct zd_request *req)
{
    struct zd_upload *upload = &req->upload;
    const char *length = zd_connection_header(req, "Content-Length");
    const char *expect = zd_connection_header(req, "Expect");
    upload->length = length == NULL ? 0 : number_in(length);
    upload->has_length = length != NULL || zd_connection_header(req, "Transfer-Encoding") == NULL;
    upload->expects_continue = expect != NULL && strcasecmp(expect, "100-continue") == 0;
}

enum zd_status zd_exchange_read_head(struct zd_exchange *exchange, const char *method)
{
    struct zd_request *req = &exchange->request;
    req->method = method;
    req->is_head = strcmp(method, "HEAD") == 0;
    (void)MHD_get_connection_values(exchange->now.connection, MHD_HEADER_KIND, on_header, exchange);
    show_target(exchange);
    take_id(exchange);
    take_trace(exchange);
    if (!zd_request_is_reading(req)) {
        read_framing(req);
    }
    for (size_t i = 0; i < ZD_FRONT_LISTS; i++) {
        ZD_TRY(exchange->memory.list[i].status);
    }
    return ZD_OK;
}

/* ---- headers that handlers ask for ---- */

const char *zd_connection_header(const struct zd_request *req, const char *name)
{
    return MHD_lookup_connection_value(
        zd_front_exchange(req)->now.connection, MHD_HEADER_KIND, name);
}

/* A list that is made of the lines of one header. */
struct joining {
    const char *name;
    struct zd_text *list;
    bool has_line; /* one was added, which may have been empty */
};

static enum MHD_Result join(void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
    (void)kind;
    struct joining *joining = cls;
    if (strcasecmp(joining->name, name) == 0) {
        zd_text_addf(joining->list, "%s%s", joining->has_line ? ", " : "", value);
        joining->has_line = true;
    }
    return MHD_YES;
}

enum zd_status zd_connection_add_list(
    const struct zd_request *req, const char *name, struct zd_text *list)
{
    struct joining joining = {.name = name, .list = list};
    (void)MHD_get_connection_values(
        zd_front_exchange(req)->now.connection, MHD_HEADER_KIND, join, &joining);
    return list->status;
}
