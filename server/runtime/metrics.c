/* Counts and durations. */
#include "server/runtime/metrics.h"

#include "core/base/own.h"

const double zd_metrics_bounds[ZD_METRICS_BUCKETS] = {
    .005, .01, .025, .05, .075, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10};

enum zd_status zd_metrics_init(struct zd_metrics *metrics, uint32_t n_routes, struct zd_error *err)
{
    metrics->row = zd_alloc_zero((size_t)n_routes + 1, sizeof *metrics->row);
    if (metrics->row == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory to count %u routes", n_routes);
    }
    metrics->n_rows = n_routes + 1;
    return ZD_OK;
}

void zd_metrics_done(struct zd_metrics *metrics)
{
    zd_free(metrics->row);
    metrics->row = NULL;
    metrics->n_rows = 0;
}

void zd_metrics_access(struct zd_metrics *metrics, const struct zd_access *access)
{
    if (access->route_number >= metrics->n_rows) {
        return;
    }
    const double seconds = (double)access->duration_ns / 1e9;
    const unsigned class = access->http_status / 100;
    struct zd_metric_requests *requests =
        &metrics->row[access->route_number].class[class < ZD_METRICS_CLASSES ? class : 0];
    requests->n++;
    requests->body_bytes += access->body_bytes;
    requests->seconds += seconds;
    for (size_t i = 0; i < ZD_METRICS_BUCKETS; i++) {
        requests->bucket[i] += seconds <= zd_metrics_bounds[i] ? 1 : 0;
    }
}
