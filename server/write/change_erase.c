/* Changing documents: what a change erases, and the events of what it has changed. An erasure takes
 * the documents first; everything else when readers no longer find it. */
#include <string.h>

#include "server/data/events.h"
#include "server/data/tag.h"
#include "server/write/change.h"

#define REPORTED_AT_ONCE 256 /* chunks */

/* ---- events ---- */

/* A group's tag is of its document only: its children have events of their own, and listing them
 * for each change would cost more than the change. */
static void tag_of(
    const struct zd_change_place *place, enum zd_node_type type, char etag[ZD_TAG_BYTES])
{
    const uint32_t n = place->change->dialect->n_documents;
    zd_tag_node(etag, type, zd_tag_documents(place->stat, n));
}

static bool leaves_node(const struct zd_change *change)
{
    return change->key == NULL ? change->input.kind != ZD_METADATA_ERASE : change->stays;
}

/* Listings have no events: they repeat what the documents say. */
void zd_change_report(struct zd_change *change)
{
    const bool is_made = change->verdict < ZD_VERDICT_FAILED;
    char etag[ZD_TAG_BYTES];
    if (change->input.kind == ZD_METADATA_CONSOLIDATE || change->is_hidden) {
        return;
    }
    if (change->verdict == ZD_VERDICT_LOST || (is_made && !leaves_node(change))) {
        if (change->before != NULL) {
            zd_events_node(change->dataset->events, change->path, ZD_NODE_DELETED, NULL);
        }
        return;
    }
    for (size_t i = 0; i + 1 < change->n_places; i++) {
        if (change->place[i].is_new && (change->place[i].is_made || is_made)) {
            tag_of(&change->place[i], ZD_NODE_GROUP, etag);
            zd_events_node(change->dataset->events, change->place[i].path, ZD_NODE_CREATED, etag);
        }
    }
    if (is_made) {
        tag_of(zd_change_target(change), change->meta->type, etag);
        zd_events_node(change->dataset->events, change->path,
            change->has_made ? ZD_NODE_CREATED : ZD_NODE_CHANGED, etag);
    }
}

static void report_rest(struct zd_change *change)
{
    if (change->n_erased > 0) {
        zd_events_chunks(change->dataset->events, change->path, change->meta->grid.rank,
            change->erased_index, change->n_erased, ZD_CHUNKS_ERASED);
    }
    change->n_erased = 0;
}

/* Where there is no memory for many chunks, each has an event of its own. */
static void report_erased(struct zd_change *change, const uint64_t *index)
{
    const uint32_t rank = change->meta->grid.rank;
    if (change->erased_index == NULL) {
        change->erased_index =
            zd_alloc_zero((size_t)REPORTED_AT_ONCE * rank, sizeof *change->erased_index);
    }
    if (change->erased_index == NULL) {
        zd_events_chunks(change->dataset->events, change->path, rank, index, 1, ZD_CHUNKS_ERASED);
        return;
    }
    memcpy(change->erased_index + change->n_erased * rank, index, rank * sizeof *index);
    change->n_erased++;
    if (change->n_erased == REPORTED_AT_ONCE) {
        report_rest(change);
    }
}

/* ---- the node's own documents ---- */

/* Erase the document, unless the change is of another key. */
static void start_erasure(
    struct zd_change *change, struct zd_change_document *document, struct zd_generation generation)
{
    const bool is_there =
        document->stored != NULL || (change->key != NULL && zd_generation_is_set(generation));
    document->goes =
        is_there && (change->key == NULL || strcmp(change->key, document->read.key) == 0);
    if (!document->goes) {
        return;
    }
    document->old = (struct zd_store_write_want){
        .kind = ZD_WRITE_ERASE,
        .condition = ZD_CONDITION_GENERATION,
        .generation = generation,
        .keeps_old = true,
    };
    document->kept = zd_kept_reserve(&change->kept, document->read.key);
    if (document->kept == NULL) {
        document->old.wait.status =
            zd_fail(&document->old.wait.err, ZD_NO_MEMORY, "no memory to keep an erased document");
        return;
    }
    zd_change_run_write(change, document->read.key, &document->old);
}

/* From here on there is no such node. */
enum zd_change_outcome zd_change_erase_own(struct zd_change *change)
{
    struct zd_change_place *place = zd_change_target(change);
    const struct zd_node *node = place->node; /* NULL: only keys below are left of one, or strays */
    const struct zd_dialect *dialect = node == NULL ? change->dialect : node->meta->dialect;
    if (zd_change_undo_prepare(change, "") != ZD_OK) {
        return ZD_CHANGE_FAIL(change, ZD_NO_MEMORY, "no memory to erase a node");
    }
    for (uint32_t i = 0; i < dialect->n_documents; i++) {
        struct zd_change_document *document = &place->document[i];
        start_erasure(change, document, zd_change_store_replaced(document));
    }
    return ZD_CHANGE_NEXT;
}

/* While something may still fail, it can be put back, after everything below it. */
static const struct zd_wait *end_erasure(
    struct zd_change *change, struct zd_change_document *document)
{
    const struct zd_wait *wait = &document->old.wait;
    if (wait->status != ZD_OK) {
        zd_free(ZD_TAKE(document->kept));
        return wait;
    }
    document->kept->is_last = true;
    zd_kept_add(&change->kept, ZD_TAKE(document->kept), &document->old);
    return NULL;
}

enum zd_change_outcome zd_change_erase_own_end(struct zd_change *change)
{
    struct zd_change_place *place = zd_change_target(change);
    const struct zd_wait *failed = NULL;
    for (uint32_t i = 0; i < ZD_DOCUMENTS_MAX; i++) {
        if (place->document[i].goes) {
            const struct zd_wait *wait = end_erasure(change, &place->document[i]);
            failed = failed == NULL ? wait : failed;
        }
    }
    if (failed != NULL) {
        change->err = failed->err;
        return zd_change_outcome_of(
            change, failed->status == ZD_NOT_FOUND ? ZD_PRECONDITION : failed->status);
    }
    return change->input.kind == ZD_METADATA_PUT ? ZD_CHANGE_ORPHANS : ZD_CHANGE_NEXT;
}

/* All documents are erased. */
enum zd_change_outcome zd_change_erase_keep(struct zd_change *change)
{
    zd_change_undo_mark_erased(change);
    change->phase = ZD_CHANGE_REFRESH;
    return ZD_CHANGE_NEXT;
}

/* ---- put them back ---- */

enum zd_change_outcome zd_change_erase_restore(struct zd_change *change)
{
    zd_kept_begin(&change->kept, &change->gather, ZD_WRITE_UNDO);
    return ZD_CHANGE_NEXT;
}

/* A failure ends nothing: the others are put back all the same. */
enum zd_change_outcome zd_change_erase_restore_end(struct zd_change *change)
{
    struct zd_kept *kept = &change->kept;
    struct zd_change_undo *undo = &change->undo;
    if (zd_kept_end(kept)) {
        return ZD_CHANGE_MORE;
    }
    undo->lost_err = undo->n_lost == 0 ? kept->lost_err : undo->lost_err;
    undo->n_lost += kept->n_lost;
    return ZD_CHANGE_NEXT;
}

/* The listings above name nodes that are lost: they are dropped before the change ends. */
static enum zd_change_outcome lose(struct zd_change *change, enum zd_change_verdict verdict)
{
    const struct zd_error err = change->err;
    const bool is_held = change->metadata_lock.claim.is_held;
    if (!is_held) { /* nor can they be dropped */
        change->err.status = zd_fail(&change->err, err.status,
            "%.400s; consolidated metadata above it may be out of date", err.text);
    }
    change->phase = ZD_CHANGE_REFRESH;
    change->verdict = verdict;
    change->verdict_err = change->err;
    return is_held ? ZD_CHANGE_LISTINGS : ZD_CHANGE_DONE;
}

enum zd_change_outcome zd_change_erase_restored(struct zd_change *change)
{
    const struct zd_change_undo *undo = &change->undo;
    if (undo->n_lost > 0) {
        const struct zd_error first = change->err;
        change->err.status = zd_fail(&change->err, first.status,
            "%.300s; rollback incomplete: %u erased documents could not be restored: %.150s",
            first.text, undo->n_lost, undo->lost_err.text);
        return lose(change, change->kept.has_lost_last ? ZD_VERDICT_LOST : ZD_VERDICT_FAILED);
    }
    return change->err.status == ZD_PRECONDITION ? ZD_CHANGE_AGAIN : ZD_CHANGE_FAILED;
}

/* ---- which keys below are erased ---- */

/* Whether a chunk has no element of the array. */
static bool is_outside_of(const struct zd_grid *grid, const uint64_t *index)
{
    for (uint32_t d = 0; d < grid->rank; d++) {
        if (index[d] >= zd_grid_count_inside(grid, d)) {
            return true;
        }
    }
    return false;
}

/* A chunk outside both the new grid and the array's current grid. */
static bool is_outside(const struct zd_change *change, const char *rest, uint64_t *ret_index)
{
    const struct zd_meta *before = change->before;
    return before->dialect->chunk_index(before, rest, ret_index) == ZD_OK &&
           is_outside_of(&change->meta->grid, ret_index) &&
           (change->now == NULL || is_outside_of(&change->now->grid, ret_index));
}

static enum zd_purge_answer judge_outside(void *context, const struct zd_purge_key *key)
{
    uint64_t index[ZD_RANK_MAX];
    return is_outside(context, key->rest, index) ? ZD_PURGE_ERASE : ZD_PURGE_KEEP;
}

static void report_outside(void *context, const struct zd_purge_key *key)
{
    struct zd_change *change = context;
    uint64_t index[ZD_RANK_MAX];
    if (is_outside(change, key->rest, index)) {
        report_erased(change, index);
    }
}

/* Another writer has made the node below an array: the array keeps its chunks. */
static bool is_chunk_of_parent(const struct zd_change *change, const char *key)
{
    for (size_t i = 0; i + 1 < change->n_places; i++) {
        const struct zd_node *node = change->place[i].node;
        uint64_t index[ZD_RANK_MAX];
        if (node != NULL && node->meta->type == ZD_NODE_ARRAY) {
            const size_t len = strlen(node->path);
            const char *rest = key + len + (len == 0 ? 0 : 1);
            return zd_meta_is_refused(node->meta) ||
                   node->meta->dialect->chunk_index(node->meta, rest, index) != ZD_NOT_FOUND;
        }
    }
    return false;
}

/* A document of another dialect at the same path: alone it would be a node without its chunks. */
static bool is_beside(const char *rest)
{
    ZD_SCOPED_TEXT(path, ZD_KEY_BYTES_MAX);
    return zd_dialect_node_path(rest, &path) == ZD_OK && path.len == 0;
}

/* Without is_recursive an array takes its chunks along, and nothing else. */
static bool goes_along(const struct zd_change *change, const char *rest)
{
    const struct zd_meta *before = change->before;
    uint64_t index[ZD_RANK_MAX];
    return change->input.is_recursive ||
           (zd_meta_is_array(before) && (is_beside(rest) || before->dialect->chunk_index(before,
                                                                rest, index) != ZD_NOT_FOUND));
}

/* The documents were erased before: any that are left are of nodes made since. */
static enum zd_purge_answer judge_all(void *context, const struct zd_purge_key *key)
{
    const bool is_document = key->node != NULL && !(key->is_beside && zd_change_hides(context));
    const bool stays = is_document || is_chunk_of_parent(context, key->key);
    return !stays && goes_along(context, key->rest) ? ZD_PURGE_ERASE : ZD_PURGE_KEEP;
}

static enum zd_purge_answer judge_orphans(void *context, const struct zd_purge_key *key)
{
    const bool is_chunk = key->node == NULL && zd_change_find_is_chunk(context, key->rest);
    return is_chunk ? ZD_PURGE_ERASE : ZD_PURGE_KEEP;
}

static bool shrinks(const struct zd_change *change)
{
    const struct zd_meta *before = change->before;
    const struct zd_meta *meta = change->meta;
    if (!zd_meta_is_array(before) || !zd_meta_is_array(meta) ||
        before->grid.rank != meta->grid.rank) {
        return false;
    }
    for (uint32_t d = 0; d < meta->grid.rank; d++) {
        if (zd_grid_count_inside(&meta->grid, d) < zd_grid_count_inside(&before->grid, d)) {
            return true;
        }
    }
    return false;
}

bool zd_change_erase_orphans_chunks(const struct zd_change *change)
{
    const struct zd_meta *before = change->before;
    if (change->input.kind != ZD_METADATA_PUT) {
        return false;
    }
    if (before == NULL || before->type == ZD_NODE_GROUP) {
        return change->meta->type == ZD_NODE_ARRAY;
    }
    return !zd_meta_has_same_chunks(before, change->meta);
}

/* Another process may have made the node again, or the array larger, and store chunks there. */
static bool holds(void *context, struct zd_node *node)
{
    struct zd_change *change = context;
    if (change->input.kind != ZD_METADATA_PATCH) {
        /* A node that is read-only, or comes later, was hidden by the erased node. */
        change->clearing.is_overtaken = node != NULL &&
                                        zd_dialect_is_writable(node->meta->dialect) &&
                                        (node->meta->dialect->is_first || !zd_change_hides(change));
        return !change->clearing.is_overtaken;
    }
    if (node == NULL || !zd_meta_has_same_encoding(node->meta, change->meta)) {
        return false;
    }
    zd_meta_unref(change->now);
    change->now = zd_meta_ref(node->meta);
    return true;
}

/* ---- before the new document ---- */

static void note_purged(void *context, const struct zd_purge_key *key)
{
    struct zd_change *change = context;
    (void)key;
    change->undo.is_final = true;
}

/* The metadata lock is released for the time of the purge: a listing that others change is made
 * again. */
enum zd_change_outcome zd_change_erase_orphans(struct zd_change *change)
{
    const struct zd_purge_want purge = {
        .path = change->path,
        .stops_at_links = true,
        .visit = judge_orphans,
        .holds = holds,
        .kept = &change->kept,
        .erased = note_purged,
    };
    change->clearing.is_cleared = true;
    zd_change_undo_mark_erased(change);
    zd_lock_release(&change->metadata_lock);
    return zd_change_run_purge(change, &purge);
}

/* The metadata lock is taken again even after a failure. */
enum zd_change_outcome zd_change_erase_orphans_end(struct zd_change *change)
{
    const struct zd_purge_want *purge = &change->purge;
    (void)zd_change_outcome_of_wait(change, &purge->wait);
    if (purge->wait.status != ZD_OK) {
        change->code = purge->wait.status == ZD_INVALID ? "not_empty" : change->code;
        change->err.status = zd_fail(&change->err, purge->wait.status,
            "%llu keys below it could not be erased: %.200s", (unsigned long long)purge->n_failed,
            purge->wait.err.text);
    }
    return ZD_CHANGE_NEXT;
}

enum zd_change_outcome zd_change_erase_relock_end(struct zd_change *change)
{
    if (change->err.status == ZD_OK) {
        (void)zd_change_outcome_of_wait(change, &change->metadata_lock.wait);
    }
    if (change->err.status != ZD_OK) {
        return ZD_CHANGE_GIVE_BACK;
    }
    return change->clearing.is_overtaken ? ZD_CHANGE_AGAIN : ZD_CHANGE_NEXT;
}

enum zd_change_outcome zd_change_erase_give_back(struct zd_change *change)
{
    if (!change->undo.is_final) {
        return ZD_CHANGE_FAILED;
    }
    const struct zd_error err = change->err;
    change->err.status = zd_fail(&change->err, err.status,
        "\"%.100s\" was erased, but the new document was not stored: %.300s", change->path,
        err.text);
    return lose(change, ZD_VERDICT_LOST);
}

/* ---- after the new document ---- */

bool zd_change_erase_has_rest(const struct zd_change *change)
{
    return change->input.kind == ZD_METADATA_ERASE ||
           (change->input.kind == ZD_METADATA_PATCH && shrinks(change));
}

/* From the first key that is erased for good there is no way back. */
static void end_way_back(struct zd_change *change)
{
    change->undo.is_final = true;
    zd_change_undo_forget(change);
    if (!change->is_reported) {
        change->is_reported = true;
        zd_change_report(change);
    }
}

static void note_erased(void *context, const struct zd_purge_key *key)
{
    struct zd_change *change = context;
    end_way_back(change);
    if (change->input.kind == ZD_METADATA_PATCH) {
        report_outside(change, key);
    }
}

/* Chunks that are kept are reported when they will not be put back. */
static void report_kept(struct zd_change *change)
{
    const struct zd_meta *before = change->before;
    const struct zd_list *const items = &change->kept.items;
    uint64_t index[ZD_RANK_MAX];
    for (const struct zd_list *at = items->prev; at != items; at = at->prev) {
        const char *key = ZD_CONTAINER(at, struct zd_kept_item, link)->key;
        const size_t len = strlen(change->path);
        if (before->dialect->chunk_index(before, key + len + (len == 0 ? 0 : 1), index) == ZD_OK) {
            report_erased(change, index);
        }
    }
}

/* A shrunken array has kept nothing so far, an erased node its documents. */
static bool prepare_way_back(struct zd_change *change)
{
    const bool is_erasure = change->input.kind == ZD_METADATA_ERASE;
    if (change->undo.is_final || change->verdict != ZD_VERDICT_NONE) {
        return false;
    }
    return is_erasure ? zd_change_subtree_is_held(change->subtree)
                      : zd_change_undo_prepare(change, "") == ZD_OK;
}

/* Erased objects are kept until all are erased. */
enum zd_change_outcome zd_change_erase_rest(struct zd_change *change)
{
    const bool is_erasure = change->input.kind == ZD_METADATA_ERASE;
    const bool is_over = !zd_change_erase_has_rest(change) || change->verdict >= ZD_VERDICT_FAILED;
    struct zd_purge_want purge = {
        .path = change->path,
        .stops_at_links = is_erasure,
        .visit = is_erasure ? judge_all : judge_outside,
        .holds = holds,
        .erased = note_erased,
    };
    zd_lock_release(&change->metadata_lock);
    if (!is_over && prepare_way_back(change)) {
        purge.kept = &change->kept;
    } else {
        end_way_back(change);
    }
    return is_over ? ZD_CHANGE_DONE : zd_change_run_purge(change, &purge);
}

/* Nothing is erased for good yet: all is put back. */
static enum zd_change_outcome go_back(struct zd_change *change)
{
    const struct zd_wait *wait = &change->purge.wait;
    if (change->input.kind == ZD_METADATA_PATCH) {
        zd_change_undo_mark_erased(change);
    }
    change->undo.was_unlocked = true;
    change->code = wait->status == ZD_INVALID ? "not_empty" : NULL;
    change->err.status = zd_fail(&change->err, wait->status,
        "\"%.100s\": the objects below it could not be erased: %.300s", change->path,
        wait->err.text);
    return ZD_CHANGE_GIVE_BACK;
}

/* Else the document is already stored; the error lists the keys that remain. */
enum zd_change_outcome zd_change_erase_rest_end(struct zd_change *change)
{
    const struct zd_purge_want *purge = &change->purge;
    if (purge->wait.status != ZD_OK && !change->undo.is_final) {
        return go_back(change);
    }
    end_way_back(change);
    if (change->input.kind == ZD_METADATA_PATCH) {
        report_kept(change);
    }
    report_rest(change);
    if (purge->wait.status == ZD_OK) {
        return ZD_CHANGE_NEXT;
    }
    return ZD_CHANGE_FAIL(change, purge->wait.status,
        "\"%.100s\" was %s, but %llu keys below it could not be erased: %.200s%s", change->path,
        zd_change_is_erasure(change) ? "erased" : "changed", (unsigned long long)purge->n_failed,
        purge->wait.err.text,
        zd_change_is_erasure(change)
            ? "; to erase them, store a group there and delete it with recursive=1"
            : "");
}

/* Kept objects take room in the store and in its directories: the answer waits until they are gone.
 */
enum zd_change_outcome zd_change_erase_settle(struct zd_change *change)
{
    zd_kept_begin(&change->kept, &change->gather, ZD_WRITE_SETTLE);
    return ZD_CHANGE_NEXT;
}

enum zd_change_outcome zd_change_erase_settle_end(struct zd_change *change)
{
    return zd_kept_end(&change->kept) ? ZD_CHANGE_MORE : ZD_CHANGE_NEXT;
}
