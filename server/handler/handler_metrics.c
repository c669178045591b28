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
        "The same, of requests about one dataset; of the first 128 datasets that were asked for, "
        "the others are _other.");
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
        "What requests spent their time on, or waited for.");
    for (unsigned i = 0; i < ZD_TIMES; i++) {
        zd_text_addf(text, "zarrd_request_phase_seconds_total{phase=\"%s\"} %.9g\n",
            zd_times_name(i), metrics->phase_seconds[i]);
    }
}

static void add_requests(const struct zd_request *req, struct zd_text *text)
{
    const struct zd_metrics *metrics = &req->server->metrics;
    add_head(text, "http_request_duration_seconds", "histogram",
        "From the request line to the last byte of the answer.");
    add_each_route(metrics, text, add_histogram);
    add_head(text, "zarrd_response_bytes_total", "counter", "Bytes of answered bodies.");
    add_each_route(metrics, text, add_bytes);
    add_datasets(req, text);
    add_phases(metrics, text);
    add_one(text, "http_requests_in_flight", "gauge", "Requests under way.", metrics->n_in_flight);
    add_one(text, "http_connections", "gauge", "Open connections.", metrics->n_connections);
    add_one(text, "zarrd_problems_total", "counter", "Answers with a problem document.",
        metrics->n_problems);
    add_head(text, "zarrd_unavailable_total", "counter", "Answers 503, by their reason.");
    for (unsigned why = ZD_UNAVAILABLE_BY_CODE + 1; why < ZD_UNAVAILABLES; why++) {
        zd_text_addf(text, "zarrd_unavailable_total{reason=\"%s\"} %llu\n",
            zd_problem_unavailable_name(why), (unsigned long long)metrics->n_unavailable[why]);
    }
    add_one(text, "zarrd_refused_total", "counter",
        "Requests that were malformed, too large, or came too slowly.", metrics->n_refused);
    add_one(text, "zarrd_clients_left_total", "counter",
        "Clients that disconnected before their answer was ready.", metrics->n_left);
    add_one(text, "zarrd_slow_readers_total", "counter",
        "Connections ended because their client took its answer too slowly.", metrics->n_slow);
    add_one(text, "zarrd_unknown_clients_total", "counter",
        "Requests whose client is unknown: what proxies say of it disagrees or cannot be read.",
        metrics->n_unknown);
    add_one(text, "zarrd_streams_cut_total", "counter", "Streamed bodies that ended too early.",
        metrics->n_cut);
}

static void add_keys(const struct zd_server *server, struct zd_text *text)
{
    add_one(text, "zarrd_jwt_verifications_total", "counter",
        "Signatures of JSON Web Tokens that were verified, good or bad.",
        server->metrics.n_verified);
    add_one(text, "zarrd_jwt_keys", "gauge", "Keys that JSON Web Tokens are judged by.",
        zd_jwts_count(server->jwts));
    add_one(text, "zarrd_jwt_keys_stale", "gauge",
        "1 while access.jwks_url has failed for access.jwks_stale_ms.", server->has_stale_keys);
}

static void add_work(const struct zd_metrics *metrics, struct zd_text *text)
{
    add_one(text, "zarrd_decodes_total", "counter", "Chunks and shard indexes decoded.",
        metrics->n_decodes);
    add_one(text, "zarrd_decoded_bytes_total", "counter", "Bytes that decoding made.",
        metrics->n_decoded_bytes);
    add_one(text, "zarrd_read_ahead_chunks_total", "counter",
        "Chunks of remote stores read before they were asked for.", metrics->n_ahead);
    add_one(text, "zarrd_read_ahead_cancelled_total", "counter",
        "Of them, those that were given up before they were there.", metrics->n_ahead_cancelled);
    add_one(text, "zarrd_compressions_total", "counter", "Answers compressed.",
        metrics->n_compressions);
    add_one(
        text, "zarrd_jobs_total", "counter", "Pieces of work given to workers.", metrics->n_jobs);
    add_one(text, "zarrd_jobs_inline_total", "counter", "Pieces of work done on the loop thread.",
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
        SERIES(
            zd_store, "zarrd_store_reads_total", "counter", n_reads, "Reads asked of the store."),
        SERIES(zd_store, "zarrd_store_read_bytes_total", "counter", n_read_bytes,
            "Bytes read from the store."),
        SERIES(zd_store, "zarrd_store_statuses_total", "counter", n_statuses,
            "Objects whose status was asked."),
        SERIES(zd_store, "zarrd_store_lists_total", "counter", n_lists,
            "Listings asked of the store."),
        SERIES(zd_store, "zarrd_store_visited_total", "counter", n_visited,
            "Entries that listings looked at."),
        SERIES(zd_store, "zarrd_store_writes_total", "counter", n_writes, "Writes and erasures."),
        SERIES(zd_store, "zarrd_store_joined_total", "counter", n_events[ZD_STORE_JOINED],
            "Reads that another one under way answered too."),
        SERIES(zd_store, "zarrd_store_retries_total", "counter", n_events[ZD_STORE_RETRIED],
            "Further attempts at operations of remote stores."),
        SERIES(zd_store, "zarrd_store_hedges_total", "counter", n_events[ZD_STORE_HEDGED],
            "Reads asked a second time because they were late."),
        SERIES(zd_store, "zarrd_store_refused_total", "counter", n_events[ZD_STORE_PAUSED],
            "Operations refused because their endpoint is left alone."),
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
        "Whether the endpoint of a remote store has failed and is left alone.");
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
        "Requests sent to remote stores, further attempts included.");
    for (unsigned i = 0; i < ZD_TRANSFER_METHODS; i++) {
        zd_text_addf(text, "zarrd_remote_requests_total{method=\"%s\"} %llu\n",
            zd_transfer_exchange_method_name(i), (unsigned long long)counts.n_started[i]);
    }
    add_head(text, "zarrd_remote_request_duration_seconds", "histogram",
        "From the turn of a request to a remote store to its last byte, or its failure.");
    for (unsigned i = 0; i < ZD_TRANSFER_METHODS; i++) {
        add_remote_times(zd_transfer_exchange_method_name(i), &counts.times[i], text);
    }
    add_one(text, "zarrd_remote_connections_total", "counter",
        "Connections made for them; the others used one again.", counts.n_connected);
    add_one(text, "zarrd_remote_received_bytes_total", "counter",
        "Bytes of bodies that remote stores have sent.", counts.n_bytes);
}

static void add_caches(const struct zd_server *server, struct zd_text *text)
{
    static const struct series all[] = {
        SERIES(zd_cache, "zarrd_cache_hits_total", "counter", n_hits, "Found in the cache."),
        SERIES(
            zd_cache, "zarrd_cache_misses_total", "counter", n_misses, "Not found in the cache."),
        SERIES(zd_cache, "zarrd_cache_evicted_total", "counter", n_evicted, "Entries pushed out."),
        SERIES(zd_cache, "zarrd_cache_bytes", "gauge", bytes, "Bytes held."),
        SERIES(zd_cache, "zarrd_cache_bytes_max", "gauge", bytes_max, "Bytes that may be held."),
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
        SERIES(zd_disk_counts, "zarrd_disk_on", "gauge", is_on, "1: cache.disk_path is in use."),
        SERIES(zd_disk_counts, "zarrd_disk_hits_total", "counter", n_hits,
            "Answers read from the disk instead of a remote store."),
        SERIES(
            zd_disk_counts, "zarrd_disk_hit_bytes_total", "counter", n_hit_bytes, "Bytes of them."),
        SERIES(zd_disk_counts, "zarrd_disk_revalidated_total", "counter", n_revalidated,
            "Those of them for which the store was asked whether they still hold."),
        SERIES(zd_disk_counts, "zarrd_disk_misses_total", "counter", n_misses,
            "Reads whose bytes came from a remote store."),
        SERIES(zd_disk_counts, "zarrd_disk_kept_total", "counter", n_kept, "Entries written."),
        SERIES(zd_disk_counts, "zarrd_disk_skipped_total", "counter", n_skipped,
            "Reads not kept: too large, or the disk was too slow."),
        SERIES(zd_disk_counts, "zarrd_disk_dropped_total", "counter", n_dropped,
            "Entries that were damaged."),
        SERIES(zd_disk_counts, "zarrd_disk_evicted_total", "counter", n_evicted,
            "Entries pushed out."),
        SERIES(zd_disk_counts, "zarrd_disk_entries", "gauge", n_entries, "Entries held."),
        SERIES(zd_disk_counts, "zarrd_disk_bytes", "gauge", bytes, "Bytes held, in blocks."),
        SERIES(
            zd_disk_counts, "zarrd_disk_bytes_max", "gauge", bytes_max, "Bytes that may be held."),
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
        SERIES(zd_lane, "zarrd_admission_bytes", "gauge", bytes, "Bytes that requests hold."),
        SERIES(zd_lane, "zarrd_admission_bytes_max", "gauge", bytes_max, "Bytes they may hold."),
        SERIES(zd_lane, "zarrd_admission_working", "gauge", n_working, "Requests worked on."),
        SERIES(zd_lane, "zarrd_admission_working_max", "gauge", places_max,
            "That may be worked on: of each endpoint, and of all datasets without one."),
        SERIES(zd_lane, "zarrd_admission_waiting", "gauge", n_waiting, "Requests in the queue."),
        SERIES(zd_lane, "zarrd_admission_waiting_bytes", "gauge", bytes_waiting,
            "That they wait for."),
        SERIES(zd_lane, "zarrd_admission_total", "counter", n_admitted, "Requests admitted."),
    };
    for (size_t i = 0; i < ZD_COUNT_OF(all); i++) {
        add_head(text, all[i].name, all[i].type, all[i].help);
        for (size_t k = 0; k < ZD_LANES; k++) {
            zd_text_addf(text, "%s{lane=\"%s\"} %llu\n", all[i].name, zd_admission_lane_name(k),
                member(&admission->lane[k], &all[i]));
        }
    }
    add_head(text, "zarrd_admission_queue_seconds", "summary", "Time in the queue.");
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
    add_head(text, "zarrd_requests_shed_total", "counter", "Requests refused as overloaded.");
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
    add_head(text, "zarrd_memory_budget_bytes", "gauge", "Memory that each part may use.");
    zd_text_addf(text,
        "zarrd_memory_budget_bytes{part=\"process\"} %llu\n"
        "zarrd_memory_budget_bytes{part=\"requests\"} %llu\n"
        "zarrd_memory_budget_bytes{part=\"caches\"} %llu\n",
        (unsigned long long)memory->bytes, (unsigned long long)memory->work_bytes, cached);
}

static void add_stall(const struct zd_stall *stall, struct zd_text *text)
{
    add_head(text, "zarrd_loop_stall_seconds", "histogram",
        "Turns of the loop: the time in which no other event was served.");
    for (size_t i = 0; i < ZD_STALL_BUCKETS; i++) {
        zd_text_addf(text, "zarrd_loop_stall_seconds_bucket{le=\"%g\"} %llu\n", zd_stall_bounds[i],
            (unsigned long long)stall->bucket[i]);
    }
    zd_text_addf(text,
        "zarrd_loop_stall_seconds_bucket{le=\"+Inf\"} %llu\n"
        "zarrd_loop_stall_seconds_sum %.9g\n"
        "zarrd_loop_stall_seconds_count %llu\n",
        (unsigned long long)stall->n, (double)stall->ns / 1e9, (unsigned long long)stall->n);
    add_head(text, "zarrd_loop_stall_longest_seconds", "gauge", "The longest of these turns.");
    zd_text_addf(text, "zarrd_loop_stall_longest_seconds %.9g\n", (double)stall->longest_ns / 1e9);
}

/* Small and large requests have equally many workers. */
static void add_workers(const struct zd_workers *workers, struct zd_text *text)
{
    add_one(text, "zarrd_jobs_waiting", "gauge", "Pieces of work that wait for a worker.",
        workers->n_waiting);
    add_head(text, "zarrd_workers", "gauge", "Worker threads for small and for large requests.");
    zd_text_addf(text, "zarrd_workers{lane=\"small\"} %u\nzarrd_workers{lane=\"large\"} %u\n",
        workers->n_workers, workers->n_workers);
    add_head(text, "zarrd_jobs_running", "gauge", "Pieces of work that workers have been given.");
    zd_text_addf(text,
        "zarrd_jobs_running{lane=\"small\"} %u\nzarrd_jobs_running{lane=\"large\"} %u\n",
        workers->small.n_given, workers->large.n_given);
}

static void add_traces(const struct zd_tracer *tracer, struct zd_text *text)
{
    add_one(text, "zarrd_trace_spans_sent_total", "counter", "Spans that the collector took.",
        tracer->n_sent);
    add_head(text, "zarrd_trace_spans_dropped_total", "counter", "Spans that nobody will see.");
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
    add_one(text, "zarrd_log_dropped_total", "counter", "Log lines lost to a full pipe.",
        server->log.n_dropped);
    add_one(text, "zarrd_allocations_total", "counter", "Times that memory was asked for.",
        zd_alloc_count());
    size_t rss_bytes = 0;
    if (uv_resident_set_memory(&rss_bytes) == 0) {
        add_one(text, "process_resident_memory_bytes", "gauge", "Resident memory.", rss_bytes);
    }
    add_head(text, "process_start_time_seconds", "gauge", "Start, since 1970.");
    zd_text_addf(text, "process_start_time_seconds %.3f\n", (double)server->started_ms / 1000.0);
    add_head(text, "zarrd_build_info", "gauge", "The version.");
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
