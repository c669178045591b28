/* Counts and durations. */
#include "server/runtime/metrics.h"

#include <string.h>

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
    for (uint32_t i = 0; i < metrics->n_datasets; i++) {
        zd_free(metrics->dataset[i]->name);
        zd_free(metrics->dataset[i]);
    }
    metrics->n_datasets = 0;
}

/* @param name NULL: of all others */
static uint32_t add_dataset(struct zd_metrics *metrics, const char *name)
{
    struct zd_metric_dataset *dataset = zd_alloc_zero(1, sizeof *dataset);
    char *own = name == NULL ? NULL : zd_strdup(name);
    if (dataset == NULL || (name != NULL && own == NULL)) {
        zd_free(dataset);
        zd_free(own);
        return 0;
    }
    dataset->name = own;
    metrics->dataset[metrics->n_datasets++] = dataset;
    return metrics->n_datasets;
}

uint32_t zd_metrics_dataset(struct zd_metrics *metrics, const char *name)
{
    for (uint32_t i = 0; i < metrics->n_datasets; i++) {
        const char *known = metrics->dataset[i]->name;
        if (known == NULL || strcmp(known, name) == 0) {
            return i + 1; /* the last one is of all others */
        }
    }
    return add_dataset(metrics, metrics->n_datasets < ZD_METRICS_DATASETS ? name : NULL);
}

static void count(struct zd_metric_row *row, const struct zd_access *access)
{
    const double seconds = (double)access->duration_ns / 1e9;
    const unsigned class = access->http_status / 100;
    struct zd_metric_requests *requests = &row->class[class < ZD_METRICS_CLASSES ? class : 0];
    requests->n++;
    requests->body_bytes += access->body_bytes;
    requests->seconds += seconds;
    for (size_t i = 0; i < ZD_METRICS_BUCKETS; i++) {
        requests->bucket[i] += seconds <= zd_metrics_bounds[i] ? 1 : 0;
    }
}

void zd_metrics_access(struct zd_metrics *metrics, const struct zd_access *access)
{
    if (access->route_number < metrics->n_rows) {
        count(&metrics->row[access->route_number], access);
    }
    if (access->dataset_number > 0 && access->dataset_number <= metrics->n_datasets) {
        count(&metrics->dataset[access->dataset_number - 1]->requests, access);
    }
    metrics->n_unknown += access->client == NULL;
    for (size_t i = 0; i < ZD_TIMES && access->times != NULL; i++) {
        metrics->phase_seconds[i] += (double)access->times->ns[i] / 1e9;
    }
}
