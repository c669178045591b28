/* /metrics: counters since the start, in Prometheus' text format 0.0.4. */
#include "core/base/num.h"
#include "core/store/disk/disk_tier.h"
#include "core/store/remote/remote_plan.h"
#include "core/store/transfer/transfer.h"
#include "server/data/catalog.h"
#include "server/request/admit.h"
#include "server/request/handler.h"
#include "server/request/access/jwts.h"
#include "server/request/permission.h"
#include "server/request/route.h"
#include "server/runtime/server.h"

#define DOCUMENT_BYTES_MAX (16U << 20)
#define LABELS_BYTES_MAX   256

static void add_head(struct zd_text *text, const char *name, const char *type, const char *help)
{
    zd_text_addf(text, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void add_one(
    struct zd_text *text, const char *name, const char *type, const char *help, uint64_t value)
{
    add_head(text, name, type, help);
    zd_text_addf(text, "%s %llu\n", name, (unsigned long long)value);
}

static void add_series(struct zd_text *text, const char *name, const char *labels,
    const struct zd_metric_requests *requests)
{
    for (size_t i = 0; i < ZD_METRICS_BUCKETS; i++) {
        zd_text_addf(text, "%s_bucket{%s,le=\"%g\"} %llu\n", name, labels, zd_metrics_bounds[i],
            (unsigned long long)requests->bucket[i]);
    }
    zd_text_addf(text,
        "%s_bucket{%s,le=\"+Inf\"} %llu\n"
        "%s_sum{%s} %.9g\n"
        "%s_count{%s} %llu\n",
        name, labels, (unsigned long long)requests->n, name, labels, requests->seconds, name,
        labels, (unsigned long long)requests->n);
}

static void add_histogram(
    struct zd_text *text, const char *labels, const struct zd_metric_requests *requests)
{
    add_series(text, "http_request_duration_seconds", labels, requests);
}

static void add_bytes(
    struct zd_text *text, const char *labels, const struct zd_metric_requests *requests)
{
    zd_text_addf(text, "zarrd_response_bytes_total{%s} %llu\n", labels,
        (unsigned long long)requests->body_bytes);
}

static void add_each_route(const struct zd_metrics *metrics, struct zd_text *text,
    void (*add)(struct zd_text *, const char *labels, const struct zd_metric_requests *))
{
    for (uint32_t row = 0; row < metrics->n_rows; row++) {
        const struct zd_route *route = zd_route_of(zd_handlers, row);
        for (unsigned class = 0; class < ZD_METRICS_CLASSES; class ++) {
            ZD_SCOPED_TEXT(labels, LABELS_BYTES_MAX);
            zd_text_addf(&labels, "method=\"%s\",route=\"%s\",class=\"%uxx\"",
                route == NULL ? "" : route->method, route == NULL ? "" : route->path, class);
            if (metrics->row[row].class[class].n > 0) {
                add(text, labels.at, &metrics->row[row].class[class]);
            }
        }
    }
}

/* A dataset that has left the table may have been private. */
static bool is_told(const struct zd_request *req, const char *name)
{
    const struct zd_dataset *dataset =
        name == NULL ? NULL : zd_dataset_find(req->server, zd_span_of(name));
    return dataset != NULL ? zd_permission_names(req, dataset)
                           : name == NULL || !req->server->has_private;
}

/* Datasets have a family of their own: the number of rows grows with routes and datasets, not with
 * their product. */
static void add_datasets(const struct zd_request *req, struct zd_text *text)
{
    const struct zd_metrics *metrics = &req->server->metrics;
    add_head(text, "zarrd_dataset_request_duration_seconds", "histogram",
        "Duration of requests for one dataset. The first 128 datasets have series; further "
        "datasets share the label _other.");
    for (uint32_t i = 0; i < metrics->n_datasets; i++) {
        const struct zd_metric_dataset *dataset = metrics->dataset[i];
        if (!is_told(req, dataset->name)) {
            continue;
        }
        for (unsigned class = 0; class < ZD_METRICS_CLASSES; class ++) {
            ZD_SCOPED_TEXT(labels, LABELS_BYTES_MAX);
            zd_text_addf(&labels, "dataset=\"%s\",class=\"%uxx\"",
                dataset->name == NULL ? "_other" : dataset->name, class);
            if (dataset->requests.class[class].n > 0) {
                add_series(text, "zarrd_dataset_request_duration_seconds", labels.at,
                    &dataset->requests.class[class]);
            }
        }
    }
}

static void add_phases(const struct zd_metrics *metrics, struct zd_text *text)
{
    add_head(text, "zarrd_request_phase_seconds_total", "counter",
        "Seconds that requests spent in each phase, including waits.");
    for (unsigned i = 0; i < ZD_TIMES; i++) {
        zd_text_addf(text, "zarrd_request_phase_seconds_total{phase=\"%s\"} %.9g\n",
            zd_times_name(i), metrics->phase_seconds[i]);
    }
}

static void add_requests(const struct zd_request *req, struct zd_text *text)
{
    const struct zd_metrics *metrics = &req->server->metrics;
    add_head(text, "http_request_duration_seconds", "histogram",
        "Seconds from the request line to the last byte of the answer.");
    add_each_route(metrics, text, add_histogram);
    add_head(text, "zarrd_response_bytes_total", "counter", "Bytes of answer bodies.");
    add_each_route(metrics, text, add_bytes);
    add_datasets(req, text);
    add_phases(metrics, text);
    add_one(text, "http_requests_in_flight", "gauge", "Running requests.", metrics->n_in_flight);
    add_one(text, "http_connections", "gauge", "Open connections.", metrics->n_connections);
    add_one(text, "zarrd_problems_total", "counter", "Answers with a problem document.",
        metrics->n_problems);
    add_head(text, "zarrd_unavailable_total", "counter", "Answers with status 503, by reason.");
    for (unsigned why = ZD_UNAVAILABLE_BY_CODE + 1; why < ZD_UNAVAILABLES; why++) {
        zd_text_addf(text, "zarrd_unavailable_total{reason=\"%s\"} %llu\n",
            zd_problem_unavailable_name(why), (unsigned long long)metrics->n_unavailable[why]);
    }
    add_one(text, "zarrd_refused_total", "counter",
        "Requests that were malformed, too large, or came too slowly.", metrics->n_refused);
    add_one(text, "zarrd_clients_left_total", "counter",
        "Clients that disconnected before their answer was ready.", metrics->n_left);
    add_one(text, "zarrd_slow_readers_total", "counter",
        "Connections closed because the client read its answer too slowly.", metrics->n_slow);
    add_one(text, "zarrd_unknown_clients_total", "counter",
        "Requests with an unknown client address, because the headers of proxies contradict each "
        "other or are malformed.",
        metrics->n_unknown);
    add_one(text, "zarrd_streams_cut_total", "counter",
        "Streamed bodies that were cut before their end.", metrics->n_cut);
}

static void add_keys(const struct zd_server *server, struct zd_text *text)
{
    add_one(text, "zarrd_jwt_verifications_total", "counter",
        "Signatures of JSON Web Tokens that were checked, valid or not.",
        server->metrics.n_verified);
    add_one(text, "zarrd_jwt_keys", "gauge", "Keys that verify JSON Web Tokens.",
        zd_jwts_count(server->jwts));
    add_one(text, "zarrd_jwt_keys_stale", "gauge",
        "1 while access.jwks_url has failed for access.jwks_stale_ms.", server->has_stale_keys);
}

static void add_work(const struct zd_metrics *metrics, struct zd_text *text)
{
    add_one(text, "zarrd_decodes_total", "counter", "Chunks and shard indexes decoded.",
        metrics->n_decodes);
    add_one(text, "zarrd_decoded_bytes_total", "counter", "Bytes produced by decoding.",
        metrics->n_decoded_bytes);
    add_one(text, "zarrd_read_ahead_chunks_total", "counter",
        "Chunks of remote stores that were read ahead.", metrics->n_ahead);
    add_one(text, "zarrd_read_ahead_cancelled_total", "counter",
        "Chunks whose read-ahead was cancelled before they arrived.", metrics->n_ahead_cancelled);
    add_one(text, "zarrd_compressions_total", "counter", "Answers compressed.",
        metrics->n_compressions);
    add_one(text, "zarrd_jobs_total", "counter", "Jobs given to workers.", metrics->n_jobs);
    add_one(text, "zarrd_jobs_inline_total", "counter", "Jobs done on the loop thread.",
        metrics->n_jobs_inline);
    add_one(text, "zarrd_jobs_dropped_total", "counter",
        "Jobs dropped because no request needed their result.", metrics->n_jobs_dropped);
}

/* A member of 64 bits of every store, cache or lane. */
struct series {
    const char *name;
    const char *type;
    const char *help;
    size_t offset;
};

#define SERIES(owner, metric, kind, field, meaning)                                                \
    {metric, kind, meaning, offsetof(struct owner, field)}

static unsigned long long member(const void *object, const struct series *series)
{
    return zd_load_u64((const char *)object + series->offset);
}

static void add_stores(const struct zd_request *req, struct zd_text *text)
{
    const struct zd_server *server = req->server;
    static const struct series all[] = {
        SERIES(zd_store, "zarrd_store_reads_total", "counter", n_reads, "Reads sent to the store."),
        SERIES(zd_store, "zarrd_store_read_bytes_total", "counter", n_read_bytes,
            "Bytes read from the store."),
        SERIES(zd_store, "zarrd_store_statuses_total", "counter", n_statuses,
            "Status requests for objects."),
        SERIES(zd_store, "zarrd_store_lists_total", "counter", n_lists,
            "Listings requested from the store."),
        SERIES(zd_store, "zarrd_store_visited_total", "counter", n_visited,
            "Entries visited by listings."),
        SERIES(zd_store, "zarrd_store_writes_total", "counter", n_writes,
            "Writes and erasures sent to the store."),
        SERIES(zd_store, "zarrd_store_joined_total", "counter", n_events[ZD_STORE_JOINED],
            "Reads that shared a read already in progress."),
        SERIES(zd_store, "zarrd_store_retries_total", "counter", n_events[ZD_STORE_RETRIED],
            "Repeated attempts at operations of remote stores."),
        SERIES(zd_store, "zarrd_store_hedges_total", "counter", n_events[ZD_STORE_HEDGED],
            "Reads sent a second time because the first was slow."),
        SERIES(zd_store, "zarrd_store_refused_total", "counter", n_events[ZD_STORE_PAUSED],
            "Operations refused during a pause after failures of the endpoint."),
    };
    for (size_t i = 0; i < ZD_COUNT_OF(all); i++) {
        add_head(text, all[i].name, all[i].type, all[i].help);
        for (size_t k = 0; k < server->n_datasets; k++) {
            const struct zd_dataset *dataset = server->dataset[k];
            if (!zd_permission_names(req, dataset)) {
                continue;
            }
            zd_text_addf(text, "%s{dataset=\"%s\"} %llu\n", all[i].name, dataset->config.name,
                dataset->store == NULL ? 0 : member(dataset->store, &all[i]));
        }
    }
}

static void add_paused(const struct zd_request *req, struct zd_text *text)
{
    const struct zd_server *server = req->server;
    add_head(text, "zarrd_store_paused", "gauge",
        "1 while requests to the endpoint of a remote store pause after failures.");
    for (size_t k = 0; k < server->n_datasets; k++) {
        const struct zd_dataset *dataset = server->dataset[k];
        if (!zd_permission_names(req, dataset)) {
            continue;
        }
        zd_text_addf(text, "zarrd_store_paused{dataset=\"%s\"} %d\n", dataset->config.name,
            zd_remote_plan_paused_ms(dataset->store) > 0);
    }
}

static void add_remote_times(
    const char *method, const struct zd_transfer_times *times, struct zd_text *text)
{
    for (size_t i = 0; i < ZD_TRANSFER_TIMES && times->n > 0; i++) {
        zd_text_addf(text,
            "zarrd_remote_request_duration_seconds_bucket{method=\"%s\",le=\"%g\"} %llu\n", method,
            zd_transfer_bounds[i], (unsigned long long)times->within[i]);
    }
    if (times->n > 0) {
        zd_text_addf(text,
            "zarrd_remote_request_duration_seconds_bucket{method=\"%s\",le=\"+Inf\"} %llu\n"
            "zarrd_remote_request_duration_seconds_sum{method=\"%s\"} %.9g\n"
            "zarrd_remote_request_duration_seconds_count{method=\"%s\"} %llu\n",
            method, (unsigned long long)times->n, method, times->seconds, method,
            (unsigned long long)times->n);
    }
}

static void add_remote(const struct zd_transfer_pool *pool, struct zd_text *text)
{
    if (pool == NULL) {
        return;
    }
    const struct zd_transfer_counts counts = zd_transfer_pool_counts(pool);
    add_head(text, "zarrd_remote_requests_total", "counter",
        "Requests sent to remote stores, including repeated attempts.");
    for (unsigned i = 0; i < ZD_TRANSFER_METHODS; i++) {
        zd_text_addf(text, "zarrd_remote_requests_total{method=\"%s\"} %llu\n",
            zd_transfer_exchange_method_name(i), (unsigned long long)counts.n_started[i]);
    }
    add_head(text, "zarrd_remote_request_duration_seconds", "histogram",
        "Seconds from sending a request to a remote store to its last byte or failure.");
    for (unsigned i = 0; i < ZD_TRANSFER_METHODS; i++) {
        add_remote_times(zd_transfer_exchange_method_name(i), &counts.times[i], text);
    }
    add_one(text, "zarrd_remote_connections_total", "counter",
        "Connections opened to remote stores; other requests reused one.", counts.n_connected);
    add_one(text, "zarrd_remote_received_bytes_total", "counter",
        "Bytes of bodies received from remote stores.", counts.n_bytes);
}

static void add_caches(const struct zd_server *server, struct zd_text *text)
{
    static const struct series all[] = {
        SERIES(zd_cache, "zarrd_cache_hits_total", "counter", n_hits,
            "Lookups that found an entry in the cache."),
        SERIES(zd_cache, "zarrd_cache_misses_total", "counter", n_misses,
            "Lookups that found no entry in the cache."),
        SERIES(zd_cache, "zarrd_cache_evicted_total", "counter", n_evicted,
            "Entries evicted to make room."),
        SERIES(zd_cache, "zarrd_cache_bytes", "gauge", bytes, "Bytes in the cache."),
        SERIES(zd_cache, "zarrd_cache_bytes_max", "gauge", bytes_max,
            "The most bytes that the cache may hold."),
    };
    const struct zd_list *caches = &server->caches;
    for (size_t i = 0; i < ZD_COUNT_OF(all); i++) {
        add_head(text, all[i].name, all[i].type, all[i].help);
        for (const struct zd_list *at = caches->next; at != caches; at = at->next) {
            const struct zd_cache *cache = ZD_CONTAINER(at, const struct zd_cache, link);
            zd_text_addf(
                text, "%s{cache=\"%s\"} %llu\n", all[i].name, cache->name, member(cache, &all[i]));
        }
    }
}

static void add_disk(const struct zd_disk_tier *tier, struct zd_text *text)
{
    static const struct series all[] = {
        SERIES(zd_disk_counts, "zarrd_disk_on", "gauge", is_on,
            "1 while the disk cache at cache.disk_path is in use."),
        SERIES(zd_disk_counts, "zarrd_disk_hits_total", "counter", n_hits,
            "Reads answered by the disk cache instead of a remote store."),
        SERIES(zd_disk_counts, "zarrd_disk_hit_bytes_total", "counter", n_hit_bytes,
            "Bytes read from the disk cache."),
        SERIES(zd_disk_counts, "zarrd_disk_revalidated_total", "counter", n_revalidated,
            "Disk cache hits that were revalidated with the store."),
        SERIES(zd_disk_counts, "zarrd_disk_misses_total", "counter", n_misses,
            "Reads answered by a remote store."),
        SERIES(zd_disk_counts, "zarrd_disk_kept_total", "counter", n_kept,
            "Entries written to the disk cache."),
        SERIES(zd_disk_counts, "zarrd_disk_skipped_total", "counter", n_skipped,
            "Reads not added to the disk cache, because they were too large or the disk too slow."),
        SERIES(zd_disk_counts, "zarrd_disk_dropped_total", "counter", n_dropped,
            "Damaged entries of the disk cache."),
        SERIES(zd_disk_counts, "zarrd_disk_evicted_total", "counter", n_evicted,
            "Entries evicted to make room."),
        SERIES(
            zd_disk_counts, "zarrd_disk_entries", "gauge", n_entries, "Entries in the disk cache."),
        SERIES(zd_disk_counts, "zarrd_disk_bytes", "gauge", bytes,
            "Bytes of disk space in use, in whole blocks."),
        SERIES(zd_disk_counts, "zarrd_disk_bytes_max", "gauge", bytes_max,
            "The most bytes that the cache may hold."),
    };
    if (tier == NULL) {
        return;
    }
    const struct zd_disk_counts counts = zd_disk_tier_count(tier);
    for (size_t i = 0; i < ZD_COUNT_OF(all); i++) {
        add_one(text, all[i].name, all[i].type, all[i].help, member(&counts, &all[i]));
    }
}

static void add_lanes(const struct zd_admission *admission, struct zd_text *text)
{
    static const struct series all[] = {
        SERIES(zd_lane, "zarrd_admission_bytes", "gauge", bytes,
            "Bytes of memory that running requests hold."),
        SERIES(zd_lane, "zarrd_admission_bytes_max", "gauge", bytes_max,
            "The most bytes of memory that running requests may hold."),
        SERIES(zd_lane, "zarrd_admission_working", "gauge", n_working,
            "Requests that have been admitted and are running."),
        SERIES(zd_lane, "zarrd_admission_working_max", "gauge", places_max,
            "The most requests that may run: per endpoint, and for all datasets without an "
            "endpoint."),
        SERIES(zd_lane, "zarrd_admission_waiting", "gauge", n_waiting,
            "Requests that wait for admission."),
        SERIES(zd_lane, "zarrd_admission_waiting_bytes", "gauge", bytes_waiting,
            "Bytes of memory that waiting requests need."),
        SERIES(zd_lane, "zarrd_admission_total", "counter", n_admitted, "Requests admitted."),
    };
    for (size_t i = 0; i < ZD_COUNT_OF(all); i++) {
        add_head(text, all[i].name, all[i].type, all[i].help);
        for (size_t k = 0; k < ZD_LANES; k++) {
            zd_text_addf(text, "%s{lane=\"%s\"} %llu\n", all[i].name, zd_admission_lane_name(k),
                member(&admission->lane[k], &all[i]));
        }
    }
    add_head(text, "zarrd_admission_queue_seconds", "summary",
        "Seconds that requests waited for admission.");
    for (size_t k = 0; k < ZD_LANES; k++) {
        const struct zd_lane *lane = &admission->lane[k];
        zd_text_addf(text,
            "zarrd_admission_queue_seconds_sum{lane=\"%s\"} %.3f\n"
            "zarrd_admission_queue_seconds_count{lane=\"%s\"} %llu\n",
            zd_admission_lane_name(k), (double)lane->waited_ms / 1000.0, zd_admission_lane_name(k),
            (unsigned long long)lane->n_waited);
    }
}

static void add_shed(const struct zd_admission *admission, struct zd_text *text)
{
    add_head(text, "zarrd_requests_shed_total", "counter",
        "Requests refused because the server was overloaded.");
    for (size_t k = 0; k < ZD_LANES; k++) {
        for (size_t i = 0; i < ZD_SHEDS; i++) {
            zd_text_addf(text, "zarrd_requests_shed_total{lane=\"%s\",reason=\"%s\"} %llu\n",
                zd_admission_lane_name(k), zd_admission_shed_name(i),
                (unsigned long long)admission->lane[k].n_shed[i]);
        }
    }
}

static void add_memory(const struct zd_memory *memory, struct zd_text *text)
{
    const unsigned long long cached =
        memory->decoded_bytes + memory->encoded_bytes + memory->metadata_bytes;
    add_head(text, "zarrd_memory_budget_bytes", "gauge", "Bytes of memory that each part may use.");
    zd_text_addf(text,
        "zarrd_memory_budget_bytes{part=\"process\"} %llu\n"
        "zarrd_memory_budget_bytes{part=\"requests\"} %llu\n"
        "zarrd_memory_budget_bytes{part=\"caches\"} %llu\n",
        (unsigned long long)memory->bytes, (unsigned long long)memory->work_bytes, cached);
}

static void add_stall(const struct zd_stall *stall, struct zd_text *text)
{
    add_head(text, "zarrd_loop_stall_seconds", "histogram",
        "Seconds of one turn of the event loop, during which no other event is served.");
    for (size_t i = 0; i < ZD_STALL_BUCKETS; i++) {
        zd_text_addf(text, "zarrd_loop_stall_seconds_bucket{le=\"%g\"} %llu\n", zd_stall_bounds[i],
            (unsigned long long)stall->bucket[i]);
    }
    zd_text_addf(text,
        "zarrd_loop_stall_seconds_bucket{le=\"+Inf\"} %llu\n"
        "zarrd_loop_stall_seconds_sum %.9g\n"
        "zarrd_loop_stall_seconds_count %llu\n",
        (unsigned long long)stall->n, (double)stall->ns / 1e9, (unsigned long long)stall->n);
    add_head(text, "zarrd_loop_stall_longest_seconds", "gauge",
        "Seconds of the longest turn of the event loop.");
    zd_text_addf(text, "zarrd_loop_stall_longest_seconds %.9g\n", (double)stall->longest_ns / 1e9);
}

/* Small and large requests have equally many workers. */
static void add_workers(const struct zd_workers *workers, struct zd_text *text)
{
    add_one(
        text, "zarrd_jobs_waiting", "gauge", "Jobs that wait for a worker.", workers->n_waiting);
    add_head(text, "zarrd_workers", "gauge", "Worker threads for small and for large requests.");
    zd_text_addf(text, "zarrd_workers{lane=\"small\"} %u\nzarrd_workers{lane=\"large\"} %u\n",
        workers->n_workers, workers->n_workers);
    add_head(text, "zarrd_jobs_running", "gauge", "Jobs that workers are running.");
    zd_text_addf(text,
        "zarrd_jobs_running{lane=\"small\"} %u\nzarrd_jobs_running{lane=\"large\"} %u\n",
        workers->small.n_given, workers->large.n_given);
}

static void add_traces(const struct zd_tracer *tracer, struct zd_text *text)
{
    add_one(text, "zarrd_trace_spans_sent_total", "counter", "Spans that the collector accepted.",
        tracer->n_sent);
    add_head(text, "zarrd_trace_spans_dropped_total", "counter", "Spans that were dropped.");
    for (unsigned i = 0; i < ZD_TRACE_LOSSES; i++) {
        zd_text_addf(text, "zarrd_trace_spans_dropped_total{reason=\"%s\"} %llu\n",
            zd_trace_loss_name(i), (unsigned long long)tracer->n_lost[i]);
    }
    add_one(text, "zarrd_trace_spans_waiting", "gauge", "Spans that wait for the collector.",
        tracer->n_waiting + tracer->n_sending);
}

static void add_metrics(const struct zd_request *req, struct zd_text *text)
{
    const struct zd_server *server = req->server;
    add_requests(req, text);
    add_keys(server, text);
    add_work(&server->metrics, text);
    add_workers(&server->workers, text);
    add_stall(&server->stall, text);
    add_memory(&server->memory, text);
    add_lanes(&server->admit->admission, text);
    add_shed(&server->admit->admission, text);
    add_caches(server, text);
    add_disk(server->remote.disk, text);
    add_stores(req, text);
    add_paused(req, text);
    add_remote(server->remote.pool, text);
    add_traces(&server->tracer, text);
    add_one(text, "zarrd_log_dropped_total", "counter",
        "Log lines lost because the output was full.", server->log.n_dropped);
    add_one(text, "zarrd_allocations_total", "counter", "Memory allocations.", zd_alloc_count());
    size_t rss_bytes = 0;
    if (uv_resident_set_memory(&rss_bytes) == 0) {
        add_one(text, "process_resident_memory_bytes", "gauge", "Resident memory.", rss_bytes);
    }
    add_head(text, "process_start_time_seconds", "gauge",
        "Start time of the process, in seconds since 1970.");
    zd_text_addf(text, "process_start_time_seconds %.3f\n", (double)server->started_ms / 1000.0);
    add_head(text, "zarrd_build_info", "gauge", "Always 1; the label has the version.");
    zd_text_add(text, "zarrd_build_info{version=\"" ZD_VERSION "\"} 1\n");
}

static enum zd_next step_metrics(struct zd_request *req)
{
    ZD_SCOPED_TEXT(text, DOCUMENT_BYTES_MAX);
    add_metrics(req, &text);
    struct zd_representation representation = {
        .media_type = "text/plain; version=0.0.4; charset=utf-8",
    };
    return zd_respond_text(req, &text, &representation);
}

static const struct zd_route routes[] = {
    {.method = "GET",
        .path = "/metrics",
        .first = step_metrics,
        .scope = ZD_SCOPE_ADMIN,
        .params = zd_params_none},
};

const struct zd_handler zd_handler_metrics = {.route = routes, .n_routes = ZD_COUNT_OF(routes)};
