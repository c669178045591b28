/* A server's data plane without its HTTP. */
#include "tests/support/plane.h"

#include <stdio.h>
#include <string.h>

#include "server/config/config.h"
#include "server/data/catalog.h"
#include "server/data/object_cache.h"
#include "server/write/edit.h"
#include "server/write/bounds.h"
#include "tests/support/check.h"
#include "tests/support/unit.h"

static void init_caches(struct zd_server *server)
{
    const struct zd_settings *settings = &server->config->settings;
    zd_allowance_init(&server->documents, UINT64_MAX);
    server->parsed.bytes_max = UINT64_MAX / 2;
    zd_cache_init(&server->nodes, "nodes", settings->cache_metadata_bytes, zd_node_free);
    zd_cache_init(&server->objects, "objects", settings->cache_encoded_bytes, zd_object_free);
    zd_cache_init(&server->chunks, "chunks", settings->cache_decoded_bytes, zd_chunk_free);
}

static void done_caches(struct zd_server *server)
{
    zd_cache_done(&server->chunks);
    zd_cache_done(&server->objects);
    zd_cache_done(&server->nodes);
}

void zd_test_plane_open(struct zd_test_plane *plane, uint64_t revalidate_ms)
{
    *plane = (struct zd_test_plane){0};
    zd_test_store_open(&plane->store, "mem");
    zd_unit_config(&plane->config);
    plane->server.config = &plane->config;
    plane->server.loop = &plane->store.loop;
    plane->dataset.server = &plane->server;
    plane->dataset.config = (struct zd_dataset_config){.allow_keys = true};
    plane->dataset.store = plane->store.store;
    plane->dataset.revalidate_ms = revalidate_ms;
    plane->dataset.id = 1;
    plane->dataset.refs = 1;
    plane->table[0] = &plane->dataset;
    plane->server.dataset = plane->table;
    plane->server.n_datasets = 1;
    init_caches(&plane->server);
    zd_workers_init(&plane->server.workers, plane->server.loop, &plane->config.settings,
        &plane->server.metrics);
    plane->server.memory.kept_bytes = UINT64_C(64) << 20;
    plane->server.locks = &plane->locks;
    plane->server.rests = &plane->rests;
    plane->server.events = &plane->events;
    zd_deferred_init(&plane->server.later, plane->server.loop);
    zd_lock_init(&plane->server);
    zd_idle_writer_init(&plane->server);
    zd_events_init(&plane->server);
    plane->dataset.events = zd_events_new(&plane->server);
    ck_assert_ptr_nonnull(plane->dataset.events);
    zd_map_init(&plane->server.edits);
    zd_map_init(&plane->server.bounds);
    plane->ops = *plane->store.store->ops;
    plane->store.store->ops = &plane->ops;
}

void zd_test_plane_close(struct zd_test_plane *plane)
{
    zd_test_plane_run(plane);
    zd_workers_close(&plane->server.workers);
    zd_lock_close(&plane->server);
    zd_idle_writer_close(&plane->server);
    zd_deferred_close(&plane->server.later);
    zd_events_done(&plane->server);
    zd_events_free(plane->dataset.events);
    zd_test_plane_run(plane);
    done_caches(&plane->server);
    ck_assert_uint_eq(zd_tally_bytes(&plane->server.parsed.held), 0);
    ck_assert_uint_eq(plane->server.kept_bytes, 0);
    zd_map_done(&plane->server.bounds);
    zd_map_done(&plane->server.edits);
    zd_config_done(&plane->config);
    zd_test_store_close(&plane->store);
}

void zd_test_plane_slow(struct zd_test_plane *plane)
{
    plane->ops.read_now = NULL;
    plane->ops.status_now = NULL;
}

static void end_in_fault(struct zd_store_op *op)
{
    op->status = ZD_STORE;
    op->err.status = ZD_STORE;
    snprintf(op->err.text, sizeof op->err.text, "the disk is gone");
    zd_store_finish_later(op);
}

static void fail_read(struct zd_store *store, struct zd_store_read *read)
{
    (void)store;
    end_in_fault(&read->op);
}

static void fail_status(struct zd_store *store, struct zd_store_status *status)
{
    (void)store;
    end_in_fault(&status->op);
}

static void fail_list(struct zd_store *store, struct zd_store_list *list)
{
    (void)store;
    end_in_fault(&list->op);
}

void zd_test_plane_break(struct zd_test_plane *plane)
{
    zd_test_plane_slow(plane);
    plane->ops.read = fail_read;
    plane->ops.status = fail_status;
    plane->ops.list = fail_list;
}

/* The operation that is held, whose end it is told with, and the operations of the store. */
static struct {
    struct zd_store_ops whole;
    struct zd_store_op *op;
    void (*done)(struct zd_store_op *op);
} held;

static void keep(struct zd_store_op *op)
{
    held.op = op;
}

static void hold_first(struct zd_store_op *op)
{
    if (held.done == NULL) {
        held.done = op->done;
        op->done = keep;
    }
}

static void hold_read(struct zd_store *store, struct zd_store_read *read)
{
    hold_first(&read->op);
    held.whole.read(store, read);
}

static void hold_status(struct zd_store *store, struct zd_store_status *status)
{
    hold_first(&status->op);
    held.whole.status(store, status);
}

void zd_test_plane_hold(struct zd_test_plane *plane)
{
    zd_test_plane_slow(plane);
    held.whole = plane->ops;
    held.op = NULL;
    held.done = NULL;
    plane->ops.read = hold_read;
    plane->ops.status = hold_status;
}

void zd_test_plane_release(struct zd_test_plane *plane)
{
    ck_assert_ptr_nonnull(held.op);
    plane->ops = held.whole;
    held.op->done = held.done;
    held.done(held.op);
}

void zd_test_plane_mend(struct zd_test_plane *plane)
{
    for (const struct zd_store_ops *const *ops = zd_stores; *ops != NULL; ops++) {
        if (strcmp((*ops)->scheme, plane->ops.scheme) == 0) {
            plane->ops = **ops;
        }
    }
}

void zd_test_plane_forget(struct zd_test_plane *plane)
{
    zd_test_plane_run(plane);
    done_caches(&plane->server);
    init_caches(&plane->server);
}

void zd_test_plane_run(struct zd_test_plane *plane)
{
    ck_assert_int_eq(uv_run(&plane->store.loop, UV_RUN_DEFAULT), 0);
}

void zd_test_plane_put(struct zd_test_plane *plane, const char *key, const char *text)
{
    (void)zd_test_put(&plane->store, key, text);
}

void zd_test_plane_put_bytes(struct zd_test_plane *plane, const char *key, struct zd_buf *bytes)
{
    struct zd_store_write write = {.bytes = bytes};
    snprintf(write.key, sizeof write.key, "%s", key);
    ck_assert_int_eq(zd_test_write(&plane->store, &write), ZD_OK);
}

static void ignore(struct zd_wait *wait)
{
    (void)wait;
}

struct zd_node *zd_test_plane_node(struct zd_test_plane *plane, const char *path)
{
    struct zd_node_want want = {.wait.done = ignore};
    if (zd_catalog_want(&plane->dataset, path, &want) == ZD_WAIT) {
        zd_test_plane_run(plane);
    }
    ck_assert_msg(want.wait.status == ZD_OK, "%s: %s", path, want.wait.err.text);
    return want.node;
}
