/* Changing documents: the consolidated metadata of the nodes above. */
#include <string.h>

#include "server/write/change.h"

/* To write a text again of which little changes; measured. */
#define RELIST_NS_PER_BYTE 10

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
    return change->phase == ZD_CHANGE_DOCUMENTS ? change->meta : node == NULL ? NULL : node->meta;
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
static bool is_unlisted(const struct zd_change *change, size_t holder, const char *rest, size_t i)
{
    const struct zd_json *listing = change->place[holder].node->meta->consolidated;
    return change->has_made && change->place[i].node != NULL &&
           zd_json_member(listing, rest) == NULL;
}

/* The changes of an ancestor's listing: new parents, and the node. Borrowed from the change.
 * @param ret_change room for n_places + 1 */
static size_t changes_for(
    struct zd_change *change, size_t holder, struct zd_listing_change *ret_change)
{
    const char *rest = below(&change->place[holder], change->path);
    const struct zd_meta *meta = listed_meta(change);
    size_t n = 0;
    for (size_t i = holder + 1; i + 1 < change->n_places; i++) {
        const struct zd_change_place *place = &change->place[i];
        const char *parent = below(&change->place[holder], place->path);
        if (place->node == NULL && place->is_new) {
            ret_change[n++] =
                (struct zd_listing_change){.path = parent, .document = change->new_group};
        } else if (place->is_new || is_unlisted(change, holder, parent, i)) {
            ret_change[n++] =
                (struct zd_listing_change){.path = parent, .document = place->node->meta->document};
        }
    }
    if (meta == NULL || meta->type == ZD_NODE_ARRAY) {
        ret_change[n++] = (struct zd_listing_change){.path = rest}; /* and everything below it */
    }
    if (meta != NULL) {
        ret_change[n++] = (struct zd_listing_change){.path = rest, .document = meta->document};
    }
    return n;
}

static enum zd_status refresh_listing(struct zd_change *change, size_t holder)
{
    struct zd_change_place *place = &change->place[holder];
    const struct zd_documents stored = zd_change_judge_documents(place);
    struct zd_listing_change *changes = zd_alloc_zero(change->n_places + 1, sizeof *changes);
    if (changes == NULL) {
        return zd_fail(&change->err, ZD_NO_MEMORY, "no memory for consolidated metadata");
    }
    const size_t n = changes_for(change, holder, changes);
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
        place->node->meta->has_unread_listing) {
        return drop_listing(change, place);
    }
    const enum zd_status status = refresh_listing(change, holder);
    return status == ZD_TOO_LARGE ? drop_listing(change, place) : status;
}

static enum zd_status relist(struct zd_change *change)
{
    for (size_t i = 0; i + 1 < change->n_places; i++) {
        /* Some parents of a change that failed may be missing. */
        if (change->place[i].wants_bytes &&
            (change->phase == ZD_CHANGE_DROP || is_reached(change, i))) {
            ZD_TRY(relist_one(change, i));
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
