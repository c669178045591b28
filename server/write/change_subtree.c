/* Changing documents: the documents below an erased node.
 *
 *     COLLECT       all are listed before the first is erased; of too large a tree none is kept
 *     READ_BELOW *  the generation of each, AT_ONCE at a time
 *     ERASE_BELOW * each is erased as it was found, and kept until the end of the change;
 *                   of too large a tree all are erased in one pass: there is no way back
 *
 * A star: once more until nothing is left. */
#include <stdio.h>
#include <string.h>

#include "server/write/change.h"

/* Nothing is kept of larger trees: a failed erasure leaves them incomplete. */
#define DOCUMENTS_MAX 100000

#define AT_ONCE 16 /* operations under way */

/* A document below the node. */
struct document_below {
    char *key;                       /* owned */
    struct zd_generation generation; /* not set: it was absent when it was looked at */
};

struct subtree_item {
    struct zd_change *change;
    struct document_below *below; /* what the item works on */
    struct zd_store_status found;
    struct zd_store_write_want write;
    struct zd_kept_item *kept; /* while it is erased; owned */
};

struct zd_change_subtree {
    struct document_below *below; /* n of them; owned */
    size_t n;
    size_t cap;
    uint64_t n_bytes;     /* that keeping them takes; in the account of kept */
    struct zd_kept *kept; /* of the change; borrowed */
    bool is_too_large;    /* nothing is kept: there is no way back */
    size_t next;          /* of the pass under way: looking or erasing */
    struct subtree_item item[AT_ONCE];
    uint32_t n_used;
};

static void forget(struct zd_change_subtree *subtree)
{
    for (size_t i = 0; i < subtree->n; i++) {
        zd_free(subtree->below[i].key);
    }
    zd_free(ZD_TAKE(subtree->below));
    zd_kept_forget(subtree->kept, subtree->n_bytes);
    subtree->n_bytes = 0;
    subtree->n = 0;
    subtree->cap = 0;
}

void zd_change_subtree_free(struct zd_change_subtree *subtree)
{
    if (subtree != NULL) {
        forget(subtree);
        zd_free(subtree);
    }
}

bool zd_change_subtree_is_held(const struct zd_change_subtree *subtree)
{
    return !subtree->is_too_large;
}

static enum zd_status add(struct zd_change_subtree *subtree, const char *key)
{
    if (subtree->n == subtree->cap) {
        const size_t cap = subtree->cap == 0 ? AT_ONCE : subtree->cap * 2;
        struct document_below *grown = zd_realloc(subtree->below, cap * sizeof *grown);
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
    subtree->below[subtree->n++] = (struct document_below){.key = copy};
    subtree->n_bytes += zd_kept_bytes(key);
    zd_kept_foresee(subtree->kept, zd_kept_bytes(key));
    return ZD_OK;
}

static enum zd_purge_answer collect(void *context, const struct zd_purge_key *key)
{
    struct zd_change *change = context;
    struct zd_change_subtree *subtree = change->subtree;
    if (key->node == NULL || strcmp(key->node, change->path) == 0) {
        change->seen |= key->node == NULL ? ZD_CHANGE_SEEN_KEY : 0;
        change->seen |= key->is_beside ? ZD_CHANGE_SEEN_BESIDE : 0;
        return ZD_PURGE_KEEP;
    }
    change->seen |= ZD_CHANGE_SEEN_CHILD;
    if (!change->input.is_recursive) {
        return ZD_PURGE_STOP; /* the change will fail */
    }
    subtree->is_too_large = subtree->n == DOCUMENTS_MAX || !zd_kept_has_room(subtree->kept);
    if (!subtree->is_too_large && add(subtree, key->key) != ZD_OK) {
        return ZD_PURGE_NO_MEMORY;
    }
    return subtree->is_too_large ? ZD_PURGE_STOP : ZD_PURGE_KEEP;
}

enum zd_change_outcome zd_change_subtree_collect(struct zd_change *change)
{
    const struct zd_purge_want purge = {
        .path = change->path, .visit = collect, .stops_at_links = true};
    change->seen = 0;
    zd_change_subtree_free(change->subtree);
    change->subtree = zd_alloc_zero(1, sizeof *change->subtree);
    if (change->subtree == NULL) {
        return ZD_CHANGE_FAIL(change, ZD_NO_MEMORY, "no memory to erase a node");
    }
    change->subtree->kept = &change->kept;
    return zd_change_run_purge(change, &purge);
}

enum zd_change_outcome zd_change_subtree_collect_end(struct zd_change *change)
{
    if (change->subtree->is_too_large) {
        forget(change->subtree);
    }
    if (change->purge.wait.status == ZD_INVALID) {
        change->seen |= ZD_CHANGE_SEEN_CHILD | ZD_CHANGE_SEEN_LINK; /* judged with the node */
        return ZD_CHANGE_NEXT;
    }
    return zd_change_outcome_of_wait(change, &change->purge.wait);
}

/* Begin with the next items. @param start begins an operation; false: none is needed */
static enum zd_change_outcome begin_items(
    struct zd_change *change, bool (*start)(struct subtree_item *item))
{
    struct zd_change_subtree *subtree = change->subtree;
    subtree->n_used = 0;
    while (subtree->next < subtree->n && subtree->n_used < AT_ONCE) {
        struct subtree_item *item = &subtree->item[subtree->n_used];
        item->change = change;
        item->below = &subtree->below[subtree->next++];
        subtree->n_used += start(item);
    }
    return ZD_CHANGE_NEXT;
}

/* The first failure ends the pass. */
static enum zd_change_outcome end_items(struct zd_change *change, enum zd_change_outcome outcome)
{
    struct zd_change_subtree *subtree = change->subtree;
    if (outcome == ZD_CHANGE_NEXT && subtree->next < subtree->n) {
        return ZD_CHANGE_MORE;
    }
    subtree->next = 0;
    return outcome;
}

static bool start_look(struct subtree_item *item)
{
    item->found = (struct zd_store_status){0};
    (void)snprintf(item->found.key, sizeof item->found.key, "%s", item->below->key);
    zd_gather_await(&item->change->gather, &item->found.op);
    zd_store_status(item->change->dataset->store, &item->found);
    return true;
}

enum zd_change_outcome zd_change_subtree_read(struct zd_change *change)
{
    return begin_items(change, start_look);
}

enum zd_change_outcome zd_change_subtree_read_end(struct zd_change *change)
{
    struct zd_change_subtree *subtree = change->subtree;
    enum zd_change_outcome outcome = ZD_CHANGE_NEXT;
    for (uint32_t i = 0; i < subtree->n_used; i++) {
        const struct zd_store_status *found = &subtree->item[i].found;
        if (found->op.status == ZD_OK) {
            subtree->item[i].below->generation = found->stat.generation;
        } else if (found->op.status != ZD_NOT_FOUND && outcome == ZD_CHANGE_NEXT) {
            change->err = found->op.err;
            outcome = zd_change_outcome_of(change, found->op.status);
        }
    }
    return end_items(change, outcome);
}

/* Erase the object only as it was found: another process's newer object stays. */
static bool start_erase(struct subtree_item *item)
{
    struct zd_change *change = item->change;
    if (!zd_generation_is_set(item->below->generation)) {
        return false;
    }
    item->write = (struct zd_store_write_want){
        .kind = ZD_WRITE_ERASE,
        .condition = ZD_CONDITION_GENERATION,
        .generation = item->below->generation,
        .keeps_old = true,
    };
    item->kept = zd_kept_reserve(&change->kept, item->below->key);
    if (item->kept == NULL) {
        item->write.wait.status =
            zd_fail(&item->write.wait.err, ZD_NO_MEMORY, "no memory to keep an erased document");
    } else {
        zd_change_run_write(change, item->below->key, &item->write);
    }
    return true;
}

static enum zd_purge_answer judge_document(void *context, const struct zd_purge_key *key)
{
    (void)context;
    return key->node != NULL ? ZD_PURGE_ERASE : ZD_PURGE_KEEP;
}

/* A change of a key has no subtree. */
enum zd_change_outcome zd_change_subtree_erase(struct zd_change *change)
{
    const struct zd_purge_want purge = {
        .path = change->path, .visit = judge_document, .stops_at_links = true};
    if (change->subtree == NULL) {
        return ZD_CHANGE_DONE;
    }
    return change->subtree->is_too_large ? zd_change_run_purge(change, &purge)
                                         : begin_items(change, start_erase);
}

enum zd_change_outcome zd_change_subtree_erase_end(struct zd_change *change)
{
    struct zd_change_subtree *subtree = change->subtree;
    enum zd_change_outcome outcome = ZD_CHANGE_NEXT;
    if (subtree->is_too_large) {
        return zd_change_outcome_of_wait(change, &change->purge.wait);
    }
    for (uint32_t i = 0; i < subtree->n_used; i++) {
        struct subtree_item *item = &subtree->item[i];
        const struct zd_wait *wait = &item->write.wait;
        if (wait->status == ZD_OK) {
            zd_kept_add(&change->kept, ZD_TAKE(item->kept), &item->write);
        }
        zd_free(ZD_TAKE(item->kept));
        if (wait->status != ZD_NOT_FOUND && outcome == ZD_CHANGE_NEXT) {
            outcome = zd_change_outcome_of_wait(change, wait);
        }
    }
    return end_items(change, outcome);
}
