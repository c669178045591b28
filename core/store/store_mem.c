/* The store "mem:": objects in memory, gone when it is closed. For tests and small data. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/hash.h"
#include "core/base/num.h"
#include "core/store/page.h"
#include "core/store/store.h"

#define FIRST_CAP    16
#define OBJECT_BYTES 256 /* of one object besides its key and its bytes */

struct object {
    char *key;            /* owned */
    struct zd_buf *bytes; /* shared */
    struct zd_stat stat;
};

struct mem_store {
    struct zd_store store; /* first member */
    struct object *object; /* sorted by key */
    size_t n_objects;
    size_t cap;
    uint64_t held_bytes;       /* by objects, and by what is staged or kept */
    uint64_t held_bytes_max;   /* 0: no bound */
    struct zd_generation last; /* generation given out last: a random word and a count */
};

struct mem_staged {
    struct zd_staged staged; /* first member */
    struct zd_buf *bytes;    /* shared */
};

static struct mem_store *mem_of(struct zd_store *store)
{
    return ZD_CONTAINER(store, struct mem_store, store);
}

static bool mem_accepts(const char *location)
{
    return zd_store_location_in("mem", location) != NULL;
}

static enum zd_status mem_open(
    const struct zd_store_config *config, struct zd_store **ret_store, struct zd_error *err)
{
    if (*zd_store_location_in("mem", config->location) != '\0') {
        return zd_fail(err, ZD_INVALID, "%s: expected \"mem:\" alone", config->location);
    }
    struct mem_store *mem = zd_alloc_zero(1, sizeof *mem);
    if (mem == NULL || zd_store_init(&mem->store, config) != ZD_OK) {
        zd_free(mem);
        return zd_fail(err, ZD_NO_MEMORY, "mem: no memory for the store");
    }
    mem->held_bytes_max = config->memory_bytes;
    (void)zd_json_u64(zd_json_member(config->options, "bytes"), &mem->held_bytes_max);
    mem->last.word[0] = zd_hash_random_seed();
    *ret_store = &mem->store;
    return ZD_OK;
}

static void object_done(struct object *object)
{
    zd_free(object->key);
    zd_buf_unref(object->bytes);
}

static void mem_close(struct zd_store *store)
{
    struct mem_store *mem = mem_of(store);
    for (size_t i = 0; i < mem->n_objects; i++) {
        object_done(&mem->object[i]);
    }
    zd_free(mem->object);
    zd_free(store->location);
    zd_free(mem);
}

/* The place of the first key that is not less. */
static size_t place_of(const struct mem_store *mem, const char *key)
{
    size_t low = 0;
    size_t high = mem->n_objects;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (strcmp(mem->object[middle].key, key) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static struct object *find(const struct mem_store *mem, const char *key)
{
    const size_t place = place_of(mem, key);
    const bool found = place < mem->n_objects && strcmp(mem->object[place].key, key) == 0;
    return found ? &mem->object[place] : NULL;
}

static enum zd_status read_object(struct mem_store *mem, struct zd_store_read *read)
{
    const struct object *object = find(mem, read->key);
    struct zd_range range;
    if (object == NULL) {
        return ZD_NOT_FOUND;
    }
    read->stat = object->stat;
    ZD_TRY(zd_store_judge_read(read, &object->stat, &range, &read->op.err));
    read->bytes = range.len == object->bytes->len ? zd_buf_ref(object->bytes)
                                                  : zd_buf_copy((struct zd_span){
                                                        .ptr = object->bytes->data + range.first,
                                                        .len = (size_t)range.len,
                                                    });
    if (read->bytes == NULL) {
        return zd_fail(&read->op.err, ZD_NO_MEMORY, "%s: no memory for %llu bytes", read->key,
            (unsigned long long)range.len);
    }
    zd_store_count_bytes(&mem->store, range.len);
    return ZD_OK;
}

static enum zd_status mem_read_now(struct zd_store *store, struct zd_store_read *read)
{
    return read_object(mem_of(store), read);
}

static void mem_read(struct zd_store *store, struct zd_store_read *read)
{
    read->op.status = read_object(mem_of(store), read);
    zd_store_finish_later(&read->op);
}

static enum zd_status mem_status_now(struct zd_store *store, struct zd_store_status *status)
{
    const struct object *object = find(mem_of(store), status->key);
    if (object == NULL) {
        return ZD_NOT_FOUND;
    }
    status->stat = object->stat;
    return ZD_OK;
}

static void mem_status(struct zd_store *store, struct zd_store_status *status)
{
    status->op.status = mem_status_now(store, status);
    zd_store_finish_later(&status->op);
}

/* One level: the name is cut at its first slash, and neighbours of one prefix become one entry. */
static enum zd_status offer_level(
    struct zd_page *listing, const char *name, struct zd_text *last_prefix)
{
    const char *slash = strchr(name, '/');
    if (slash == NULL) {
        return zd_page_offer(listing, name, false);
    }
    const struct zd_span cut = {.ptr = (const uint8_t *)name, .len = (size_t)(slash - name)};
    if (zd_span_equal(cut, zd_text_span(last_prefix))) {
        return ZD_OK;
    }
    zd_text_clear(last_prefix);
    ZD_TRY(zd_text_add_bytes(last_prefix, cut.ptr, cut.len));
    return zd_page_offer(listing, last_prefix->at, true);
}

/* Whether the key at a place, if there is one, has the prefix; all have the empty one. */
static bool has_prefix(const struct mem_store *mem, size_t place, const char *prefix)
{
    return prefix[0] == '\0' ||
           (place < mem->n_objects && strncmp(mem->object[place].key, prefix, strlen(prefix)) == 0);
}

/* The first key of a listing; no name after `after` comes before it. */
static size_t first_place(const struct mem_store *mem, const struct zd_store_list *list)
{
    char key[2 * ZD_KEY_BYTES_MAX + 2];
    (void)snprintf(key, sizeof key, "%s%s", list->prefix, list->after == NULL ? "" : list->after);
    return place_of(mem, key);
}

static enum zd_status list_objects(struct mem_store *mem, struct zd_store_list *list)
{
    const size_t prefix_len = strlen(list->prefix);
    struct zd_page listing;
    enum zd_status status =
        has_prefix(mem, place_of(mem, list->prefix), list->prefix) ? ZD_OK : ZD_NOT_FOUND;
    ZD_SCOPED_TEXT(last_prefix, ZD_KEY_BYTES_MAX);
    zd_page_init(&listing, list->after, list->n_max);
    /* A deep listing meets its names in their order, and ends with its page. */
    for (size_t i = first_place(mem, list); i < mem->n_objects && !(list->deep && listing.has_more);
        i++) {
        const char *name = mem->object[i].key + prefix_len;
        if (status != ZD_OK || !has_prefix(mem, i, list->prefix)) {
            break;
        }
        list->n_visited++;
        status = list->deep ? zd_page_offer(&listing, name, false)
                            : offer_level(&listing, name, &last_prefix);
    }
    if (status == ZD_OK) {
        zd_page_finish(&listing, list);
    }
    zd_page_done(&listing);
    return status;
}

static void mem_list(struct zd_store *store, struct zd_store_list *list)
{
    list->op.status = list_objects(mem_of(store), list);
    if (list->op.status == ZD_NO_MEMORY) {
        list->op.status = zd_fail(&list->op.err, ZD_NO_MEMORY, "no memory for a listing");
    }
    zd_store_count_visited(list);
    zd_store_finish_later(&list->op);
}

static enum zd_status make_room(struct mem_store *mem)
{
    size_t cap = mem->cap == 0 ? FIRST_CAP : mem->cap;
    size_t len;
    if (mem->n_objects < mem->cap) {
        return ZD_OK;
    }
    if (ckd_mul(&cap, cap, (size_t)2) || ckd_mul(&len, cap, sizeof *mem->object)) {
        return ZD_NO_MEMORY;
    }
    struct object *grown = zd_realloc(mem->object, len);
    if (grown == NULL) {
        return ZD_NO_MEMORY;
    }
    mem->object = grown;
    mem->cap = cap;
    return ZD_OK;
}

/* A place for a key that is not there yet, without bytes; NULL when memory is short. */
static struct object *insert(struct mem_store *mem, const char *key)
{
    if (make_room(mem) != ZD_OK) {
        return NULL;
    }
    char *copy = zd_strdup(key);
    if (copy == NULL) {
        return NULL;
    }
    struct object *object = &mem->object[place_of(mem, key)];
    memmove(object + 1, object, (size_t)(mem->object + mem->n_objects - object) * sizeof *object);
    *object = (struct object){.key = copy};
    mem->n_objects++;
    return object;
}

static struct zd_stat stat_of_new(struct mem_store *mem, uint64_t size)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    mem->last.word[1]++;
    return (struct zd_stat){
        .generation = mem->last,
        .size = size,
        .mtime_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000,
    };
}

/* An object, or what is staged or kept for it. */
static uint64_t cost_of(const struct zd_store_write *write, const struct zd_buf *bytes)
{
    return OBJECT_BYTES + strlen(write->key) + bytes->cap;
}

static enum zd_status judge_room(const struct mem_store *mem, struct zd_store_write *write,
    const struct zd_buf *bytes, const struct zd_buf *old)
{
    const uint64_t held_bytes = mem->held_bytes - (old == NULL ? 0 : cost_of(write, old));
    const uint64_t wanted = held_bytes + cost_of(write, bytes);
    if (mem->held_bytes_max == 0 || wanted <= mem->held_bytes_max) {
        return ZD_OK;
    }
    const enum zd_status status = zd_fail(&write->op.err, ZD_NO_SPACE,
        "%s: the store would hold %llu bytes of memory, its option 'bytes' is %llu", write->key,
        (unsigned long long)wanted, (unsigned long long)mem->held_bytes_max);
    zd_fact_limit(&write->op.err, mem->held_bytes_max, wanted);
    return status;
}

/* Room for staged bytes was found before. */
static enum zd_status put_object(
    struct mem_store *mem, struct zd_store_write *write, struct zd_buf *bytes)
{
    struct object *object = find(mem, write->key);
    const struct zd_stat *found = object == NULL ? NULL : &object->stat;
    ZD_TRY(zd_store_judge_write(write, found, &write->op.err));
    if (write->phase == ZD_PHASE_WHOLE) {
        ZD_TRY(judge_room(mem, write, bytes, object == NULL ? NULL : object->bytes));
    }
    if (object == NULL) {
        object = insert(mem, write->key);
    }
    if (object == NULL) {
        return zd_fail(&write->op.err, ZD_NO_MEMORY, "%s: no memory for the object", write->key);
    }
    mem->held_bytes += cost_of(write, bytes);
    mem->held_bytes -= object->bytes == NULL ? 0 : cost_of(write, object->bytes);
    zd_buf_unref(object->bytes);
    object->bytes = zd_buf_ref(bytes);
    object->stat = stat_of_new(mem, bytes->len);
    write->stat = object->stat;
    return ZD_OK;
}

static enum zd_status hold(
    struct mem_store *mem, struct zd_store_write *write, struct zd_buf *bytes)
{
    struct mem_staged *held = zd_alloc(sizeof *held);
    if (held == NULL) {
        return zd_fail(&write->op.err, ZD_NO_MEMORY, "%s: no memory for the object", write->key);
    }
    *held = (struct mem_staged){
        .staged = {.store = &mem->store, .size = bytes->len},
        .bytes = zd_buf_ref(bytes),
    };
    mem->held_bytes += cost_of(write, bytes);
    write->staged = &held->staged;
    return ZD_OK;
}

static void drop_staged(struct mem_store *mem, struct zd_store_write *write)
{
    struct mem_staged *held = ZD_CONTAINER(write->staged, struct mem_staged, staged);
    mem->held_bytes -= cost_of(write, held->bytes);
    zd_buf_unref(held->bytes);
    zd_free(held);
    write->staged = NULL;
}

static enum zd_status commit_object(struct mem_store *mem, struct zd_store_write *write)
{
    struct mem_staged *held = ZD_CONTAINER(write->staged, struct mem_staged, staged);
    const struct object *object = write->keeps_old ? find(mem, write->key) : NULL;
    ZD_AUTO(zd_buf) old = object == NULL ? NULL : zd_buf_ref(object->bytes);
    const enum zd_status status = put_object(mem, write, held->bytes);
    if (status != ZD_OK || old == NULL) {
        drop_staged(mem, write);
        return status;
    }
    mem->held_bytes += cost_of(write, old);
    mem->held_bytes -= cost_of(write, held->bytes);
    zd_buf_unref(held->bytes);
    held->staged.size = old->len;
    held->bytes = ZD_TAKE(old);
    return ZD_OK;
}

static enum zd_status write_phase(struct mem_store *mem, struct zd_store_write *write)
{
    switch (write->phase) {
    case ZD_PHASE_WHOLE:
        return put_object(mem, write, write->bytes);
    case ZD_PHASE_STAGE:
        ZD_TRY(judge_room(mem, write, write->bytes, NULL));
        return hold(mem, write, write->bytes);
    case ZD_PHASE_COMMIT:
        return commit_object(mem, write);
    case ZD_PHASE_DISCARD:
        break;
    }
    return ZD_INTERNAL;
}

static void mem_write(struct zd_store *store, struct zd_store_write *write)
{
    write->op.status = write_phase(mem_of(store), write);
    zd_store_finish_later(&write->op);
}

static void mem_discard(struct zd_store *store, struct zd_store_write *write)
{
    drop_staged(mem_of(store), write);
    zd_store_finish_later(&write->op);
}

static enum zd_status erase_object(struct mem_store *mem, struct zd_store_write *erase)
{
    struct object *object = find(mem, erase->key);
    const struct zd_stat *found = object == NULL ? NULL : &object->stat;
    ZD_TRY(zd_store_judge_write(erase, found, &erase->op.err));
    if (object == NULL) {
        return ZD_NOT_FOUND;
    }
    if (erase->keeps_old) {
        ZD_TRY(hold(mem, erase, object->bytes));
    }
    mem->held_bytes -= cost_of(erase, object->bytes);
    object_done(object);
    mem->n_objects--;
    memmove(object, object + 1, (size_t)(mem->object + mem->n_objects - object) * sizeof *object);
    return ZD_OK;
}

static void mem_erase(struct zd_store *store, struct zd_store_write *erase)
{
    erase->op.status = erase_object(mem_of(store), erase);
    zd_store_finish_later(&erase->op);
}

static void mem_cancel(struct zd_store *store, struct zd_store_op *op)
{
    /* The work is over when the call that starts it returns: there is nothing to end early. */
    (void)store;
    (void)op;
}

const struct zd_store_ops zd_store_ops_mem = {
    .scheme = "mem",
    .accepts = mem_accepts,
    .usage = "mem:",
    .meaning =
        "objects in memory, lost when the server stops; option 'bytes': how many it may hold",
    .schema =
        "{\"type\":\"object\",\"properties\":{\"bytes\":{\"type\":\"integer\",\"minimum\":1}},"
        "\"additionalProperties\":false}",
    .default_revalidate_ms = 1000,
    .open = mem_open,
    .close = mem_close,
    .read = mem_read,
    .status = mem_status,
    .list = mem_list,
    .write = mem_write,
    .erase = mem_erase,
    .discard = mem_discard,
    .read_now = mem_read_now,
    .status_now = mem_status_now,
    .cancel = mem_cancel,
};
