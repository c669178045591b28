/* Going through all stored keys below a path, and erasing those that are to go.
 *
 * One page of the listing is held at a time, and those of its keys that go do so in batches:
 *
 *     fill a batch - look at its keys - look at the node - erase
 *
 * The middle two are for who may meet other processes (holds). When all keys of the page are judged
 * and those that go are gone, the next page is asked for, behind the last name. */
#include "server/write/purge.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "server/data/datasets.h"
#include "server/write/store_write.h"

#define PAGE_ENTRIES 1000
#define AT_ONCE      32 /* keys of a batch */

/* A key of the batch. */
struct slot {
    struct zd_purge *purge;
    struct zd_store_status found; /* ZD_OK: it goes as it was found then */
    struct zd_store_write_want want;
    size_t entry; /* of the page */
};

struct zd_purge {
    struct zd_purge_config config;
    struct zd_dataset *dataset; /* a reference */
    struct zd_store_list list;
    char *path;                /* owned */
    char *after;               /* the last name of the page before; owned, or NULL */
    size_t next;               /* entry of the page */
    struct slot slot[AT_ONCE]; /* n_used of them are the batch */
    uint32_t n_used;
    uint32_t n_pending;
    void (*step)(struct zd_purge *purge); /* what follows when nothing is pending */
    struct zd_node_want node_want;
    uint64_t n_failed;
    bool is_stopped;
    bool is_running; /* inside go_on */
    enum zd_status status;
    struct zd_error err;
    char key[2 * ZD_KEY_BYTES_MAX + 2]; /* of the entry at hand: a listed name is no longer than a
                                           key, so that it always fits */
};

static void go_on(struct zd_purge *purge);

static void note_failure(struct zd_purge *purge, enum zd_status status, const struct zd_error *err)
{
    if (purge->status == ZD_OK) {
        purge->status = status;
        purge->err = *err;
    }
}

static const char *rest_of(const struct zd_purge *purge, size_t entry)
{
    return purge->list.entry[entry].name;
}

/* A listed name is relative to the prefix. */
static const char *key_of(struct zd_purge *purge, size_t entry)
{
    (void)snprintf(
        purge->key, sizeof purge->key, "%s%s", purge->list.prefix, rest_of(purge, entry));
    return purge->key;
}

static void fill(struct zd_purge *purge);

static void arrived(struct zd_purge *purge)
{
    purge->n_pending--;
    go_on(purge);
}

/* ---- a batch goes ---- */

/* What is not there any more has gone; what is another object by now stays. */
static void note_erasure(struct slot *slot)
{
    struct zd_purge *purge = slot->purge;
    const struct zd_wait *wait = &slot->want.wait;
    const bool is_gone = wait->status == ZD_OK || wait->status == ZD_NOT_FOUND;
    if (!is_gone && wait->status != ZD_PRECONDITION) {
        purge->n_failed++;
        note_failure(purge, wait->status, &wait->err);
    } else if (is_gone && purge->config.erased != NULL) {
        purge->config.erased(
            purge->config.context, key_of(purge, slot->entry), rest_of(purge, slot->entry));
    }
}

static void erased(struct zd_wait *wait)
{
    struct slot *slot = ZD_CONTAINER(wait, struct slot, want.wait);
    note_erasure(slot);
    arrived(slot->purge);
}

static bool goes_still(struct zd_purge *purge, const struct slot *slot)
{
    const char *key = key_of(purge, slot->entry);
    return purge->config.holds == NULL ||
           (slot->found.op.status == ZD_OK && purge->config.visit(purge->config.context, key,
                                                  rest_of(purge, slot->entry)) == ZD_PURGE_ERASE);
}

static void erase(struct zd_purge *purge, struct slot *slot)
{
    const bool is_guarded = purge->config.holds != NULL;
    slot->want = (struct zd_store_write_want){
        .wait.done = erased,
        .kind = ZD_WRITE_ERASE,
        .condition = is_guarded ? ZD_CONDITION_GENERATION : ZD_CONDITION_NONE,
        .generation = slot->found.stat.generation,
    };
    if (zd_store_write_want(purge->dataset, key_of(purge, slot->entry), &slot->want) == ZD_NEXT) {
        note_erasure(slot);
    } else {
        purge->n_pending++;
    }
}

static void erase_batch(struct zd_purge *purge)
{
    purge->step = fill;
    for (uint32_t i = 0; i < purge->n_used; i++) {
        if (goes_still(purge, &purge->slot[i])) {
            erase(purge, &purge->slot[i]);
        }
    }
}

/* ---- whether it goes still ---- */

static void judge_node(struct zd_purge *purge)
{
    const struct zd_wait *wait = &purge->node_want.wait;
    ZD_AUTO(zd_node) node = ZD_TAKE(purge->node_want.node);
    purge->step = fill;
    if (wait->status != ZD_OK && wait->status != ZD_NOT_FOUND) {
        note_failure(purge, wait->status, &wait->err);
        purge->n_failed += purge->n_used;
        purge->is_stopped = true;
    } else if (purge->config.holds(purge->config.context, node)) {
        erase_batch(purge);
    } else {
        purge->is_stopped = true;
    }
}

static void node_arrived(struct zd_wait *wait)
{
    arrived(ZD_CONTAINER(wait, struct zd_purge, node_want.wait));
}

static void look_at_node(struct zd_purge *purge)
{
    purge->step = judge_node;
    purge->node_want = (struct zd_node_want){.wait.done = node_arrived};
    if (zd_catalog_want_fresh(purge->dataset, purge->path, &purge->node_want) == ZD_WAIT) {
        purge->n_pending++;
    }
}

static void note_status(const struct slot *slot)
{
    struct zd_purge *purge = slot->purge;
    const struct zd_store_op *op = &slot->found.op;
    if (op->status != ZD_OK && op->status != ZD_NOT_FOUND) {
        purge->n_failed++;
        note_failure(purge, op->status, &op->err);
    }
}

static void found(struct zd_store_op *op)
{
    const struct slot *slot = ZD_CONTAINER(op, struct slot, found.op);
    note_status(slot);
    arrived(slot->purge);
}

static void look_at_batch(struct zd_purge *purge)
{
    struct zd_store *store = purge->dataset->store;
    purge->step = look_at_node;
    for (uint32_t i = 0; i < purge->n_used; i++) {
        struct slot *slot = &purge->slot[i];
        slot->found = (struct zd_store_status){.op.done = found};
        (void)snprintf(slot->found.key, sizeof slot->found.key, "%s", key_of(purge, slot->entry));
        if (zd_store_status_now(store, &slot->found) != ZD_AGAIN) {
            note_status(slot);
        } else {
            purge->n_pending++;
            zd_store_status(store, &slot->found);
        }
    }
}

/* ---- a page ---- */

static void judge_entry(struct zd_purge *purge, size_t entry)
{
    const char *key = key_of(purge, entry);
    if (!zd_key_is_valid(key)) {
        return; /* longer than any key of ours */
    }
    const enum zd_purge_answer answer =
        purge->config.visit(purge->config.context, key, rest_of(purge, entry));
    if (answer == ZD_PURGE_ERASE) {
        purge->slot[purge->n_used++] = (struct slot){.purge = purge, .entry = entry};
    }
    if (answer == ZD_PURGE_NO_MEMORY) {
        struct zd_error err = {0};
        err.status = zd_fail(&err, ZD_NO_MEMORY, "no memory to judge what is stored");
        note_failure(purge, err.status, &err);
    }
    purge->is_stopped = answer == ZD_PURGE_STOP || answer == ZD_PURGE_NO_MEMORY;
}

/* Without a batch to work on the page is over: no step follows. */
static void fill(struct zd_purge *purge)
{
    purge->n_used = 0;
    while (!purge->is_stopped && purge->next < purge->list.n_entries && purge->n_used < AT_ONCE) {
        judge_entry(purge, purge->next++);
    }
    purge->step = purge->n_used == 0            ? NULL
                  : purge->config.holds == NULL ? erase_batch
                                                : look_at_batch;
}

static void listed(struct zd_store_op *op)
{
    struct zd_purge *purge = ZD_CONTAINER(op, struct zd_purge, list.op);
    if (op->status != ZD_OK && op->status != ZD_NOT_FOUND) {
        note_failure(purge, op->status, &op->err);
        purge->is_stopped = true;
    }
    purge->next = 0;
    purge->step = fill;
    go_on(purge);
}

static ZD_RESULT keep_place(struct zd_purge *purge)
{
    zd_free(purge->after);
    purge->after = zd_strdup(purge->list.entry[purge->list.n_entries - 1].name);
    if (purge->after == NULL) {
        return zd_fail(&purge->err, ZD_NO_MEMORY, "no memory to list what is stored");
    }
    return ZD_OK;
}

static void list_page(struct zd_purge *purge)
{
    struct zd_store_list *list = &purge->list;
    zd_store_list_done(list);
    list->op = (struct zd_store_op){.done = listed};
    list->after = purge->after;
    list->deep = true;
    list->n_max = PAGE_ENTRIES;
    list->has_more = false;
    zd_store_list(purge->dataset->store, list);
}

/* When a page is over: the next one, or the end. */
static void go_on(struct zd_purge *purge)
{
    if (purge->is_running) {
        return;
    }
    purge->is_running = true;
    while (purge->n_pending == 0 && purge->step != NULL) {
        purge->step(purge);
    }
    purge->is_running = false;
    if (purge->n_pending > 0) {
        return;
    }
    if (!purge->is_stopped && purge->list.has_more && purge->list.n_entries > 0) {
        const enum zd_status status = keep_place(purge);
        if (status == ZD_OK) {
            list_page(purge);
            return;
        }
        purge->status = purge->status == ZD_OK ? status : purge->status;
    }
    purge->config.done(purge->config.context);
}

enum zd_status zd_purge_start(
    const struct zd_purge_config *config, struct zd_purge **ret_purge, struct zd_error *err)
{
    struct zd_purge *purge = zd_alloc_zero(1, sizeof *purge);
    if (purge == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory to list what is stored");
    }
    purge->config = *config;
    purge->config.path = NULL;
    purge->dataset = zd_dataset_ref(config->dataset);
    purge->path = zd_strdup(config->path);
    if (purge->path == NULL) {
        zd_purge_free(purge);
        return zd_fail(err, ZD_NO_MEMORY, "no memory to list what is stored");
    }
    (void)snprintf(purge->list.prefix, sizeof purge->list.prefix, "%s%s", config->path,
        config->path[0] == '\0' ? "" : "/");
    list_page(purge);
    *ret_purge = purge;
    return ZD_OK;
}

enum zd_status zd_purge_status(
    const struct zd_purge *purge, uint64_t *ret_n_failed, struct zd_error *err)
{
    if (ret_n_failed != NULL) {
        *ret_n_failed = purge->n_failed;
    }
    if (purge->status != ZD_OK && err != NULL) {
        *err = purge->err;
    }
    return purge->status;
}

void zd_purge_free(struct zd_purge *purge)
{
    if (purge == NULL) {
        return;
    }
    assert(purge->n_pending == 0);
    zd_store_list_done(&purge->list);
    zd_free(purge->path);
    zd_free(purge->after);
    zd_dataset_unref(purge->dataset);
    zd_free(purge);
}
