/* The server: opens the datasets, serves, and stops as asked. */
#include "server/start.h"

#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "core/base/num.h"
#include "core/store/transfer/authorities.h"
#include "core/store/transfer/remote_stop.h"
#include "server/config/config.h"
#include "server/config/dataset_config.h"
#include "server/config/folder.h"
#include "server/data/catalog.h"
#include "server/data/chunks.h"
#include "server/data/coordinate_read.h"
#include "server/data/dataset.h"
#include "server/data/disk_cache.h"
#include "server/data/events.h"
#include "server/data/object_cache.h"
#include "server/drain.h"
#include "server/front/front.h"
#include "server/http/signing_keys.h"
#include "server/request/admit.h"
#include "server/request/rates.h"
#include "server/request/access/jwts.h"
#include "server/request/route.h"
#include "server/request/access/signing.h"
#include "server/request/access/credential_cache.h"
#include "server/request/access/tokens.h"
#include "server/request/access/permission_cache.h"
#include "server/runtime/log_text.h"
#include "server/signals.h"
#include "server/picture/value_ranges.h"
#include "server/slice/read_ahead.h"
#include "server/slice/slice.h"
#include "server/token_watch.h"
#include "server/write/bounds.h"
#include "server/write/edit.h"
#include "server/write/lock.h"
#include "server/write/idle_writer.h"

#define BAD_INPUT        2  /* exit status, as of a start that fails */
#define COORDINATES_PART 16 /* one part of the cache of decoded chunks is for coordinates */
#define NODES_PART       2  /* one part of the metadata cache is for nodes */
#define BANNER_BYTES_MAX (64U << 10) /* of a name and a location, escaped */
#define SEARCH_NS        5000000     /* for a directory of some stores */

/* A root that the banner waits for. */
struct root {
    struct zd_node_want want;
    struct zd_server *server;
    struct zd_dataset *dataset; /* a reference, until its line is printed */
    bool is_known;
};

/* The server, and what only its start and its end know by more than a pointer. */
struct house {
    struct zd_server server; /* first */
    struct zd_admit admit;
    struct zd_rates rates;
    struct zd_locks locks;
    struct zd_idle_writers rests;
    struct zd_events_clock events;
    struct zd_signals signals;
    struct zd_drain drain;
    uv_timer_t folder_timer; /* runs where there are directories of stores */
    struct zd_job search;    /* of them */
    struct zd_config found;  /* by the search: its datasets alone; owned */
    enum zd_status search_status;
    bool is_searching;
    struct zd_token_watch token_watch;
    struct root *root; /* n_roots of them: what the banner waits for; owned */
    size_t n_roots;
    size_t n_roots_printed;
};

static struct house *house_of(struct zd_server *server)
{
    return ZD_CONTAINER(server, struct house, server);
}

/* ---- what the user sees at the start ---- */

static void print_dataset(const struct root *root)
{
    const struct zd_dataset_config *config = &root->dataset->config;
    const enum zd_status status = root->want.wait.status;
    const char *other = zd_dataset_other(root->dataset);
    const char *dialect = "unknown";
    if (root->dataset->store == NULL) {
        dialect = "unavailable";
    } else if (status == ZD_OK) {
        dialect = root->want.node->meta->dialect->name;
    } else if (status == ZD_NOT_FOUND) {
        dialect = other == NULL ? "no node at the root" : other;
    }
    ZD_SCOPED_TEXT(line, BANNER_BYTES_MAX);
    zd_log_text_add(&line, config->name);
    zd_text_add(&line, "  ");
    zd_log_text_add(&line, config->location);
    printf("%s  %s  %s\n", line.at, dialect, config->writable ? "writable" : "read-only");
    if (status == ZD_NOT_FOUND && other != NULL) {
        zd_log(&root->server->log, ZD_LOG_WARNING,
            "dataset '%s' is %s, which this version does not read", config->name, other);
    }
    if (status != ZD_OK && status != ZD_NOT_FOUND) {
        zd_log(&root->server->log, ZD_LOG_WARNING, "dataset '%s': %s", config->name,
            root->want.wait.err.text);
    }
}

static bool has_writable(const struct zd_server *server)
{
    for (size_t i = 0; i < server->n_datasets; i++) {
        if (server->dataset[i]->config.writable) {
            return true;
        }
    }
    return false;
}

static void log_writers(struct zd_server *server)
{
    const char *anonymous = server->config->settings.access_anonymous;
    const char *who = "clients with a credential only, because other machines reach this server";
    if (!has_writable(server)) {
        return;
    }
    if (strcmp(anonymous, "write") == 0) {
        who = "every client that reaches this server, because access.anonymous is write";
    } else if (strcmp(anonymous, "none") == 0) {
        who = "clients with a credential only, because access.anonymous is none";
    } else if (server->is_local) {
        who = "programs on this machine and web pages of origins in http.cors_origins";
    }
    zd_log(&server->log, ZD_LOG_INFO, "writable datasets accept changes from %s", who);
}

static void print_urls(struct zd_server *server)
{
    for (size_t i = 0; i < server->front->n_listeners; i++) {
        const struct zd_listener *listener = &server->front->listener[i];
        const bool is_v6 = strchr(listener->host, ':') != NULL;
        printf("http://%s%s%s:%u/\n", is_v6 ? "[" : "", listener->host, is_v6 ? "]" : "",
            (unsigned)listener->port);
    }
    (void)fflush(stdout);
    log_writers(server);
}

static void root_is_known(struct zd_wait *wait)
{
    struct root *root = ZD_CONTAINER(wait, struct root, want.wait);
    struct house *house = house_of(root->server);
    root->is_known = true;
    for (size_t i = house->n_roots_printed; i < house->n_roots && house->root[i].is_known; i++) {
        struct root *next = &house->root[i];
        print_dataset(next);
        zd_catalog_release(&next->want);
        zd_dataset_unref(next->dataset);
        next->dataset = NULL;
        house->n_roots_printed++;
    }
    if (house->n_roots_printed == house->n_roots) {
        print_urls(&house->server);
    }
}

/* Print a line for each dataset once its root and those before it are read. Only the lines wait for
 * that. */
static void print_banner(struct zd_server *server)
{
    printf("zarrd " ZD_VERSION "\n");
    if (server->n_datasets == 0) {
        print_urls(server);
        return;
    }
    struct house *house = house_of(server);
    for (size_t i = 0; i < house->n_roots; i++) {
        struct root *root = &house->root[i];
        root->server = server;
        root->dataset = zd_dataset_ref(server->dataset[i]);
        root->want.wait.done = root_is_known;
        if (root->dataset->store == NULL ||
            zd_catalog_want(root->dataset, "", &root->want) == ZD_NEXT) {
            root_is_known(&root->want.wait);
        }
    }
}

/* The real ports, one a line; whole or not there at all. */
static enum zd_status write_port_file(struct zd_server *server, struct zd_error *err)
{
    const char *path = server->config->port_file;
    if (path == NULL) {
        return ZD_OK;
    }
    ZD_SCOPED_TEXT(temporary, 4096);
    if (zd_text_addf(&temporary, "%s.%ld", path, (long)getpid()) != ZD_OK) {
        return zd_fail(err, temporary.status, "port file '%.200s': the name is too long", path);
    }
    FILE *file = fopen(temporary.at, "we");
    bool ok = file != NULL;
    for (size_t i = 0; ok && i < server->front->n_listeners; i++) {
        ok = fprintf(file, "%u\n", (unsigned)server->front->listener[i].port) > 0;
    }
    ok = file != NULL && fclose(file) == 0 && ok;
    if (!ok || rename(temporary.at, path) != 0) {
        (void)unlink(temporary.at);
        return zd_fail(err, ZD_INVALID, "port file '%.200s' cannot be written", path);
    }
    return ZD_OK;
}

/* ---- reloading ---- */

/* A broken file leaves the keys that are there. */
static void reload_keys(struct zd_server *server)
{
    struct zd_signing_keys *keys = NULL;
    struct zd_error err = {0};
    const char *path = server->config->settings.access_signing_keys_file;
    if (zd_signing_keys_read(path, &keys, &err) == ZD_OK) {
        zd_signing_replace_keys(server, keys);
    } else {
        zd_log(&server->log, ZD_LOG_ERROR, "reload: %s; the last good keys stay valid", err.text);
    }
    zd_jwts_reload(server->jwts);
}

/* From the same sources as at the start; settings other than the datasets stay until a restart. */
static void reload(struct zd_server *server)
{
    const struct zd_config *old = server->config;
    struct zd_config config;
    struct zd_reload reload;
    struct zd_error err = {0};
    enum zd_command command;
    zd_token_watch_read(&house_of(server)->token_watch);
    if (zd_config_read(old->argc, old->argv, old->environment, &command, &config, &err) != ZD_OK) {
        zd_log(&server->log, ZD_LOG_ERROR, "reload: refused, nothing changed: %s", err.text);
        return;
    }
    if (zd_datasets_reload(server, &config, &reload, &err) == ZD_OK) {
        zd_log(&server->log, ZD_LOG_INFO,
            "reload: datasets: %zu kept, %zu opened, %zu closed, %zu failed", reload.n_kept,
            reload.n_opened, reload.n_closed, reload.n_failed);
    } else {
        zd_log(&server->log, ZD_LOG_ERROR, "reload: %s", err.text);
    }
    zd_config_done(&config);
    reload_keys(server);
}

/* ---- directories of stores ---- */

static void search(struct zd_job *job)
{
    struct house *house = ZD_CONTAINER(job, struct house, search);
    const struct zd_config *config = house->server.config;
    house->search_status = ZD_OK;
    for (size_t i = 0; i < config->n_folders && house->search_status == ZD_OK; i++) {
        house->search_status = zd_folder_expand(&house->found, &config->folder[i], NULL);
    }
}

/* All of them are the last ones of the table, in the order in which they are found. */
static bool is_as_found(const struct zd_server *server, const struct zd_config *found)
{
    bool is_same = server->n_datasets == found->n_datasets;
    for (size_t i = 0; is_same && i < found->n_datasets; i++) {
        is_same = strcmp(server->dataset[i]->config.name, found->dataset[i].name) == 0 &&
                  strcmp(server->dataset[i]->config.location, found->dataset[i].location) == 0 &&
                  server->dataset[i]->config.writable == found->dataset[i].writable;
    }
    return is_same;
}

static void after_search(struct zd_wait *wait)
{
    struct house *house = ZD_CONTAINER(wait, struct house, search.wait);
    struct zd_server *server = &house->server;
    struct zd_reload reload = {0};
    struct zd_error err = {0};
    house->is_searching = false;
    const bool is_known = wait->status == ZD_OK && house->search_status == ZD_OK;
    if (is_known && !server->is_draining && !is_as_found(server, &house->found)) {
        if (zd_datasets_reload(server, &house->found, &reload, &err) == ZD_OK) {
            zd_log(&server->log, ZD_LOG_INFO, "stores: %zu opened, %zu closed, %zu failed",
                reload.n_opened, reload.n_closed, reload.n_failed);
        } else {
            zd_log(&server->log, ZD_LOG_ERROR, "stores: %s", err.text);
        }
    }
    zd_config_done(&house->found);
}

/* Keep the datasets that are configured by themselves; the rest are found anew. */
static enum zd_status copy_others(const struct zd_server *server, struct zd_config *to)
{
    to->dataset = zd_alloc_zero(server->n_datasets, sizeof *to->dataset);
    if (to->dataset == NULL) {
        return ZD_NO_MEMORY;
    }
    for (size_t i = 0; i < server->n_datasets; i++) {
        const struct zd_dataset_config *config = &server->dataset[i]->config;
        if (config->folder == NULL) {
            ZD_TRY(zd_dataset_config_copy(config, &to->dataset[to->n_datasets]));
            to->n_datasets++;
        }
    }
    return ZD_OK;
}

static void on_folder_timer(uv_timer_t *timer)
{
    struct zd_server *server = timer->data;
    struct house *house = house_of(server);
    if (house->is_searching || server->is_draining) {
        return;
    }
    if (copy_others(server, &house->found) != ZD_OK) {
        zd_config_done(&house->found);
        return;
    }
    house->is_searching = true;
    house->search = (struct zd_job){.work = search, .wait.done = after_search};
    zd_workers_submit(&server->workers, &house->search, SEARCH_NS);
}

static void on_signal(void *arg, int number)
{
    struct zd_server *server = arg;
    if (number == SIGHUP) {
        zd_audit_file_reopen(&server->audit_file);
        reload(server);
    } else {
        zd_drain_signal(&house_of(server)->drain);
    }
}

/* ---- the whole ---- */

static enum zd_status begin_loop(struct zd_server *server, struct zd_error *err)
{
    uv_loop_t *loop = zd_alloc(sizeof *loop);
    if (loop == NULL || uv_loop_init(loop) != 0) {
        zd_free(loop);
        return zd_fail(err, ZD_NO_MEMORY, "no event loop");
    }
    server->loop = loop;
    zd_log_init(&server->log, &server->config->settings, loop);
    zd_stall_init(&server->stall, loop);
    zd_drain_init(&house_of(server)->drain, server);
    uv_timer_init(loop, &house_of(server)->folder_timer);
    house_of(server)->folder_timer.data = server;
    return zd_signals_init(&house_of(server)->signals, loop, on_signal, server, err);
}

static unsigned long long mib(uint64_t bytes)
{
    return bytes / ZD_MIB;
}

/* Caches and requests fit into what the process may use, whatever is configured. */
static void share_memory(struct zd_server *server)
{
    const struct zd_settings *settings = &server->config->settings;
    struct zd_memory *memory = &server->memory;
    const char *bounded_by;
    const uint64_t found = zd_memory_find("", &bounded_by);
    zd_memory_plan(settings, found, bounded_by, memory);
    if (memory->caches_shrank) {
        zd_log(&server->log, ZD_LOG_WARNING,
            "memory: %llu MiB (%s): the caches shrink to %llu, %llu and %llu MiB"
            " (cache.decoded_bytes, encoded_bytes, metadata_bytes)",
            mib(memory->bytes), memory->bounded_by, mib(memory->decoded_bytes),
            mib(memory->encoded_bytes), mib(memory->metadata_bytes));
    }
    const uint64_t coordinates = memory->decoded_bytes / COORDINATES_PART;
    zd_allowance_init(&server->documents, memory->document_bytes);
    zd_allowance_init(&server->changes, memory->change_bytes);
    zd_node_memory_init(
        &server->parsed, memory->metadata_bytes / NODES_PART + memory->parsed_bytes);
    zd_cache_init(&server->nodes, "nodes", memory->metadata_bytes / NODES_PART, zd_node_free);
    zd_cache_init(&server->objects, "objects", memory->encoded_bytes, zd_object_free);
    zd_cache_init(&server->chunks, "chunks", memory->decoded_bytes - coordinates, zd_chunk_free);
    zd_cache_init(&server->coordinates, "coordinates", coordinates, zd_coordinate_free);
    server->coordinates.entry_bytes_max = coordinates / 2;
    zd_list_push_back(&server->caches, &server->nodes.link);
    zd_list_push_back(&server->caches, &server->objects.link);
    zd_list_push_back(&server->caches, &server->chunks.link);
    zd_list_push_back(&server->caches, &server->coordinates.link);
    zd_value_ranges_init(server);
    zd_admit_init(server, server->workers.n_workers, memory->work_bytes);
}

static enum zd_status begin_server(struct zd_server *server, struct zd_error *err)
{
    struct timeval now = {0};
    (void)gettimeofday(&now, NULL);
    server->started_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_usec / 1000;
    ZD_TRY(zd_networks_init(
        server->config->settings.http_trusted_proxies, &server->trusted_proxies, err));
    ZD_TRY(zd_metrics_init(&server->metrics, zd_route_count(zd_handlers), err));
    ZD_TRY(begin_loop(server, err));
    zd_workers_init(&server->workers, server->loop, &server->config->settings, &server->metrics);
    zd_deferred_init(&server->later, server->loop);
    zd_lock_init(server);
    zd_idle_writer_init(server);
    zd_events_init(server);
    zd_map_init(&server->edits);
    zd_map_init(&server->bounds);
    share_memory(server);
    ZD_TRY(zd_token_watch_open(&house_of(server)->token_watch, server, err));
    ZD_TRY(zd_rates_init(server, err));
    ZD_TRY(zd_audit_file_open(
        &server->audit_file, server->config->settings.log_audit_file, &server->log, err));
    ZD_TRY(zd_signing_keys_read(
        server->config->settings.access_signing_keys_file, &server->signing_keys, err));
    ZD_TRY(zd_trace_open(&server->tracer, server->loop, &server->config->settings, err));
    ZD_TRY(zd_authorities_judge(server->config->settings.remote_ca_file, err));
    ZD_TRY(zd_disk_cache_open(server, err));
    ZD_TRY(zd_datasets_open(server, err));
    ZD_TRY(zd_jwts_open(server, &server->jwts, err));
    house_of(server)->root = zd_alloc_zero(server->n_datasets, sizeof *house_of(server)->root);
    if (house_of(server)->root == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for the datasets' roots");
    }
    house_of(server)->n_roots = server->n_datasets;
    ZD_TRY(zd_front_new(server, &server->front, err));
    print_banner(server);
    zd_token_watch_begin(&house_of(server)->token_watch);
    if (server->config->n_folders > 0) {
        const uint64_t every_ms = server->config->settings.http_datasets_ms;
        uv_timer_start(&house_of(server)->folder_timer, on_folder_timer, every_ms, every_ms);
    }
    return write_port_file(server, err);
}

enum zd_status zd_start_begin(
    const struct zd_config *config, struct zd_server **ret_server, struct zd_error *err)
{
    struct house *house = zd_alloc_zero(1, sizeof *house);
    if (house == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for the server");
    }
    struct zd_server *server = &house->server;
    server->admit = &house->admit;
    server->rates = &house->rates;
    server->locks = &house->locks;
    server->rests = &house->rests;
    server->events = &house->events;
    server->config = config;
    zd_list_init(&server->spare_slices);
    zd_list_init(&server->retired);
    zd_list_init(&server->caches);
    zd_list_init(&server->tokens_wanted);
    zd_list_init(&server->signed_urls);
    const enum zd_status status = begin_server(server, err);
    if (status != ZD_OK) {
        zd_start_end(server);
        return status;
    }
    *ret_server = server;
    return ZD_OK;
}

int zd_start_run(struct zd_server *server)
{
    (void)uv_run(server->loop, UV_RUN_DEFAULT);
    return server->has_failed ? BAD_INPUT : server->is_stopping ? 0 : 1;
}

/* Every handle of ours goes; then what runs in workers is waited for. */
static void end_loop(struct zd_server *server)
{
    for (size_t i = 0; i < house_of(server)->n_roots; i++) {
        zd_catalog_release(&house_of(server)->root[i].want);
        zd_dataset_unref(house_of(server)->root[i].dataset);
    }
    zd_signals_close(&house_of(server)->signals);
    zd_drain_close(&house_of(server)->drain);
    uv_close((uv_handle_t *)&house_of(server)->folder_timer, NULL);
    zd_token_watch_close(&house_of(server)->token_watch);
    zd_stall_close(&server->stall);
    zd_read_ahead_close(server);
    zd_admit_close(server);
    zd_events_done(server);
    zd_datasets_give_up(server);
    zd_jwts_stop(server->jwts);
    zd_remote_stop(&server->remote);
    zd_disk_cache_stop(server);
    zd_trace_stop(&server->tracer);
    (void)uv_run(server->loop, UV_RUN_DEFAULT);
    zd_workers_close(&server->workers);
    zd_idle_writer_close(server);
    zd_lock_close(server); /* running changes have ended; no request waits for them */
    zd_deferred_close(&server->later);
}

static void end_datasets(struct zd_server *server)
{
    zd_value_ranges_done(server);
    zd_cache_done(&server->coordinates);
    zd_cache_done(&server->chunks);
    zd_cache_done(&server->objects);
    zd_cache_done(&server->nodes);
    zd_slices_done(server);
    zd_map_done(&server->bounds);
    zd_map_done(&server->edits);
    zd_datasets_close(server);
    zd_jwts_free(server->jwts);
    zd_free(house_of(server)->root);
}

void zd_start_end(struct zd_server *server)
{
    if (server == NULL) {
        return;
    }
    if (server->loop != NULL) {
        if (server->front != NULL) {
            zd_front_close(server->front);
        }
        end_loop(server);
        zd_front_free(server->front);
        end_datasets(server);
        zd_audit_file_close(&server->audit_file);
        zd_log_close(&server->log);
        (void)uv_run(server->loop, UV_RUN_DEFAULT);
        zd_disk_cache_close(server);
        zd_log_done(&server->log);
        zd_trace_done(&server->tracer);
        (void)uv_loop_close(server->loop);
        zd_free(server->loop);
    }
    zd_metrics_done(&server->metrics);
    zd_token_watch_done(&house_of(server)->token_watch);
    zd_permission_cache_free(server->verdicts);
    zd_credential_cache_free(server->known);
    zd_tokens_free(server->tokens);
    zd_networks_done(&server->trusted_proxies);
    zd_signing_keys_free(server->signing_keys);
    zd_rates_done(server);
    zd_free(house_of(server));
}
