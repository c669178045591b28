/* Changing documents: those of the nodes below one that is erased. They are read before the first
 * of them goes, so that all can be put back when one cannot go. */
#include <stdio.h>
#include <string.h>

#include "server/write/change.h"
#include "server/runtime/server.h"

/* More than that is not held: what fails then leaves the nodes without those that went first. */
#define DOCUMENTS_MAX 100000
#define BYTES_MAX     (UINT64_C(64) << 20)

#define AT_ONCE 16 /* operations under way */

/* A document below the node. */
struct below {
    char *key;                       /* owned */
    struct zd_buf *bytes;            /* owned; NULL: it was gone before it could be read */
    struct zd_generation generation; /* of the bytes */
    bool is_erased;
};

struct slot {
    struct zd_subtree *subtree;
    struct below *below; /* at work on it; NULL: idle */
    struct zd_store_read read;
    struct zd_store_write_want write;
};

struct zd_subtree {
    struct zd_change *change;
    struct below *below; /* n of them; owned */
    size_t n;
    size_t cap;
    uint64_t n_bytes;
    bool is_too_large; /* nothing is held: it goes without a way back */
    /* of the pass under way: reading, erasing or putting back */
    bool (*start)(struct slot *slot); /* false: nothing is to be waited for */
    size_t next;
    uint32_t n_used;
    struct slot slot[AT_ONCE];
    enum zd_status status; /* of the pass: the first failure, which ends it */
    struct zd_error err;
    uint32_t n_lost; /* could not be put back */
    struct zd_error lost_err;
};

static void forget(struct zd_subtree *subtree)
{
    for (size_t i = 0; i < subtree->n; i++) {
        zd_free(subtree->below[i].key);
        zd_buf_unref(subtree->below[i].bytes);
    }
    zd_free(ZD_TAKE(subtree->below));
    subtree->n = 0;
    subtree->cap = 0;
}

void zd_subtree_free(struct zd_subtree *subtree)
{
    if (subtree != NULL) {
        forget(subtree);
        zd_free(subtree);
    }
}

/* ---- which ---- */

static enum zd_status add(struct zd_subtree *subtree, const char *key)
{
    if (subtree->n == subtree->cap) {
        const size_t cap = subtree->cap == 0 ? AT_ONCE : subtree->cap * 2;
        struct below *grown = zd_realloc(subtree->below, cap * sizeof *grown);
        if (grown == NULL) {
            return ZD_NO_MEMORY;
        }
        subtree->below = grown;
        subtree->cap = cap;
    }
    char *copy = zd_strdup(key);
    if (copy == NULL) {
        return ZD_NO_MEMORY;
    }
    subtree->below[subtree->n++] = (struct below){.key = copy};
    return ZD_OK;
}

static enum zd_purge_answer collect(void *context, const char *key, const char *rest)
{
    struct zd_change *change = context;
    struct zd_subtree *subtree = change->subtree;
    ZD_SCOPED_TEXT(path, ZD_KEY_BYTES_MAX);
    (void)rest;
    const enum zd_status status = zd_dialect_node_path(key, &path);
    if (status == ZD_NO_MEMORY) {
        return ZD_PURGE_NO_MEMORY;
    }
    if (status != ZD_OK || strcmp(path.at, change->path) == 0) {
        change->has_key = change->has_key || status != ZD_OK;
        return ZD_PURGE_KEEP;
    }
    change->has_child = true;
    if (change->ask.keeps_children) {
        return ZD_PURGE_STOP; /* it stays */
    }
    subtree->is_too_large = subtree->n == DOCUMENTS_MAX;
    if (!subtree->is_too_large && add(subtree, key) != ZD_OK) {
        return ZD_PURGE_NO_MEMORY;
    }
    return subtree->is_too_large ? ZD_PURGE_STOP : ZD_PURGE_KEEP;
}

static void collected(void *context)
{
    zd_change_go_on(context);
}

static enum zd_next step_collected(struct zd_change *change);

enum zd_next zd_change_collect(struct zd_change *change)
{
    struct zd_error err = {0};
    const struct zd_purge_config config = {
        .dataset = change->dataset,
        .path = change->path,
        .visit = collect,
        .done = collected,
        .context = change,
    };
    change->has_child = false;
    change->has_key = false;
    zd_subtree_free(change->subtree);
    change->subtree = zd_alloc_zero(1, sizeof *change->subtree);
    if (change->subtree == NULL) {
        err.status = zd_fail(&err, ZD_NO_MEMORY, "no memory to erase a node");
        return zd_change_fail(change, ZD_NO_MEMORY, NULL, &err);
    }
    change->subtree->change = change;
    change->step = step_collected;
    const enum zd_status status = zd_purge_start(&config, &change->purge, &err);
    return status == ZD_OK ? ZD_WAIT : zd_change_fail(change, status, NULL, &err);
}

/* ---- passes over all of them ---- */

static void go_on(struct zd_subtree *subtree);

static void over(struct slot *slot, enum zd_status status, const struct zd_error *err)
{
    struct zd_subtree *subtree = slot->subtree;
    slot->below = NULL;
    subtree->n_used--;
    if (status != ZD_OK && subtree->status == ZD_OK) {
        subtree->status = status;
        subtree->err = *err;
    }
    go_on(subtree);
}

static struct slot *idle_slot(struct zd_subtree *subtree)
{
    for (size_t i = 0; i < AT_ONCE; i++) {
        if (subtree->slot[i].below == NULL) {
            return &subtree->slot[i];
        }
    }
    return NULL;
}

/* The change waits for all of them as for one. */
static void go_on(struct zd_subtree *subtree)
{
    struct slot *slot;
    while (subtree->status == ZD_OK && subtree->next < subtree->n &&
           (slot = idle_slot(subtree)) != NULL) {
        slot->subtree = subtree;
        slot->below = &subtree->below[subtree->next++];
        subtree->n_used++;
        if (!subtree->start(slot)) {
            slot->below = NULL;
            subtree->n_used--;
        }
    }
    if (subtree->n_used == 0) {
        zd_change_arrived(subtree->change);
    }
}

static enum zd_next run_pass(struct zd_change *change, bool (*start)(struct slot *slot))
{
    struct zd_subtree *subtree = change->subtree;
    subtree->start = start;
    subtree->next = 0;
    subtree->status = ZD_OK;
    change->n_pending++;
    go_on(subtree);
    return zd_change_wait(change);
}

/* What is too much ends the reading, and nothing is held. */
static void hold(struct slot *slot)
{
    struct zd_subtree *subtree = slot->subtree;
    slot->below->bytes = ZD_TAKE(slot->read.bytes);
    slot->below->generation = slot->read.stat.generation;
    subtree->n_bytes += slot->below->bytes->len;
    if (subtree->n_bytes > BYTES_MAX) {
        subtree->is_too_large = true;
        subtree->next = subtree->n;
    }
}

static void read_done(struct zd_store_op *op)
{
    struct slot *slot = ZD_CONTAINER(op, struct slot, read.op);
    if (op->status == ZD_OK) {
        hold(slot);
    }
    over(slot, op->status == ZD_NOT_FOUND ? ZD_OK : op->status, &op->err);
}

static bool start_read(struct slot *slot)
{
    const struct zd_dataset *dataset = slot->subtree->change->dataset;
    slot->read = (struct zd_store_read){
        .op.done = read_done,
        .bytes_max = dataset->server->config->settings.limits_consolidated_bytes,
    };
    (void)snprintf(slot->read.key, sizeof slot->read.key, "%s", slot->below->key);
    zd_store_read(dataset->store, &slot->read);
    return true;
}

static void erase_done(struct zd_wait *wait)
{
    struct slot *slot = ZD_CONTAINER(wait, struct slot, write.wait);
    slot->below->is_erased = wait->status == ZD_OK;
    over(slot, wait->status == ZD_NOT_FOUND ? ZD_OK : wait->status, &wait->err);
}

/* As it was read: what another process has made of it since is not put back, so it stays. */
static bool start_erase(struct slot *slot)
{
    struct zd_subtree *subtree = slot->subtree;
    const struct below *below = slot->below;
    if (below->bytes == NULL) {
        return false;
    }
    slot->write = (struct zd_store_write_want){
        .wait.done = erase_done,
        .kind = ZD_WRITE_ERASE,
        .condition = ZD_CONDITION_GENERATION,
        .generation = below->generation,
    };
    if (zd_store_write_want(subtree->change->dataset, below->key, &slot->write) == ZD_WAIT) {
        return true;
    }
    subtree->status = slot->write.wait.status;
    subtree->err = slot->write.wait.err;
    return false;
}

/* Where somebody has made a new one it stays. */
static void note_restored(struct zd_subtree *subtree, const struct zd_wait *wait)
{
    if (wait->status != ZD_OK && wait->status != ZD_PRECONDITION) {
        subtree->lost_err = subtree->n_lost == 0 ? wait->err : subtree->lost_err;
        subtree->n_lost++;
    }
}

/* A failure of this one ends nothing: the others come back all the same. */
static void restore_done(struct zd_wait *wait)
{
    struct slot *slot = ZD_CONTAINER(wait, struct slot, write.wait);
    note_restored(slot->subtree, wait);
    over(slot, ZD_OK, NULL);
}

static bool start_restore(struct slot *slot)
{
    const struct below *below = slot->below;
    slot->write = (struct zd_store_write_want){
        .wait.done = restore_done,
        .kind = ZD_WRITE_PUT,
        .bytes = below->bytes,
        .condition = ZD_CONDITION_ABSENT,
    };
    if (!below->is_erased || below->bytes == NULL) {
        return false;
    }
    if (zd_store_write_want(slot->subtree->change->dataset, below->key, &slot->write) == ZD_WAIT) {
        return true;
    }
    note_restored(slot->subtree, &slot->write.wait);
    return false;
}

static enum zd_next step_documents_read(struct zd_change *change)
{
    struct zd_subtree *subtree = change->subtree;
    if (subtree->status != ZD_OK) {
        return zd_change_fail(change, subtree->status, NULL, &subtree->err);
    }
    if (subtree->is_too_large) {
        forget(subtree);
    }
    change->step = zd_change_lock;
    return ZD_NEXT;
}

static enum zd_next step_collected(struct zd_change *change)
{
    struct zd_subtree *subtree = change->subtree;
    struct zd_error err = {0};
    const enum zd_status status = zd_purge_status(change->purge, NULL, &err);
    zd_purge_free(ZD_TAKE(change->purge));
    if (status != ZD_OK) {
        return zd_change_fail(change, status, NULL, &err);
    }
    if (subtree->is_too_large) {
        forget(subtree);
    }
    change->step = step_documents_read;
    return run_pass(change, start_read);
}

bool zd_subtree_is_held(const struct zd_subtree *subtree)
{
    return !subtree->is_too_large;
}

enum zd_next zd_change_erase_below(struct zd_change *change)
{
    return run_pass(change, start_erase);
}

enum zd_status zd_subtree_status(const struct zd_subtree *subtree, struct zd_error *err)
{
    if (subtree->status != ZD_OK) {
        *err = subtree->err;
    }
    return subtree->status;
}

uint32_t zd_subtree_lost(const struct zd_subtree *subtree, struct zd_error *ret_err)
{
    if (subtree->n_lost > 0) {
        *ret_err = subtree->lost_err;
    }
    return subtree->n_lost;
}

enum zd_next zd_change_restore_below(struct zd_change *change)
{
    return run_pass(change, start_restore);
}
