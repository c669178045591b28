/* Stored objects through the cache of encoded bytes.
 *
 *     ask -> take -> done          no machine: it is one question to the store, seldom two
 *      ^      |
 *      +------+ when a waiter needs the bytes and only the status was asked */
#include "server/data/object_cache.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/base/num.h"
#include "server/data/node.h"
#include "server/runtime/server.h"

#define KEY_HEAD_BYTES (1 + sizeof(uint32_t)) /* kind, dataset id */

/* Keep only the status of larger objects: the bound is just below the share at which the cache
 * drops an entry. */
#define SHARE_MAX 9

/* The work for one entry. */
struct object_load {
    struct zd_flight flight;
    enum zd_object_part part; /* to ask for next */
    bool is_read;             /* of an object: read its bytes, not only its status */
    union {
        struct zd_store_op op; /* the first member of all */
        struct zd_store_read read;
        struct zd_store_status status;
        struct zd_store_list list; /* of directories */
    } ask;
};

void zd_object_free(struct zd_cache_entry *entry)
{
    struct zd_object *object = ZD_CONTAINER(entry, struct zd_object, entry);
    zd_buf_unref(object->bytes);
    zd_dataset_unref(object->dataset);
    zd_free(object);
}

void zd_object_unref(struct zd_object *object)
{
    if (object != NULL) {
        zd_cache_unref(&object->dataset->server->objects, &object->entry);
    }
}

static struct zd_object *find(struct zd_dataset *dataset, struct zd_span key)
{
    struct zd_cache_entry *entry = zd_cache_find(&dataset->server->objects, key);
    return entry == NULL ? NULL : ZD_CONTAINER(entry, struct zd_object, entry);
}

/* The object, its entry's key and the NUL behind it are one piece of memory. */
static struct zd_object *new_object(struct zd_dataset *dataset, struct zd_span key)
{
    struct zd_object *object = zd_alloc_zero(1, sizeof *object + key.len + 1);
    if (object == NULL) {
        return NULL;
    }
    uint8_t *own_key = (uint8_t *)(object + 1);
    memcpy(own_key, key.ptr, key.len);
    object->dataset = zd_dataset_ref(dataset);
    object->entry.owner = dataset;
    object->kind = (enum zd_object_kind)key.ptr[0];
    object->key = (char *)own_key + KEY_HEAD_BYTES;
    object->entry.map.key = (struct zd_span){.ptr = own_key, .len = key.len};
    if (zd_cache_put(&dataset->server->objects, &object->entry) != ZD_OK) {
        zd_object_free(&object->entry);
        return NULL;
    }
    return object;
}

/* A key in memory that lasts for one look-up. */
struct key {
    uint8_t byte[KEY_HEAD_BYTES + ZD_OBJECT_NAME_MAX];
    size_t len;
};

static struct zd_span write_key(struct key *key, const struct zd_dataset *dataset,
    enum zd_object_kind kind, struct zd_span name)
{
    assert(name.len <= ZD_OBJECT_NAME_MAX);
    key->byte[0] = (uint8_t)kind;
    zd_store_u32(key->byte + 1, dataset->id);
    memcpy(key->byte + KEY_HEAD_BYTES, name.ptr, name.len);
    return (struct zd_span){.ptr = key->byte, .len = KEY_HEAD_BYTES + name.len};
}

struct zd_object *zd_object_claim(
    struct zd_dataset *dataset, enum zd_object_kind kind, struct zd_span name, bool *ret_is_new)
{
    struct key memory;
    const struct zd_span key = write_key(&memory, dataset, kind, name);
    struct zd_object *object = find(dataset, key);
    *ret_is_new = object == NULL;
    if (object == NULL) {
        return new_object(dataset, key);
    }
    (void)zd_cache_ref(&object->entry);
    return object;
}

const struct zd_object *zd_object_peek(
    const struct zd_dataset *dataset, enum zd_object_kind kind, struct zd_span name)
{
    struct key memory;
    const struct zd_map_entry *found =
        zd_map_find(&dataset->server->objects.map, write_key(&memory, dataset, kind, name));
    const struct zd_object *object =
        found == NULL ? NULL : ZD_CONTAINER(found, const struct zd_object, entry.map);
    return object == NULL || object->entry.flight != NULL ? NULL : object;
}

static bool has_part(const struct zd_object *object, enum zd_object_part part)
{
    return object->status == ZD_NOT_FOUND || part != ZD_OBJECT_BYTES || object->bytes != NULL;
}

void zd_object_give(const struct zd_object *object, struct zd_object_want *want)
{
    zd_wait_answer(&want->wait, object->status, NULL);
    want->checked_ms = object->checked_ms;
    if (object->status == ZD_OK) {
        want->stat = object->stat;
        want->bytes = want->part == ZD_OBJECT_BYTES ? zd_buf_ref(object->bytes) : NULL;
    } else if (object->kind != ZD_KIND_INDEX) {
        want->wait.status =
            zd_fail(&want->wait.err, ZD_NOT_FOUND, "%s: there is no such key", object->key);
    }
}

/* ---- the work on one entry ---- */

static struct object_load *load_of(struct zd_flight *flight)
{
    return ZD_CONTAINER(flight, struct object_load, flight);
}

static struct zd_object *object_of(const struct zd_flight *flight)
{
    return ZD_CONTAINER(flight->entry, struct zd_object, entry);
}

/* Note the store's answer: a read brings the bytes as well. */
static void note(struct object_load *load, enum zd_status status)
{
    struct zd_object *object = object_of(&load->flight);
    struct zd_stat stat = {0};
    struct zd_buf *bytes = NULL;
    uint64_t age_ms = 0;
    if (status == ZD_OK && object->kind == ZD_KIND_OBJECT) {
        age_ms = load->is_read ? load->ask.read.age_ms : load->ask.status.age_ms;
        stat = load->is_read ? load->ask.read.stat : load->ask.status.stat;
        bytes = load->is_read ? load->ask.read.bytes : NULL;
    }
    if (object->kind == ZD_KIND_DIRECTORY) {
        zd_store_list_done(&load->ask.list);
    }
    const bool is_same = zd_generation_equal(object->stat.generation, stat.generation);
    if (!is_same || bytes != NULL) {
        zd_buf_unref(object->bytes);
        object->bytes = bytes;
    }
    object->status = status;
    object->stat = stat;
    object->checked_ms = zd_dataset_checked_ms(load->flight.began_ms, age_ms);
}

/* The largest limit among the waiters. */
static uint64_t bytes_max_of(const struct zd_flight *flight)
{
    const uint64_t most = object_of(flight)->dataset->server->config->settings.limits_object_bytes;
    uint64_t bytes = 0;
    const struct zd_list *head = &flight->waiters;
    for (const struct zd_list *link = head->next; link != head; link = link->next) {
        const struct zd_object_want *want = ZD_CONTAINER(link, struct zd_object_want, wait.link);
        bytes = zd_max_u64(bytes, want->bytes_max == 0 ? most : want->bytes_max);
    }
    return zd_min_u64(bytes, most);
}

static void answered(struct zd_store_op *op);

/* Ask the store. ZD_AGAIN: answered() will run. */
static enum zd_status ask(struct object_load *load)
{
    const struct zd_object *object = object_of(&load->flight);
    struct zd_store *store = object->dataset->store;
    const uint64_t age_max_ms = zd_dataset_age_max(object->dataset, load->flight.began_ms);
    enum zd_status status = ZD_AGAIN;
    if (object->kind == ZD_KIND_DIRECTORY) {
        load->ask.list = (struct zd_store_list){.op.done = answered, .n_max = 1};
        (void)snprintf(load->ask.list.prefix, sizeof load->ask.list.prefix, "%s/", object->key);
        zd_store_list(store, &load->ask.list);
        return ZD_AGAIN;
    }
    load->is_read = load->part == ZD_OBJECT_BYTES && object->bytes == NULL;
    if (!load->is_read) {
        load->ask.op.done = answered;
        load->ask.status.age_max_ms = age_max_ms;
        (void)snprintf(load->ask.status.key, sizeof load->ask.status.key, "%s", object->key);
        status = zd_store_status_now(store, &load->ask.status);
        if (status == ZD_AGAIN) {
            zd_store_status(store, &load->ask.status);
        }
        return status;
    }
    load->ask.read = (struct zd_store_read){
        .op.done = answered,
        .bytes_max = bytes_max_of(&load->flight),
        .age_max_ms = age_max_ms,
    };
    (void)snprintf(load->ask.read.key, sizeof load->ask.read.key, "%s", object->key);
    status = zd_store_read_now(store, &load->ask.read);
    if (status == ZD_AGAIN) {
        zd_store_read(store, &load->ask.read);
    }
    return status;
}

/* The part that some waiter still lacks. */
static enum zd_object_part part_missing(const struct zd_flight *flight)
{
    enum zd_object_part part = ZD_OBJECT_STATUS;
    const struct zd_list *head = &flight->waiters;
    for (struct zd_list *link = head->next; link != head; link = link->next) {
        const struct zd_object_want *want = ZD_CONTAINER(link, struct zd_object_want, wait.link);
        part = has_part(object_of(flight), want->part) ? part : want->part;
    }
    return part;
}

/* @return ZD_DONE, or ZD_NEXT: ask for more */
static enum zd_next take(struct object_load *load, enum zd_status status)
{
    struct zd_flight *flight = &load->flight;
    if (status == ZD_TOO_LARGE && load->ask.read.bytes_max < bytes_max_of(flight)) {
        return ZD_NEXT; /* somebody who takes more has come since */
    }
    if (status != ZD_OK && status != ZD_NOT_FOUND) {
        flight->status = status;
        flight->err = load->ask.op.err;
        return ZD_DONE;
    }
    note(load, status);
    load->part = part_missing(flight);
    return load->part == ZD_OBJECT_STATUS ? ZD_DONE : ZD_NEXT;
}

static enum zd_next begin(struct zd_flight *flight)
{
    struct object_load *load = load_of(flight);
    enum zd_status status = ZD_OK;
    do {
        status = ask(load);
        if (status == ZD_AGAIN) {
            return ZD_WAIT;
        }
    } while (take(load, status) == ZD_NEXT);
    return ZD_DONE;
}

static void answered(struct zd_store_op *op)
{
    struct object_load *load = ZD_CONTAINER(op, struct object_load, ask.op);
    if (take(load, op->status) == ZD_DONE || begin(&load->flight) == ZD_DONE) {
        zd_flight_end(&load->flight);
    }
}

void zd_object_give_waiter(struct zd_flight *flight, struct zd_wait *wait)
{
    zd_object_give(object_of(flight), ZD_CONTAINER(wait, struct zd_object_want, wait));
}

void zd_object_settle(struct zd_flight *flight)
{
    struct zd_object *object = object_of(flight);
    struct zd_cache *cache = flight->cache;
    if (flight->status != ZD_OK || object->dataset->is_retired) {
        zd_cache_drop(cache, &object->entry);
        return;
    }
    size_t bytes = sizeof *object + object->entry.map.key.len + 1;
    if (object->bytes != NULL && object->bytes->cap > cache->bytes_max / SHARE_MAX) {
        zd_buf_unref(ZD_TAKE(object->bytes));
    }
    bytes += object->bytes == NULL ? 0 : object->bytes->cap;
    zd_cache_charge(cache, &object->entry, bytes);
}

static enum zd_next want_object(struct zd_dataset *dataset, const char *key,
    enum zd_freshness freshness, struct zd_object_want *want);

static enum zd_next ask_again(struct zd_flight *flight, struct zd_wait *wait)
{
    const struct zd_object *object = object_of(flight);
    return want_object(
        object->dataset, object->key, ZD_JOINING, ZD_CONTAINER(wait, struct zd_object_want, wait));
}

static enum zd_next cancel(struct zd_flight *flight)
{
    zd_store_cancel(&load_of(flight)->ask.op); /* its done still runs */
    return ZD_WAIT;
}

static const struct zd_flight_ops ops = {
    .begin = begin,
    .give = zd_object_give_waiter,
    .settle = zd_object_settle,
    .again = ask_again,
    .cancel = cancel,
};

/* Takes a reference of the entry, which is idle. */
static enum zd_next start(struct zd_object *object, struct zd_object_want *want)
{
    struct zd_server *server = object->dataset->server;
    struct object_load *load = zd_flight_new(sizeof *load, &ops, &server->objects, &object->entry,
        uv_now(server->loop), &want->wait, "a stored object");
    if (load == NULL) {
        return ZD_NEXT;
    }
    load->part = want->part;
    want->flight = &load->flight;
    return zd_flight_begin(&load->flight, &want->wait);
}

static enum zd_next want_object(struct zd_dataset *dataset, const char *key,
    enum zd_freshness freshness, struct zd_object_want *want)
{
    const enum zd_object_part part = want->part;
    want->bytes = NULL;
    want->stat = (struct zd_stat){0};
    if (!zd_key_is_valid(key)) {
        /* No store holds it: that is certain without asking. */
        want->wait.status = zd_fail(&want->wait.err, ZD_NOT_FOUND, "there is no such key");
        return ZD_NEXT;
    }
    const enum zd_object_kind kind =
        part == ZD_OBJECT_DIRECTORY ? ZD_KIND_DIRECTORY : ZD_KIND_OBJECT;
    bool is_new = false;
    struct zd_object *object = zd_object_claim(dataset, kind, zd_span_of(key), &is_new);
    if (object == NULL) {
        want->wait.status = zd_fail(&want->wait.err, ZD_NO_MEMORY, "%s: no memory", key);
        return ZD_NEXT;
    }
    if (object->entry.flight != NULL) {
        want->flight = object->entry.flight;
        zd_dataset_join(dataset, want->flight, freshness, &want->wait);
        zd_object_unref(object); /* the flight has a reference of its own */
        return ZD_WAIT;
    }
    if (!is_new && zd_dataset_trusts(dataset, object->checked_ms) && has_part(object, part)) {
        zd_object_give(object, want);
        zd_object_unref(object);
        return ZD_NEXT;
    }
    return start(object, want);
}

enum zd_next zd_objects_want(struct zd_dataset *dataset, const char *key, enum zd_object_part part,
    struct zd_object_want *want)
{
    want->part = part;
    return want_object(dataset, key, ZD_TRUSTED, want);
}

void zd_objects_release(struct zd_object_want *want)
{
    zd_flight_leave(want->flight, &want->wait);
    zd_buf_unref(ZD_TAKE(want->bytes));
}

static void forget(struct zd_dataset *dataset, enum zd_object_kind kind, struct zd_span name)
{
    struct key memory;
    zd_cache_forget(&dataset->server->objects, write_key(&memory, dataset, kind, name));
}

void zd_objects_forget(struct zd_dataset *dataset, const char *key)
{
    forget(dataset, ZD_KIND_OBJECT, zd_span_of(key));
}

void zd_objects_forget_change(struct zd_dataset *dataset, const char *key)
{
    forget(dataset, ZD_KIND_OBJECT, zd_span_of(key));
    for (const char *at = strchr(key, '/'); at != NULL; at = strchr(at + 1, '/')) {
        const struct zd_span above = {(const uint8_t *)key, (size_t)(at - key)};
        forget(dataset, ZD_KIND_DIRECTORY, above);
    }
}

enum zd_status zd_object_key_of(const struct zd_node *node, uint32_t level, const uint64_t *index,
    char ret_key[ZD_KEY_BYTES_MAX + 1], struct zd_error *err)
{
    uint64_t object_index[ZD_RANK_MAX];
    zd_layout_ancestor(node->layout, level, 0, index, object_index);
    ZD_SCOPED_TEXT(key, ZD_KEY_BYTES_MAX);
    const enum zd_status status =
        node->meta->dialect->chunk_key(node->meta, node->path, object_index, &key);
    if (status != ZD_OK) {
        return zd_fail(
            err, status, "%s: the key of the chunk exceeds %d bytes", node->path, ZD_KEY_BYTES_MAX);
    }
    memcpy(ret_key, key.at, key.len + 1);
    return ZD_OK;
}

void zd_object_key_in_error(struct zd_error *err, const char *what, const char *key)
{
    char prefix[ZD_ERROR_TEXT_BYTES / 2];
    (void)snprintf(prefix, sizeof prefix, "%s %.200s: ", what, key);
    const size_t len = strlen(prefix);
    memmove(err->text + len, err->text, sizeof err->text - len - 1);
    memcpy(err->text, prefix, len);
    err->text[sizeof err->text - 1] = '\0';
}
