/* Changing documents: stored and erased documents are restored when a later one cannot be stored,
 * the last one first. */
#include <stdio.h>
#include <string.h>

#include "server/runtime/server.h"
#include "server/write/change.h"

/* A document as it was before. */
struct zd_change_old_document {
    struct zd_list link;
    struct zd_change *change;
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
    old->change = change;
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
    if (change->subtree != NULL) {
        undo->n_lost += zd_change_subtree_lost(change->subtree, &undo->lost_err);
    }
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
