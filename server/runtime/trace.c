/* Traces: some requests, with what they did and waited for, as spans of OpenTelemetry. */
#include "server/runtime/trace.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/base/emit.h"
#include "core/base/hash.h"
#include "core/base/own.h"
#include "core/store/transfer/transfer.h"
#include "server/runtime/metrics.h"

#define REQUEST_BYTES_MAX (64U << 10) /* of the spans of one request */
#define SPAN_BYTES_MAX    1024        /* of each that waits, on average */
#define NODE_LEN_MAX      256         /* a longer path is left out */
#define ANSWER_BYTES_MAX  (64U << 10) /* of the collector's */
#define FAREWELL_MS       500
#define NUMBER_BYTES      24
#define NS_PER_S          UINT64_C(1000000000)
#define MILLION           1000000
#define KIND_INTERNAL     1 /* OTLP, SpanKind */
#define KIND_SERVER       2
#define STATUS_ERROR      2 /* OTLP, Status.StatusCode */

static const char body_head[] =
    "{\"resourceSpans\":[{\"resource\":{\"attributes\":["
    "{\"key\":\"service.name\",\"value\":{\"stringValue\":\"zarrd\"}},"
    "{\"key\":\"service.version\",\"value\":{\"stringValue\":\"" ZD_VERSION "\"}}]},"
    "\"scopeSpans\":[{\"scope\":{\"name\":\"zarrd\",\"version\":\"" ZD_VERSION "\"},\"spans\":[";
static const char body_tail[] = "]}]}]}";

const char *zd_trace_loss_name(enum zd_trace_loss loss)
{
    static const char *const names[ZD_TRACE_LOSSES] = {
        [ZD_TRACE_FULL] = "queue_full",
        [ZD_TRACE_LONG] = "long_request",
        [ZD_TRACE_REFUSED] = "collector",
    };
    return names[loss];
}

/* ---- batches ---- */

static void send_batch(struct zd_tracer *tracer);

static void on_timer(uv_timer_t *timer)
{
    send_batch(timer->data);
}

static void on_closed(uv_timer_t *timer)
{
    struct zd_tracer *tracer = timer->data;
    zd_transfer_pool_leave(&tracer->pool);
    uv_close((uv_handle_t *)timer, NULL);
}

/* Not inside the transfer's end. */
static void close_soon(struct zd_tracer *tracer)
{
    uv_timer_start(&tracer->timer, on_closed, 0, 0);
}

static void on_farewell(uv_timer_t *timer)
{
    struct zd_tracer *tracer = timer->data;
    zd_transfer_pool_stop(tracer->pool);
}

static void sent(struct zd_transfer *transfer)
{
    struct zd_tracer *tracer = transfer->context;
    const bool is_taken = transfer->status == ZD_OK && transfer->head.code / 100 == 2;
    zd_buf_unref(ZD_TAKE(transfer->bytes));
    zd_text_done(&tracer->body);
    tracer->n_sent += is_taken ? tracer->n_sending : 0;
    tracer->n_lost[ZD_TRACE_REFUSED] += is_taken ? 0 : tracer->n_sending;
    tracer->n_sending = 0;
    tracer->is_sending = false;
    if (tracer->is_stopping) {
        if (tracer->n_waiting > 0) {
            send_batch(tracer);
        } else {
            close_soon(tracer);
        }
    } else if (tracer->n_waiting > 0) {
        uv_timer_start(&tracer->timer, on_timer, tracer->settings->trace_send_ms, 0);
    }
}

/* Send the waiting spans as a batch. */
static void send_batch(struct zd_tracer *tracer)
{
    static const char *const headers[] = {"Content-Type: application/json", NULL};
    struct zd_text *body = &tracer->body;
    zd_text_init(body, tracer->spans.len + sizeof body_head + sizeof body_tail);
    zd_text_add(body, body_head);
    zd_text_add_bytes(body, tracer->spans.at, tracer->spans.len);
    zd_text_add(body, body_tail);
    const bool has_memory = body->status == ZD_OK;
    tracer->n_sending = has_memory ? tracer->n_waiting : 0;
    tracer->n_lost[ZD_TRACE_FULL] += has_memory ? 0 : tracer->n_waiting;
    tracer->n_waiting = 0;
    zd_text_done(&tracer->spans);
    if (!has_memory) {
        zd_text_clear(body); /* an empty batch: its end goes on */
    }
    tracer->is_sending = true;
    tracer->transfer = (struct zd_transfer){
        .settings = &tracer->remote,
        .method = ZD_TRANSFER_POST,
        .url = tracer->settings->trace_url,
        .headers = headers,
        .body = zd_text_span(body),
        .bytes_max = ANSWER_BYTES_MAX,
        .done = sent,
        .context = tracer,
    };
    zd_transfer_start(tracer->pool, &tracer->transfer);
}

/* Spans of one request wait for the next batch. @param n how many */
static void push(struct zd_tracer *tracer, const struct zd_text *spans, uint64_t n)
{
    struct zd_text *waiting = &tracer->spans;
    const uint64_t most = tracer->settings->trace_spans;
    const size_t len = waiting->len;
    bool has_room = !tracer->is_stopping && spans->status == ZD_OK && n <= most &&
                    tracer->n_waiting <= most - n;
    if (has_room) {
        zd_text_add(waiting, len == 0 ? "" : ",");
        has_room = zd_text_add_bytes(waiting, spans->at, spans->len) == ZD_OK;
    }
    if (!has_room) {
        waiting->len = len; /* what was added of them goes */
        waiting->status = ZD_OK;
        tracer->n_lost[ZD_TRACE_FULL] += n;
        return;
    }
    tracer->n_waiting += n;
    if (!tracer->is_sending && !uv_is_active((uv_handle_t *)&tracer->timer)) {
        uv_timer_start(&tracer->timer, on_timer, tracer->settings->trace_send_ms, 0);
    }
}

/* ---- spans ---- */

static uint64_t draw(struct zd_tracer *tracer)
{
    const uint64_t n = tracer->n_ids++;
    return zd_hash_of((struct zd_span){.ptr = (const uint8_t *)&n, .len = sizeof n}, tracer->seed);
}

/* Sixteen digits, not all of them zeros. */
static void make_id(struct zd_tracer *tracer, char *to)
{
    uint64_t id = draw(tracer);
    id = id == 0 ? 1 : id;
    for (int shift = 60; shift >= 0; shift -= 4) {
        *to++ = "0123456789abcdef"[id >> shift & 15];
    }
    *to = '\0';
}

static void emit_ns(struct zd_emit *emit, const char *name, uint64_t ns)
{
    char number[NUMBER_BYTES]; /* a string: JSON's numbers end at 2^53 (OTLP/JSON) */
    (void)snprintf(number, sizeof number, "%llu", (unsigned long long)ns);
    zd_emit_member_string(emit, name, number);
}

static void emit_attribute(struct zd_emit *emit, const char *key, const char *value)
{
    if (value == NULL || value[0] == '\0') {
        return;
    }
    zd_emit_object(emit);
    zd_emit_member_string(emit, "key", key);
    zd_emit_member_object(emit, "value");
    zd_emit_member_string(emit, "stringValue", value);
    zd_emit_object_end(emit);
    zd_emit_object_end(emit);
}

static void emit_number(struct zd_emit *emit, const char *key, uint64_t value)
{
    zd_emit_object(emit);
    zd_emit_member_string(emit, "key", key);
    zd_emit_member_object(emit, "value");
    emit_ns(emit, "intValue", value);
    zd_emit_object_end(emit);
    zd_emit_object_end(emit);
}

/* Write the members that all spans have. */
static void begin_span(struct zd_emit *emit, const struct zd_trace *trace, const char *id,
    const char *parent_id, const struct zd_trace_span *span)
{
    const uint64_t began_ns = trace->began_unix_ns + (span->began_ns - trace->began_ns);
    zd_emit_object(emit);
    zd_emit_member_string(emit, "traceId", trace->own.trace_id);
    zd_emit_member_string(emit, "spanId", id);
    if (parent_id[0] != '\0') {
        zd_emit_member_string(emit, "parentSpanId", parent_id);
    }
    zd_emit_member_string(emit, "name", span->name);
    emit_ns(emit, "startTimeUnixNano", began_ns);
    emit_ns(emit, "endTimeUnixNano", began_ns + (span->ended_ns - span->began_ns));
}

/* The target is not told: it may hold a credential. */
static void emit_request(
    struct zd_emit *emit, const struct zd_trace *trace, const struct zd_access *access)
{
    char name[NODE_LEN_MAX];
    const char *method =
        access->route == NULL ? "HTTP" : access->method; /* else a stranger's word */
    (void)snprintf(name, sizeof name, "%s %s", method, access->route == NULL ? "" : access->route);
    const struct zd_trace_span span = {
        .name = access->route == NULL ? method : name,
        .began_ns = trace->began_ns,
        .ended_ns = trace->began_ns + access->duration_ns,
    };
    const bool is_short = access->node != NULL && strlen(access->node) <= NODE_LEN_MAX;
    begin_span(emit, trace, trace->own.span_id, trace->parent_id, &span);
    zd_emit_member_u64(emit, "kind", KIND_SERVER);
    zd_emit_member_array(emit, "attributes");
    emit_attribute(emit, "http.request.method", access->route == NULL ? "_OTHER" : method);
    emit_attribute(emit, "http.route", access->route);
    emit_number(emit, "http.response.status_code", access->http_status);
    emit_number(emit, "http.response.body.size", access->body_bytes);
    emit_attribute(emit, "error.type", access->problem_code);
    emit_attribute(emit, "zarrd.dataset", access->dataset);
    emit_attribute(emit, "zarrd.node", is_short ? access->node : NULL);
    emit_attribute(emit, "zarrd.request_id", access->id);
    emit_attribute(emit, "enduser.id", access->identity);
    zd_emit_array_end(emit);
    if (access->http_status >= 500) {
        zd_emit_member_object(emit, "status");
        zd_emit_member_u64(emit, "code", STATUS_ERROR);
        zd_emit_object_end(emit);
    }
    zd_emit_object_end(emit);
}

static void emit_child(struct zd_tracer *tracer, struct zd_emit *emit, const struct zd_trace *trace,
    const struct zd_trace_span *span)
{
    char id[ZD_TRACEPARENT_SPAN_LEN + 1];
    make_id(tracer, id);
    begin_span(emit, trace, id, trace->own.span_id, span);
    zd_emit_member_u64(emit, "kind", KIND_INTERNAL);
    zd_emit_object_end(emit);
}

/* ---- traces ---- */

struct zd_trace *zd_trace_begin(
    struct zd_tracer *tracer, const struct zd_traceparent *parent, uint64_t began_ns)
{
    if (tracer->pool == NULL) {
        return NULL;
    }
    const bool is_traced = parent != NULL && tracer->settings->trace_parent
                               ? parent->is_sampled
                               : draw(tracer) % MILLION < tracer->settings->trace_per_million;
    struct zd_trace *trace = is_traced ? zd_alloc(sizeof *trace) : NULL;
    if (trace == NULL) {
        return NULL;
    }
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    trace->n_spans = 0;
    trace->n_left_out = 0;
    trace->began_ns = began_ns;
    trace->began_unix_ns = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
    trace->parent_id[0] = '\0';
    trace->own.is_sampled = true;
    if (parent != NULL) {
        memcpy(trace->own.trace_id, parent->trace_id, sizeof trace->own.trace_id);
        memcpy(trace->parent_id, parent->span_id, sizeof trace->parent_id);
    } else {
        make_id(tracer, trace->own.trace_id);
        make_id(tracer, trace->own.trace_id + ZD_TRACEPARENT_SPAN_LEN);
    }
    make_id(tracer, trace->own.span_id);
    return trace;
}

void zd_trace_add(struct zd_trace *trace, const char *name, uint64_t began_ns, uint64_t ended_ns)
{
    if (trace == NULL) {
        return;
    }
    if (trace->n_spans == ZD_TRACE_SPANS_MAX) {
        trace->n_left_out++;
        return;
    }
    trace->span[trace->n_spans++] =
        (struct zd_trace_span){.name = name, .began_ns = began_ns, .ended_ns = ended_ns};
}

void zd_trace_end(struct zd_tracer *tracer, struct zd_trace *trace, const struct zd_access *access)
{
    if (trace == NULL || access == NULL) {
        zd_free(trace);
        return;
    }
    ZD_SCOPED_TEXT(spans, REQUEST_BYTES_MAX);
    struct zd_emit emit;
    zd_emit_init(&emit, &spans, false);
    emit_request(&emit, trace, access);
    for (uint32_t i = 0; i < trace->n_spans; i++) {
        zd_text_add_char(&spans, ',');
        zd_emit_init(&emit, &spans, false);
        emit_child(tracer, &emit, trace, &trace->span[i]);
    }
    tracer->n_lost[ZD_TRACE_LONG] += trace->n_left_out;
    push(tracer, &spans, 1 + trace->n_spans);
    zd_free(trace);
}

/* ---- begin and end ---- */

/* Its host may be any; a password in it would be logged by others. */
static bool is_url(const char *url)
{
    const size_t scheme = strncmp(url, "http://", 7) == 0    ? 7
                          : strncmp(url, "https://", 8) == 0 ? 8
                                                             : 0;
    const size_t authority = scheme + strcspn(url + scheme, "/?#");
    for (const char *at = url; *at != '\0'; at++) {
        if (*at <= ' ' || *at > '~') {
            return false;
        }
    }
    return scheme > 0 && authority > scheme && memchr(url, '@', authority) == NULL;
}

enum zd_status zd_trace_judge(const struct zd_settings *settings, struct zd_error *err)
{
    return settings->trace_url[0] == '\0' || is_url(settings->trace_url)
               ? ZD_OK
               : zd_fail(err, ZD_INVALID,
                     "setting trace.url is not a valid URL for spans; expected http:// or "
                     "https://, a host without a user name, and a path such as /v1/traces");
}

enum zd_status zd_trace_open(struct zd_tracer *tracer, uv_loop_t *loop,
    const struct zd_settings *settings, struct zd_error *err)
{
    ZD_TRY(zd_trace_judge(settings, err));
    if (settings->trace_url[0] == '\0') {
        return ZD_OK;
    }
    tracer->settings = settings;
    tracer->remote = (struct zd_remote_settings){
        .connections = 1,
        .connect_ms = (uint32_t)settings->trace_wait_ms,
        .silence_ms = (uint32_t)settings->trace_wait_ms,
        .ca_file = settings->remote_ca_file,
    };
    tracer->seed = zd_hash_random_seed();
    zd_text_init(&tracer->spans, settings->trace_spans * SPAN_BYTES_MAX);
    ZD_TRY(zd_transfer_pool_take(&tracer->pool, loop, err));
    uv_timer_init(loop, &tracer->timer);
    uv_unref((uv_handle_t *)&tracer->timer);
    tracer->timer.data = tracer;
    return ZD_OK;
}

void zd_trace_stop(struct zd_tracer *tracer)
{
    if (tracer->pool == NULL || tracer->is_stopping) {
        return;
    }
    tracer->is_stopping = true;
    uv_ref((uv_handle_t *)&tracer->timer);
    if (!tracer->is_sending && tracer->n_waiting > 0) {
        send_batch(tracer);
    }
    if (tracer->is_sending) {
        uv_timer_start(&tracer->timer, on_farewell, FAREWELL_MS, 0);
    } else {
        close_soon(tracer);
    }
}

void zd_trace_done(struct zd_tracer *tracer)
{
    zd_text_done(&tracer->body);
    zd_text_done(&tracer->spans);
}
