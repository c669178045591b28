/* Going through all stored keys below a path, and erasing those that are to go.
 *
 * One page of the listing is held at a time; when all its keys are judged and those that go are
 * gone, the next page is asked for, behind the last name. */
#include "server/purge.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "server/datasets.h"
#include "server/write.h"

#define PAGE_ENTRIES 1000
#define AT_ONCE      16 /* erasures under way */

/* One erasure under way, or none. */
struct slot {
    struct zd_purge *purge;
    struct zd_write_want want;
    size_t entry; /* of the page */
    bool is_used;
};

struct zd_purge {
    struct zd_purge_config config;
    struct zd_dataset *dataset; /* a reference */
    struct zd_store_list list;
    char *after; /* the last name of the page before; owned, or NULL */
    size_t next; /* entry of the page */
    struct slot slot[AT_ONCE];
    uint32_t n_used;
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

/* What is not there any more has gone. */
static void note_erasure(struct slot *slot)
{
    struct zd_purge *purge = slot->purge;
    const struct zd_wait *wait = &slot->want.wait;
    slot->is_used = false;
    purge->n_used--;
    if (wait->status != ZD_OK && wait->status != ZD_NOT_FOUND) {
        purge->n_failed++;
        note_failure(purge, wait->status, &wait->err);
    } else if (purge->config.erased != NULL) {
        purge->config.erased(
            purge->config.context, key_of(purge, slot->entry), rest_of(purge, slot->entry));
    }
}

static void erased(struct zd_wait *wait)
{
    struct slot *slot = ZD_CONTAINER(wait, struct slot, want.wait);
    note_erasure(slot);
    go_on(slot->purge);
}

static void erase(struct zd_purge *purge, size_t entry)
{
    struct slot *slot = purge->slot;
    while (slot->is_used) {
        slot++;
    }
    *slot = (struct slot){
        .purge = purge,
        .entry = entry,
        .is_used = true,
        .want = {.wait.done = erased, .kind = ZD_WRITE_ERASE},
    };
    purge->n_used++;
    if (zd_write_want(purge->dataset, key_of(purge, entry), &slot->want) == ZD_NEXT) {
        note_erasure(slot);
    }
}

/* The keys of this page, as far as there are slots; false: somebody will call. */
static bool judge_page(struct zd_purge *purge)
{
    while (!purge->is_stopped && purge->next < purge->list.n_entries) {
        if (purge->n_used == AT_ONCE) {
            return false;
        }
        const size_t entry = purge->next++;
        const char *key = key_of(purge, entry);
        if (!zd_key_is_valid(key)) {
            continue; /* longer than any key of ours */
        }
        const enum zd_purge_answer answer =
            purge->config.visit(purge->config.context, key, rest_of(purge, entry));
        if (answer == ZD_PURGE_ERASE) {
            erase(purge, entry);
        }
        if (answer == ZD_PURGE_NO_MEMORY) {
            struct zd_error err = {0};
            err.status = zd_fail(&err, ZD_NO_MEMORY, "no memory to judge what is stored");
            note_failure(purge, err.status, &err);
        }
        purge->is_stopped =
            purge->is_stopped || answer == ZD_PURGE_STOP || answer == ZD_PURGE_NO_MEMORY;
    }
    return purge->n_used == 0;
}

static void listed(struct zd_store_op *op)
{
    struct zd_purge *purge = ZD_CONTAINER(op, struct zd_purge, list.op);
    if (op->status != ZD_OK && op->status != ZD_NOT_FOUND) {
        note_failure(purge, op->status, &op->err);
        purge->is_stopped = true;
    }
    purge->next = 0;
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
    const bool is_over = judge_page(purge);
    purge->is_running = false;
    if (!is_over) {
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
    assert(purge->n_used == 0);
    zd_store_list_done(&purge->list);
    zd_free(purge->after);
    zd_dataset_unref(purge->dataset);
    zd_free(purge);
}
