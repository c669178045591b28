/* Counts and durations, and their Prometheus text. Thread: loop. */
#ifndef ZD_RUNTIME_METRICS_H
#define ZD_RUNTIME_METRICS_H

#include "core/base/text.h"

#define ZD_METRICS_BUCKETS                                                                         \
    14 /* upper bounds in seconds: .005 .01 .025 .05 .075 .1 .25 .5 .75 1 2.5 5 7.5 10 */

/** What a route's answers were. One such block a route and status class. */
struct zd_metric_requests {
    uint64_t n;
    uint64_t body_bytes;
    double seconds;
    uint64_t bucket[ZD_METRICS_BUCKETS];
};

#define ZD_METRICS_ROUTES  48
#define ZD_METRICS_CLASSES 6 /* [1] 1xx ... [5] 5xx */

struct zd_metrics {
    struct zd_metric_requests request[ZD_METRICS_ROUTES][ZD_METRICS_CLASSES];
    uint64_t n_in_flight;
    uint64_t n_connections;
    uint64_t n_decodes; /* chunks and shard indexes decoded */
    uint64_t n_decoded_bytes;
    uint64_t n_jobs;         /* given to workers */
    uint64_t n_jobs_inline;  /* done on the loop thread instead */
    uint64_t n_jobs_dropped; /* nobody waited any more */
    uint64_t n_problems;     /* answers with a problem document */
    uint64_t n_refused;      /* of them to what was no request, or came too slowly */
    uint64_t n_compressions; /* bodies compressed */
    uint64_t n_left;         /* clients that left while their request was worked on */
    uint64_t n_cut;          /* streamed bodies that ended too early */
};

/** Count one answered request. @param route its number (zd_match), 0 = none */
void zd_metrics_request(struct zd_metrics *metrics, uint32_t route, unsigned http_status,
    uint64_t body_bytes, double seconds);

struct zd_server;

/** All of it in the text format 0.0.4: requests, caches, stores, process. */
void zd_metrics_add(const struct zd_server *server, struct zd_text *text);

#endif
