/* Changing documents: all are staged, then committed one after the other; what fails on the way
 * leaves everything as it was. */
#include <string.h>

#include "server/write/change.h"
#include "server/runtime/server.h"

static enum zd_next step_staged(struct zd_change *change);
static enum zd_next step_commit(struct zd_change *change);

static bool is_target(const struct zd_place_document *document)
{
    struct zd_change *change = document->place->change;
    return document->place == zd_change_target(change);
}

/* An ancestor that is there already changes for the sake of its listing. */
static bool is_listing(const struct zd_place_document *document)
{
    return !is_target(document) && document->place->node != NULL;
}

static void add_items(struct zd_change *change, bool wants_listings)
{
    for (size_t p = 0; p < change->n_places; p++) {
        for (uint32_t i = 0; i < ZD_DOCUMENTS_MAX; i++) {
            struct zd_place_document *document = &change->place[p].document[i];
            if (document->made != NULL && is_listing(document) == wants_listings) {
                change->item[change->n_items++] = document;
            }
        }
    }
}

/* Parents before their children, and the listings last: they tell of what is there. */
static enum zd_status list_items(struct zd_change *change)
{
    change->item = zd_alloc_zero(change->n_places * ZD_DOCUMENTS_MAX, sizeof(void *));
    if (change->item == NULL) {
        return zd_fail(&change->err, ZD_NO_MEMORY, "no memory to store documents");
    }
    change->n_items = 0;
    change->next_item = 0;
    if (!change->has_stored) {
        add_items(change, false);
    }
    add_items(change, true);
    return ZD_OK;
}

static ZD_RESULT key_of(const struct zd_place_document *document, struct zd_text *key)
{
    const struct zd_place *place = document->place;
    const struct zd_dialect *dialect = place->node == NULL || is_target(document)
                                           ? place->change->dialect
                                           : place->node->meta->dialect;
    return dialect->document_key(place->path, document->number, key);
}

/* What must be there still: what was found. */
static void set_condition(
    const struct zd_place_document *document, struct zd_store_write_want *want)
{
    const struct zd_node *node = document->place->node;
    const struct zd_generation none = {0};
    const bool is_absent =
        node == NULL || (is_target(document) && document->place->change->is_cleared);
    want->generation = is_absent ? none : node->stat[document->number].generation;
    want->condition =
        zd_generation_equal(want->generation, none) ? ZD_CONDITION_ABSENT : ZD_CONDITION_GENERATION;
}

static void staged(struct zd_wait *wait)
{
    struct zd_place_document *document = ZD_CONTAINER(wait, struct zd_place_document, write.wait);
    zd_change_arrived(document->place->change);
}

static void start_staging(struct zd_change *change, struct zd_place_document *document)
{
    ZD_SCOPED_TEXT(key, ZD_KEY_BYTES_MAX);
    document->write = (struct zd_store_write_want){
        .wait.done = staged, .kind = ZD_WRITE_STAGE, .bytes = document->made};
    if (key_of(document, &key) != ZD_OK) {
        document->write.wait.status = zd_fail(&document->write.wait.err, ZD_INVALID,
            "\"%.200s\": no store has keys of that length", document->place->path);
        return;
    }
    if (zd_store_write_want(change->dataset, key.at, &document->write) == ZD_WAIT) {
        change->n_pending++;
    }
}

enum zd_next zd_change_store(struct zd_change *change)
{
    const enum zd_status status = list_items(change);
    if (status != ZD_OK) {
        return zd_change_fail(change, status, NULL, &change->err);
    }
    change->step = step_staged;
    for (size_t i = 0; i < change->n_items; i++) {
        start_staging(change, change->item[i]);
    }
    return zd_change_wait(change);
}

static enum zd_next fail_storing(struct zd_change *change, const struct zd_wait *wait)
{
    const char *code = wait->status == ZD_INVALID ? "bad_path" : NULL;
    return zd_change_fail(change, wait->status, code, &wait->err);
}

static enum zd_next step_staged(struct zd_change *change)
{
    for (size_t i = 0; i < change->n_items; i++) {
        const struct zd_wait *wait = &change->item[i]->write.wait;
        if (wait->status != ZD_OK) {
            return fail_storing(change, wait);
        }
    }
    if (zd_change_is_erasure(change) && !change->has_stored) {
        change->step = zd_change_erase_documents;
        return ZD_NEXT;
    }
    return step_commit(change);
}

/* ---- commit ---- */

/* What its documents are by now: those that were stored, and those that were left as they are.
 * Others may change them as soon as the locks are gone, and other processes before. */
static void note_stat(struct zd_place *place)
{
    struct zd_change *change = place->change;
    const bool is_target = place == zd_change_target(change);
    const bool has_old = place->node != NULL && !(is_target && change->is_cleared);
    for (uint32_t i = 0; i < change->dialect->n_documents; i++) {
        const struct zd_place_document *document = &place->document[i];
        if (document->is_stored) {
            place->stat[i] = document->write.stat;
        } else {
            place->stat[i] = has_old ? place->node->stat[i] : (struct zd_stat){0};
        }
    }
    if (is_target && change->made != NULL) {
        zd_node_set_stat(change->made, place->stat, change->dialect->n_documents);
    }
}

static enum zd_next step_committed(struct zd_change *change)
{
    struct zd_place_document *document = change->item[change->next_item];
    const struct zd_wait *wait = &document->write.wait;
    if (wait->status == ZD_OK) {
        document->is_stored = true;
        zd_change_keep(change, document);
        document->place->is_made = document->place->is_new;
        change->has_stored = change->has_stored || is_target(document);
        change->stat = is_target(document) ? document->write.stat : change->stat;
        note_stat(document->place);
        change->next_item++;
        return step_commit(change);
    }
    if (!change->has_stored && change->is_cleared && wait->status != ZD_PRECONDITION) {
        change->status = wait->status;
        change->err = wait->err;
        return zd_change_give_back(change);
    }
    return wait->status == ZD_PRECONDITION ? zd_change_again(change) : fail_storing(change, wait);
}

static void committed(struct zd_wait *wait)
{
    struct zd_place_document *document = ZD_CONTAINER(wait, struct zd_place_document, write.wait);
    zd_change_arrived(document->place->change);
}

static enum zd_next step_commit(struct zd_change *change)
{
    if (change->next_item == change->n_items) {
        change->step = zd_change_erase;
        return ZD_NEXT;
    }
    struct zd_place_document *document = change->item[change->next_item];
    if (is_target(document) && !change->has_stored && !change->is_cleared &&
        zd_change_orphans(change)) {
        return zd_change_erase_documents(change);
    }
    const bool is_last = change->next_item + 1 == change->n_items; /* nothing follows that fails */
    ZD_SCOPED_TEXT(key, ZD_KEY_BYTES_MAX);
    if (key_of(document, &key) != ZD_OK ||
        (!is_last && zd_change_make_kept(change, key.at) != ZD_OK)) {
        document->write.wait.status = zd_fail(&document->write.wait.err, ZD_NO_MEMORY,
            "no memory to store a document"); /* it was staged under that key */
        return step_committed(change);
    }
    document->write.wait = (struct zd_wait){.done = committed};
    document->write.kind = ZD_WRITE_COMMIT;
    document->write.keeps_old = !is_last;
    set_condition(document, &document->write);
    change->step = step_committed;
    if (zd_store_write_want(change->dataset, key.at, &document->write) == ZD_WAIT) {
        change->n_pending++;
    }
    return zd_change_wait(change);
}

enum zd_next zd_change_commit(struct zd_change *change)
{
    return step_commit(change);
}
