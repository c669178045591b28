/* Changing documents: the consolidated metadata of the nodes above; then all documents are staged,
 * and committed one after the other. */
#include <string.h>

#include "server/write/change.h"

/* To write a text again of which little changes; measured. */
#define RELIST_NS_PER_BYTE 10

/* ---- consolidated metadata of the nodes above ---- */

/* The path below an ancestor, whose listing holds relative ones. */
static const char *below(const struct zd_change_place *ancestor, const char *path)
{
    const size_t len = strlen(ancestor->path);
    return len == 0 ? path : path + len + 1;
}

/* The node's entry in consolidated metadata: planned or stored; NULL: none. */
static const struct zd_meta *listed_meta(struct zd_change *change)
{
    const struct zd_node *node = zd_change_target(change)->node;
    const struct zd_meta *found = node == NULL ? NULL : node->meta;
    const struct zd_meta *meta = change->phase == ZD_CHANGE_DOCUMENTS ? change->meta : found;
    const bool is_listed = meta != NULL && (meta->dialect->is_first || !zd_meta_is_refused(meta));
    return is_listed ? meta : NULL;
}

/* Whether no listing has the node: documents that make none, or one that is hidden. */
static bool is_never_listed(const struct zd_change *change)
{
    return change->key != NULL && (change->is_hidden || (change->before == NULL && !change->stays));
}

/* Whether another process has made a group of it meanwhile, with children unknown here. */
static bool is_other_group(struct zd_change *change)
{
    const struct zd_meta *meta = listed_meta(change);
    return change->phase != ZD_CHANGE_DOCUMENTS && meta != NULL && meta->type != ZD_NODE_ARRAY &&
           (change->meta == NULL || change->meta->type != meta->type);
}

/* Whether every group on the way to the node exists, or is made. */
static bool is_reached(const struct zd_change *change, size_t from)
{
    for (size_t i = from + 1; i + 1 < change->n_places; i++) {
        const bool is_made = change->place[i].is_new && change->phase == ZD_CHANGE_DOCUMENTS;
        if (change->place[i].node == NULL && !is_made) {
            return false;
        }
    }
    return true;
}

/* A parent that another process has made and not listed yet, and may never list. */
static bool is_unlisted(const struct zd_change *change, const struct zd_stored_listing *listing,
    const char *rest, size_t i)
{
    struct zd_stored_entry entry;
    return change->has_made && change->place[i].node != NULL &&
           !zd_stored_listing_find(listing, zd_span_of(rest), &entry);
}

/* A node's documents: planned or stored. */
static struct zd_documents documents_of(
    const struct zd_change *change, const struct zd_change_place *place)
{
    const bool is_made = change->phase == ZD_CHANGE_DOCUMENTS &&
                         (place == &change->place[change->n_places - 1] || place->node == NULL);
    return is_made || place->node == NULL ? zd_change_judge_documents(place)
                                          : zd_meta_documents(place->node->meta);
}

/* The changes of an ancestor's listing: new parents, and the node. Borrowed from the change.
 * @param listing    of the holder; only when something was made
 * @param ret_change room for n_places + 1 */
static size_t changes_for(struct zd_change *change, size_t holder,
    const struct zd_stored_listing *listing, struct zd_listing_change *ret_change)
{
    const char *rest = below(&change->place[holder], change->path);
    const struct zd_meta *meta = listed_meta(change);
    size_t n = 0;
    for (size_t i = holder + 1; i + 1 < change->n_places; i++) {
        const struct zd_change_place *place = &change->place[i];
        const char *parent = below(&change->place[holder], place->path);
        if (place->node == NULL && place->is_new) {
            ret_change[n++] = (struct zd_listing_change){.path = parent,
                .document = change->new_group,
                .stored = documents_of(change, place)};
        } else if (place->is_new || is_unlisted(change, listing, parent, i)) {
            ret_change[n++] = (struct zd_listing_change){.path = parent,
                .document = place->node->meta->document,
                .stored = documents_of(change, place)};
        }
    }
    if (meta == NULL || meta->type == ZD_NODE_ARRAY) {
        ret_change[n++] = (struct zd_listing_change){.path = rest}; /* and everything below it */
    }
    if (meta != NULL) {
        ret_change[n++] = (struct zd_listing_change){.path = rest,
            .document = meta->document,
            .stored = documents_of(change, zd_change_target(change))};
    }
    return n;
}

static enum zd_status refresh_listing(struct zd_change *change, size_t holder)
{
    struct zd_change_place *place = &change->place[holder];
    const struct zd_documents stored = zd_change_judge_documents(place);
    struct zd_stored_listing *listing = NULL;
    if (change->has_made) {
        ZD_TRY(zd_change_judge_listing(place, &listing));
    }
    struct zd_listing_change *changes = zd_alloc_zero(change->n_places + 1, sizeof *changes);
    if (changes == NULL) {
        zd_stored_listing_unref(listing);
        return zd_fail(&change->err, ZD_NO_MEMORY, "no memory for consolidated metadata");
    }
    const size_t n = changes_for(change, holder, listing, changes);
    zd_stored_listing_unref(listing); /* as large as the text that is made now, at most */
    struct zd_document_texts texts = zd_change_judge_begin(change);
    place->node->meta->dialect->change_listing(&stored, changes, n, &texts);
    zd_free(changes);
    return zd_change_judge_keep_readable(place, &texts);
}

static enum zd_status drop_listing(struct zd_change *change, struct zd_change_place *place)
{
    for (size_t i = 0; i < ZD_DOCUMENTS_MAX; i++) {
        zd_buf_unref(ZD_TAKE(place->document[i].made));
    }
    const struct zd_documents stored = zd_change_judge_documents(place);
    struct zd_document_texts texts = zd_change_judge_begin(change);
    place->node->meta->dialect->set_listing(&stored, NULL, &texts);
    return zd_change_judge_keep(place, &texts);
}

/* Refresh one listing, or drop it where a refreshed one is impossible. */
static enum zd_status relist_one(struct zd_change *change, size_t holder)
{
    struct zd_change_place *place = &change->place[holder];
    if (change->phase == ZD_CHANGE_DROP || (change->seen & ZD_CHANGE_SEEN_ORPHANS) != 0 ||
        is_other_group(change) ||
        (change->has_made && (change->seen & ZD_CHANGE_SEEN_CHILD) != 0) ||
        place->node->meta->has_unread_listing ||
        place->node->meta->dialect->change_listing == NULL) {
        return drop_listing(change, place);
    }
    const enum zd_status status = refresh_listing(change, holder);
    return status == ZD_TOO_LARGE ? drop_listing(change, place) : status;
}

/* The new text is there: what was stored is not needed any more. */
static void forget_stored(struct zd_change_place *place)
{
    for (size_t i = 0; i < ZD_DOCUMENTS_MAX; i++) {
        struct zd_change_document *document = &place->document[i];
        if (document->made != NULL) {
            zd_buf_unref(ZD_TAKE(document->stored));
        }
    }
}

static enum zd_status relist(struct zd_change *change)
{
    for (size_t i = 0; i + 1 < change->n_places && !is_never_listed(change); i++) {
        /* Some parents of a change that failed may be missing. */
        if (change->place[i].wants_bytes &&
            (change->phase == ZD_CHANGE_DROP || is_reached(change, i))) {
            ZD_TRY(relist_one(change, i));
            forget_stored(&change->place[i]);
        }
    }
    return ZD_OK;
}

static void relist_on_worker(struct zd_job *job)
{
    struct zd_change *change = ZD_CONTAINER(job, struct zd_change, job);
    change->err.status = relist(change);
}

enum zd_change_outcome zd_change_relist(struct zd_change *change)
{
    uint64_t n_bytes = 0;
    for (size_t i = 0; i + 1 < change->n_places; i++) {
        n_bytes += zd_change_judge_stored_bytes(&change->place[i]);
    }
    return zd_change_run_work(change, relist_on_worker, n_bytes * RELIST_NS_PER_BYTE);
}

enum zd_change_outcome zd_change_relist_end(struct zd_change *change)
{
    if (change->err.status != ZD_OK) {
        return ZD_CHANGE_FAILED;
    }
    return change->input.is_dry ? ZD_CHANGE_DONE : ZD_CHANGE_NEXT;
}

/* ---- stage ---- */

static bool is_target(const struct zd_change_document *document)
{
    struct zd_change *change = document->place->change;
    return document->place == zd_change_target(change);
}

/* An ancestor that exists changes only for its listing. */
static bool is_listing(const struct zd_change_document *document)
{
    return !is_target(document) && document->place->node != NULL;
}

struct zd_generation zd_change_store_replaced(const struct zd_change_document *document)
{
    const struct zd_node *node = document->place->node;
    if (node != NULL) {
        return node->stat[document->number].generation;
    }
    return document->stray.op.status == ZD_OK ? document->stray.stat.generation
                                              : (struct zd_generation){0};
}

/* Whether it is erased by then, as a document of the node before. */
static bool is_erased(const struct zd_change_document *document)
{
    return is_target(document) && document->place->node != NULL &&
           document->place->change->clearing.is_cleared;
}

static bool is_to_drop(const struct zd_change_document *document)
{
    return document->is_dropped && zd_generation_is_set(zd_change_store_replaced(document));
}

/* The first document of a node makes it what it is: it is made after the others, and those that are
 * dropped go when it is there. */
static void add_items_of(struct zd_change *change, struct zd_change_place *place, bool wants_drops)
{
    for (uint32_t i = ZD_DOCUMENTS_MAX; i-- > 0;) {
        struct zd_change_document *document = &place->document[i];
        if (wants_drops ? is_to_drop(document) : document->made != NULL && !document->is_dropped) {
            change->item[change->n_items++] = document;
        }
    }
}

static void add_items(struct zd_change *change, bool wants_listings)
{
    for (size_t p = 0; p < change->n_places; p++) {
        struct zd_change_place *place = &change->place[p];
        if (is_listing(&place->document[0]) == wants_listings) {
            add_items_of(change, place, false);
            add_items_of(change, place, true);
        }
    }
}

/* Parents before their children, and last the listings, which name what exists. */
static enum zd_status list_items(struct zd_change *change)
{
    change->item = zd_alloc_zero(change->n_places * ZD_DOCUMENTS_MAX, sizeof(void *));
    if (change->item == NULL) {
        return zd_fail(&change->err, ZD_NO_MEMORY, "no memory to store documents");
    }
    change->n_items = 0;
    change->next_item = 0;
    if (change->phase == ZD_CHANGE_DOCUMENTS) {
        add_items(change, false);
    }
    add_items(change, true);
    return ZD_OK;
}

static ZD_RESULT key_of(const struct zd_change_document *document, struct zd_text *key)
{
    const struct zd_change_place *place = document->place;
    const struct zd_dialect *dialect = place->node == NULL || is_target(document)
                                           ? place->change->dialect
                                           : place->node->meta->dialect;
    return dialect->document_key(place->path, document->number, key);
}

/* Replace only the document that was found. */
static void set_condition(
    const struct zd_change_document *document, struct zd_store_write_want *want)
{
    const struct zd_generation none = {0};
    want->generation = is_erased(document) ? none : zd_change_store_replaced(document);
    want->condition =
        zd_generation_equal(want->generation, none) ? ZD_CONDITION_ABSENT : ZD_CONDITION_GENERATION;
}

static void start_staging(struct zd_change *change, struct zd_change_document *document)
{
    ZD_SCOPED_TEXT(key, ZD_KEY_BYTES_MAX);
    document->write = (struct zd_store_write_want){
        .kind = document->is_dropped ? ZD_WRITE_ERASE : ZD_WRITE_STAGE,
        .bytes = document->made,
    };
    if (document->is_dropped) {
        return;
    }
    if (key_of(document, &key) != ZD_OK) {
        document->write.wait.status = zd_fail(&document->write.wait.err, ZD_INVALID,
            "\"%.200s\": the key of its document exceeds %d bytes", document->place->path,
            ZD_KEY_BYTES_MAX);
        return;
    }
    zd_change_run_write(change, key.at, &document->write);
}

enum zd_change_outcome zd_change_store(struct zd_change *change)
{
    const enum zd_change_outcome outcome = zd_change_outcome_of(change, list_items(change));
    for (size_t i = 0; i < change->n_items; i++) {
        start_staging(change, change->item[i]);
    }
    return outcome;
}

static enum zd_change_outcome fail_storing(struct zd_change *change, const struct zd_wait *wait)
{
    change->code = wait->status == ZD_INVALID ? "bad_path" : NULL;
    return zd_change_outcome_of_wait(change, wait);
}

enum zd_change_outcome zd_change_store_end(struct zd_change *change)
{
    for (size_t i = 0; i < change->n_items; i++) {
        const struct zd_wait *wait = &change->item[i]->write.wait;
        if (wait->status != ZD_OK) {
            return fail_storing(change, wait);
        }
    }
    return zd_change_is_erasure(change) && change->phase == ZD_CHANGE_DOCUMENTS ? ZD_CHANGE_ERASE
                                                                                : ZD_CHANGE_NEXT;
}

/* ---- commit ---- */

/* The place's documents as this change leaves them, stored or untouched: other writers may change
 * them as soon as the locks are released, other processes before. */
static void note_stat(struct zd_change_place *place)
{
    struct zd_change *change = place->change;
    const bool is_target = place == zd_change_target(change);
    const bool has_old = place->node != NULL && !(is_target && change->clearing.is_cleared);
    for (uint32_t i = 0; i < change->dialect->n_documents; i++) {
        const struct zd_change_document *document = &place->document[i];
        if (document->is_stored) {
            place->stat[i] = document->write.stat;
        } else {
            place->stat[i] = has_old                            ? place->node->stat[i]
                             : change->key != NULL && is_target ? document->stray.stat
                                                                : (struct zd_stat){0};
        }
    }
    if (is_target && change->made != NULL) {
        zd_node_set_stat(change->made, place->stat, change->dialect->n_documents);
    }
}

/* Commit the next document. What it replaces is kept until the last one is committed, and nothing
 * is left to be erased. */
enum zd_change_outcome zd_change_store_commit(struct zd_change *change)
{
    if (change->next_item == change->n_items) {
        return ZD_CHANGE_DONE;
    }
    struct zd_change_document *document = change->item[change->next_item];
    if (is_target(document) && change->phase == ZD_CHANGE_DOCUMENTS &&
        !change->clearing.is_cleared && change->input.erases_chunks &&
        zd_change_erase_orphans_chunks(change)) {
        return ZD_CHANGE_ERASE;
    }
    if (document->is_dropped && is_erased(document)) {
        return ZD_CHANGE_NEXT;
    }
    const bool is_last =
        change->next_item + 1 == change->n_items && !zd_change_erase_has_rest(change);
    ZD_SCOPED_TEXT(key, ZD_KEY_BYTES_MAX);
    if (key_of(document, &key) != ZD_OK ||
        (!is_last && zd_change_undo_prepare(change, key.at) != ZD_OK)) {
        document->write.wait.status = zd_fail(&document->write.wait.err, ZD_NO_MEMORY,
            "no memory to store a document"); /* it was staged under that key */
        return ZD_CHANGE_NEXT;
    }
    document->write.kind = document->is_dropped ? ZD_WRITE_ERASE : ZD_WRITE_COMMIT;
    document->write.keeps_old = !is_last;
    set_condition(document, &document->write);
    zd_change_run_write(change, key.at, &document->write);
    return ZD_CHANGE_NEXT;
}

/* The node has all its documents with the last of them. */
static bool ends_target(const struct zd_change *change)
{
    const size_t next = change->next_item + 1;
    return is_target(change->item[change->next_item]) &&
           (next == change->n_items || !is_target(change->item[next]));
}

static enum zd_change_outcome note_commit(
    struct zd_change *change, struct zd_change_document *document)
{
    document->is_stored = true;
    if (document->write.load != NULL) { /* else it was erased before, or nothing is kept */
        zd_change_undo_keep(change, document);
    }
    document->place->is_made = document->place->is_new;
    if (is_target(document) && !document->is_dropped) {
        change->stat = document->write.stat;
    }
    if (ends_target(change) && change->phase == ZD_CHANGE_DOCUMENTS) {
        change->phase = ZD_CHANGE_REFRESH;
    }
    note_stat(document->place);
    change->next_item++;
    return ZD_CHANGE_NEXT;
}

/* Whether some of the node's documents are stored, and others not yet. */
static bool is_half_stored(const struct zd_change *change)
{
    const struct zd_change_document *last =
        change->next_item == 0 ? NULL : change->item[change->next_item - 1];
    return change->phase == ZD_CHANGE_DOCUMENTS && last != NULL && is_target(last);
}

/* Another process has written meanwhile. A node of which half is stored is no base to begin from:
 * it is undone first. */
static enum zd_change_outcome begin_again(struct zd_change *change, const struct zd_wait *wait)
{
    if (!is_half_stored(change)) {
        return ZD_CHANGE_AGAIN;
    }
    change->err = wait->err;
    change->err.status = ZD_PRECONDITION;
    if (change->clearing.is_cleared) {
        return ZD_CHANGE_GIVE_BACK;
    }
    change->undo.begins_again = true;
    return ZD_CHANGE_UNDO;
}

enum zd_change_outcome zd_change_store_commit_end(struct zd_change *change)
{
    struct zd_change_document *document = change->item[change->next_item];
    const struct zd_wait *wait = &document->write.wait;
    if (wait->status == ZD_OK) {
        return note_commit(change, document);
    }
    if (wait->status == ZD_PRECONDITION || (wait->status == ZD_NOT_FOUND && document->is_dropped)) {
        return begin_again(change, wait);
    }
    if (change->phase == ZD_CHANGE_DOCUMENTS && change->clearing.is_cleared) {
        (void)zd_change_outcome_of_wait(change, wait);
        return ZD_CHANGE_GIVE_BACK;
    }
    return fail_storing(change, wait);
}
