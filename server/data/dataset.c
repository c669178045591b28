/* The datasets being served.
 *
 * A dataset that leaves the table is retired: requests no longer find it, nor its cache entries.
 * Requests that hold a reference read it to the end, and the last one closes its store. */
#include "server/data/dataset.h"

#include <assert.h>
#include <string.h>

#include "core/base/num.h"
#include "server/config/dataset_config.h"
#include "server/data/events.h"
#include "server/runtime/server.h"

#define CONFIG_BYTES_MAX (64U << 10)

struct zd_dataset *zd_dataset_ref(struct zd_dataset *dataset)
{
    if (dataset != NULL) {
        dataset->refs++;
    }
    return dataset;
}

void zd_dataset_unref(struct zd_dataset *dataset)
{
    if (dataset == NULL) {
        return;
    }
    assert(dataset->refs > 0);
    dataset->refs--;
    if (dataset->refs == 0) {
        zd_list_remove(&dataset->link);
        zd_events_free(dataset->events);
        zd_store_close(dataset->store);
        zd_dataset_config_done(&dataset->config);
        zd_free(dataset);
    }
}

struct zd_dataset *zd_dataset_find(struct zd_server *server, struct zd_span name)
{
    for (size_t i = 0; i < server->n_datasets; i++) {
        if (zd_span_is(name, server->dataset[i]->config.name)) {
            return server->dataset[i];
        }
    }
    return NULL;
}

struct zd_reading zd_dataset_reading(const struct zd_dataset *dataset)
{
    const struct zd_settings *settings = &dataset->server->config->settings;
    return (struct zd_reading){
        .zep10 = !dataset->config.strict,
        .judgement = ZD_JUDGE_READ,
        .limits =
            {
                .bytes_max = settings->limits_document_bytes,
                .nodes_max = settings->limits_document_nodes,
                .depth_max = settings->limits_document_depth,
            },
        .consolidated_bytes_max = settings->limits_consolidated_bytes,
    };
}

bool zd_dataset_trusts(const struct zd_dataset *dataset, uint64_t checked_ms)
{
    return dataset->config.immutable ||
           uv_now(dataset->server->loop) - checked_ms < dataset->revalidate_ms;
}

void zd_dataset_join(const struct zd_dataset *dataset, struct zd_flight *flight,
    enum zd_freshness freshness, struct zd_wait *wait)
{
    if (freshness == ZD_JOINING ||
        (freshness == ZD_TRUSTED && zd_dataset_trusts(dataset, flight->began_ms))) {
        zd_flight_join(flight, wait);
    } else {
        zd_flight_join_late(flight, wait);
    }
}

uint64_t zd_dataset_trusts_until(const struct zd_dataset *dataset, uint64_t checked_ms)
{
    uint64_t until_ms = 0;
    return ckd_add(&until_ms, checked_ms, dataset->revalidate_ms) ? UINT64_MAX : until_ms;
}

/* ---- the table ---- */

static uint64_t revalidate_ms_of(
    const struct zd_dataset_config *config, const struct zd_store *store)
{
    if (config->immutable) {
        return UINT64_MAX;
    }
    if (config->revalidate_ms != UINT64_MAX) {
        return config->revalidate_ms;
    }
    return store->ops->default_revalidate_ms;
}

static enum zd_status open_dataset(struct zd_server *server, const struct zd_dataset_config *config,
    struct zd_dataset **ret_dataset, struct zd_error *err)
{
    struct zd_dataset *dataset = zd_alloc_zero(1, sizeof *dataset);
    if (dataset == NULL || zd_dataset_config_copy(config, &dataset->config) != ZD_OK) {
        zd_free(dataset);
        return zd_fail(err, ZD_NO_MEMORY, "no memory for dataset '%s'", config->name);
    }
    const struct zd_store_config store_config = {
        .location = config->location,
        .loop = server->loop,
        .writable = config->writable,
        .durable = config->durable,
        .lock_ms = server->config->settings.limits_lock_ms,
        .options = config->options,
    };
    dataset->refs = 1;
    dataset->events = zd_events_new(server);
    const enum zd_status status =
        dataset->events == NULL
            ? zd_fail(err, ZD_NO_MEMORY, "no memory for dataset '%s'", config->name)
            : zd_store_open(&store_config, &dataset->store, err);
    if (status != ZD_OK) {
        zd_dataset_unref(dataset);
        return status;
    }
    dataset->server = server;
    dataset->revalidate_ms = revalidate_ms_of(config, dataset->store);
    dataset->id = ++server->last_dataset_id;
    *ret_dataset = dataset;
    return ZD_OK;
}

static enum zd_status no_memory(struct zd_error *err, size_t n)
{
    return zd_fail(err, ZD_NO_MEMORY, "no memory for %zu datasets", n);
}

enum zd_status zd_datasets_open(struct zd_server *server, struct zd_error *err)
{
    const struct zd_config *config = server->config;
    zd_list_init(&server->retired);
    server->dataset = zd_alloc_zero(config->n_datasets, sizeof(struct zd_dataset *));
    if (server->dataset == NULL) {
        return no_memory(err, config->n_datasets);
    }
    for (size_t i = 0; i < config->n_datasets; i++) {
        ZD_TRY(open_dataset(server, &config->dataset[i], &server->dataset[i], err));
        server->n_datasets++;
    }
    return ZD_OK;
}

/* Equal when they are written alike: so no member is forgotten. */
static bool configs_equal(const struct zd_dataset_config *a, const struct zd_dataset_config *b)
{
    ZD_SCOPED_TEXT(text_a, CONFIG_BYTES_MAX);
    ZD_SCOPED_TEXT(text_b, CONFIG_BYTES_MAX);
    struct zd_emit emit;
    zd_emit_init(&emit, &text_a, false);
    zd_dataset_config_emit(a, &emit);
    zd_emit_init(&emit, &text_b, false);
    zd_dataset_config_emit(b, &emit);
    return text_a.status == ZD_OK && text_b.status == ZD_OK && strcmp(text_a.at, text_b.at) == 0;
}

/* The dataset to serve under a name from now on: a reference, or NULL. */
static struct zd_dataset *renew(
    struct zd_server *server, const struct zd_dataset_config *config, struct zd_reload *reload)
{
    struct zd_dataset *old = zd_dataset_find(server, zd_span_of(config->name));
    struct zd_dataset *opened = NULL;
    struct zd_error err = {0};
    if (old != NULL && configs_equal(&old->config, config) && zd_store_is_current(old->store)) {
        reload->n_kept++;
        return zd_dataset_ref(old);
    }
    if (open_dataset(server, config, &opened, &err) == ZD_OK) {
        reload->n_opened++;
        return opened;
    }
    reload->n_failed++;
    zd_log(&server->log, ZD_LOG_ERROR, "reload: dataset '%s' %s: %s", config->name,
        old == NULL ? "is left out" : "stays as it was", err.text);
    return zd_dataset_ref(old);
}

static bool is_of_retired(const struct zd_cache_entry *entry)
{
    return entry->owner != NULL && entry->owner->is_retired;
}

static void forget_retired(struct zd_server *server)
{
    const struct zd_list *caches = &server->caches;
    for (struct zd_list *at = caches->prev; at != caches; at = at->prev) {
        zd_cache_drop_if(ZD_CONTAINER(at, struct zd_cache, link), is_of_retired);
    }
}

static void unref_table(struct zd_dataset **table, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        zd_dataset_unref(table[i]);
    }
    zd_free((void *)table);
}

enum zd_status zd_datasets_reload(struct zd_server *server, const struct zd_config *config,
    struct zd_reload *ret_reload, struct zd_error *err)
{
    struct zd_reload reload = {0};
    struct zd_dataset **table = zd_alloc_zero(config->n_datasets, sizeof(struct zd_dataset *));
    if (table == NULL) {
        return no_memory(err, config->n_datasets);
    }
    size_t n = 0;
    for (size_t i = 0; i < config->n_datasets; i++) {
        table[n] = renew(server, &config->dataset[i], &reload);
        n += table[n] != NULL;
    }
    struct zd_dataset **old = server->dataset;
    const size_t n_old = server->n_datasets;
    server->dataset = table;
    server->n_datasets = n;
    for (size_t i = 0; i < n_old; i++) {
        old[i]->is_retired = zd_dataset_find(server, zd_span_of(old[i]->config.name)) != old[i];
        if (old[i]->is_retired) {
            reload.n_closed++;
            zd_list_push_back(&server->retired, &old[i]->link);
            zd_events_end(old[i]->events);
        }
    }
    if (reload.n_closed > 0) {
        forget_retired(server);
    }
    unref_table(old, n_old);
    *ret_reload = reload;
    return ZD_OK;
}

void zd_datasets_give_up(struct zd_server *server)
{
    for (size_t i = 0; i < server->n_datasets; i++) {
        zd_store_give_up(server->dataset[i]->store);
    }
    const struct zd_list *head = &server->retired;
    for (const struct zd_list *at = head->next; at != head; at = at->next) {
        zd_store_give_up(ZD_CONTAINER(at, struct zd_dataset, link)->store);
    }
}

void zd_datasets_close(struct zd_server *server)
{
    unref_table(server->dataset, server->n_datasets);
    server->dataset = NULL;
    server->n_datasets = 0;
}
