/* The store "mem:": objects in memory, gone when it is closed. For tests and small data. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/hash.h"
#include "core/store/contract/page.h"
#include "core/store/contract/path.h"
#include "core/store/contract/store_impl.h"

#define OBJECT_BYTES 256 /* of one object besides its key and its bytes */
#define LEVELS_MAX   16
#define LEVEL_BITS   2 /* one object of four is in the next level too */

/* An element of a skip list: in the first levels, one at least. */
struct object {
    const char *key;      /* behind `next` */
    struct zd_buf *bytes; /* shared */
    struct zd_stat stat;
    struct object *next[];
};

struct mem_store {
    struct zd_store store;            /* first member */
    struct object *first[LEVELS_MAX]; /* of each level: sorted by key */
    uint64_t random;                  /* never 0 */
    struct zd_store_memory own;       /* the bound of its option 'bytes' */
    struct zd_store_memory *memory;   /* own, or the one of its configuration; borrowed; or NULL */
    struct zd_generation last;        /* given out last: a random word and a count */
};

/* Where a key is, or would be: what leads there in each level. */
struct place {
    struct object **link[LEVELS_MAX];
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
    const char *rest = zd_store_location_in("mem", location);
    return rest != NULL && rest[0] == '\0';
}

static enum zd_status mem_open(
    const struct zd_store_config *config, struct zd_store **ret_store, struct zd_error *err)
{
    struct mem_store *mem = zd_alloc_zero(1, sizeof *mem);
    if (mem == NULL || zd_store_init(&mem->store, config) != ZD_OK) {
        zd_free(mem);
        return zd_fail(err, ZD_NO_MEMORY, "mem: no memory for the store");
    }
    mem->memory = config->memory;
    if (zd_json_u64(zd_json_member(config->options, "bytes"), &mem->own.bytes_max)) {
        mem->memory = &mem->own;
    }
    mem->random = zd_hash_random_seed() | 1;
    mem->last.word[0] = zd_hash_random_seed();
    *ret_store = &mem->store;
    return ZD_OK;
}

static void hold_bytes(struct mem_store *mem, uint64_t n)
{
    if (mem->memory != NULL) {
        mem->memory->bytes += n;
    }
}

static void let_go_bytes(struct mem_store *mem, uint64_t n)
{
    if (mem->memory != NULL) {
        mem->memory->bytes -= n;
    }
}

/* An object, or what is staged or kept for it. */
static uint64_t cost_of(const char *key, const struct zd_buf *bytes)
{
    return OBJECT_BYTES + strlen(key) + bytes->cap;
}

static void free_object(struct mem_store *mem, struct object *object)
{
    if (object->bytes != NULL) {
        let_go_bytes(mem, cost_of(object->key, object->bytes));
    }
    zd_buf_unref(object->bytes);
    zd_free(object);
}

static void mem_close(struct zd_store *store)
{
    struct mem_store *mem = mem_of(store);
    for (struct object *object = mem->first[0]; object != NULL;) {
        struct object *next = object->next[0];
        free_object(mem, object);
        object = next;
    }
    zd_free(store->location);
    zd_free(mem);
}

/* ---- the objects, by key ---- */

/* The first object whose key is not less, or NULL. @param ret_place what leads to it, or NULL */
static struct object *seek(struct mem_store *mem, const char *key, struct place *ret_place)
{
    struct object **row = mem->first;
    for (uint32_t level = LEVELS_MAX; level-- > 0;) {
        for (; row[level] != NULL && strcmp(row[level]->key, key) < 0; row = row[level]->next) {
            mem->store.n_passed++;
        }
        if (ret_place != NULL) {
            ret_place->link[level] = &row[level];
        }
    }
    return row[0];
}

static struct object *find_at(struct mem_store *mem, const char *key, struct place *ret_place)
{
    struct object *object = seek(mem, key, ret_place);
    return object != NULL && strcmp(object->key, key) == 0 ? object : NULL;
}

static struct object *find(struct mem_store *mem, const char *key)
{
    return find_at(mem, key, NULL);
}

/* xorshift64: Marsaglia, Xorshift RNGs, 2003. */
static uint32_t choose_levels(struct mem_store *mem)
{
    uint32_t n = 1;
    mem->random ^= mem->random << 13;
    mem->random ^= mem->random >> 7;
    mem->random ^= mem->random << 17;
    for (uint64_t bits = mem->random; n < LEVELS_MAX && (bits & ((1U << LEVEL_BITS) - 1)) == 0;
        bits >>= LEVEL_BITS) {
        n++;
    }
    return n;
}

/* A single allocation holds the object, its links and its key. */
static struct object *insert(
    struct mem_store *mem, const char *key, const struct place *place, struct zd_buf *bytes)
{
    const uint32_t n_levels = choose_levels(mem);
    const size_t key_bytes = strlen(key) + 1;
    struct object *object =
        zd_alloc_zero(1, sizeof *object + n_levels * sizeof *object->next + key_bytes);
    if (object == NULL) {
        return NULL;
    }
    object->key = memcpy(object->next + n_levels, key, key_bytes);
    object->bytes = zd_buf_ref(bytes);
    for (uint32_t level = 0; level < n_levels; level++) {
        object->next[level] = *place->link[level];
        *place->link[level] = object;
    }
    return object;
}

static void take_out(struct object *object, const struct place *place)
{
    for (uint32_t level = 0; level < LEVELS_MAX && *place->link[level] == object; level++) {
        *place->link[level] = object->next[level];
    }
}

/* ---- reading ---- */

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

/* Offer the name of this level: it is cut at its first slash. */
static enum zd_status offer_level(struct zd_page *listing, const char *name)
{
    char cut[ZD_KEY_BYTES_MAX + 1];
    const char *slash = strchr(name, '/');
    return slash == NULL
               ? zd_page_offer(listing, name, false)
               : zd_page_offer(listing, zd_path_cut(name, (size_t)(slash - name), cut), true);
}

/* The object behind one that was offered: of a level, behind all of its prefix. */
static const struct object *next_of(
    struct mem_store *mem, const struct zd_store_list *list, const struct object *object)
{
    const struct object *next = object->next[0];
    const char *slash = strchr(object->key + strlen(list->prefix), '/');
    char key[ZD_KEY_BYTES_MAX + 2];
    if (list->deep || slash == NULL || next == NULL) {
        return next;
    }
    const size_t len = (size_t)(slash - object->key);
    if (strncmp(next->key, object->key, len + 1) != 0) {
        return next;
    }
    memcpy(key, object->key, len);
    key[len] = '/' + 1;
    key[len + 1] = '\0';
    return seek(mem, key, NULL);
}

/* The first key of a listing; no name after `after` comes before it. */
static const struct object *first_of(struct mem_store *mem, const struct zd_store_list *list)
{
    char key[2 * ZD_KEY_BYTES_MAX + 2];
    (void)snprintf(key, sizeof key, "%s%s", list->prefix, list->after == NULL ? "" : list->after);
    return seek(mem, key, NULL);
}

/* Whether there is an object, and its key has the prefix. */
static bool has_prefix(const struct object *object, const char *prefix)
{
    return object != NULL && strncmp(object->key, prefix, strlen(prefix)) == 0;
}

/* A page is full. Names come in the order of their keys, where "a-b" stands before "a/": of those
 * from this object on only the beginnings of the greatest name that is kept can be smaller. */
static enum zd_status offer_beginnings(struct mem_store *mem, struct zd_store_list *list,
    const struct object *object, struct zd_page *listing)
{
    char name[ZD_KEY_BYTES_MAX + 1];
    char key[2 * ZD_KEY_BYTES_MAX + 2];
    (void)snprintf(name, sizeof name, "%s", listing->entry[0].name);
    for (size_t len = strlen(name); len-- > 1 && !zd_store_list_is_cut(list);) {
        if ((uint8_t)name[len] >= '/') {
            continue;
        }
        (void)snprintf(key, sizeof key, "%s%.*s/", list->prefix, (int)len, name);
        const struct object *first = seek(mem, key, NULL);
        if (has_prefix(first, key) && strcmp(first->key, object->key) >= 0) {
            list->n_visited++;
            ZD_TRY(offer_level(listing, first->key + strlen(list->prefix)));
        }
    }
    return ZD_OK;
}

static enum zd_status list_objects(struct mem_store *mem, struct zd_store_list *list)
{
    const size_t prefix_len = strlen(list->prefix);
    struct zd_page listing;
    enum zd_status status =
        prefix_len == 0 || has_prefix(seek(mem, list->prefix, NULL), list->prefix) ? ZD_OK
                                                                                   : ZD_NOT_FOUND;
    const struct object *object = first_of(mem, list);
    zd_page_init(&listing, list->after, list->n_max);
    for (; status == ZD_OK && has_prefix(object, list->prefix) && !zd_store_list_is_cut(list) &&
           !listing.has_more;
        object = next_of(mem, list, object)) {
        const char *name = object->key + prefix_len;
        list->n_visited++;
        status = list->deep ? zd_page_offer(&listing, name, false) : offer_level(&listing, name);
    }
    if (status == ZD_OK && !list->deep && listing.has_more && object != NULL) {
        status = offer_beginnings(mem, list, object, &listing);
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

/* ---- writing ---- */

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

static enum zd_status judge_room(const struct mem_store *mem, struct zd_store_write *write,
    const struct zd_buf *bytes, const struct zd_buf *old)
{
    const struct zd_store_memory *memory = mem->memory;
    if (memory == NULL) {
        return ZD_OK;
    }
    const uint64_t wanted =
        memory->bytes - (old == NULL ? 0 : cost_of(write->key, old)) + cost_of(write->key, bytes);
    if (wanted <= memory->bytes_max) {
        return ZD_OK;
    }
    const enum zd_status status = zd_fail(&write->op.err, ZD_NO_SPACE,
        memory == &mem->own
            ? "%s: the store would hold %llu bytes of memory; its option 'bytes' is %llu"
            : "%s: the mem: stores would hold %llu bytes; stores without the option 'bytes' may "
              "hold %llu in total",
        write->key, (unsigned long long)wanted, (unsigned long long)memory->bytes_max);
    zd_fact_limit(&write->op.err, memory->bytes_max, wanted);
    return status;
}

static void replace_bytes(struct mem_store *mem, struct object *object, struct zd_buf *bytes)
{
    let_go_bytes(mem, cost_of(object->key, object->bytes));
    zd_buf_unref(object->bytes);
    object->bytes = zd_buf_ref(bytes);
}

/* Room for staged bytes was found before. */
static enum zd_status put_object(
    struct mem_store *mem, struct zd_store_write *write, struct zd_buf *bytes)
{
    struct place place;
    struct object *object = find_at(mem, write->key, &place);
    const struct zd_stat *found = object == NULL ? NULL : &object->stat;
    ZD_TRY(zd_store_judge_write(write, found, &write->op.err));
    if (write->phase == ZD_PHASE_WHOLE) {
        ZD_TRY(judge_room(mem, write, bytes, object == NULL ? NULL : object->bytes));
    }
    if (object != NULL) {
        replace_bytes(mem, object, bytes);
    } else {
        object = insert(mem, write->key, &place, bytes);
    }
    if (object == NULL) {
        return zd_fail(&write->op.err, ZD_NO_MEMORY, "%s: no memory for the object", write->key);
    }
    hold_bytes(mem, cost_of(write->key, bytes));
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
    hold_bytes(mem, cost_of(write->key, bytes));
    write->staged = &held->staged;
    return ZD_OK;
}

static void drop_staged(struct mem_store *mem, struct zd_store_write *write)
{
    struct mem_staged *held = ZD_CONTAINER(write->staged, struct mem_staged, staged);
    let_go_bytes(mem, cost_of(write->key, held->bytes));
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
    hold_bytes(mem, cost_of(write->key, old));
    let_go_bytes(mem, cost_of(write->key, held->bytes));
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
    case ZD_PHASE_EXTEND:
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
    struct place place;
    struct object *object = find_at(mem, erase->key, &place);
    const struct zd_stat *found = object == NULL ? NULL : &object->stat;
    ZD_TRY(zd_store_judge_write(erase, found, &erase->op.err));
    if (object == NULL) {
        return ZD_NOT_FOUND;
    }
    if (erase->keeps_old) {
        ZD_TRY(hold(mem, erase, object->bytes));
    }
    take_out(object, &place);
    free_object(mem, object);
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
        "objects in memory, lost when the server stops; option 'bytes' is the most it may hold",
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
