/* Changing documents: one of them, by its raw key. Of a dialect whose nodes have several it may
 * make a node, change one, or lie there alone. */
#include <string.h>

#include "server/runtime/server.h"
#include "server/write/change.h"

/* ---- what is stored ---- */

/* The generation of a key among the node's documents; zero: it is no key of theirs, or absent. */
static struct zd_generation generation_of(const struct zd_node *node, const char *key)
{
    for (uint32_t i = 0; node != NULL && i < node->meta->dialect->n_documents; i++) {
        ZD_SCOPED_TEXT(own, ZD_KEY_BYTES_MAX);
        if (node->meta->dialect->document_key(node->path, i, &own) == ZD_OK &&
            strcmp(own.at, key) == 0) {
            return node->stat[i].generation;
        }
    }
    return (struct zd_generation){0};
}

/* A raw key changes the nodes of its dialect, and those that have it among their documents. */
static bool is_other(const struct zd_change *change, const struct zd_node *node, bool is_target)
{
    const struct zd_dialect *dialect = node->meta->dialect;
    if (zd_generation_is_set(generation_of(node, change->key))) {
        return false;
    }
    return is_target ? dialect != change->dialect
                     : !dialect->is_first && !zd_dialect_is_writable(dialect);
}

/* A node that was found. What another dialect than a raw key's keeps beside it is not touched; it
 * hides what the key makes, unless that comes first. */
struct zd_node *zd_change_key_pick(struct zd_change_place *place, struct zd_node *found)
{
    ZD_AUTO(zd_node) node = found;
    struct zd_change *change = place->change;
    const bool is_target = place == zd_change_target(change);
    const bool is_none = is_other(change, node, is_target);
    if (is_target) {
        change->is_hidden = is_none && !change->dialect->is_first;
    }
    return is_none ? NULL : ZD_TAKE(node);
}

/* Documents that make no node, or one that is hidden, show when they are read. */
bool zd_change_key_wants_strays(const struct zd_change *change)
{
    return change->key != NULL && change->phase == ZD_CHANGE_DOCUMENTS &&
           change->place[change->n_places - 1].node == NULL && change->dialect->n_documents > 1;
}

static bool holds_for(const struct zd_metadata_input *input, struct zd_generation generation)
{
    const struct zd_generation none = {0};
    const bool is_absent = input->condition == ZD_CONDITION_ABSENT;
    return input->condition == ZD_CONDITION_NONE ||
           zd_generation_equal(generation, is_absent ? none : input->generation);
}

bool zd_change_key_holds(const struct zd_change *change, const struct zd_node *node)
{
    return change->key == NULL || holds_for(&change->input, generation_of(node, change->key));
}

static bool is_listing(const struct zd_dialect *dialect, uint32_t i)
{
    return dialect->may_list != NULL && i == dialect->listing_document;
}

/* A listing of nothing may be long, and is not read. */
static void look_at_listing(struct zd_change *change, struct zd_change_document *document)
{
    struct zd_store_status *stray = &document->stray;
    ZD_SCOPED_TEXT(key, ZD_KEY_BYTES_MAX);
    *stray = (struct zd_store_status){.op = {.status = ZD_NOT_FOUND}};
    if (change->dialect->document_key(change->path, document->number, &key) == ZD_OK) {
        memcpy(stray->key, key.at, key.len + 1);
        memcpy(document->read.key, key.at, key.len + 1);
        zd_gather_await(&change->gather, &stray->op);
        zd_store_status(change->dataset->store, stray);
    }
}

/* None is longer than a document may be. */
void zd_change_key_read_strays(struct zd_change *change)
{
    struct zd_change_place *place = zd_change_target(change);
    for (uint32_t i = 0; i < change->dialect->n_documents; i++) {
        struct zd_change_document *document = &place->document[i];
        if (is_listing(change->dialect, i)) {
            look_at_listing(change, document);
        } else {
            document->read.bytes_max = zd_dataset_reading(change->dataset).limits.bytes_max;
            zd_change_find_read(document, change->dialect);
        }
    }
}

/* Note the objects under the keys of the dialect, and whether the key has the caller's expected
 * meaning. */
enum zd_change_outcome zd_change_key_note_strays(struct zd_change *change)
{
    struct zd_change_place *place = zd_change_target(change);
    struct zd_generation generation = {0};
    for (uint32_t i = 0; i < change->dialect->n_documents; i++) {
        struct zd_change_document *document = &place->document[i];
        struct zd_store_status *stray = &document->stray;
        if (!is_listing(change->dialect, i)) {
            stray->op.status = document->read.op.status;
            stray->stat = document->read.stat;
        } else if (stray->op.status != ZD_OK && stray->op.status != ZD_NOT_FOUND) {
            change->err = stray->op.err;
            return zd_change_outcome_of(change, stray->op.status);
        }
        if (strcmp(document->read.key, change->key) == 0) {
            generation = zd_change_store_replaced(document);
        }
    }
    if (!holds_for(&change->input, generation)) {
        return ZD_CHANGE_FAIL(
            change, ZD_PRECONDITION, "\"%.200s\" is not what the request expects", place->path);
    }
    return zd_change_is_erasure(change) && !zd_generation_is_set(generation)
               ? zd_change_find_refuse_absent(change)
               : ZD_CHANGE_NEXT;
}

/* ---- the new document ---- */

/* Which of the node's documents the key is. */
static enum zd_status number_of_key(struct zd_change *change, uint32_t *ret_number)
{
    ZD_SCOPED_TEXT(key, ZD_KEY_BYTES_MAX);
    for (uint32_t i = 0; i < change->dialect->n_documents; i++) {
        zd_text_clear(&key);
        if (change->dialect->document_key(change->path, i, &key) != ZD_OK) {
            return zd_fail(&change->err, key.status, "no memory for a key");
        }
        if (strcmp(key.at, change->key) == 0) {
            *ret_number = i;
        }
    }
    return ZD_OK;
}

/* The node that all of the documents make; others have written the rest of them. */
static enum zd_status read_together(
    struct zd_change *change, const struct zd_documents *documents, struct zd_meta **ret_meta)
{
    struct zd_reading reading = zd_dataset_reading(change->dataset);
    reading.judgement = ZD_JUDGE_READ;
    change->stays = change->dialect->bid(documents) > 0;
    if (!change->stays) {
        *ret_meta = NULL;
        return ZD_OK;
    }
    change->is_judged = true;
    return change->dialect->parse(documents, &reading, ret_meta, &change->err);
}

/* A group's own listing is outdated: it goes, as far as it is one. */
static void drop_own_listing(struct zd_change *change, uint32_t n)
{
    struct zd_change_place *place = zd_change_target(change);
    const struct zd_change_document *document = &place->document[n];
    const bool is_same = document->made != NULL && document->stored != NULL &&
                         zd_span_equal(zd_buf_span(document->made), zd_buf_span(document->stored));
    if (place->node != NULL && change->dialect->may_list != NULL &&
        !is_listing(change->dialect, n) && !is_same) {
        place->document[change->dialect->listing_document].is_dropped = true;
    }
}

/* Judge the client's document alone: it is not to blame for a fault beside it. */
enum zd_status zd_change_key_judge(struct zd_change *change)
{
    const struct zd_reading reading = zd_change_judge_reading(change);
    struct zd_change_place *place = zd_change_target(change);
    struct zd_meta *together = NULL;
    uint32_t n = 0;
    ZD_TRY(number_of_key(change, &n));
    place->document[n].made = zd_buf_ref(change->input.bytes);
    const struct zd_documents all = zd_change_judge_documents(place);
    struct zd_documents alone = {0};
    alone.present[n] = true;
    alone.bytes[n] = all.bytes[n];
    alone.text[n] = all.text[n];
    change->is_judged = false;
    change->stays = true;
    ZD_TRY(change->dialect->parse(&alone, &reading, &change->meta, &change->err));
    if (change->dialect->n_documents == 1 || !zd_change_judge_accepts(change, change->meta)) {
        return ZD_OK;
    }
    ZD_TRY(read_together(change, &all, &together));
    zd_meta_unref(change->meta);
    change->meta = together;
    drop_own_listing(change, n);
    return ZD_OK;
}

/* A node may do without the document. */
enum zd_status zd_change_key_judge_erasure(struct zd_change *change)
{
    struct zd_documents documents = zd_change_judge_documents(zd_change_target(change));
    uint32_t n = 0;
    ZD_TRY(number_of_key(change, &n));
    documents.present[n] = false;
    documents.bytes[n] = NULL;
    documents.text[n] = (struct zd_span){0};
    drop_own_listing(change, n);
    return read_together(change, &documents, &change->meta);
}
