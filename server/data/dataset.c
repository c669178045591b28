/* The datasets being served.
 *
 *     request -> find -> look, once in revalidate_ms --+-- the same directory: go on
 *                                                      +-- another one, or none: a new dataset
 * takes its place in the table, perhaps one that is unavailable
 *
 * A dataset that leaves the table is retired: requests no longer find it, nor its cache entries.
 * Requests that hold a reference read it to the end, and the last one closes its store. */
#include "server/data/dataset.h"

#include <assert.h>
#include <string.h>

#include "core/base/aside.h"
#include "core/base/num.h"
#include "server/config/dataset_config.h"
#include "server/config/folder.h"
#include "server/data/events.h"
#include "server/runtime/server.h"

#define CONFIG_BYTES_MAX (64U << 10)
#define MEM_PART         4     /* of the memory one part is for all datasets that are in it */
#define LOOK_MS          1000  /* where neither the configuration nor a store says how long */
#define LOOK_NS          20000 /* that a stat(2) takes where nothing is cached */

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
        zd_list_remove(&dataset->rest);
        zd_events_free(dataset->events);
        zd_store_close(dataset->store);
        zd_free(dataset->reason);
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
        .is_reversed = dataset->config.n5_axes == ZD_N5_AXES_REVERSED,
    };
}

bool zd_dataset_trusts(const struct zd_dataset *dataset, uint64_t checked_ms)
{
    return dataset->config.immutable ||
           uv_now(dataset->server->loop) - checked_ms < dataset->revalidate_ms;
}

uint64_t zd_dataset_age_max(const struct zd_dataset *dataset, uint64_t began_ms)
{
    if (dataset->store == NULL || !dataset->store->keeps_answers) {
        return 0;
    }
    return dataset->config.immutable ? UINT64_MAX : zd_min_u64(dataset->revalidate_ms, began_ms);
}

uint64_t zd_dataset_checked_ms(uint64_t began_ms, uint64_t age_ms)
{
    return began_ms - zd_min_u64(age_ms, began_ms);
}

void zd_dataset_join(const struct zd_dataset *dataset, struct zd_flight *flight,
    enum zd_freshness freshness, struct zd_wait *wait)
{
    if ((freshness == ZD_JOINING && !flight->may_be_old) ||
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
    return zd_store_revalidate_ms(store);
}

/* Objects of an immutable dataset do not change, but their directory may go. */
static uint64_t look_ms_of(const struct zd_dataset_config *config, const struct zd_store *store)
{
    if (config->revalidate_ms != UINT64_MAX) {
        return config->revalidate_ms;
    }
    return store == NULL ? LOOK_MS : zd_store_revalidate_ms(store);
}

/* Not in the table; closed. */
static struct zd_dataset *dataset_new(
    struct zd_server *server, const struct zd_dataset_config *config)
{
    struct zd_dataset *dataset = zd_alloc_zero(1, sizeof *dataset);
    if (dataset == NULL || zd_dataset_config_copy(config, &dataset->config) != ZD_OK) {
        zd_free(dataset);
        return NULL;
    }
    dataset->refs = 1;
    dataset->server = server;
    dataset->id = ++server->last_dataset_id;
    zd_list_init(&dataset->look.waiters);
    dataset->events = zd_events_new(server);
    return dataset;
}

/* The same where the store, which is remote, is not open yet. */
static uint64_t trusted_ms_of(const struct zd_dataset_config *config)
{
    const bool is_said = config->immutable || config->revalidate_ms != UINT64_MAX;
    return is_said ? revalidate_ms_of(config, NULL) : ZD_REMOTE_REVALIDATE_MS;
}

static struct zd_remote_settings remote_settings(const struct zd_settings *settings)
{
    return (struct zd_remote_settings){
        .connections = (uint32_t)settings->remote_connections,
        .connect_ms = (uint32_t)settings->remote_connect_ms,
        .silence_ms = (uint32_t)settings->remote_silence_ms,
        .retries = (uint32_t)settings->remote_retries,
        .hedge_percent = (uint32_t)settings->remote_hedge_percent,
        .breaker_ms = (uint32_t)settings->remote_breaker_ms,
        .request_ms = settings->http_request_ms,
        .ca_file = settings->remote_ca_file,
    };
}

static enum zd_status open_store(struct zd_dataset *dataset, struct zd_error *err)
{
    struct zd_server *server = dataset->server;
    const struct zd_dataset_config *config = &dataset->config;
    server->in_memory.bytes_max = server->memory.bytes / MEM_PART;
    server->remote.settings = remote_settings(&server->config->settings);
    server->remote.listings.bytes_max = server->memory.listing_bytes;
    const struct zd_store_config store_config = {
        .location = config->location,
        .loop = server->loop,
        .writable = config->writable,
        .durable = config->durable,
        .lock_ms = server->config->settings.limits_lock_ms,
        .memory = server->in_memory.bytes_max == 0 ? NULL : &server->in_memory,
        .trusted_ms = trusted_ms_of(config),
        .remote = &server->remote,
        .options = config->options,
    };
    const enum zd_status status = dataset->events == NULL
                                      ? ZD_NO_MEMORY
                                      : zd_remote_open(&store_config, &dataset->store, err);
    return status == ZD_NO_MEMORY ? zd_fail(err, status, "no memory for dataset '%s'", config->name)
                                  : status;
}

/* Unavailable, with ZD_OK, where the store cannot be opened. */
static enum zd_status open_dataset(struct zd_server *server, const struct zd_dataset_config *config,
    struct zd_dataset **ret_dataset, struct zd_error *err)
{
    struct zd_error cause = {0};
    struct zd_dataset *dataset = dataset_new(server, config);
    enum zd_status status = dataset == NULL ? ZD_NO_MEMORY : open_store(dataset, &cause);
    if (status != ZD_OK && status != ZD_NO_MEMORY) {
        dataset->look.status = status;
        zd_aside_tell(cause.text); /* who may see locations may see it */
        dataset->reason = zd_strdup(cause.text);
        status = dataset->reason == NULL ? ZD_NO_MEMORY : ZD_OK;
    }
    if (status != ZD_OK) {
        zd_dataset_unref(dataset);
        return zd_fail(err, status, "no memory for dataset '%s'", config->name);
    }
    dataset->kind = zd_folder_other_kind(config->location);
    dataset->content = dataset->kind == NULL ? zd_folder_content(config->location) : NULL;
    dataset->is_n5 = config->n5_axes != ZD_N5_AXES_UNSAID || zd_folder_is_n5(config->location);
    dataset->may_move = dataset->store == NULL || dataset->store->place != 0;
    dataset->look_ms = look_ms_of(config, dataset->store);
    dataset->look.began_ms = uv_now(server->loop);
    dataset->look.has_looked = true;
    dataset->revalidate_ms = dataset->store == NULL ? 0 : revalidate_ms_of(config, dataset->store);
    *ret_dataset = dataset;
    return ZD_OK;
}

static void log_unavailable(const struct zd_dataset *dataset)
{
    zd_log(&dataset->server->log, ZD_LOG_ERROR, "dataset '%s' is unavailable: %s",
        dataset->config.name, dataset->reason);
}

static enum zd_status no_memory(struct zd_error *err, size_t n)
{
    return zd_fail(err, ZD_NO_MEMORY, "no memory for %zu datasets", n);
}

/* Judgements of requests depend on the table. */
static void note_table(struct zd_server *server)
{
    server->n_openings++;
    server->has_private = false;
    for (size_t i = 0; i < server->n_datasets; i++) {
        server->has_private |= server->dataset[i]->config.is_private;
    }
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
        const struct zd_dataset *opened = server->dataset[i];
        const bool is_mistaken = opened->look.status == ZD_INVALID || opened->config.is_named;
        if (opened->store == NULL && is_mistaken) {
            return zd_fail(err, ZD_INVALID, "%s", opened->reason);
        }
        if (opened->store == NULL) {
            log_unavailable(opened);
        }
    }
    note_table(server);
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

/* Whether a location still leads to what was opened. Blocks. */
static bool is_current(const struct zd_dataset *dataset)
{
    uint64_t place = 0;
    return dataset->store != NULL &&
           zd_store_find_place(dataset->config.location, &place, NULL) == ZD_OK &&
           place == dataset->store->place;
}

/* The dataset to serve under a name from now on: a reference, or NULL. */
static struct zd_dataset *renew(
    struct zd_server *server, const struct zd_dataset_config *config, struct zd_reload *reload)
{
    struct zd_dataset *old = zd_dataset_find(server, zd_span_of(config->name));
    struct zd_dataset *opened = NULL;
    struct zd_error err = {0};
    if (old != NULL && configs_equal(&old->config, config) && is_current(old)) {
        reload->n_kept++;
        return zd_dataset_ref(old);
    }
    if (open_dataset(server, config, &opened, &err) != ZD_OK || opened == NULL) {
        reload->n_failed++;
        zd_log(&server->log, ZD_LOG_ERROR, "reload: dataset '%s' %s: %s", config->name,
            old == NULL ? "is not served" : "stays unchanged", err.text);
        return zd_dataset_ref(old);
    }
    reload->n_opened += opened->store != NULL;
    reload->n_failed += opened->store == NULL;
    if (opened->store == NULL) {
        log_unavailable(opened);
    }
    return opened;
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

/* It is out of the table. */
static void retire(struct zd_dataset *dataset)
{
    dataset->is_retired = true;
    zd_list_push_back(&dataset->server->retired, &dataset->link);
    zd_events_end(dataset->events);
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
    size_t n_retired = 0;
    server->dataset = table;
    server->n_datasets = n;
    note_table(server);
    for (size_t i = 0; i < n_old; i++) {
        if (zd_dataset_find(server, zd_span_of(old[i]->config.name)) != old[i]) {
            reload.n_closed += old[i]->store != NULL;
            n_retired++;
            retire(old[i]);
        }
    }
    if (n_retired > 0) {
        forget_retired(server);
    }
    unref_table(old, n_old);
    *ret_reload = reload;
    return ZD_OK;
}

/* ---- looking ---- */

/* The place of a dataset in the table; NULL: it has left. */
static struct zd_dataset **place_in_table(const struct zd_dataset *dataset)
{
    struct zd_server *server = dataset->server;
    for (size_t i = 0; i < server->n_datasets; i++) {
        if (server->dataset[i] == dataset) {
            return &server->dataset[i];
        }
    }
    return NULL;
}

/* Serve what is there now. Without memory all stays as it is until the next look. */
static void replace(struct zd_dataset *old)
{
    struct zd_dataset **place = place_in_table(old);
    struct zd_dataset *opened = NULL;
    if (place == NULL || open_dataset(old->server, &old->config, &opened, NULL) != ZD_OK ||
        opened == NULL) {
        return;
    }
    if (opened->store == NULL && old->store == NULL) {
        char *const reason = old->reason;
        old->reason = opened->reason;
        opened->reason = reason;
        zd_dataset_unref(opened);
        return;
    }
    *place = opened;
    if (opened->store == NULL) {
        log_unavailable(opened);
    } else {
        zd_log(&old->server->log, ZD_LOG_INFO, "dataset '%s': opened again, because %s changed",
            opened->config.name, opened->config.location);
    }
    retire(old);
    forget_retired(old->server);
    zd_dataset_unref(old);
}

static void end_look(struct zd_dataset *dataset)
{
    struct zd_dataset_look *look = &dataset->look;
    look->has_looked = true;
    const bool is_there = look->status == ZD_OK;
    const bool is_same =
        dataset->store == NULL ? !is_there : is_there && look->place == dataset->store->place;
    if (!is_same && look->status != ZD_NO_MEMORY) {
        replace(dataset);
    }
}

static bool look_now(struct zd_dataset *dataset)
{
    struct zd_dataset_look *look = &dataset->look;
    if (zd_store_find_place_now(dataset->config.location, &look->place) != ZD_OK) {
        return false;
    }
    look->began_ms = uv_now(dataset->server->loop);
    look->status = ZD_OK;
    (void)zd_dataset_ref(dataset);
    end_look(dataset);
    zd_dataset_unref(dataset);
    return true;
}

static void work_look(struct zd_job *job)
{
    struct zd_dataset *dataset = ZD_CONTAINER(job, struct zd_dataset, look.job);
    struct zd_dataset_look *look = &dataset->look;
    look->status = zd_store_find_place(dataset->config.location, &look->place, &look->err);
}

static void after_look(struct zd_wait *wait)
{
    struct zd_dataset *dataset = ZD_CONTAINER(wait, struct zd_dataset, look.job.wait);
    dataset->look.is_under_way = false;
    end_look(dataset);
    zd_wait_tell(&dataset->look.waiters, ZD_OK, NULL);
    zd_dataset_unref(dataset);
}

static void begin_look(struct zd_dataset *dataset)
{
    struct zd_dataset_look *look = &dataset->look;
    look->began_ms = uv_now(dataset->server->loop);
    look->is_under_way = true;
    look->has_looked = false;
    look->job = (struct zd_job){.work = work_look, .wait.done = after_look};
    (void)zd_dataset_ref(dataset);
    zd_workers_submit(&dataset->server->workers, &look->job, LOOK_NS);
}

void zd_dataset_doubt(struct zd_dataset *dataset)
{
    dataset->look.has_looked = false;
}

const char *zd_dataset_other(const struct zd_dataset *dataset)
{
    return dataset->kind != NULL ? dataset->kind : dataset->content;
}

const char *zd_dataset_reason(const struct zd_dataset *dataset)
{
    if (dataset->store != NULL || dataset->server->config->settings.http_show_locations) {
        return dataset->reason;
    }
    if (dataset->content != NULL) {
        return dataset->content;
    }
    return dataset->look.status == ZD_NOT_FOUND ? "nothing is at its location"
                                                : "its location cannot be opened; see the log";
}

bool zd_dataset_was_seen(const struct zd_dataset *dataset)
{
    const struct zd_dataset_look *look = &dataset->look;
    return !dataset->may_move ||
           (look->has_looked && uv_now(dataset->server->loop) - look->began_ms < dataset->look_ms);
}

enum zd_next zd_dataset_look(
    struct zd_dataset *dataset, enum zd_freshness freshness, struct zd_wait *wait)
{
    wait->status = ZD_OK;
    if (!dataset->may_move || (freshness == ZD_TRUSTED && zd_dataset_was_seen(dataset))) {
        return ZD_NEXT;
    }
    if (!dataset->look.is_under_way) {
        if (look_now(dataset)) {
            return ZD_NEXT;
        }
        begin_look(dataset);
    }
    zd_list_push_back(&dataset->look.waiters, &wait->link);
    return ZD_WAIT;
}

/* ---- the end ---- */

static void give_up(const struct zd_dataset *dataset)
{
    if (dataset->store != NULL) {
        zd_store_give_up(dataset->store);
    }
}

void zd_datasets_give_up(struct zd_server *server)
{
    for (size_t i = 0; i < server->n_datasets; i++) {
        give_up(server->dataset[i]);
    }
    const struct zd_list *head = &server->retired;
    for (const struct zd_list *at = head->next; at != head; at = at->next) {
        give_up(ZD_CONTAINER(at, struct zd_dataset, link));
    }
}

void zd_datasets_close(struct zd_server *server)
{
    unref_table(server->dataset, server->n_datasets);
    server->dataset = NULL;
    server->n_datasets = 0;
}
