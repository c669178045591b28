/* Changing documents: what is stored now, and whether it allows the change. */
#include <string.h>

#include "server/data/catalog.h"
#include "core/store/contract/path.h"
#include "server/runtime/server.h"
#include "server/write/change.h"

enum zd_change_outcome zd_change_find_nodes(struct zd_change *change)
{
    for (size_t i = 0; i < change->n_places; i++) {
        struct zd_change_place *place = &change->place[i];
        place->want = (struct zd_node_want){.wait = zd_gather_wait(&change->gather)};
        zd_gather_add(
            &change->gather, zd_catalog_want_fresh(change->dataset, place->path, &place->want));
    }
    return ZD_CHANGE_NEXT;
}

static struct zd_node *take_node(struct zd_change *change, struct zd_change_place *place)
{
    struct zd_node *node = ZD_TAKE(place->want.node);
    return change->key == NULL || node == NULL ? node : zd_change_key_pick(place, node);
}

/* An absent node is no failure. */
static enum zd_change_outcome found_outcome(struct zd_change *change)
{
    for (size_t i = 0; i < change->n_places; i++) {
        const struct zd_wait *wait = &change->place[i].want.wait;
        if (wait->status != ZD_OK && wait->status != ZD_NOT_FOUND) {
            return zd_change_outcome_of_wait(change, wait);
        }
    }
    return ZD_CHANGE_NEXT;
}

/* Zarr v3: an array has no children, and what may be an array gets none. Nodes that others have
 * left below one can be changed and erased. */
static bool allows_below(const struct zd_change *change, const struct zd_node *parent)
{
    if (parent->meta->type == ZD_NODE_GROUP) {
        return true;
    }
    if (change->place[change->n_places - 1].node == NULL) {
        return false;
    }
    return parent->meta->type == ZD_NODE_UNKNOWN || !zd_change_is_put(change);
}

static enum zd_change_outcome check_parents(struct zd_change *change)
{
    for (size_t i = 0; i + 1 < change->n_places; i++) {
        const struct zd_node *node = change->place[i].node;
        if (node != NULL && !allows_below(change, node)) {
            change->code = "parent_is_array";
            return ZD_CHANGE_FAIL(change, ZD_INVALID, "\"%.200s\" is %s: it cannot have children",
                node->path,
                node->meta->type == ZD_NODE_ARRAY ? "an array" : "not known to be a group");
        }
    }
    return ZD_CHANGE_NEXT;
}

/* Whether the caller's conditions hold; the store judges them again when the document is stored. */
static bool holds(struct zd_change *change)
{
    const struct zd_metadata_input *input = &change->input;
    const struct zd_node *node = zd_change_target(change)->node;
    if (input->expects_absent && node != NULL) {
        return false;
    }
    if (input->expected != NULL && (node == NULL || node->tag != input->expected->tag)) {
        return false;
    }
    return zd_change_key_wants_strays(change) || zd_change_key_holds(change, node);
}

static bool must_exist(const struct zd_change *change)
{
    const bool is_erasure = zd_change_is_erasure(change) && !zd_change_key_wants_strays(change);
    return change->input.kind == ZD_METADATA_PATCH ||
           change->input.kind == ZD_METADATA_CONSOLIDATE || is_erasure;
}

enum zd_change_outcome zd_change_find_refuse_absent(struct zd_change *change)
{
    return ZD_CHANGE_FAIL(change, ZD_NOT_FOUND, "there is no node at \"%.200s\"", change->path);
}

/* A node of a read-only dialect can only be replaced, and gets no children. @return NULL: none is
 * in the way */
static const struct zd_node *find_read_only(const struct zd_change *change)
{
    const bool replaces = change->input.kind == ZD_METADATA_PUT && change->input.erases_chunks;
    for (size_t i = change->n_places; i-- > 0;) {
        const struct zd_node *node = change->place[i].node;
        if (node == NULL || zd_dialect_is_writable(node->meta->dialect)) {
            continue;
        }
        const bool is_target = i + 1 == change->n_places;
        if (!is_target || !replaces || !node->meta->dialect->is_first) {
            return node;
        }
    }
    return NULL;
}

/* Where there is no root of a dialect that is read: a new one would hide what lies there. */
static bool hides_others(const struct zd_change *change)
{
    return change->input.kind == ZD_METADATA_PUT && change->place[0].node == NULL &&
           change->dataset->kind != NULL;
}

static enum zd_change_outcome check_dialects(struct zd_change *change)
{
    const struct zd_node *read_only = find_read_only(change);
    if (read_only != NULL) {
        return ZD_CHANGE_FAIL(change, ZD_READ_ONLY,
            "\"%.200s\" has the dialect %s, which is read-only", read_only->path,
            read_only->meta->dialect->name);
    }
    const struct zd_node *target = zd_change_target(change)->node;
    if (change->input.kind == ZD_METADATA_CONSOLIDATE &&
        target->meta->dialect->change_listing == NULL) {
        return ZD_CHANGE_FAIL(change, ZD_READ_ONLY,
            "\"%.200s\" has the dialect %s, whose consolidated metadata cannot be written",
            target->path, target->meta->dialect->name);
    }
    if (hides_others(change)) {
        return ZD_CHANGE_FAIL(change, ZD_READ_ONLY,
            "the dataset is %s, which this version does not read: a new root would hide it",
            change->dataset->kind);
    }
    return ZD_CHANGE_NEXT;
}

/* The dialect of the key. Without a key: that of the node, else of the nearest parent, else the
 * first one; it is writable. */
static const struct zd_dialect *choose_dialect(const struct zd_change *change)
{
    if (change->key != NULL) {
        return change->dialect;
    }
    for (size_t i = change->n_places; i-- > 0;) {
        const struct zd_node *node = change->place[i].node;
        if (node != NULL && zd_dialect_is_writable(node->meta->dialect)) {
            return node->meta->dialect;
        }
    }
    const struct zd_dialect *const *dialect = zd_dialects;
    while (!(*dialect)->is_first || !zd_dialect_is_writable(*dialect)) {
        dialect++;
    }
    return *dialect;
}

/* Whether this change has to keep the node's listing in step. */
static bool has_listing(const struct zd_meta *meta)
{
    return zd_dialect_is_writable(meta->dialect) && (meta->has_listing || meta->has_unread_listing);
}

/* Documents are read that are changed but not replaced, or that may have to be put back; of a group
 * that is replaced the listing stays. */
static bool wants_target(const struct zd_change *change, const struct zd_meta *meta)
{
    return change->input.kind != ZD_METADATA_PUT || change->input.erases_chunks ||
           meta->has_listing;
}

static void want_bytes(struct zd_change *change)
{
    const enum zd_metadata_kind kind = change->input.kind;
    for (size_t i = 0; i < change->n_places; i++) {
        struct zd_change_place *place = &change->place[i];
        const bool is_target = i + 1 == change->n_places;
        place->wants_bytes =
            place->node != NULL &&
            (is_target ? wants_target(change, place->node->meta)
                       : has_listing(place->node->meta) && kind != ZD_METADATA_CONSOLIDATE);
    }
}

static bool may_make(const struct zd_change *change, const char *path)
{
    const struct zd_metadata_input *input = &change->input;
    /* A caller that has left cannot be asked. */
    return input->may_make == NULL || (change->want != NULL && input->may_make(input->maker, path));
}

/* Missing parents are made with the node, each by a right of its own. */
static enum zd_change_outcome check_makes(struct zd_change *change)
{
    if (change->input.kind != ZD_METADATA_PUT) {
        return ZD_CHANGE_NEXT;
    }
    for (size_t i = 0; i + 1 < change->n_places; i++) {
        const struct zd_change_place *place = &change->place[i];
        if (place->node == NULL && !may_make(change, place->path)) {
            change->parent_is_denied = true;
            change->parent_len = strlen(place->path);
            return ZD_CHANGE_FAIL(change, ZD_INVALID,
                "the missing parent \"%.200s\" cannot be created with this credential",
                place->path);
        }
    }
    return ZD_CHANGE_NEXT;
}

/* Whether the change is possible; once the node is stored only its listings are at stake. */
static enum zd_change_outcome judge_found(struct zd_change *change)
{
    const struct zd_node *node = zd_change_target(change)->node;
    if (!holds(change)) {
        return ZD_CHANGE_FAIL(change, ZD_PRECONDITION, "\"%.200s\" %s", change->path,
            node == NULL ? "no longer exists" : "is not what the request expects");
    }
    if (node == NULL && must_exist(change)) {
        return zd_change_find_refuse_absent(change);
    }
    if (check_parents(change) != ZD_CHANGE_NEXT) {
        return ZD_CHANGE_FAILED;
    }
    if (check_dialects(change) != ZD_CHANGE_NEXT || check_makes(change) != ZD_CHANGE_NEXT) {
        return ZD_CHANGE_FAILED;
    }
    change->has_made = node == NULL;
    change->dialect = choose_dialect(change);
    change->before = node == NULL ? NULL : zd_meta_ref(node->meta);
    return ZD_CHANGE_NEXT;
}

enum zd_change_outcome zd_change_find_nodes_end(struct zd_change *change)
{
    for (size_t i = 0; i < change->n_places; i++) {
        change->place[i].node = take_node(change, &change->place[i]);
    }
    enum zd_change_outcome outcome = found_outcome(change);
    if (outcome == ZD_CHANGE_NEXT && change->phase == ZD_CHANGE_DOCUMENTS) {
        outcome = judge_found(change);
    }
    want_bytes(change);
    return outcome;
}

/* ---- their bytes ---- */

void zd_change_find_read(struct zd_change_document *document, const struct zd_dialect *dialect)
{
    const struct zd_change_place *place = document->place;
    struct zd_change *change = place->change;
    struct zd_store_read *read = &document->read;
    ZD_SCOPED_TEXT(key, ZD_KEY_BYTES_MAX);
    if (dialect->document_key(place->path, document->number, &key) != ZD_OK) {
        read->op.status = zd_fail(&read->op.err, key.status, "no memory for the key of a document");
        return; /* it was read before under that key */
    }
    memcpy(read->key, key.at, key.len + 1);
    if (zd_store_read_now(change->dataset->store, read) == ZD_AGAIN) {
        zd_gather_await(&change->gather, &read->op);
        zd_store_read(change->dataset->store, read);
    }
}

/* A listing that cannot be read goes, whatever it says. */
static bool wants_document(const struct zd_change_place *place, uint32_t i)
{
    const struct zd_node *node = place->node;
    if (!place->wants_bytes || !zd_generation_is_set(node->stat[i].generation)) {
        return false;
    }
    return node->meta->dialect->may_list == NULL || i != node->meta->dialect->listing_document ||
           !node->meta->has_unread_listing;
}

/* Only the generation that was found, so that the bytes belong to the judged node. */
static void read_found(struct zd_change_place *place)
{
    const struct zd_settings *settings = &place->change->dataset->server->config->settings;
    for (uint32_t i = 0; i < ZD_DOCUMENTS_MAX; i++) {
        struct zd_change_document *document = &place->document[i];
        document->read = (struct zd_store_read){0};
        if (wants_document(place, i)) {
            document->read.bytes_max = settings->limits_consolidated_bytes;
            document->read.only_generation = place->node->stat[i].generation;
            zd_change_find_read(document, place->node->meta->dialect);
        }
    }
}

enum zd_change_outcome zd_change_find_documents(struct zd_change *change)
{
    for (size_t p = 0; p < change->n_places; p++) {
        read_found(&change->place[p]);
    }
    if (zd_change_key_wants_strays(change)) {
        zd_change_key_read_strays(change);
    }
    return ZD_CHANGE_NEXT;
}

enum zd_change_outcome zd_change_find_documents_end(struct zd_change *change)
{
    const struct zd_store_op *failed = NULL;
    for (size_t i = 0; i < change->n_places * ZD_DOCUMENTS_MAX; i++) {
        struct zd_change_place *place = &change->place[i / ZD_DOCUMENTS_MAX];
        struct zd_change_document *document = &place->document[i % ZD_DOCUMENTS_MAX];
        const struct zd_store_op *op = &document->read.op;
        const bool is_read =
            op->status == ZD_OK || (place->node == NULL && op->status == ZD_NOT_FOUND);
        document->stored = ZD_TAKE(document->read.bytes);
        failed = failed == NULL && !is_read ? op : failed;
    }
    if (failed == NULL && zd_change_key_wants_strays(change)) {
        return zd_change_key_note_strays(change);
    }
    if (failed == NULL) {
        return change->phase == ZD_CHANGE_DOCUMENTS ? ZD_CHANGE_NEXT : ZD_CHANGE_LISTINGS;
    }
    if (failed->status == ZD_PRECONDITION || failed->status == ZD_NOT_FOUND) {
        return ZD_CHANGE_AGAIN;
    }
    change->err = failed->err;
    return zd_change_outcome_of(change, failed->status);
}

/* The node is stored, and another process may have changed and listed it since. So a listing is
 * made only of nodes that are the same after it was read: a later change finds that listing, or
 * keeps it from being stored. */
enum zd_change_outcome zd_change_find_again(struct zd_change *change)
{
    return change->phase == ZD_CHANGE_DROP ? ZD_CHANGE_DONE : zd_change_find_nodes(change);
}

enum zd_change_outcome zd_change_find_again_end(struct zd_change *change)
{
    bool is_same = true;
    for (size_t i = 0; i < change->n_places; i++) {
        struct zd_change_place *place = &change->place[i];
        ZD_AUTO(zd_node) node = take_node(change, place);
        is_same = is_same && (place->node == NULL) == (node == NULL) &&
                  (node == NULL || node->tag == place->node->tag);
    }
    const enum zd_change_outcome outcome = found_outcome(change);
    return outcome == ZD_CHANGE_NEXT && !is_same ? ZD_CHANGE_AGAIN : outcome;
}

/* ---- what is stored below the node ---- */

static bool is_chunk_of(const struct zd_meta *meta, const char *rest)
{
    uint64_t index[ZD_RANK_MAX];
    return meta != NULL && zd_meta_is_array(meta) &&
           meta->dialect->chunk_index(meta, rest, index) != ZD_NOT_FOUND;
}

bool zd_change_find_is_chunk(const struct zd_change *change, const char *rest)
{
    const struct zd_meta *before = change->before;
    const bool is_unknown =
        before != NULL && before->type != ZD_NODE_GROUP && !zd_meta_is_array(before);
    return is_unknown || is_chunk_of(before, rest) || is_chunk_of(change->meta, rest);
}

static void look_at_key(struct zd_change *change, const char *key)
{
    const size_t len = strlen(change->path);
    const char *rest = key + len + (len == 0 ? 0 : 1);
    change->seen |= ZD_CHANGE_SEEN_KEY;
    if (is_chunk_of(change->before, rest) || is_chunk_of(change->meta, rest)) {
        change->seen |= ZD_CHANGE_SEEN_CHUNK;
    }
    if (!zd_change_find_is_chunk(change, rest)) {
        change->seen |= ZD_CHANGE_SEEN_FILE;
    }
}

/* A document beside the node, below a missing parent, is of a node that the parent was hiding. */
static enum zd_purge_answer look_at(void *context, const struct zd_purge_key *key)
{
    struct zd_change *change = context;
    if (!zd_path_is_below(key->key, change->path)) {
        change->seen |= key->node != NULL ? ZD_CHANGE_SEEN_ORPHANS : 0;
    } else if (key->node == NULL || (key->is_beside && zd_change_hides(change))) {
        look_at_key(change, key->key);
    } else if (strcmp(key->node, change->path) != 0) {
        change->seen |= ZD_CHANGE_SEEN_CHILD;
    }
    return (change->seen & change->enough) != 0 ? ZD_PURGE_STOP : ZD_PURGE_KEEP;
}

/* Whether a node above has stored consolidated metadata. */
static bool has_listing_above(const struct zd_change *change)
{
    for (size_t i = 0; i + 1 < change->n_places; i++) {
        if (change->place[i].wants_bytes) {
            return true;
        }
    }
    return false;
}

/* An array has nothing below it but its own chunks: so the keys below are looked at when a node
 * becomes an array, or another array, or is one no more. A new group shows nodes that no listing
 * above has. */
static bool has_to_look(const struct zd_change *change)
{
    const struct zd_meta *before = change->before;
    if (!zd_change_is_put(change) || change->meta == NULL) {
        return false;
    }
    if (change->meta->type == ZD_NODE_GROUP && before == NULL) {
        return has_listing_above(change);
    }
    return before == NULL || before->type != ZD_NODE_GROUP || change->meta->type != ZD_NODE_GROUP;
}

/* Whether a document put by its raw key changes how stored chunks are decoded. An array that is
 * absent or was not understood has no such chunks: a client copies keys in any order. A client that
 * may not read puts the document first: else it would try codecs until the chunks decode. */
static bool spoils_chunks(const struct zd_change *change)
{
    if (change->input.kind != ZD_METADATA_PUT_KEY) {
        return false;
    }
    if (change->before == NULL || !zd_meta_is_array(change->before)) {
        return change->input.is_blind;
    }
    return !zd_meta_has_same_encoding(change->before, change->meta);
}

/* The first key is enough where any key decides. */
static bool stops_at_key(const struct zd_change *change)
{
    const struct zd_meta *before = change->before;
    if (spoils_chunks(change) || change->input.erases_chunks) {
        return false;
    }
    if (before != NULL && before->type != ZD_NODE_GROUP) {
        return true; /* there can be no nodes below */
    }
    return change->input.kind == ZD_METADATA_PUT && change->meta != NULL &&
           change->meta->type == ZD_NODE_ARRAY;
}

/* A new parent shows what is below it, too. */
static const char *look_path(const struct zd_change *change)
{
    for (size_t i = 0; has_listing_above(change) && i + 1 < change->n_places; i++) {
        if (change->place[i].is_new) {
            return change->place[i].path;
        }
    }
    return change->path;
}

/* The collection has seen the tree below: an array's chunks go with it. */
static bool is_empty(const struct zd_change *change)
{
    const uint32_t keys =
        ZD_CHANGE_SEEN_KEY | (zd_change_hides(change) ? ZD_CHANGE_SEEN_BESIDE : 0);
    const uint32_t others = ZD_CHANGE_SEEN_CHILD | (zd_meta_is_array(change->before) ? 0 : keys);
    return change->path[0] != '\0' && (change->seen & others) == 0;
}

static enum zd_purge_answer count_child(void *context, const struct zd_purge_key *key)
{
    struct zd_change *change = context;
    change->n_children += key->node == NULL || strcmp(key->node, change->path) != 0 ||
                          (key->is_beside && zd_change_hides(change));
    return ZD_PURGE_KEEP;
}

static enum zd_change_outcome count_children(struct zd_change *change)
{
    const struct zd_purge_want purge = {
        .path = change->path, .visit = count_child, .is_shallow = true};
    change->n_children = 0;
    return zd_change_run_purge(change, &purge);
}

/* Stray objects under the keys of a new node's documents are erased or replaced.
 */
static void look_for_strays(struct zd_change *change)
{
    struct zd_change_place *place = zd_change_target(change);
    const bool makes = change->input.kind == ZD_METADATA_PUT && place->node == NULL;
    if (change->key != NULL) {
        return; /* they were read */
    }
    for (uint32_t i = 0; i < ZD_DOCUMENTS_MAX; i++) {
        struct zd_store_status *stray = &place->document[i].stray;
        *stray = (struct zd_store_status){.op = {.status = ZD_NOT_FOUND}};
        ZD_SCOPED_TEXT(key, ZD_KEY_BYTES_MAX);
        if (makes && i < change->dialect->n_documents && !change->dialect->is_first &&
            change->dialect->document_key(place->path, i, &key) == ZD_OK) {
            memcpy(stray->key, key.at, key.len + 1);
            zd_gather_await(&change->gather, &stray->op);
            zd_store_status(change->dataset->store, stray);
        }
    }
}

static const struct zd_store_op *failed_stray(const struct zd_change *change)
{
    const struct zd_change_place *place = &change->place[change->n_places - 1];
    for (uint32_t i = 0; i < ZD_DOCUMENTS_MAX; i++) {
        const struct zd_store_op *op = &place->document[i].stray.op;
        if (op->status != ZD_OK && op->status != ZD_NOT_FOUND) {
            return op;
        }
    }
    return NULL;
}

enum zd_change_outcome zd_change_look(struct zd_change *change)
{
    change->purge.wait.status = ZD_OK;
    zd_change_undo_note_below(change);
    look_for_strays(change);
    if (change->input.kind == ZD_METADATA_ERASE) {
        return change->input.is_recursive || is_empty(change) ? ZD_CHANGE_NEXT
                                                              : count_children(change);
    }
    if (!has_to_look(change)) {
        return ZD_CHANGE_NEXT;
    }
    change->seen = 0;
    change->enough = ZD_CHANGE_SEEN_CHILD;
    change->enough |= stops_at_key(change) ? ZD_CHANGE_SEEN_KEY : 0;
    change->enough |= change->input.erases_chunks ? ZD_CHANGE_SEEN_FILE : 0;
    change->enough |= change->meta != NULL && spoils_chunks(change) ? ZD_CHANGE_SEEN_CHUNK : 0;
    const struct zd_purge_want purge = {.path = look_path(change), .visit = look_at};
    return zd_change_run_purge(change, &purge);
}

static bool has_seen(const struct zd_change *change, enum zd_change_seen what)
{
    return (change->seen & what) != 0;
}

static enum zd_change_outcome refuse_place(
    struct zd_change *change, const char *code, const char *why)
{
    change->code = code;
    return ZD_CHANGE_FAIL(change, ZD_INVALID, "\"%.200s\" %s", change->path, why);
}

/* A client that may not read must not find the document of an array by trying others. */
static bool may_orphan(const struct zd_change *change)
{
    const struct zd_meta *before = change->before;
    const bool is_guess = change->input.is_blind && change->input.kind == ZD_METADATA_PUT &&
                          before != NULL && before->type != ZD_NODE_GROUP;
    return is_guess || zd_change_erase_orphans_chunks(change);
}

/* Whether stored chunks would be decoded as others, or never again. */
static bool orphans_chunks(const struct zd_change *change)
{
    if (spoils_chunks(change)) {
        return has_seen(change, ZD_CHANGE_SEEN_CHUNK);
    }
    return has_seen(change, ZD_CHANGE_SEEN_KEY) && !change->input.erases_chunks &&
           may_orphan(change);
}

static enum zd_change_outcome judge_erasure(struct zd_change *change)
{
    if (change->input.is_recursive && has_seen(change, ZD_CHANGE_SEEN_LINK)) {
        const struct zd_error found = change->purge.wait.err;
        change->code = "not_empty";
        return ZD_CHANGE_FAIL(change, ZD_INVALID, "%s", found.text);
    }
    if (change->input.is_recursive || is_empty(change)) {
        return ZD_CHANGE_NEXT;
    }
    change->code = "not_empty";
    return ZD_CHANGE_FAIL(change, ZD_INVALID,
        "\"%.200s\" has %llu entries below it; recursive=1 deletes them as well", change->path,
        (unsigned long long)change->n_children);
}

/* By the keys below that were seen, here or on the way to erase them. */
enum zd_change_outcome zd_change_look_end(struct zd_change *change)
{
    const struct zd_store_op *stray = failed_stray(change);
    if (change->purge.wait.status != ZD_OK) {
        return zd_change_outcome_of_wait(change, &change->purge.wait);
    }
    if (stray != NULL) {
        change->err = stray->err;
        return zd_change_outcome_of(change, stray->status);
    }
    if (change->input.kind == ZD_METADATA_ERASE) {
        return judge_erasure(change);
    }
    if (!zd_change_is_put(change) || change->meta == NULL) {
        return ZD_CHANGE_NEXT;
    }
    if (change->meta->type == ZD_NODE_ARRAY && has_seen(change, ZD_CHANGE_SEEN_CHILD)) {
        return refuse_place(
            change, "not_empty", "has nodes below it: an array cannot have children");
    }
    if (has_seen(change, ZD_CHANGE_SEEN_FILE) && change->input.erases_chunks &&
        may_orphan(change)) {
        return refuse_place(change, "not_empty",
            "has files below it that are not its chunks, and erase_chunks=1 keeps them: delete "
            "them first");
    }
    if (orphans_chunks(change)) {
        return refuse_place(change, "chunks_exist",
            change->key == NULL
                ? "has stored chunks the new document could not read; erase_chunks=1 deletes them"
                : "has stored chunks the new document could not read; delete them first");
    }
    return ZD_CHANGE_NEXT;
}
