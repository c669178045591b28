/* Traces: some requests, with what they did and waited for, as spans of OpenTelemetry.
 *
 * A request that is traced has a struct zd_trace until it ends. Its spans then wait for the next
 * batch, which goes to the collector (trace.url) by OTLP over HTTP, as JSON. Nothing waits for the
 * collector: while a batch is on its way trace.spans may wait, what exceeds them is dropped and
 * counted, and so is a batch that is refused. Thread: loop. */
#ifndef ZD_RUNTIME_TRACE_H
#define ZD_RUNTIME_TRACE_H

#include <uv.h>

#include "core/base/text.h"
#include "core/store/remote/remote.h"
#include "core/store/transfer/transfer_exchange.h"
#include "server/config/settings.h"
#include "server/http/traceparent.h"

#define ZD_TRACE_SPANS_MAX 64 /* of one request, besides its own */

struct zd_access;

/** A span of work or waiting. By uv_hrtime. */
struct zd_trace_span {
    const char *name; /* a literal */
    uint64_t began_ns;
    uint64_t ended_ns;
};

/** A request that is traced. */
struct zd_trace {
    struct zd_traceparent own;                   /* its trace, and the span of the request */
    char parent_id[ZD_TRACEPARENT_SPAN_LEN + 1]; /* the caller's span, or "" */
    uint64_t began_ns;                           /* uv_hrtime */
    uint64_t began_unix_ns;                      /* the same moment by the wall clock */
    uint32_t n_spans;
    uint32_t n_left_out; /* spans that had no room */
    struct zd_trace_span span[ZD_TRACE_SPANS_MAX];
};

/** Why a span does not reach the collector. */
enum zd_trace_loss {
    ZD_TRACE_FULL,    /* trace.spans wait already, or there is no memory */
    ZD_TRACE_LONG,    /* its request had ZD_TRACE_SPANS_MAX of them */
    ZD_TRACE_REFUSED, /* the collector was not there, did not answer, or answered no 2xx */
    ZD_TRACE_LOSSES,
};

/** The sender of traces; zeroed: there is no collector. */
struct zd_tracer {
    const struct zd_settings *settings; /* borrowed */
    struct zd_remote_settings remote;
    struct zd_transfer_pool *pool; /* NULL: there is no collector */
    struct zd_transfer transfer;   /* the batch that is on its way, while is_sending */
    struct zd_text body;           /* of it */
    uint64_t n_sending;            /* spans in it */
    struct zd_text spans;          /* that wait for the next one, n_waiting of them */
    uint64_t n_waiting;
    uv_timer_t timer; /* sends the next one; when all ends, gives up */
    uint64_t seed;
    uint64_t n_ids;
    bool is_sending;
    bool is_stopping;
    uint64_t n_sent; /* spans that the collector took */
    uint64_t n_lost[ZD_TRACE_LOSSES];
};

/** "queue_full": the reason in /metrics. Thread: any. */
const char *zd_trace_loss_name(enum zd_trace_loss loss);

/** Whether spans could be sent there. @retval ZD_INVALID trace.url is no URL of HTTP. Thread: any.
 */
ZD_RESULT zd_trace_judge(const struct zd_settings *settings, struct zd_error *err);

/**
 * Begin, if there is a collector.
 *
 * @param tracer zeroed
 * @param settings borrowed
 * @retval ZD_INVALID as zd_trace_judge
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_trace_open(struct zd_tracer *tracer, uv_loop_t *loop,
    const struct zd_settings *settings, struct zd_error *err);

/** The process ends: a last batch is sent, for half a second at most; the loop runs until then, and
 * closes what is open. Accepts a zeroed one. */
void zd_trace_stop(struct zd_tracer *tracer);
void zd_trace_done(struct zd_tracer *tracer); /* after that; accepts a zeroed one */

/**
 * A request begins: whether it is traced is what its caller says, else chance (trace.per_million).
 *
 * @param parent   of the request, or NULL
 * @param began_ns uv_hrtime
 * @return owned until zd_trace_end; NULL: it is not traced
 */
struct zd_trace *zd_trace_begin(
    struct zd_tracer *tracer, const struct zd_traceparent *parent, uint64_t began_ns);

/** Add a span. @param trace or NULL @param name a literal */
void zd_trace_add(struct zd_trace *trace, const char *name, uint64_t began_ns, uint64_t ended_ns);

/** The request has ended. @param trace is freed; or NULL @param access NULL: it had no answer, and
 * is forgotten */
void zd_trace_end(struct zd_tracer *tracer, struct zd_trace *trace, const struct zd_access *access);

#endif
