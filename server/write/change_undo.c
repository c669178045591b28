/* Changing documents: stored and erased documents are restored when a later one cannot be stored,
 * the last one first. The documents below an erased node are all read before the first is erased,
 * so that all can be restored when one cannot be erased. */
#include <stdio.h>
#include <string.h>

#include "server/runtime/server.h"
#include "server/write/change.h"

/* Larger trees are not held in memory: a failed erasure leaves them without what went first. */
#define DOCUMENTS_MAX 100000
#define BYTES_MAX     (UINT64_C(64) << 20)

#define AT_ONCE 16 /* operations under way */

/* ---- documents below an erased node ---- */

/* A document below the node. */
struct document_below {
    char *key;                       /* owned */
    struct zd_buf *bytes;            /* owned; NULL: it was absent when it was read */
    struct zd_generation generation; /* of the bytes */
    bool is_erased;
};

struct subtree_item {
    struct zd_change *change;
    struct document_below *below; /* what the item works on */
    struct zd_store_read read;
    struct zd_store_write_want write;
};

struct zd_change_subtree {
    struct document_below *below; /* n of them; owned */
    size_t n;
    size_t cap;
    uint64_t n_bytes;
    bool is_too_large; /* nothing is held: there is no way back */
    size_t next;       /* of the pass under way: reading, erasing or putting back */
    struct subtree_item item[AT_ONCE];
    uint32_t n_used;
    uint32_t n_lost; /* could not be put back */
};

static void forget(struct zd_change_subtree *subtree)
{
    for (size_t i = 0; i < subtree->n; i++) {
        zd_free(subtree->below[i].key);
        zd_buf_unref(subtree->below[i].bytes);
    }
    zd_free(ZD_TAKE(subtree->below));
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
    return ZD_OK;
}

static enum zd_purge_answer collect(void *context, const struct zd_purge_key *key)
{
    struct zd_change *change = context;
    struct zd_change_subtree *subtree = change->subtree;
    if (key->node == NULL || strcmp(key->node, change->path) == 0) {
        change->seen |= key->node == NULL ? ZD_CHANGE_SEEN_KEY : 0;
        return ZD_PURGE_KEEP;
    }
    change->seen |= ZD_CHANGE_SEEN_CHILD;
    if (!change->input.is_recursive) {
        return ZD_PURGE_STOP; /* the change will fail */
    }
    subtree->is_too_large = subtree->n == DOCUMENTS_MAX;
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

static bool start_read(struct subtree_item *item)
{
    const struct zd_dataset *dataset = item->change->dataset;
    item->read = (struct zd_store_read){
        .bytes_max = dataset->server->config->settings.limits_consolidated_bytes,
    };
    (void)snprintf(item->read.key, sizeof item->read.key, "%s", item->below->key);
    zd_gather_await(&item->change->gather, &item->read.op);
    zd_store_read(dataset->store, &item->read);
    return true;
}

enum zd_change_outcome zd_change_subtree_read(struct zd_change *change)
{
    return begin_items(change, start_read);
}

static void hold(struct zd_change_subtree *subtree, struct subtree_item *item)
{
    item->below->bytes = ZD_TAKE(item->read.bytes);
    item->below->generation = item->read.stat.generation;
    subtree->n_bytes += item->below->bytes->len;
    subtree->is_too_large = subtree->is_too_large || subtree->n_bytes > BYTES_MAX;
}

enum zd_change_outcome zd_change_subtree_read_end(struct zd_change *change)
{
    struct zd_change_subtree *subtree = change->subtree;
    enum zd_change_outcome outcome = ZD_CHANGE_NEXT;
    for (uint32_t i = 0; i < subtree->n_used; i++) {
        const struct zd_store_op *op = &subtree->item[i].read.op;
        if (op->status == ZD_OK) {
            hold(subtree, &subtree->item[i]);
        } else if (op->status != ZD_NOT_FOUND && outcome == ZD_CHANGE_NEXT) {
            change->err = op->err;
            outcome = zd_change_outcome_of(change, op->status);
        }
    }
    if (subtree->is_too_large) {
        forget(subtree);
    }
    return end_items(change, outcome);
}

static bool start_write(struct subtree_item *item, const struct zd_store_write_want *write)
{
    item->write = *write;
    zd_change_run_write(item->change, item->below->key, &item->write);
    return true;
}

/* As it was read: what another process has made of it since could not be put back, so it stays. */
static bool start_erase(struct subtree_item *item)
{
    const struct zd_store_write_want write = {
        .kind = ZD_WRITE_ERASE,
        .condition = ZD_CONDITION_GENERATION,
        .generation = item->below->generation,
    };
    return item->below->bytes != NULL && start_write(item, &write);
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
        const struct zd_wait *wait = &subtree->item[i].write.wait;
        subtree->item[i].below->is_erased = wait->status == ZD_OK;
        if (wait->status != ZD_NOT_FOUND && outcome == ZD_CHANGE_NEXT) {
            outcome = zd_change_outcome_of_wait(change, wait);
        }
    }
    return end_items(change, outcome);
}

static bool start_restore(struct subtree_item *item)
{
    const struct zd_store_write_want write = {
        .kind = ZD_WRITE_PUT,
        .bytes = item->below->bytes,
        .condition = ZD_CONDITION_ABSENT,
    };
    return item->below->is_erased && start_write(item, &write);
}

enum zd_change_outcome zd_change_subtree_restore(struct zd_change *change)
{
    return change->subtree == NULL ? ZD_CHANGE_NEXT : begin_items(change, start_restore);
}

/* A failure ends nothing: the others are put back all the same. Where another process has made a
 * new document, that one stays. */
enum zd_change_outcome zd_change_subtree_restore_end(struct zd_change *change)
{
    struct zd_change_subtree *subtree = change->subtree;
    for (uint32_t i = 0; subtree != NULL && i < subtree->n_used; i++) {
        const struct zd_wait *wait = &subtree->item[i].write.wait;
        subtree->item[i].below->is_erased = false;
        if (wait->status != ZD_OK && wait->status != ZD_PRECONDITION) {
            change->undo.lost_err = subtree->n_lost == 0 ? wait->err : change->undo.lost_err;
            change->undo.n_lost++;
            subtree->n_lost++;
        }
    }
    return subtree == NULL ? ZD_CHANGE_NEXT : end_items(change, ZD_CHANGE_NEXT);
}

/* ---- documents that the change has stored or erased ---- */

/* A document as it was before. */
struct zd_change_old_document {
    struct zd_list link;
    struct zd_change_place *parent;   /* that was made for the node below it; or NULL */
    struct zd_buf *bytes;             /* of an erased one; owned. NULL: the store has kept it */
    struct zd_store_write_want write; /* has changed it; later: puts it back */
    struct zd_store_list list;        /* keys below the parent */
    char key[];
};

static void free_old(struct zd_change_old_document *old)
{
    if (old != NULL) {
        zd_store_write_release(&old->write);
        zd_store_list_done(&old->list);
        zd_buf_unref(old->bytes);
        zd_free(old);
    }
}

static struct zd_change_old_document *old_of(struct zd_list *link)
{
    return ZD_CONTAINER(link, struct zd_change_old_document, link);
}

void zd_change_undo_forget(struct zd_change *change)
{
    for (struct zd_list *link; (link = zd_list_pop_front(&change->undo.old)) != NULL;) {
        free_old(old_of(link));
    }
    free_old(ZD_TAKE(change->undo.next));
}

enum zd_status zd_change_undo_prepare(struct zd_change *change, const char *key)
{
    const size_t len = strlen(key);
    struct zd_change_old_document *old = zd_alloc_zero(1, sizeof *old + len + 1);
    if (old == NULL) {
        return ZD_NO_MEMORY;
    }
    memcpy(old->key, key, len + 1);
    free_old(change->undo.next);
    change->undo.next = old;
    return ZD_OK;
}

static struct zd_change_old_document *push(struct zd_change_undo *undo)
{
    struct zd_change_old_document *old = ZD_TAKE(undo->next);
    zd_list_push_front(&undo->old, &old->link);
    return old;
}

/* A document that this change stores twice is restored to its first state, unless another process
 * has written it in between. */
static bool is_known(struct zd_change_undo *undo, const struct zd_store_write_want *write)
{
    for (struct zd_list *link = undo->old.next; link != &undo->old; link = link->next) {
        struct zd_change_old_document *old = old_of(link);
        if (strcmp(old->key, undo->next->key) == 0 && old->bytes == NULL &&
            zd_generation_equal(old->write.stat.generation, write->generation)) {
            old->write.stat = write->stat;
            return true;
        }
    }
    return false;
}

void zd_change_undo_keep(struct zd_change *change, struct zd_change_document *document)
{
    struct zd_store_write_want *write = &document->write;
    if (change->undo.next == NULL || is_known(&change->undo, write)) {
        return; /* the document's own want releases what the store has kept now */
    }
    struct zd_change_old_document *old = push(&change->undo);
    old->write = *write;
    old->parent = document->place->is_new ? document->place : NULL;
    write->load = NULL;
}

void zd_change_undo_keep_erased(struct zd_change *change, struct zd_buf *bytes)
{
    push(&change->undo)->bytes = zd_buf_ref(bytes);
}

/* ---- undo ---- */

static struct zd_change_old_document *last_of(struct zd_change *change)
{
    return old_of(change->undo.old.next);
}

static void drop_last(struct zd_change *change)
{
    free_old(old_of(zd_list_pop_front(&change->undo.old)));
}

enum zd_change_outcome zd_change_undo_look(struct zd_change *change)
{
    if (zd_list_is_empty(&change->undo.old)) {
        return ZD_CHANGE_DONE;
    }
    struct zd_change_old_document *old = last_of(change);
    if (old->parent != NULL) {
        old->list = (struct zd_store_list){.deep = true, .n_max = 2};
        (void)snprintf(old->list.prefix, sizeof old->list.prefix, "%s%s", old->parent->path,
            old->parent->path[0] == '\0' ? "" : "/");
        zd_gather_await(&change->gather, &old->list.op);
        zd_store_list(change->dataset->store, &old->list);
    }
    return ZD_CHANGE_NEXT;
}

/* Another process may have made a node below, which needs its parent. */
static bool is_alone(const struct zd_change_old_document *old)
{
    const struct zd_store_list *list = &old->list;
    char key[2 * ZD_KEY_BYTES_MAX + 2];
    bool is_alone = list->op.status == ZD_OK;
    for (size_t i = 0; i < list->n_entries && is_alone; i++) {
        (void)snprintf(key, sizeof key, "%s%s", list->prefix, list->entry[i].name);
        is_alone = strcmp(key, old->key) == 0;
    }
    return is_alone;
}

enum zd_change_outcome zd_change_undo_look_end(struct zd_change *change)
{
    const struct zd_change_old_document *old = last_of(change);
    if (old->parent == NULL || is_alone(old)) {
        return ZD_CHANGE_NEXT;
    }
    drop_last(change);
    return ZD_CHANGE_MORE;
}

enum zd_change_outcome zd_change_undo_last(struct zd_change *change)
{
    struct zd_change_old_document *old = last_of(change);
    if (old->bytes != NULL) {
        old->write = (struct zd_store_write_want){
            .kind = ZD_WRITE_PUT, .bytes = old->bytes, .condition = ZD_CONDITION_ABSENT};
    } else {
        old->write.kind = ZD_WRITE_UNDO;
    }
    zd_change_run_write(change, old->key, &old->write);
    return ZD_CHANGE_NEXT;
}

/* A document that another process has written since stays as it is. */
enum zd_change_outcome zd_change_undo_last_end(struct zd_change *change)
{
    struct zd_change_undo *undo = &change->undo;
    const struct zd_change_old_document *old = last_of(change);
    const struct zd_wait *wait = &old->write.wait;
    const bool is_overtaken = wait->status == ZD_PRECONDITION || wait->status == ZD_NOT_FOUND;
    if (wait->status != ZD_OK && !is_overtaken && old->parent == NULL) {
        undo->lost_err = undo->n_lost == 0 ? wait->err : undo->lost_err;
        undo->n_lost++;
    }
    if (wait->status == ZD_OK && old->parent != NULL) {
        old->parent->is_made = false;
    }
    drop_last(change);
    return ZD_CHANGE_NEXT;
}

static bool has_made_parents(const struct zd_change *change)
{
    for (size_t i = 0; i < change->n_places; i++) {
        if (change->place[i].is_made) {
            return true;
        }
    }
    return false;
}

/* Some documents could not be restored: report the change as well as the error. */
static enum zd_change_outcome end_with_loss(struct zd_change *change)
{
    const struct zd_error first = change->err;
    change->err.status = zd_fail(&change->err, first.status,
        "\"%.100s\": %.150s; documents that were changed before could not be put back (%u): %.150s",
        change->path, first.text, change->undo.n_lost, change->undo.lost_err.text);
    zd_log(&change->dataset->server->log, ZD_LOG_WARNING, "dataset '%s': %s",
        change->dataset->config.name, change->err.text);
    zd_lock_release(&change->metadata_lock);
    zd_change_report(change);
    return ZD_CHANGE_DONE;
}

/* Drop the listings when parents remain that no listing names. After a conflict the other writer
 * lists them. */
enum zd_change_outcome zd_change_undo_end(struct zd_change *change)
{
    struct zd_change_undo *undo = &change->undo;
    const bool was_dropping = change->phase == ZD_CHANGE_DROP;
    if (undo->n_lost > 0) {
        return end_with_loss(change);
    }
    change->phase = ZD_CHANGE_DOCUMENTS;
    if (!has_made_parents(change) || change->err.status == ZD_PRECONDITION || was_dropping) {
        return ZD_CHANGE_DONE;
    }
    change->verdict = ZD_VERDICT_FAILED;
    change->verdict_err = change->err;
    return ZD_CHANGE_LISTINGS;
}
