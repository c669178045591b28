/* Changing documents: what was stored or erased comes back when what follows it cannot be stored.
 *
 *     committed, or erased: kept -> ... all is through: forgotten
 *                                -> ... one fails: undone, the last one first
 */
#include <stdio.h>
#include <string.h>

#include "server/write/change.h"
#include "server/runtime/server.h"

#define FIRST_CAP 8

/* A document as it was before. */
struct zd_kept {
    struct zd_change *change;
    struct zd_place *parent; /* one that was made for what is below it; or NULL */
    struct zd_buf *bytes;    /* of one that was erased; owned. NULL: the store has kept it */
    struct zd_store_write_want write; /* what has changed it; or is to put it back */
    struct zd_store_list list;        /* what is below the parent */
    char key[];
};

static void free_kept(struct zd_kept *kept)
{
    if (kept != NULL) {
        zd_store_write_release(&kept->write);
        zd_store_list_done(&kept->list);
        zd_buf_unref(kept->bytes);
        zd_free(kept);
    }
}

void zd_change_forget_kept(struct zd_change *change)
{
    while (change->n_kept > 0) {
        free_kept(change->kept[--change->n_kept]);
    }
    free_kept(ZD_TAKE(change->next_kept));
    zd_free(ZD_TAKE(change->kept));
    change->kept_cap = 0;
}

enum zd_status zd_change_make_kept(struct zd_change *change, const char *key)
{
    const size_t len = strlen(key);
    struct zd_kept *kept = zd_alloc_zero(1, sizeof *kept + len + 1);
    if (change->n_kept == change->kept_cap && kept != NULL) {
        const size_t cap = change->kept_cap == 0 ? FIRST_CAP : change->kept_cap * 2;
        struct zd_kept **grown = zd_realloc(change->kept, cap * sizeof(void *));
        change->kept = grown == NULL ? change->kept : grown;
        change->kept_cap = grown == NULL ? change->kept_cap : cap;
    }
    if (kept == NULL || change->n_kept == change->kept_cap) {
        zd_free(kept);
        return ZD_NO_MEMORY;
    }
    kept->change = change;
    memcpy(kept->key, key, len + 1);
    free_kept(change->next_kept);
    change->next_kept = kept;
    return ZD_OK;
}

static struct zd_kept *push(struct zd_change *change)
{
    struct zd_kept *kept = ZD_TAKE(change->next_kept);
    change->kept[change->n_kept++] = kept;
    return kept;
}

/* Of a document that is stored once more the first one counts, unless another process has written
 * it in between: then nobody but that one knows what it is to be. */
static bool is_known(struct zd_change *change, const struct zd_store_write_want *write)
{
    for (size_t i = 0; i < change->n_kept; i++) {
        struct zd_kept *kept = change->kept[i];
        if (strcmp(kept->key, change->next_kept->key) == 0 && kept->bytes == NULL &&
            zd_generation_equal(kept->write.stat.generation, write->generation)) {
            kept->write.stat = write->stat;
            return true;
        }
    }
    return false;
}

void zd_change_keep(struct zd_change *change, struct zd_place_document *document)
{
    struct zd_store_write_want *write = &document->write;
    if (change->next_kept == NULL || is_known(change, write)) {
        return; /* what was kept now goes with the document's own */
    }
    struct zd_kept *kept = push(change);
    kept->write = *write;
    kept->parent = document->place->is_new ? document->place : NULL;
    write->load = NULL;
}

void zd_change_keep_erased(struct zd_change *change, struct zd_buf *bytes)
{
    push(change)->bytes = zd_buf_ref(bytes);
}

/* ---- undo ---- */

static enum zd_next step_undo(struct zd_change *change);

static struct zd_kept *last_kept(struct zd_change *change)
{
    return change->kept[change->n_kept - 1];
}

static void drop_last(struct zd_change *change)
{
    free_kept(change->kept[--change->n_kept]);
    change->step = step_undo;
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

/* Parents stay that no listing names. Where somebody else was faster, that one lists them. */
static enum zd_next end_with_parents(struct zd_change *change)
{
    change->is_failed = true;
    change->stale_err = change->err;
    change->stale_err.status = change->status;
    change->has_stored = true;
    return zd_change_drop_listings(change);
}

/* What was changed is told, with the error: some of it is not as it was. */
static enum zd_next end_with_loss(struct zd_change *change)
{
    const struct zd_error first = change->err;
    change->err.status = zd_fail(&change->err, change->status,
        "\"%.100s\": %.150s; documents that were changed before could not be put back (%u): %.150s",
        change->path, first.text, change->n_lost, change->lost_err.text);
    zd_log(&change->dataset->server->log, ZD_LOG_WARNING, "dataset '%s': %s",
        change->dataset->config.name, change->err.text);
    zd_lock_release(&change->metadata_lock);
    zd_change_report(change);
    change->step = zd_change_end;
    return ZD_NEXT;
}

static enum zd_next step_undone_all(struct zd_change *change)
{
    if (change->subtree != NULL) {
        change->n_lost += zd_subtree_lost(change->subtree, &change->lost_err);
    }
    if (change->n_lost > 0) {
        return end_with_loss(change);
    }
    change->has_stored = false;
    if (has_made_parents(change) && change->status != ZD_PRECONDITION && !change->drops_listings) {
        return end_with_parents(change);
    }
    change->step = zd_change_end;
    return ZD_NEXT;
}

static void undone(struct zd_wait *wait)
{
    zd_change_arrived(ZD_CONTAINER(wait, struct zd_kept, write.wait)->change);
}

/* What another process has written since is as that one wants it. */
static enum zd_next step_undone(struct zd_change *change)
{
    const struct zd_kept *kept = last_kept(change);
    const struct zd_wait *wait = &kept->write.wait;
    const bool is_overtaken = wait->status == ZD_PRECONDITION || wait->status == ZD_NOT_FOUND;
    if (wait->status != ZD_OK && !is_overtaken && kept->parent == NULL) {
        change->lost_err = change->n_lost == 0 ? wait->err : change->lost_err;
        change->n_lost++;
    }
    if (wait->status == ZD_OK && kept->parent != NULL) {
        kept->parent->is_made = false;
    }
    drop_last(change);
    return ZD_NEXT;
}

static enum zd_next start_undo(struct zd_change *change, struct zd_kept *kept)
{
    if (kept->bytes != NULL) {
        kept->write = (struct zd_store_write_want){
            .kind = ZD_WRITE_PUT, .bytes = kept->bytes, .condition = ZD_CONDITION_ABSENT};
    } else {
        kept->write.kind = ZD_WRITE_UNDO;
    }
    kept->write.wait = (struct zd_wait){.done = undone};
    change->step = step_undone;
    if (zd_store_write_want(change->dataset, kept->key, &kept->write) == ZD_WAIT) {
        change->n_pending++;
    }
    return zd_change_wait(change);
}

static void listed(struct zd_store_op *op)
{
    zd_change_arrived(ZD_CONTAINER(op, struct zd_kept, list.op)->change);
}

/* Another process may have made a node below by now, which needs its parent. */
static enum zd_next step_listed(struct zd_change *change)
{
    struct zd_kept *kept = last_kept(change);
    bool is_alone = kept->list.op.status == ZD_OK;
    char key[2 * ZD_KEY_BYTES_MAX + 2];
    for (size_t i = 0; i < kept->list.n_entries && is_alone; i++) {
        snprintf(key, sizeof key, "%s%s", kept->list.prefix, kept->list.entry[i].name);
        is_alone = strcmp(key, kept->key) == 0;
    }
    if (is_alone) {
        return start_undo(change, kept);
    }
    drop_last(change);
    return ZD_NEXT;
}

static enum zd_next look_below(struct zd_change *change, struct zd_kept *kept)
{
    kept->list = (struct zd_store_list){.op.done = listed, .deep = true, .n_max = 2};
    (void)snprintf(kept->list.prefix, sizeof kept->list.prefix, "%s%s", kept->parent->path,
        kept->parent->path[0] == '\0' ? "" : "/");
    change->step = step_listed;
    change->n_pending++;
    zd_store_list(change->dataset->store, &kept->list);
    return ZD_WAIT;
}

static enum zd_next step_undo(struct zd_change *change)
{
    if (change->n_kept > 0) {
        struct zd_kept *kept = last_kept(change);
        return kept->parent != NULL ? look_below(change, kept) : start_undo(change, kept);
    }
    change->step = step_undone_all;
    return change->has_stored && change->subtree != NULL ? zd_change_restore_below(change)
                                                         : ZD_NEXT;
}

enum zd_next zd_change_undo(
    struct zd_change *change, enum zd_status status, const char *code, const struct zd_error *err)
{
    change->status = status;
    change->code = code;
    if (err != &change->err) {
        change->err = *err;
    }
    change->err.status = status;
    change->step = step_undo;
    return ZD_NEXT;
}
