/* Changing documents: the engine that goes through the table, and what happens after failures. */
#include <assert.h>

#include "server/runtime/server.h"
#include "server/write/change.h"

/* ---- the engine ---- */

static uint32_t following(const struct zd_change *change, enum zd_change_outcome outcome)
{
    const uint32_t row = change->table[change->row].follows[outcome];
    return row != 0 ? row : change->table[0].follows[outcome];
}

static enum zd_next step(struct zd_machine *machine)
{
    struct zd_change *change = ZD_CONTAINER(machine, struct zd_change, machine);
    const struct zd_change_row *row = &change->table[change->row];
    enum zd_change_outcome outcome = ZD_CHANGE_NEXT;
    if (row->begin != NULL && !change->has_begun) {
        zd_gather_begin(&change->gather);
        outcome = row->begin(change);
        const enum zd_next next = zd_gather_end(&change->gather);
        if (outcome == ZD_CHANGE_NEXT) {
            change->has_begun = true;
            return next;
        }
        assert(next == ZD_NEXT);
    } else if (row->end != NULL) {
        outcome = row->end(change);
    }
    change->has_begun = false;
    change->row = following(change, outcome);
    return change->row == 0 ? ZD_DONE : ZD_NEXT;
}

void zd_change_run_init(
    struct zd_change *change, const struct zd_change_row *table, void (*end)(struct zd_machine *))
{
    change->table = table;
    change->row = 1;
    change->machine = (struct zd_machine){.step = step, .end = end};
    change->gather.machine = &change->machine;
}

enum zd_change_outcome zd_change_run_work(
    struct zd_change *change, void (*work)(struct zd_job *job), uint64_t cost_ns)
{
    struct zd_workers *workers = &change->dataset->server->workers;
    change->job = (struct zd_job){.work = work, .wait = zd_gather_wait(&change->gather)};
    zd_gather_add(&change->gather, zd_workers_run(workers, &change->job, cost_ns));
    return ZD_CHANGE_NEXT;
}

enum zd_change_outcome zd_change_run_purge(
    struct zd_change *change, const struct zd_purge_want *purge)
{
    change->purge = *purge;
    change->purge.wait = zd_gather_wait(&change->gather);
    change->purge.dataset = change->dataset;
    change->purge.context = change;
    zd_gather_add(&change->gather, zd_purge_want(&change->purge));
    return ZD_CHANGE_NEXT;
}

/* ---- memory ---- */

static void forget_place(struct zd_change_place *place)
{
    zd_node_unref(ZD_TAKE(place->node));
    for (size_t i = 0; i < ZD_DOCUMENTS_MAX; i++) {
        struct zd_change_document *document = &place->document[i];
        zd_store_write_release(&document->write);
        zd_store_write_release(&document->old);
        zd_buf_unref(ZD_TAKE(document->stored));
        zd_buf_unref(ZD_TAKE(document->made));
        document->is_stored = false;
        document->goes = false;
    }
}

void zd_change_run_forget_meta(struct zd_change *change)
{
    zd_node_unref(ZD_TAKE(change->made));
    zd_meta_unref(ZD_TAKE(change->meta));
    zd_meta_unref(ZD_TAKE(change->before));
}

void zd_change_run_forget(struct zd_change *change)
{
    const bool is_open = change->phase == ZD_CHANGE_DOCUMENTS;
    for (size_t i = 0; i < change->n_places; i++) {
        struct zd_change_place *place = &change->place[i];
        forget_place(place);
        /* Parents that were stored are missing in the listings, too. */
        place->is_new = place->is_new && (!is_open || place->is_made);
    }
    zd_free(ZD_TAKE(change->item));
    change->n_items = 0;
    zd_multiscale_release(&change->multiscale);
    change->clearing = (struct zd_change_clearing){0};
    if (is_open) {
        zd_change_run_forget_meta(change);
    }
}

/* ---- failures ---- */

enum zd_change_outcome zd_change_run_again(struct zd_change *change)
{
    change->n_tries++;
    if (change->n_tries > ZD_CHANGE_TRIES_MAX) {
        return zd_change_outcome_of(
            change, zd_fail(&change->err, ZD_PRECONDITION,
                        "\"%.200s\": gave up after %d conflicts with other writers", change->path,
                        ZD_CHANGE_TRIES_MAX));
    }
    zd_change_run_forget(change);
    change->err.status = ZD_OK;
    if (change->subtree != NULL && change->phase == ZD_CHANGE_DOCUMENTS) {
        zd_lock_release(&change->metadata_lock);
        return ZD_CHANGE_TREE;
    }
    return ZD_CHANGE_NEXT;
}

/* A node that its listings lack is not found: the change is undone. When that is impossible it
 * stays, and the error says both. */
static enum zd_change_outcome give_up_listings(struct zd_change *change)
{
    const bool is_held = change->subtree == NULL || zd_change_subtree_is_held(change->subtree);
    const struct zd_error err = change->err;
    change->err.status = err.status == ZD_PRECONDITION ? ZD_STORE : err.status;
    if (!change->undo.is_final && change->verdict < ZD_VERDICT_FAILED && is_held) {
        return ZD_CHANGE_UNDO;
    }
    change->err.status = zd_fail(&change->err, change->err.status,
        "\"%.100s\" is changed, but consolidated metadata above it is out of date: %.200s",
        change->path, err.text);
    zd_log(&change->dataset->server->log, ZD_LOG_WARNING, "dataset '%s': %s",
        change->dataset->config.name, change->err.text);
    if (change->verdict < ZD_VERDICT_FAILED) {
        change->verdict = ZD_VERDICT_STALE;
        change->verdict_err = change->err;
    }
    change->err.status = ZD_OK;
    return ZD_CHANGE_NEXT;
}

enum zd_change_outcome zd_change_run_fail(struct zd_change *change)
{
    if (!change->metadata_lock.is_held) {
        return ZD_CHANGE_DONE;
    }
    if (change->phase == ZD_CHANGE_DOCUMENTS) {
        return zd_list_is_empty(&change->undo.old) ? ZD_CHANGE_DONE : ZD_CHANGE_UNDO;
    }
    change->code = NULL; /* the problem of a listing is none of the client's */
    return change->phase == ZD_CHANGE_DROP ? give_up_listings(change) : ZD_CHANGE_LISTINGS;
}

enum zd_change_outcome zd_change_run_drop(struct zd_change *change)
{
    change->phase = ZD_CHANGE_DROP;
    change->n_tries = 0;
    zd_change_run_forget(change);
    change->err.status = ZD_OK;
    return ZD_CHANGE_NEXT;
}

enum zd_change_outcome zd_change_run_finish(struct zd_change *change)
{
    if (change->err.status == ZD_OK && change->verdict != ZD_VERDICT_NONE) {
        change->err = change->verdict_err;
    }
    zd_lock_release(&change->metadata_lock);
    zd_lock_release(&change->path_lock);
    return ZD_CHANGE_DONE;
}
