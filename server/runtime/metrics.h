/* Counts and durations. Thread: loop. */
#ifndef ZD_RUNTIME_METRICS_H
#define ZD_RUNTIME_METRICS_H

#include "core/base/status.h"
#include "server/http/problem.h"
#include "server/runtime/times.h"

#define ZD_METRICS_BUCKETS  14
#define ZD_METRICS_DATASETS 128 /* that have counts of their own; further ones share one row */

/** Counts of the answers of a route and a class of status. */
struct zd_metric_requests {
    uint64_t n;
    uint64_t body_bytes;
    double seconds;
    uint64_t bucket[ZD_METRICS_BUCKETS];
};

#define ZD_METRICS_CLASSES 6 /* [1] 1xx ... [5] 5xx */

/** Counts of the answers of a route. */
struct zd_metric_row {
    struct zd_metric_requests class[ZD_METRICS_CLASSES];
};

/** Counts of the answers about a dataset. */
struct zd_metric_dataset {
    char *name; /* owned; NULL: of all those that have no counts of their own */
    struct zd_metric_row requests;
};

struct zd_metrics {
    struct zd_metric_row *row; /* by the number of the route; [0]: no route; owned */
    uint32_t n_rows;
    struct zd_metric_dataset *dataset[ZD_METRICS_DATASETS + 1]; /* n_datasets of them; owned */
    uint32_t n_datasets;
    double phase_seconds[ZD_TIMES];          /* of all requests */
    uint64_t n_unavailable[ZD_UNAVAILABLES]; /* answers 503, by their reason */
    uint64_t n_in_flight;
    uint64_t n_connections;
    uint64_t n_answered; /* requests whose answer was sent whole */
    uint64_t n_decodes;  /* chunks and shard indexes decoded */
    uint64_t n_decoded_bytes;
    uint64_t n_ahead;           /* chunks read before anybody wanted them */
    uint64_t n_ahead_cancelled; /* of them, before they were there */
    uint64_t n_jobs;            /* given to workers */
    uint64_t n_jobs_inline;     /* done on the loop thread instead */
    uint64_t n_jobs_dropped;    /* no request needed their result */
    uint64_t n_problems;        /* answers with a problem document */
    uint64_t n_refused;         /* of them to what was no request, or came too slowly */
    uint64_t n_compressions;    /* bodies compressed */
    uint64_t n_verified;        /* signatures of JSON Web Tokens, good or bad */
    uint64_t n_left;            /* clients that disconnected before their answer was ready */
    uint64_t n_slow;    /* connections ended because their client took its answer too slowly */
    uint64_t n_cut;     /* streamed bodies that ended too early */
    uint64_t n_unknown; /* requests whose client's address no proxy says in a way that counts */
};

/** A finished request, for the log and the metrics. Everything is borrowed during the call
 * that takes it. */
struct zd_access {
    const char *method;            /* as sent */
    const char *target;            /* as sent, without secrets */
    const char *id;                /* X-Request-Id */
    const struct sockaddr *client; /* NULL: unknown */
    const char *identity;          /* NULL: anonymous */
    const char *dataset;           /* or NULL */
    const char *node;              /* its path, where it was looked for; or NULL */
    const char *route;             /* its template, or NULL */
    const char *trace_id;          /* 32 digits, or NULL */
    const struct zd_times *times;  /* or NULL: nothing is known of them */
    uint32_t dataset_number;       /* of zd_metrics_dataset; 0: of none */
    unsigned http_status;
    uint32_t route_number; /* of zd_route_of; 0: none */
    uint64_t body_bytes;   /* of the answer's body, as far as it was sent */
    uint64_t duration_ns;
    const char *problem_code; /* or NULL */
    const char *reason;       /* of the problem: its detail; or NULL */
    bool was_cut;             /* the answer's body ended too early */
};

/** Upper bounds of the buckets, in seconds. */
extern const double zd_metrics_bounds[ZD_METRICS_BUCKETS];

/** Make a row for each route. @param metrics zeroed @retval ZD_NO_MEMORY */
ZD_RESULT zd_metrics_init(struct zd_metrics *metrics, uint32_t n_routes, struct zd_error *err);
void zd_metrics_done(struct zd_metrics *metrics); /* accepts a zeroed one */

/**
 * The number by which requests about a dataset are counted: always the same for a name, and the
 * same for all names that come after the first ZD_METRICS_DATASETS.
 *
 * @return 0: no memory
 */
uint32_t zd_metrics_dataset(struct zd_metrics *metrics, const char *name);

/** Count one finished request. */
void zd_metrics_access(struct zd_metrics *metrics, const struct zd_access *access);

#endif
