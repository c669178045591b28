/* Changing documents: whether what is stored below the node allows the change. */
#include <string.h>

#include "server/data/path_order.h"
#include "server/write/change.h"

static bool is_chunk_of(const struct zd_meta *meta, const char *rest)
{
    uint64_t index[ZD_RANK_MAX];
    return meta != NULL && zd_meta_is_array(meta) &&
           meta->dialect->chunk_index(meta, rest, index) != ZD_NOT_FOUND;
}

static void look_at_key(struct zd_change *change, const char *key)
{
    const size_t len = strlen(change->path);
    const char *rest = key + len + (len == 0 ? 0 : 1);
    change->seen |= ZD_CHANGE_SEEN_KEY;
    if (is_chunk_of(change->before, rest) || is_chunk_of(change->meta, rest)) {
        change->seen |= ZD_CHANGE_SEEN_CHUNK;
    }
}

/* A document beside the node, below a missing parent, is of a node that the parent was hiding. */
static enum zd_purge_answer look_at(void *context, const struct zd_purge_key *key)
{
    struct zd_change *change = context;
    if (!zd_path_is_below(key->key, change->path)) {
        change->seen |= key->node != NULL ? ZD_CHANGE_SEEN_ORPHANS : 0;
    } else if (key->node == NULL) {
        look_at_key(change, key->key);
    } else if (strcmp(key->node, change->path) != 0) {
        change->seen |= ZD_CHANGE_SEEN_CHILD;
    }
    return (change->seen & change->enough) != 0 ? ZD_PURGE_STOP : ZD_PURGE_KEEP;
}

/* Whether a node above has stored consolidated metadata. */
static bool has_listing(const struct zd_change *change)
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
    if (change->ask.kind == ZD_METADATA_ERASE) {
        return change->subtree == NULL && (change->ask.keeps_children || before == NULL);
    }
    if (!zd_change_is_put(change) || change->meta == NULL) {
        return false;
    }
    if (change->meta->type == ZD_NODE_GROUP && before == NULL) {
        return has_listing(change);
    }
    return before == NULL || before->type != ZD_NODE_GROUP || change->meta->type != ZD_NODE_GROUP;
}

/* Of raw keys: whether chunks would be decoded as others, or never again. An array that is absent
 * or was not understood has none that could be spoilt: copies come in any order. */
static bool spoils_chunks(const struct zd_change *change)
{
    return change->ask.kind == ZD_METADATA_PUT_KEY && change->before != NULL &&
           zd_meta_is_array(change->before) &&
           !zd_meta_has_same_encoding(change->before, change->meta);
}

/* The first key is enough where any key decides. */
static bool stops_at_key(const struct zd_change *change)
{
    const struct zd_meta *before = change->before;
    if (spoils_chunks(change)) {
        return false;
    }
    if (change->ask.kind == ZD_METADATA_ERASE) {
        return !change->ask.keeps_children;
    }
    if (before != NULL && before->type != ZD_NODE_GROUP) {
        return true; /* there can be no nodes below */
    }
    return change->ask.kind == ZD_METADATA_PUT && !change->ask.erases_chunks &&
           change->meta != NULL && change->meta->type == ZD_NODE_ARRAY;
}

/* A new parent shows what is below it, too. */
static const char *look_path(const struct zd_change *change)
{
    for (size_t i = 0; has_listing(change) && i + 1 < change->n_places; i++) {
        if (change->place[i].is_new) {
            return change->place[i].path;
        }
    }
    return change->path;
}

enum zd_change_outcome zd_change_look(struct zd_change *change)
{
    change->purge.wait.status = ZD_OK;
    if (!has_to_look(change)) {
        return ZD_CHANGE_NEXT;
    }
    change->seen = 0;
    change->enough = ZD_CHANGE_SEEN_CHILD;
    change->enough |= stops_at_key(change) ? ZD_CHANGE_SEEN_KEY : 0;
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
    return zd_change_outcome_of(
        change, zd_fail(&change->err, ZD_INVALID, "\"%.200s\" %s", change->path, why));
}

/* Whether stored chunks would be decoded as others, or never again. */
static bool orphans_chunks(const struct zd_change *change)
{
    const struct zd_meta *before = change->before;
    if (spoils_chunks(change)) {
        return has_seen(change, ZD_CHANGE_SEEN_CHUNK);
    }
    if (!has_seen(change, ZD_CHANGE_SEEN_KEY) || change->ask.kind != ZD_METADATA_PUT ||
        change->ask.erases_chunks) {
        return false;
    }
    if (before == NULL || before->type == ZD_NODE_GROUP) {
        return change->meta->type == ZD_NODE_ARRAY;
    }
    return !zd_meta_has_same_chunks(before, change->meta);
}

static enum zd_change_outcome judge_erasure(struct zd_change *change)
{
    const bool has_child = has_seen(change, ZD_CHANGE_SEEN_CHILD);
    if (change->before == NULL && !has_child && !has_seen(change, ZD_CHANGE_SEEN_KEY)) {
        return zd_change_outcome_of(change,
            zd_fail(&change->err, ZD_NOT_FOUND, "there is no node at \"%.200s\"", change->path));
    }
    return change->ask.keeps_children && has_child
               ? refuse_place(
                     change, "not_empty", "has children; omit recursive=0 to delete them as well")
               : ZD_CHANGE_NEXT;
}

/* By the keys below that were seen, here or on the way to erase them. */
enum zd_change_outcome zd_change_look_end(struct zd_change *change)
{
    if (change->purge.wait.status != ZD_OK) {
        return zd_change_outcome_of_wait(change, &change->purge.wait);
    }
    if (change->ask.kind == ZD_METADATA_ERASE) {
        return judge_erasure(change);
    }
    if (!zd_change_is_put(change) || change->meta == NULL) {
        return ZD_CHANGE_NEXT;
    }
    if (change->meta->type == ZD_NODE_ARRAY && has_seen(change, ZD_CHANGE_SEEN_CHILD)) {
        return refuse_place(
            change, "not_empty", "has nodes below it: an array cannot have children");
    }
    if (orphans_chunks(change)) {
        return refuse_place(change, "chunks_exist",
            change->key == NULL
                ? "has chunks that the document would orphan; erase_chunks=1 erases them"
                : "has stored chunks the new document could not read; delete them first");
    }
    return ZD_CHANGE_NEXT;
}
