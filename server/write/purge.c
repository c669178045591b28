/* Visits all stored keys below a path, and erases some of them.
 *
 * One page of the listing is held at a time; its keys are erased in batches:
 *
 *     list - fill a batch - stat its keys - look up the node - erase - fill the next ...
 *      ^                                                                       |
 *      +----------------------- the page is over: behind its last name --------+
 *
 * Stat and look-up are skipped when the caller does not guard against other processes (holds). */
#include "server/write/purge.h"

#include <stdio.h>
#include <string.h>

#include "server/runtime/gather.h"
#include "server/write/store_write.h"

#define PAGE_ENTRIES 1000
#define AT_ONCE      32 /* keys of a batch */

struct purge;

/* A key of the batch. */
struct batch_key {
    struct purge *purge;
    struct zd_store_status found; /* ZD_OK: the generation that is erased */
    struct zd_store_write_want write;
    struct zd_kept_item *kept; /* while it is erased and kept; or NULL */
    size_t entry;              /* of the page */
};

struct purge {
    struct zd_machine machine;
    struct zd_gather gather;
    enum zd_next (*step)(struct purge *purge);
    struct zd_purge_want *want; /* borrowed */
    struct zd_store_list list;
    size_t next;                     /* entry of the page */
    struct batch_key batch[AT_ONCE]; /* n_used of them are the batch */
    uint32_t n_used;
    struct zd_node_want node_want;
    bool is_stopped;
    char key[2 * ZD_KEY_BYTES_MAX + 2]; /* of the entry at hand: a listed name is no longer than a
                                           key, so that it always fits */
};

static enum zd_next step_listed(struct purge *purge);
static enum zd_next fill(struct purge *purge);

static void note_failure(struct purge *purge, enum zd_status status, const struct zd_error *err)
{
    if (purge->want->wait.status == ZD_OK) {
        zd_wait_answer(&purge->want->wait, status, err);
    }
}

static void note_failed_key(
    const struct batch_key *item, enum zd_status status, const struct zd_error *err)
{
    item->purge->want->n_failed++;
    note_failure(item->purge, status, err);
}

static const char *rest_of(const struct purge *purge, size_t entry)
{
    return purge->list.entry[entry].name;
}

/* A listed name is relative to the prefix. */
static const char *key_of(struct purge *purge, size_t entry)
{
    (void)snprintf(
        purge->key, sizeof purge->key, "%s%s", purge->list.prefix, rest_of(purge, entry));
    return purge->key;
}

static enum zd_purge_answer visit(struct purge *purge, size_t entry)
{
    const struct zd_purge_want *want = purge->want;
    struct zd_purge_key key = {.key = key_of(purge, entry), .rest = rest_of(purge, entry)};
    ZD_SCOPED_TEXT(path, ZD_KEY_BYTES_MAX);
    ZD_SCOPED_TEXT(first, ZD_KEY_BYTES_MAX);
    enum zd_status status = zd_dialect_node_path(key.key, &path);
    if (status == ZD_OK && strcmp(path.at, want->path) == 0) {
        /* A document of a read-only dialect at the path itself is an ordinary key. */
        status = zd_dialect_written_node_path(key.key, &path, NULL);
        key.is_beside = status == ZD_OK && zd_dialect_first_node_path(key.key, &first) != ZD_OK;
    }
    key.node = status == ZD_OK ? path.at : NULL;
    return status == ZD_NO_MEMORY ? ZD_PURGE_NO_MEMORY : want->visit(want->context, &key);
}

/* ---- erase a batch ---- */

/* An absent key counts as erased; a key that another process has replaced stays. */
static void note_erasure(struct batch_key *item)
{
    struct purge *purge = item->purge;
    const struct zd_purge_want *want = purge->want;
    const struct zd_wait *wait = &item->write.wait;
    const bool is_erased = wait->status == ZD_OK || wait->status == ZD_NOT_FOUND;
    if (item->kept != NULL && wait->status == ZD_OK) {
        zd_kept_add(want->kept, ZD_TAKE(item->kept), &item->write);
        return;
    }
    zd_free(ZD_TAKE(item->kept));
    if (!is_erased && wait->status != ZD_PRECONDITION) {
        note_failed_key(item, wait->status, &wait->err);
    } else if (is_erased && want->erased != NULL) {
        const struct zd_purge_key key = {
            .key = key_of(purge, item->entry), .rest = rest_of(purge, item->entry)};
        want->erased(want->context, &key);
    }
}

static enum zd_next step_erased(struct purge *purge)
{
    for (uint32_t i = 0; i < purge->n_used; i++) {
        if (purge->batch[i].write.kind == ZD_WRITE_ERASE) {
            note_erasure(&purge->batch[i]);
        }
    }
    purge->step = fill;
    return ZD_NEXT;
}

static bool is_still_to_erase(struct purge *purge, const struct batch_key *item)
{
    return purge->want->holds == NULL ||
           (item->found.op.status == ZD_OK && visit(purge, item->entry) == ZD_PURGE_ERASE);
}

static void erase(struct purge *purge, struct batch_key *item)
{
    const struct zd_purge_want *want = purge->want;
    const char *key = key_of(purge, item->entry);
    const bool keeps = want->kept != NULL && zd_kept_has_room(want->kept);
    item->kept = keeps ? zd_kept_reserve(want->kept, key) : NULL;
    if (keeps && item->kept == NULL) {
        struct zd_error err = {0};
        note_failed_key(item, zd_fail(&err, ZD_NO_MEMORY, "%.200s: no memory", key), &err);
        return;
    }
    item->write = (struct zd_store_write_want){
        .wait = zd_gather_wait(&purge->gather),
        .kind = ZD_WRITE_ERASE,
        .condition = want->holds != NULL ? ZD_CONDITION_GENERATION : ZD_CONDITION_NONE,
        .generation = item->found.stat.generation,
        .keeps_old = keeps,
    };
    zd_gather_add(&purge->gather, zd_store_write_want(want->dataset, key, &item->write));
}

static enum zd_next erase_batch(struct purge *purge)
{
    zd_gather_begin(&purge->gather);
    purge->step = step_erased;
    for (uint32_t i = 0; i < purge->n_used; i++) {
        if (is_still_to_erase(purge, &purge->batch[i])) {
            erase(purge, &purge->batch[i]);
        }
    }
    return zd_gather_end(&purge->gather);
}

/* ---- whether the batch is still to be erased ---- */

static enum zd_next step_node(struct purge *purge)
{
    const struct zd_purge_want *want = purge->want;
    const struct zd_wait *wait = &purge->node_want.wait;
    ZD_AUTO(zd_node) node = ZD_TAKE(purge->node_want.node);
    if (wait->status != ZD_OK && wait->status != ZD_NOT_FOUND) {
        note_failure(purge, wait->status, &wait->err);
        purge->want->n_failed += purge->n_used;
        return ZD_DONE;
    }
    purge->step = erase_batch;
    return want->holds(want->context, node) ? ZD_NEXT : ZD_DONE;
}

static enum zd_next look_up_node(struct purge *purge)
{
    for (uint32_t i = 0; i < purge->n_used; i++) {
        const struct zd_store_op *op = &purge->batch[i].found.op;
        if (op->status != ZD_OK && op->status != ZD_NOT_FOUND) {
            note_failed_key(&purge->batch[i], op->status, &op->err);
        }
    }
    purge->step = step_node;
    purge->node_want = (struct zd_node_want){.wait = zd_machine_wait(&purge->machine)};
    return zd_catalog_want_fresh(purge->want->dataset, purge->want->path, &purge->node_want);
}

static enum zd_next stat_batch(struct purge *purge)
{
    struct zd_store *store = purge->want->dataset->store;
    zd_gather_begin(&purge->gather);
    purge->step = look_up_node;
    for (uint32_t i = 0; i < purge->n_used; i++) {
        struct batch_key *item = &purge->batch[i];
        item->found = (struct zd_store_status){0};
        (void)snprintf(item->found.key, sizeof item->found.key, "%s", key_of(purge, item->entry));
        if (zd_store_status_now(store, &item->found) == ZD_AGAIN) {
            zd_gather_await(&purge->gather, &item->found.op);
            zd_store_status(store, &item->found);
        }
    }
    return zd_gather_end(&purge->gather);
}

/* ---- a page ---- */

static void judge_entry(struct purge *purge, size_t entry)
{
    if (!zd_key_is_valid(key_of(purge, entry))) {
        return; /* longer than any key of ours */
    }
    const enum zd_purge_answer answer = visit(purge, entry);
    if (answer == ZD_PURGE_ERASE) {
        purge->batch[purge->n_used++] = (struct batch_key){.purge = purge, .entry = entry};
    }
    if (answer == ZD_PURGE_NO_MEMORY) {
        struct zd_error err = {0};
        note_failure(purge, zd_fail(&err, ZD_NO_MEMORY, "no memory to judge a stored key"), &err);
    }
    purge->is_stopped = answer == ZD_PURGE_STOP || answer == ZD_PURGE_NO_MEMORY;
}

static enum zd_next next_page(struct purge *purge)
{
    struct zd_store_list *list = &purge->list;
    if (purge->is_stopped || !list->has_more || list->n_entries == 0) {
        return ZD_DONE;
    }
    zd_machine_await(&purge->machine, &list->op);
    purge->step = step_listed;
    zd_store_list_next(purge->want->dataset->store, list);
    return ZD_WAIT;
}

static enum zd_next fill(struct purge *purge)
{
    purge->n_used = 0;
    while (!purge->is_stopped && purge->next < purge->list.n_entries && purge->n_used < AT_ONCE) {
        judge_entry(purge, purge->next++);
    }
    purge->step = purge->n_used == 0           ? next_page
                  : purge->want->holds == NULL ? erase_batch
                                               : stat_batch;
    return ZD_NEXT;
}

static enum zd_next step_listed(struct purge *purge)
{
    const struct zd_store_op *op = &purge->list.op;
    if (op->status != ZD_OK && op->status != ZD_NOT_FOUND) {
        note_failure(purge, op->status, &op->err);
        return ZD_DONE;
    }
    purge->next = 0;
    return fill(purge);
}

static enum zd_next list_page(struct purge *purge)
{
    struct zd_store_list *list = &purge->list;
    zd_machine_await(&purge->machine, &list->op);
    list->deep = !purge->want->is_shallow;
    list->stops_at_links = purge->want->stops_at_links;
    list->n_max = PAGE_ENTRIES;
    purge->step = step_listed;
    zd_store_list(purge->want->dataset->store, list);
    return ZD_WAIT;
}

/* ---- the whole ---- */

static enum zd_next step(struct zd_machine *machine)
{
    struct purge *purge = ZD_CONTAINER(machine, struct purge, machine);
    return purge->step(purge);
}

static void end(struct zd_machine *machine)
{
    struct purge *purge = ZD_CONTAINER(machine, struct purge, machine);
    struct zd_purge_want *want = purge->want;
    zd_store_list_done(&purge->list);
    zd_free(purge);
    want->wait.done(&want->wait);
}

enum zd_next zd_purge_want(struct zd_purge_want *want)
{
    struct purge *purge = zd_alloc_zero(1, sizeof *purge);
    want->n_failed = 0;
    zd_wait_answer(&want->wait, ZD_OK, NULL);
    if (purge == NULL) {
        want->wait.status = zd_fail(&want->wait.err, ZD_NO_MEMORY, "no memory to list stored keys");
        return ZD_NEXT;
    }
    purge->machine = (struct zd_machine){.step = step, .end = end};
    purge->gather.machine = &purge->machine;
    purge->want = want;
    purge->step = list_page;
    (void)snprintf(purge->list.prefix, sizeof purge->list.prefix, "%s%s", want->path,
        want->path[0] == '\0' ? "" : "/");
    return zd_machine_begin(&purge->machine); /* a listing never ends at once */
}
