/* server/data/datasets: what a reload keeps, and when the store of a retired dataset closes. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "server/data/catalog.h"
#include "server/data/dataset.h"

#include "core/store/contract/store_impl.h"
#include "server/config/config.h"
#include "server/data/chunks.h"
#include "server/data/events.h"
#include "server/data/key_list.h"
#include "server/data/object_cache.h"
#include "server/data/range_read.h"
#include "server/data/walk.h"
#include "server/runtime/server.h"
#include "tests/support/unit.h"

#define LONG_MS 1000000
#define NAMES   3

/* A configuration owns its strings, so they are no constants. */
static char names[NAMES][2] = {"a", "b", "c"};
static char memory[] = "mem:";
static char nowhere[] = "mem:x";
static char title[] = "another";

struct bench {
    uv_loop_t loop;
    struct zd_config config; /* the datasets are not its own */
    struct zd_cache replies;
    struct zd_events_clock events;
    struct zd_server server;
    struct zd_store_ops ops; /* of the first dataset's store, when slow */
};

static uint32_t n_closed;

static void count_close(struct zd_store *store)
{
    n_closed++;
    for (const struct zd_store_ops *const *ops = zd_stores; *ops != NULL; ops++) {
        if ((*ops)->accepts(store->location)) {
            (*ops)->close(store);
            return;
        }
    }
}

static void nothing_to_free(struct zd_cache_entry *entry)
{
    (void)entry;
}

static struct zd_dataset_config config_of(char *name)
{
    return (struct zd_dataset_config){.name = name, .location = memory, .revalidate_ms = LONG_MS};
}

static void open_bench(struct bench *bench, struct zd_dataset_config *dataset, size_t n)
{
    *bench = (struct bench){0};
    n_closed = 0;
    ck_assert_int_eq(uv_loop_init(&bench->loop), 0);
    zd_unit_config(&bench->config);
    struct zd_config config = bench->config;
    config.dataset = dataset;
    config.n_datasets = n;
    struct zd_server *server = &bench->server;
    server->config = &config;
    server->loop = &bench->loop;
    zd_log_init(&server->log, &bench->config.settings, server->loop);
    zd_cache_init(&bench->replies, "replies", 1 << 20, nothing_to_free);
    zd_node_memory_init(&server->parsed, 1 << 20);
    zd_cache_init(&server->nodes, "nodes", 1 << 20, zd_node_free);
    zd_cache_init(&server->objects, "objects", 1 << 20, zd_object_free);
    zd_cache_init(&server->chunks, "chunks", 1 << 20, zd_chunk_free);
    zd_list_init(&server->caches);
    zd_list_push_back(&server->caches, &server->nodes.link);
    zd_list_push_back(&server->caches, &server->objects.link);
    zd_list_push_back(&server->caches, &server->chunks.link);
    zd_list_push_back(&server->caches, &bench->replies.link);
    server->events = &bench->events;
    zd_events_init(server);
    zd_workers_init(&server->workers, server->loop, &bench->config.settings, &server->metrics);
    ck_assert_int_eq(zd_datasets_open(server, NULL), ZD_OK);
    server->config = &bench->config;
}

static void close_bench(struct bench *bench)
{
    struct zd_server *server = &bench->server;
    (void)uv_run(&bench->loop, UV_RUN_DEFAULT);
    zd_cache_done(&server->chunks);
    zd_cache_done(&server->objects);
    zd_cache_done(&server->nodes);
    zd_cache_done(&bench->replies);
    zd_datasets_close(server);
    zd_events_done(server);
    zd_workers_close(&server->workers);
    zd_log_close(&server->log);
    (void)uv_run(&bench->loop, UV_RUN_DEFAULT);
    zd_log_done(&server->log);
    zd_config_done(&bench->config);
    ck_assert_int_eq(uv_loop_close(&bench->loop), 0);
}

static void reload(
    struct bench *bench, struct zd_dataset_config *dataset, size_t n, struct zd_reload *ret_reload)
{
    const struct zd_config config = {.dataset = dataset, .n_datasets = n};
    ck_assert_int_eq(zd_datasets_reload(&bench->server, &config, ret_reload, NULL), ZD_OK);
}

/* From a, b and c; each letter names a dataset, an upper case one has another title. */
static const struct {
    const char *from;
    const char *to;
    struct zd_reload told;
} reloads[] = {
    {"", "", {0}},
    {"", "ab", {.n_opened = 2}},
    {"ab", "", {.n_closed = 2}},
    {"ab", "ba", {.n_kept = 2}}, /* the order is no change */
    {"ab", "bc", {.n_kept = 1, .n_opened = 1, .n_closed = 1}},
    {"abc", "aBc", {.n_kept = 2, .n_opened = 1, .n_closed = 1}},
    {"ab", "a?", {.n_kept = 1, .n_failed = 1, .n_closed = 1}},
};

static size_t read_row(const char *row, struct zd_dataset_config dataset[NAMES])
{
    size_t n = 0;
    for (; row[n] != '\0'; n++) {
        if (row[n] == '?') {
            dataset[n] = config_of(names[2]);
            dataset[n].location = nowhere;
        } else {
            dataset[n] = config_of(names[(row[n] | 0x20) - 'a']);
            dataset[n].title = row[n] >= 'a' ? NULL : title;
        }
    }
    return n;
}

START_TEST(a_reload_opens_and_closes_what_differs)
{
    struct bench bench;
    struct zd_dataset_config dataset[NAMES];
    open_bench(&bench, dataset, read_row(reloads[_i].from, dataset));
    struct zd_reload told;
    const size_t n = read_row(reloads[_i].to, dataset);
    reload(&bench, dataset, n, &told);
    ck_assert_uint_eq(told.n_kept, reloads[_i].told.n_kept);
    ck_assert_uint_eq(told.n_opened, reloads[_i].told.n_opened);
    ck_assert_uint_eq(told.n_closed, reloads[_i].told.n_closed);
    ck_assert_uint_eq(told.n_failed, reloads[_i].told.n_failed);
    ck_assert_uint_eq(bench.server.n_datasets, n);
    size_t n_unavailable = 0;
    for (size_t i = 0; i < n; i++) {
        n_unavailable += bench.server.dataset[i]->store == NULL;
    }
    ck_assert_uint_eq(n_unavailable, told.n_failed);
    close_bench(&bench);
}
END_TEST

static void ignore(struct zd_wait *wait)
{
    (void)wait;
}

START_TEST(a_dataset_that_fails_to_open_is_unavailable)
{
    struct bench bench;
    struct zd_reload told;
    struct zd_dataset_config dataset = config_of(names[0]);
    open_bench(&bench, &dataset, 1);
    struct zd_dataset *old = zd_dataset_ref(bench.server.dataset[0]);
    dataset.location = nowhere;
    reload(&bench, &dataset, 1, &told);
    ck_assert_uint_eq(told.n_failed, 1);
    ck_assert_uint_eq(told.n_closed, 1);
    ck_assert(old->is_retired);
    ck_assert_ptr_null(bench.server.dataset[0]->store);
    ck_assert_ptr_nonnull(bench.server.dataset[0]->reason);
    zd_dataset_unref(old);
    close_bench(&bench);
}
END_TEST

/* ---- what a location leads to ---- */

/* The system calls that look, counted; the linker takes these before the C library's. */
static uint32_t n_looks;

int statx(int fd, const char *path, int flags, unsigned mask, struct statx *ret_file)
{
    n_looks++;
    return (int)syscall(SYS_statx, fd, path, flags, mask, ret_file);
}

/* A directory that comes, goes and is replaced. */
struct place {
    char path[64];
    char aside[80];
};

static void make_place(struct place *place)
{
    *place = (struct place){.path = "/tmp/zarrd-place-XXXXXX"};
    ck_assert_ptr_nonnull(mkdtemp(place->path));
    (void)snprintf(place->aside, sizeof place->aside, "%s.aside", place->path);
}

/* Look, and wait for it. */
static struct zd_dataset *look(struct bench *bench, enum zd_freshness freshness)
{
    struct zd_wait wait = {.done = ignore};
    uv_update_time(&bench->loop);
    if (zd_dataset_look(bench->server.dataset[0], freshness, &wait) == ZD_WAIT) {
        (void)uv_run(&bench->loop, UV_RUN_DEFAULT);
    }
    ck_assert_int_eq(wait.status, ZD_OK);
    ck_assert(!zd_list_is_linked(&wait.link));
    return bench->server.dataset[0];
}

START_TEST(a_look_serves_all_requests_of_its_time)
{
    struct bench bench;
    struct place place;
    make_place(&place);
    struct zd_dataset_config dataset = config_of(names[0]);
    dataset.location = place.path;
    open_bench(&bench, &dataset, 1);
    const struct zd_dataset *opened = bench.server.dataset[0];
    n_looks = 0;
    for (int i = 0; i < 1000; i++) {
        ck_assert_ptr_eq(look(&bench, ZD_TRUSTED), opened);
    }
    ck_assert_uint_eq(n_looks, 0); /* it was seen when it was opened */
    for (int i = 0; i < 10; i++) {
        bench.server.dataset[0]->look.began_ms -= LONG_MS;
        for (int k = 0; k < 100; k++) {
            ck_assert_ptr_eq(look(&bench, ZD_TRUSTED), opened);
        }
    }
    ck_assert_uint_le(n_looks, 10);
    ck_assert_uint_ge(n_looks, 1); /* a file system may not say it at once: then a worker looks */
    close_bench(&bench);
    ck_assert_int_eq(rmdir(place.path), 0);
}
END_TEST

START_TEST(a_dataset_follows_its_path)
{
    struct bench bench;
    struct place place;
    make_place(&place);
    struct zd_dataset_config dataset = config_of(names[0]);
    dataset.location = place.path;
    open_bench(&bench, &dataset, 1);
    struct zd_dataset *first = zd_dataset_ref(bench.server.dataset[0]);
    ck_assert_int_eq(rename(place.path, place.aside), 0);
    ck_assert_ptr_eq(look(&bench, ZD_TRUSTED), first); /* not yet */
    ck_assert_ptr_null(look(&bench, ZD_FRESH)->store);
    ck_assert(first->is_retired);
    const struct zd_dataset *missing = bench.server.dataset[0];
    ck_assert_ptr_eq(look(&bench, ZD_FRESH), missing);
    ck_assert_int_eq(rename(place.aside, place.path), 0);
    ck_assert_uint_eq(look(&bench, ZD_FRESH)->store->place, first->store->place);
    ck_assert_uint_ne(bench.server.dataset[0]->id, first->id);
    zd_dataset_unref(first);
    close_bench(&bench);
    ck_assert_int_eq(rmdir(place.path), 0);
}
END_TEST

static enum zd_status look_once(void *context)
{
    struct bench *bench = context;
    struct zd_dataset *before = bench->server.dataset[0];
    const struct zd_dataset *after = look(bench, ZD_FRESH);
    return after == before ? ZD_NO_MEMORY : ZD_OK;
}

START_TEST(without_memory_a_look_changes_nothing)
{
    struct bench bench;
    struct place place;
    make_place(&place);
    struct zd_dataset_config dataset = config_of(names[0]);
    dataset.location = place.path;
    open_bench(&bench, &dataset, 1);
    ck_assert_int_eq(rmdir(place.path), 0);
    zd_unit_with_failing_memory(look_once, &bench);
    ck_assert_ptr_null(bench.server.dataset[0]->store);
    close_bench(&bench);
}
END_TEST

/* Things that a reader of a dataset may wait for. */
struct reader {
    struct zd_node_want node;
    struct zd_object_want object;
    struct zd_object_want directory;
    struct zd_range_want range;
    struct zd_key_list list;
};

static enum zd_next want_node(struct zd_dataset *dataset, struct reader *reader)
{
    reader->node.wait.done = ignore;
    return zd_catalog_want(dataset, "x", &reader->node);
}

static enum zd_next want_object(struct zd_dataset *dataset, struct reader *reader)
{
    reader->object.wait.done = ignore;
    return zd_objects_want(dataset, "x/c", ZD_OBJECT_BYTES, &reader->object);
}

static enum zd_next want_directory(struct zd_dataset *dataset, struct reader *reader)
{
    reader->directory.wait.done = ignore;
    return zd_objects_want(dataset, "x/d", ZD_OBJECT_DIRECTORY, &reader->directory);
}

static enum zd_next want_range(struct zd_dataset *dataset, struct reader *reader)
{
    reader->range.wait.done = ignore;
    return zd_range_read_want(dataset, "x/c", &reader->range);
}

static enum zd_next want_list(struct zd_dataset *dataset, struct reader *reader)
{
    reader->list.wait.done = ignore;
    return zd_key_list_want(dataset, "x/", 1, &reader->list);
}

static enum zd_next (*const wants[])(struct zd_dataset *dataset, struct reader *reader) = {
    want_node, want_object, want_directory, want_range, want_list};

static void release(struct reader *reader)
{
    zd_wait_cancel(&reader->node.wait);
    zd_node_unref(reader->node.node);
    zd_objects_release(&reader->object);
    zd_objects_release(&reader->directory);
    zd_range_read_release(&reader->range);
    zd_key_list_release(&reader->list);
}

static void make_slow(struct bench *bench)
{
    struct zd_store *store = bench->server.dataset[0]->store;
    bench->ops = *store->ops;
    bench->ops.read_now = NULL;
    bench->ops.status_now = NULL;
    bench->ops.close = count_close;
    store->ops = &bench->ops;
}

/* _i: which want, and whether the reader leaves before the store answers. */
START_TEST(a_store_closes_when_its_last_operation_is_over)
{
    struct bench bench;
    struct zd_reload told;
    struct reader reader = {0};
    const bool leaves = _i % 2 != 0;
    struct zd_dataset_config dataset = config_of(names[0]);
    open_bench(&bench, &dataset, 1);
    make_slow(&bench);
    ck_assert_int_eq(wants[_i / 2](bench.server.dataset[0], &reader), ZD_WAIT);
    reload(&bench, NULL, 0, &told);
    ck_assert_uint_eq(n_closed, 0);
    if (leaves) {
        release(&reader);
        ck_assert_uint_eq(n_closed, 0); /* the store still works on it */
    }
    (void)uv_run(&bench.loop, UV_RUN_DEFAULT);
    if (!leaves) {
        release(&reader);
    }
    ck_assert_uint_eq(n_closed, 1);
    ck_assert_uint_eq(bench.server.nodes.map.n_entries, 0);
    ck_assert_uint_eq(bench.server.objects.map.n_entries, 0);
    close_bench(&bench);
}
END_TEST

static void written(struct zd_store_op *op)
{
    ck_assert_int_eq(op->status, ZD_OK);
}

static void put_group(struct bench *bench)
{
    static const char text[] = "{\"zarr_format\": 3, \"node_type\": \"group\"}";
    struct zd_store_write write = {.op.done = written, .key = "x/zarr.json"};
    write.bytes = zd_buf_copy(zd_span_of(text));
    ck_assert_ptr_nonnull(write.bytes);
    zd_store_write(bench->server.dataset[0]->store, &write);
    (void)uv_run(&bench->loop, UV_RUN_DEFAULT);
    zd_buf_unref(write.bytes);
}

static bool see(struct zd_walk_want *want, const struct zd_walk_node *found)
{
    (void)want;
    (void)found;
    return true;
}

static void nobody_is_told(struct zd_wait *wait)
{
    (void)wait;
    ck_abort_msg("the walk was given up");
}

START_TEST(a_walk_given_up_leaves_its_listing_the_store)
{
    struct bench bench;
    struct zd_reload told;
    struct reader reader = {0};
    struct zd_dataset_config dataset = config_of(names[0]);
    dataset.writable = true;
    open_bench(&bench, &dataset, 1);
    put_group(&bench);
    ck_assert_int_eq(want_node(bench.server.dataset[0], &reader), ZD_NEXT);
    make_slow(&bench);
    struct zd_walk_want walk = {
        .wait.done = nobody_is_told,
        .start = reader.node.node,
        .depth_max = 1,
        .visit = see,
    };
    ck_assert_int_eq(zd_walk_want(&walk), ZD_WAIT);
    reload(&bench, NULL, 0, &told);
    release(&reader);
    zd_walk_release(&walk);
    ck_assert_uint_eq(n_closed, 0); /* the store still lists */
    (void)uv_run(&bench.loop, UV_RUN_DEFAULT);
    ck_assert_uint_eq(n_closed, 1);
    close_bench(&bench);
}
END_TEST

START_TEST(nothing_stays_cached_of_a_retired_dataset)
{
    struct bench bench;
    struct zd_reload told;
    struct reader before = {0};
    struct reader after = {0};
    struct zd_dataset_config dataset[] = {config_of(names[0]), config_of(names[1])};
    open_bench(&bench, dataset, 2);
    struct zd_dataset *retired = zd_dataset_ref(bench.server.dataset[0]);
    struct zd_dataset *kept = bench.server.dataset[1];
    ck_assert_int_eq(want_node(retired, &before), ZD_NEXT);
    ck_assert_int_eq(want_object(kept, &before), ZD_NEXT);
    ck_assert_uint_eq(bench.server.nodes.map.n_entries, 1);
    reload(&bench, &dataset[1], 1, &told);
    ck_assert_uint_eq(bench.server.nodes.map.n_entries, 0);
    ck_assert_uint_eq(bench.server.objects.map.n_entries, 1);
    ck_assert_int_eq(want_node(retired, &after), ZD_NEXT); /* one who still reads it */
    ck_assert_int_eq(want_object(retired, &after), ZD_NEXT);
    ck_assert_uint_eq(bench.server.nodes.map.n_entries, 0);
    ck_assert_uint_eq(bench.server.objects.map.n_entries, 1);
    release(&before);
    release(&after);
    ck_assert_uint_eq(retired->refs, 1);
    zd_dataset_unref(retired);
    close_bench(&bench);
}
END_TEST

static enum zd_status reload_once(void *context)
{
    struct bench *bench = context;
    struct zd_reload told;
    struct zd_dataset_config dataset[] = {config_of(names[0]), config_of(names[2])};
    const struct zd_config config = {.dataset = dataset, .n_datasets = 2};
    ZD_TRY(zd_datasets_reload(&bench->server, &config, &told, NULL));
    ck_assert_ptr_nonnull(zd_dataset_find(&bench->server, zd_span_of(names[0])));
    return told.n_failed > 0 ? ZD_NO_MEMORY : ZD_OK;
}

START_TEST(without_memory_what_is_served_stays)
{
    struct bench bench;
    struct zd_dataset_config dataset[] = {config_of(names[0]), config_of(names[1])};
    open_bench(&bench, dataset, 2);
    zd_unit_with_failing_memory(reload_once, &bench);
    ck_assert_uint_eq(bench.server.n_datasets, 2);
    close_bench(&bench);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(
        tests, a_reload_opens_and_closes_what_differs, 0, (int)ZD_COUNT_OF(reloads));
    tcase_add_test(tests, a_dataset_that_fails_to_open_is_unavailable);
    tcase_add_test(tests, a_look_serves_all_requests_of_its_time);
    tcase_add_test(tests, a_dataset_follows_its_path);
    tcase_add_test(tests, without_memory_a_look_changes_nothing);
    tcase_add_loop_test(
        tests, a_store_closes_when_its_last_operation_is_over, 0, 2 * (int)ZD_COUNT_OF(wants));
    tcase_add_test(tests, a_walk_given_up_leaves_its_listing_the_store);
    tcase_add_test(tests, nothing_stays_cached_of_a_retired_dataset);
    tcase_add_test(tests, without_memory_what_is_served_stays);
}
