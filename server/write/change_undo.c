/* Changing documents: undo. A later step has failed, and all that was stored and erased is put
 * back, the last one first.
 *
 *     prepare, keep          a document is stored: its old object, in front of the list
 *     prepare, mark_erased   documents are erased: all of them together, in change->kept
 *
 *     UNDO       nothing is left -> UNDO_END
 *                an erasure -> UNDO_ERASURE: the kept documents are given back
 *                a parent that was made, and is needed by another process -> UNDO: it stays
 *     UNDO_LAST  the old object is stored, or the new one erased, unless it is newer -> UNDO
 *     UNDO_END   listings are false -> DROP; something is lost -> FINISH */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/runtime/server.h"
#include "server/write/change.h"

#define BELOW_MAX 1000 /* keys below parents that are made */

/* ---- documents that the change has stored or erased ---- */

/* A document as it was before. */
struct zd_change_old_document {
    struct zd_list link;
    struct zd_change_place *parent;   /* that was made for the node below it; or NULL */
    bool is_erasure;                  /* not one document: all of change->kept */
    struct zd_store_write_want write; /* has changed it; later: puts it back */
    char key[];
};

static void free_old(struct zd_change_old_document *old)
{
    if (old != NULL) {
        zd_store_write_release(&old->write);
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
        if (strcmp(old->key, undo->next->key) == 0 && !old->is_erasure &&
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

void zd_change_undo_mark_erased(struct zd_change *change)
{
    push(&change->undo)->is_erasure = true;
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

void zd_change_undo_unmark_erased(struct zd_change *change)
{
    if (!zd_list_is_empty(&change->undo.old) && last_of(change)->is_erasure) {
        drop_last(change);
    }
}

/* ---- parents that were made ---- */

/* Note a page: an unseen object counts as new, and keeps its parent. */
void zd_change_undo_note_below(struct zd_change *change)
{
    struct zd_store_list *list = &change->undo.below;
    const bool is_first = !change->input.is_dry && zd_list_is_empty(&change->undo.old);
    size_t i = 0;
    while (i + 1 < change->n_places && !change->place[i].is_new) {
        i++;
    }
    if (is_first && i + 1 < change->n_places) {
        const char *path = change->place[i].path;
        zd_store_list_done(list);
        *list = (struct zd_store_list){.deep = true, .n_max = BELOW_MAX};
        (void)snprintf(list->prefix, sizeof list->prefix, "%s%s", path, path[0] == '\0' ? "" : "/");
        zd_gather_await(&change->gather, &list->op);
        zd_store_list(change->dataset->store, list);
    }
}

static int compare_name(const void *name, const void *entry)
{
    return strcmp(name, ((const struct zd_store_entry *)entry)->name);
}

static bool was_below(const struct zd_store_list *list, const char *key)
{
    return list->n_entries > 0 && bsearch(key + strlen(list->prefix), list->entry, list->n_entries,
                                      sizeof *list->entry, compare_name) != NULL;
}

/* Another process may have made a node below, which needs its parent. */
static enum zd_purge_answer look_for_others(void *context, const struct zd_purge_key *key)
{
    struct zd_change *change = context;
    const bool is_other = key->node != NULL && strcmp(key->key, last_of(change)->key) != 0 &&
                          !was_below(&change->undo.below, key->key);
    change->undo.is_needed = change->undo.is_needed || is_other;
    return is_other ? ZD_PURGE_STOP : ZD_PURGE_KEEP;
}

enum zd_change_outcome zd_change_undo_look(struct zd_change *change)
{
    if (zd_list_is_empty(&change->undo.old)) {
        return ZD_CHANGE_DONE;
    }
    const struct zd_change_old_document *old = last_of(change);
    if (old->is_erasure) {
        drop_last(change);
        return ZD_CHANGE_GIVE_BACK;
    }
    if (old->parent == NULL) {
        return ZD_CHANGE_NEXT;
    }
    const struct zd_purge_want purge = {.path = old->parent->path, .visit = look_for_others};
    change->undo.is_needed = false;
    return zd_change_run_purge(change, &purge);
}

enum zd_change_outcome zd_change_undo_look_end(struct zd_change *change)
{
    const struct zd_change_old_document *old = last_of(change);
    if (old->parent == NULL || (change->purge.wait.status == ZD_OK && !change->undo.is_needed)) {
        return ZD_CHANGE_NEXT;
    }
    drop_last(change);
    return ZD_CHANGE_MORE;
}

enum zd_change_outcome zd_change_undo_last(struct zd_change *change)
{
    struct zd_change_old_document *old = last_of(change);
    old->write.kind = ZD_WRITE_UNDO;
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
    undo->is_overtaken = undo->is_overtaken || (is_overtaken && old->parent == NULL);
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
    change->verdict = change->kept.has_lost_last ? ZD_VERDICT_LOST : change->verdict;
    change->err.status = zd_fail(&change->err, first.status,
        "%.250s; rollback incomplete: %u objects were not restored: %.150s", first.text,
        change->undo.n_lost, change->undo.lost_err.text);
    zd_log(&change->dataset->server->log, ZD_LOG_WARNING, "dataset '%s': %s",
        change->dataset->config.name, change->err.text);
    zd_lock_release(&change->metadata_lock);
    zd_change_report(change);
    return ZD_CHANGE_DONE;
}

/* Whether a listing may tell of what is undone, or not of a parent that remains. */
static bool has_false_listings(const struct zd_change *change)
{
    const struct zd_change_undo *undo = &change->undo;
    return has_made_parents(change) || (undo->was_unlocked && undo->is_overtaken);
}

/* Drop the listings that are false. After a conflict the other writer makes them. */
enum zd_change_outcome zd_change_undo_end(struct zd_change *change)
{
    struct zd_change_undo *undo = &change->undo;
    const bool was_dropping = change->phase == ZD_CHANGE_DROP;
    if (undo->n_lost > 0) {
        return end_with_loss(change);
    }
    change->phase = ZD_CHANGE_DOCUMENTS;
    if (undo->begins_again) {
        undo->begins_again = false;
        undo->is_overtaken = false;
        return ZD_CHANGE_AGAIN;
    }
    if (!has_false_listings(change) || change->err.status == ZD_PRECONDITION || was_dropping ||
        !change->metadata_lock.claim.is_held) {
        return ZD_CHANGE_DONE;
    }
    change->verdict = ZD_VERDICT_FAILED;
    change->verdict_err = change->err;
    return ZD_CHANGE_LISTINGS;
}
