/* Changing documents: what goes with a change. Of an erasure the documents, first of all; later
 * everything else that is to go, when nobody finds it any more. */
#include <string.h>

#include "core/base/num.h"
#include "server/write/change.h"
#include "server/runtime/server.h"

static enum zd_next step_own_erased(struct zd_change *change);
static enum zd_next step_below_erased(struct zd_change *change);
static enum zd_next step_restored(struct zd_change *change);
static enum zd_next purge_orphans(struct zd_change *change);
static enum zd_next step_purged(struct zd_change *change);

static void purged(void *context)
{
    zd_change_go_on(context);
}

/* ---- documents ---- */

static void written(struct zd_wait *wait)
{
    struct zd_place_document *document = ZD_CONTAINER(wait, struct zd_place_document, old.wait);
    zd_change_arrived(document->place->change);
}

/* Whether this document goes: all of a node's, or the one under the key. */
static bool goes(
    const struct zd_change *change, const struct zd_place_document *document, const char *key)
{
    return document->stored != NULL && (change->key == NULL || strcmp(change->key, key) == 0);
}

static void start_write(struct zd_change *change, struct zd_place_document *document,
    const char *key, const struct zd_store_write_want *want)
{
    document->old = *want;
    document->old.wait = (struct zd_wait){.done = written};
    if (zd_store_write_want(change->dataset, key, &document->old) == ZD_WAIT) {
        change->n_pending++;
    }
}

/* The node's own first: from here on there is no such node. Of a replacement then the chunks. */
enum zd_next zd_change_erase_documents(struct zd_change *change)
{
    struct zd_place *place = zd_change_target(change);
    change->step = step_own_erased;
    if (place->node == NULL) {
        return ZD_NEXT; /* only what is left of one */
    }
    const struct zd_dialect *dialect = place->node->meta->dialect;
    ZD_SCOPED_TEXT(key, ZD_KEY_BYTES_MAX);
    for (uint32_t i = 0; i < dialect->n_documents; i++) {
        struct zd_place_document *document = &place->document[i];
        zd_text_clear(&key);
        document->old = (struct zd_store_write_want){.wait.status = ZD_OK};
        if (dialect->document_key(place->path, i, &key) != ZD_OK) {
            document->goes = true; /* under a key that was made before: there is no memory */
            document->old.wait.status =
                zd_fail(&document->old.wait.err, ZD_NO_MEMORY, "no memory to erase a document");
        } else if (goes(change, document, key.at)) {
            const struct zd_store_write_want want = {
                .kind = ZD_WRITE_ERASE,
                .condition = ZD_CONDITION_GENERATION,
                .generation = place->node->stat[i].generation,
            };
            document->goes = true; /* and is to come back when another one stays */
            start_write(change, document, key.at, &want);
        }
    }
    return zd_change_wait(change);
}

/* What was erased of the node is put back, unless somebody has made a new one meanwhile. */
static enum zd_next restore_own(struct zd_change *change)
{
    struct zd_place *place = zd_change_target(change);
    change->step = step_restored;
    ZD_SCOPED_TEXT(key, ZD_KEY_BYTES_MAX);
    for (uint32_t i = 0; i < ZD_DOCUMENTS_MAX; i++) {
        struct zd_place_document *document = &place->document[i];
        zd_text_clear(&key);
        document->goes =
            document->goes && document->old.wait.status == ZD_OK; /* else it is there */
        if (document->goes &&
            place->node->meta->dialect->document_key(place->path, i, &key) != ZD_OK) {
            document->old.wait.status = ZD_NO_MEMORY;
        } else if (document->goes) {
            const struct zd_store_write_want want = {
                .kind = ZD_WRITE_PUT,
                .bytes = document->stored,
                .condition = ZD_CONDITION_ABSENT,
            };
            start_write(change, document, key.at, &want);
        }
    }
    return zd_change_wait(change);
}

/* The listings above name what is not there any more: they are dropped, before this is told. */
static enum zd_next lose(struct zd_change *change)
{
    if (!change->metadata_lock.is_held) { /* nor can they be */
        const struct zd_error err = change->err;
        change->err.status = zd_fail(&change->err, change->status,
            "%.400s; consolidated metadata above it may be out of date", err.text);
    }
    change->is_lost = true;
    change->has_stored = true;
    change->is_failed = true;
    change->stale_err = change->err;
    return zd_change_fail(change, change->status, NULL, &change->stale_err);
}

static bool is_restored(struct zd_change *change)
{
    const struct zd_place *place = zd_change_target(change);
    for (uint32_t i = 0; i < ZD_DOCUMENTS_MAX; i++) {
        const enum zd_status status = place->document[i].old.wait.status;
        if (place->document[i].goes && status != ZD_OK && status != ZD_PRECONDITION) {
            return false;
        }
    }
    return true;
}

static enum zd_next step_restored(struct zd_change *change)
{
    const bool is_whole = is_restored(change);
    const uint32_t n_lost =
        change->subtree == NULL ? 0 : zd_subtree_lost(change->subtree, &change->lost_err);
    if (!is_whole || n_lost > 0) {
        const struct zd_error first = change->err;
        change->err.status = zd_fail(&change->err, change->status,
            "\"%.100s\": %.200s; of the documents that were erased before %u could not be put back",
            change->path, first.text, n_lost + (is_whole ? 0 : 1));
        const enum zd_next next = lose(change);
        change->is_lost = !is_whole;
        return next;
    }
    if (change->status == ZD_PRECONDITION) {
        return zd_change_again(change);
    }
    return zd_change_fail(change, change->status, NULL, &change->err);
}

static enum zd_purge_answer erase_documents_below(void *context, const char *key, const char *rest)
{
    ZD_SCOPED_TEXT(path, ZD_KEY_BYTES_MAX);
    (void)context;
    (void)rest;
    const enum zd_status status = zd_dialect_node_path(key, &path);
    if (status == ZD_NO_MEMORY) {
        return ZD_PURGE_NO_MEMORY;
    }
    return status == ZD_OK ? ZD_PURGE_ERASE : ZD_PURGE_KEEP;
}

static enum zd_next restore_all(struct zd_change *change)
{
    if (change->subtree == NULL) {
        return restore_own(change);
    }
    change->step = restore_own;
    return zd_change_restore_below(change);
}

/* As long as listings may fail, so that they come back. */
static enum zd_status keep_own(struct zd_change *change)
{
    struct zd_place *place = zd_change_target(change);
    ZD_SCOPED_TEXT(key, ZD_KEY_BYTES_MAX);
    for (uint32_t i = 0; i < ZD_DOCUMENTS_MAX; i++) {
        zd_text_clear(&key);
        if (place->document[i].goes) {
            ZD_TRY(place->node->meta->dialect->document_key(place->path, i, &key));
            ZD_TRY(zd_change_make_kept(change, key.at));
            zd_change_keep_erased(change, place->document[i].stored);
        }
    }
    return ZD_OK;
}

/* All documents are gone. */
static enum zd_next go_on_erased(struct zd_change *change)
{
    if (keep_own(change) != ZD_OK) {
        change->status =
            zd_fail(&change->err, ZD_NO_MEMORY, "no memory to keep what is erased for a while");
        zd_change_forget_kept(change);
        return restore_all(change);
    }
    change->has_stored = true;
    return zd_change_commit(change);
}

static enum zd_next step_own_erased(struct zd_change *change)
{
    struct zd_place *place = zd_change_target(change);
    for (uint32_t i = 0; place->node != NULL && i < ZD_DOCUMENTS_MAX; i++) {
        const struct zd_wait *wait = &place->document[i].old.wait;
        if (place->document[i].goes && wait->status != ZD_OK) {
            change->status = wait->status == ZD_NOT_FOUND ? ZD_PRECONDITION : wait->status;
            change->err = wait->err;
            return restore_own(change);
        }
    }
    if (change->ask.kind == ZD_METADATA_PUT) {
        return purge_orphans(change);
    }
    if (change->ask.kind == ZD_METADATA_ERASE_KEY) {
        return go_on_erased(change);
    }
    change->step = step_below_erased;
    if (zd_subtree_is_held(change->subtree)) {
        return zd_change_erase_below(change);
    }
    const struct zd_purge_config config = {
        .dataset = change->dataset,
        .path = change->path,
        .visit = erase_documents_below,
        .done = purged,
        .context = change,
    };
    change->status = zd_purge_start(&config, &change->purge, &change->err);
    return change->status == ZD_OK ? ZD_WAIT : restore_own(change);
}

static enum zd_next step_below_erased(struct zd_change *change)
{
    if (change->purge == NULL) {
        change->status = zd_subtree_status(change->subtree, &change->err);
    } else {
        change->status = zd_purge_status(change->purge, NULL, &change->err);
        zd_purge_free(ZD_TAKE(change->purge));
    }
    return change->status == ZD_OK ? go_on_erased(change) : restore_all(change);
}

/* ---- everything else ---- */

static bool is_outside_of(const struct zd_grid *grid, const uint64_t *index)
{
    for (uint32_t d = 0; d < grid->rank; d++) {
        if (index[d] >= zd_grid_count(grid, d)) {
            return true;
        }
    }
    return false;
}

/* A chunk that lies outside of the new grid, and of the one that the array has by now. */
static bool is_outside(const struct zd_change *change, const char *rest, uint64_t *ret_index)
{
    const struct zd_meta *before = change->before;
    return before->dialect->chunk_index(before, rest, ret_index) == ZD_OK &&
           is_outside_of(&change->meta->grid, ret_index) &&
           (change->now == NULL || is_outside_of(&change->now->grid, ret_index));
}

static enum zd_purge_answer judge_outside(void *context, const char *key, const char *rest)
{
    uint64_t index[ZD_RANK_MAX];
    (void)key;
    return is_outside(context, rest, index) ? ZD_PURGE_ERASE : ZD_PURGE_KEEP;
}

static void tell_outside(void *context, const char *key, const char *rest)
{
    struct zd_change *change = context;
    uint64_t index[ZD_RANK_MAX];
    (void)key;
    if (is_outside(change, rest, index)) {
        zd_change_report_erased(change, index);
    }
}

/* A node below an array is an error of others: what was erased is the node, not the array. */
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

/* The documents went before: those that are there are of nodes that somebody has made since. */
static enum zd_purge_answer judge_all(void *context, const char *key, const char *rest)
{
    ZD_SCOPED_TEXT(path, ZD_KEY_BYTES_MAX);
    (void)rest;
    if (is_chunk_of_parent(context, key)) {
        return ZD_PURGE_KEEP;
    }
    const enum zd_status status = zd_dialect_node_path(key, &path);
    if (status == ZD_NO_MEMORY) {
        return ZD_PURGE_NO_MEMORY;
    }
    return status == ZD_OK ? ZD_PURGE_KEEP : ZD_PURGE_ERASE;
}

/* All but the documents of the node that is there now. */
static enum zd_purge_answer judge_orphans(void *context, const char *key, const char *rest)
{
    const struct zd_change *change = context;
    ZD_SCOPED_TEXT(path, ZD_KEY_BYTES_MAX);
    (void)rest;
    const enum zd_status status = zd_dialect_node_path(key, &path);
    if (status == ZD_NO_MEMORY) {
        return ZD_PURGE_NO_MEMORY;
    }
    const bool is_own = status == ZD_OK && strcmp(path.at, change->path) == 0;
    return is_own ? ZD_PURGE_KEEP : ZD_PURGE_ERASE;
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
        if (zd_grid_count(&meta->grid, d) < zd_grid_count(&before->grid, d)) {
            return true;
        }
    }
    return false;
}

bool zd_change_orphans(const struct zd_change *change)
{
    const struct zd_meta *before = change->before;
    if (change->ask.kind != ZD_METADATA_PUT || !change->ask.erases_chunks) {
        return false;
    }
    if (before == NULL || before->type == ZD_NODE_GROUP) {
        return change->meta->type == ZD_NODE_ARRAY;
    }
    return !zd_meta_has_same_chunks(before, change->meta);
}

/* Another process may have made the node again, or the array larger: what it stores there stays. */
static bool holds(void *context, struct zd_node *node)
{
    struct zd_change *change = context;
    if (change->ask.kind != ZD_METADATA_PATCH) {
        change->is_overtaken = node != NULL;
        return node == NULL;
    }
    if (node == NULL || !zd_meta_has_same_encoding(node->meta, change->meta)) {
        return false;
    }
    zd_meta_unref(change->now);
    change->now = zd_meta_ref(node->meta);
    return true;
}

/* ---- before the new document ---- */

static void note_purged(void *context, const char *key, const char *rest)
{
    struct zd_change *change = context;
    (void)key;
    (void)rest;
    change->has_purged = true;
}

static enum zd_next step_cleared(struct zd_change *change)
{
    const struct zd_wait *wait = &change->metadata_lock.wait;
    if (change->status == ZD_OK && wait->status != ZD_OK) {
        change->status = wait->status;
        change->err = wait->err;
    }
    if (change->status != ZD_OK) {
        return zd_change_give_back(change);
    }
    return change->is_overtaken ? zd_change_again(change) : zd_change_commit(change);
}

static enum zd_next step_orphans_purged(struct zd_change *change)
{
    uint64_t n_failed = 0;
    if (change->purge != NULL) {
        change->status = zd_purge_status(change->purge, &n_failed, &change->err);
        zd_purge_free(ZD_TAKE(change->purge));
    }
    if (change->status != ZD_OK) {
        const struct zd_error err = change->err;
        change->err.status = zd_fail(&change->err, change->status,
            "keys below it could not be erased (%llu): %.200s", (unsigned long long)n_failed,
            err.text);
    }
    change->step = step_cleared;
    return zd_change_relock(change);
}

/* Others change their nodes meanwhile: a listing that they have changed is made again. */
static enum zd_next purge_orphans(struct zd_change *change)
{
    const struct zd_purge_config config = {
        .dataset = change->dataset,
        .path = change->path,
        .visit = judge_orphans,
        .holds = holds,
        .erased = note_purged,
        .done = purged,
        .context = change,
    };
    change->is_cleared = true;
    change->is_final = true;
    zd_lock_release(&change->metadata_lock);
    change->step = step_orphans_purged;
    change->status = zd_purge_start(&config, &change->purge, &change->err);
    return change->status == ZD_OK ? ZD_WAIT : step_orphans_purged(change);
}

enum zd_next zd_change_give_back(struct zd_change *change)
{
    if (!change->has_purged) {
        return restore_own(change);
    }
    const struct zd_error err = change->err;
    change->err.status = zd_fail(&change->err, change->status,
        "\"%.100s\" is erased, and the new document is not stored: %.300s", change->path, err.text);
    return lose(change);
}

/* ---- behind the new document ---- */

typedef enum zd_purge_answer visitor(void *context, const char *key, const char *rest);

/* What goes, or NULL. */
static visitor *choose_visitor(const struct zd_change *change)
{
    switch (change->ask.kind) {
    case ZD_METADATA_ERASE:
        return judge_all;
    case ZD_METADATA_PATCH:
        return shrinks(change) ? judge_outside : NULL;
    case ZD_METADATA_PUT:
    case ZD_METADATA_PUT_KEY:
    case ZD_METADATA_ERASE_KEY:
    case ZD_METADATA_CONSOLIDATE:
        return NULL;
    }
    return NULL;
}

enum zd_next zd_change_erase(struct zd_change *change)
{
    visitor *visit = choose_visitor(change);
    zd_change_forget_kept(change);
    zd_lock_release(&change->metadata_lock);
    zd_change_report(change);
    if (visit == NULL || change->is_failed) {
        change->step = zd_change_end;
        return ZD_NEXT;
    }
    const struct zd_purge_config config = {
        .dataset = change->dataset,
        .path = change->path,
        .visit = visit,
        .holds = holds,
        .erased = visit == judge_outside ? tell_outside : NULL,
        .done = purged,
        .context = change,
    };
    change->step = step_purged;
    change->status = zd_purge_start(&config, &change->purge, &change->err);
    return change->status == ZD_OK ? ZD_WAIT : step_purged(change);
}

/* The document says the truth by now: what is left of the rest is told. */
static enum zd_next step_purged(struct zd_change *change)
{
    uint64_t n_failed = 0;
    zd_change_report_rest(change);
    if (change->purge != NULL) {
        change->status = zd_purge_status(change->purge, &n_failed, &change->err);
        zd_purge_free(ZD_TAKE(change->purge));
    }
    if (change->status != ZD_OK) {
        struct zd_error err = change->err;
        err.status = zd_fail(&err, change->status,
            "\"%.100s\" is changed, but keys below it could not be erased (%llu): %.200s",
            change->path, (unsigned long long)n_failed, change->err.text);
        return zd_change_fail(change, change->status, NULL, &err);
    }
    change->step = zd_change_end;
    return ZD_NEXT;
}
