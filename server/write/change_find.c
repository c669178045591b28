/* Changing documents: finding what is stored now, and whether the change has its place there. */
#include <string.h>

#include "server/write/change.h"
#include "server/runtime/server.h"

static enum zd_next step_found(struct zd_change *change);
static enum zd_next read_documents(struct zd_change *change);
static enum zd_next step_read(struct zd_change *change);
static enum zd_next step_same(struct zd_change *change);

static void node_arrived(struct zd_wait *wait)
{
    zd_change_arrived(ZD_CONTAINER(wait, struct zd_place, want.wait)->change);
}

static enum zd_next want_nodes(
    struct zd_change *change, enum zd_next (*then)(struct zd_change *change))
{
    change->step = then;
    for (size_t i = 0; i < change->n_places; i++) {
        struct zd_place *place = &change->place[i];
        place->want = (struct zd_node_want){.wait.done = node_arrived};
        if (zd_catalog_want_fresh(change->dataset, place->path, &place->want) == ZD_WAIT) {
            change->n_pending++;
        }
    }
    return zd_change_wait(change);
}

enum zd_next zd_change_find(struct zd_change *change)
{
    return want_nodes(change, step_found);
}

/* ZD_OK also for nodes that are not there. */
static enum zd_status found_status(struct zd_change *change)
{
    for (size_t i = 0; i < change->n_places; i++) {
        const struct zd_wait *wait = &change->place[i].want.wait;
        if (wait->status != ZD_OK && wait->status != ZD_NOT_FOUND) {
            change->err = wait->err;
            return wait->status;
        }
    }
    return ZD_OK;
}

/* Zarr v3: arrays have no children, and what may be an array gets none. What others have left below
 * them is there, and can be changed and erased. */
static bool allows_below(const struct zd_change *change, const struct zd_node *parent)
{
    const enum zd_metadata_kind kind = change->ask.kind;
    if (parent->meta->type == ZD_NODE_GROUP) {
        return true;
    }
    if (change->place[change->n_places - 1].node == NULL) {
        return false;
    }
    return parent->meta->type == ZD_NODE_UNKNOWN ||
           (kind != ZD_METADATA_PUT && kind != ZD_METADATA_PUT_KEY);
}

static bool refuse_parent(struct zd_change *change)
{
    for (size_t i = 0; i + 1 < change->n_places; i++) {
        const struct zd_node *node = change->place[i].node;
        if (node != NULL && !allows_below(change, node)) {
            struct zd_error err = {0};
            err.status = zd_fail(&err, ZD_INVALID,
                "\"%.200s\" is %s: there can be no node below it", node->path,
                node->meta->type == ZD_NODE_ARRAY ? "an array" : "not known as a group");
            (void)zd_change_fail(change, ZD_INVALID, "parent_is_array", &err);
            return true;
        }
    }
    return false;
}

static bool is_as_expected(const struct zd_node *node, const struct zd_node *expected)
{
    return node != NULL && node->tag == expected->tag;
}

/* The generation of a key among the node's documents; zero: it is none of them. */
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

/* What the caller wants to be so; also judged by the store, when the document is stored. */
static bool holds(struct zd_change *change)
{
    const struct zd_metadata_ask *ask = &change->ask;
    const struct zd_node *node = zd_change_target(change)->node;
    if (ask->expects_absent && node != NULL) {
        return false;
    }
    if (ask->expected != NULL && !is_as_expected(node, ask->expected)) {
        return false;
    }
    if (change->key == NULL || ask->condition == ZD_CONDITION_NONE) {
        return true;
    }
    const struct zd_generation none = {0};
    const bool is_absent = ask->condition == ZD_CONDITION_ABSENT;
    return zd_generation_equal(
        generation_of(node, change->key), is_absent ? none : ask->generation);
}

static enum zd_next refuse_condition(struct zd_change *change)
{
    struct zd_error err = {0};
    err.status = zd_fail(&err, ZD_PRECONDITION, "\"%.200s\" %s", change->path,
        zd_change_target(change)->node == NULL ? "is not there any more"
                                               : "is not what the request expects");
    return zd_change_fail(change, ZD_PRECONDITION, NULL, &err);
}

static bool must_exist(const struct zd_change *change)
{
    return change->ask.kind == ZD_METADATA_PATCH || change->ask.kind == ZD_METADATA_CONSOLIDATE ||
           change->ask.kind == ZD_METADATA_ERASE_KEY;
}

static enum zd_next refuse_absent(struct zd_change *change)
{
    struct zd_error err = {0};
    err.status = zd_fail(&err, ZD_NOT_FOUND, "there is no node at \"%.200s\"", change->path);
    return zd_change_fail(change, ZD_NOT_FOUND, NULL, &err);
}

/* A node of a dialect that is only read stays as it is, but for a new one in its place. */
static bool is_read_only(const struct zd_change *change, const struct zd_node *node)
{
    const bool is_replaced = change->ask.kind == ZD_METADATA_PUT && change->ask.erases_chunks;
    return node != NULL && !zd_dialect_is_writable(node->meta->dialect) && !is_replaced;
}

static enum zd_next refuse_dialect(struct zd_change *change, const struct zd_node *node)
{
    struct zd_error err = {0};
    err.status = zd_fail(
        &err, ZD_READ_ONLY, "nodes of the dialect %s are only read", node->meta->dialect->name);
    return zd_change_fail(change, ZD_READ_ONLY, NULL, &err);
}

/* That of the node that is there, else of its parent, else the first that can be written. */
static const struct zd_dialect *choose_dialect(const struct zd_change *change)
{
    for (size_t i = change->n_places; i-- > 0;) {
        const struct zd_node *node = change->place[i].node;
        if (node != NULL && zd_dialect_is_writable(node->meta->dialect)) {
            return node->meta->dialect;
        }
    }
    const struct zd_dialect *const *dialect = zd_dialects;
    while (!zd_dialect_is_writable(*dialect)) {
        dialect++;
    }
    return *dialect;
}

/* What happens to it is a matter of this change. */
static bool has_listing(const struct zd_meta *meta)
{
    return zd_dialect_is_writable(meta->dialect) &&
           (meta->consolidated != NULL || meta->has_unread_listing);
}

/* Whose documents have to be read: those that are changed, not replaced, and those that may have to
 * be put back. */
static void want_bytes(struct zd_change *change)
{
    const enum zd_metadata_kind kind = change->ask.kind;
    for (size_t i = 0; i < change->n_places; i++) {
        struct zd_place *place = &change->place[i];
        const bool is_target = i + 1 == change->n_places;
        place->wants_bytes =
            place->node != NULL &&
            (is_target ? kind != ZD_METADATA_PUT || change->ask.erases_chunks
                       : has_listing(place->node->meta) && kind != ZD_METADATA_CONSOLIDATE);
    }
}

static enum zd_next step_found(struct zd_change *change)
{
    for (size_t i = 0; i < change->n_places; i++) {
        change->place[i].node = ZD_TAKE(change->place[i].want.node);
    }
    const enum zd_status status = found_status(change);
    const struct zd_node *node = zd_change_target(change)->node;
    if (status != ZD_OK) {
        return zd_change_fail(change, status, NULL, &change->err);
    }
    if (change->has_stored) {
        want_bytes(change);
        return read_documents(change);
    }
    if (!holds(change)) {
        return refuse_condition(change);
    }
    if (node == NULL && must_exist(change)) {
        return refuse_absent(change);
    }
    if (refuse_parent(change)) {
        return ZD_NEXT;
    }
    if (is_read_only(change, node)) {
        return refuse_dialect(change, node);
    }
    change->has_made = node == NULL;
    change->dialect = choose_dialect(change);
    change->before = node == NULL ? NULL : zd_meta_ref(node->meta);
    want_bytes(change);
    return read_documents(change);
}

/* ---- their bytes ---- */

static void note_read(struct zd_place_document *document, enum zd_status status)
{
    struct zd_change *change = document->place->change;
    document->stored = status == ZD_OK ? ZD_TAKE(document->read.bytes) : NULL;
    if (status != ZD_OK && change->status == ZD_OK) {
        change->status = status;
        change->err = document->read.op.err;
    }
}

static void read_done(struct zd_store_op *op)
{
    struct zd_place_document *document = ZD_CONTAINER(op, struct zd_place_document, read.op);
    note_read(document, op->status);
    zd_change_arrived(document->place->change);
}

static void start_read(struct zd_place_document *document, struct zd_generation generation)
{
    const struct zd_place *place = document->place;
    struct zd_change *change = place->change;
    struct zd_store *store = change->dataset->store;
    document->read = (struct zd_store_read){
        .op.done = read_done,
        .bytes_max = change->dataset->server->config->settings.limits_consolidated_bytes,
        .only_generation = generation,
    };
    ZD_SCOPED_TEXT(key, ZD_KEY_BYTES_MAX);
    enum zd_status status =
        place->node->meta->dialect->document_key(place->path, document->number, &key);
    if (status != ZD_OK) { /* it was read before under that key */
        note_read(document,
            zd_fail(&document->read.op.err, status, "no memory for the key of a document"));
        return;
    }
    memcpy(document->read.key, key.at, key.len + 1);
    status = zd_store_read_now(store, &document->read);
    if (status != ZD_AGAIN) {
        note_read(document, status);
        return;
    }
    change->n_pending++;
    zd_store_read(store, &document->read);
}

/* Of the generation that was found: so that what is read is what was judged to be there. */
static enum zd_next read_documents(struct zd_change *change)
{
    const struct zd_generation none = {0};
    change->step = step_read;
    for (size_t p = 0; p < change->n_places; p++) {
        struct zd_place *place = &change->place[p];
        for (uint32_t i = 0; place->wants_bytes && i < place->node->meta->dialect->n_documents;
            i++) {
            if (!zd_generation_equal(place->node->stat[i].generation, none)) {
                start_read(&place->document[i], place->node->stat[i].generation);
            }
        }
    }
    return zd_change_wait(change);
}

static enum zd_next step_read(struct zd_change *change)
{
    const enum zd_status status = change->status;
    if (status == ZD_PRECONDITION || status == ZD_NOT_FOUND) {
        return zd_change_again(change);
    }
    if (status != ZD_OK) {
        return zd_change_fail(change, status, NULL, &change->err);
    }
    if (change->has_stored && !change->drops_listings) {
        return want_nodes(change, step_same);
    }
    change->step = change->has_stored            ? zd_change_relist
                   : change->ask.written != NULL ? zd_change_bounds
                                                 : zd_change_judge;
    return ZD_NEXT;
}

/* The node is stored, and another process may have changed it since, and listed that already. So
 * nodes are listed as they were found only when they are the same after the listing was read: who
 * changes one later finds this listing, or keeps it from being stored. */
static enum zd_next step_same(struct zd_change *change)
{
    bool is_same = true;
    const enum zd_status status = found_status(change);
    for (size_t i = 0; i < change->n_places; i++) {
        const struct zd_place *place = &change->place[i];
        ZD_AUTO(zd_node) node = ZD_TAKE(change->place[i].want.node);
        is_same = is_same && (place->node == NULL) == (node == NULL) &&
                  (node == NULL || node->tag == place->node->tag);
    }
    if (status != ZD_OK) {
        return zd_change_fail(change, status, NULL, &change->err);
    }
    change->step = zd_change_relist;
    return is_same ? ZD_NEXT : zd_change_again(change);
}
