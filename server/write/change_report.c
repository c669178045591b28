/* Changing documents: events of the nodes and chunks that have changed. */
#include <string.h>

#include "server/data/events.h"
#include "server/data/tag.h"
#include "server/write/change.h"

#define REPORTED_AT_ONCE 256 /* chunks */

/* A group's tag is of its document only: its children have events of their own, and listing them
 * for each change would cost more than the change. */
static void tag_of(
    const struct zd_change_place *place, enum zd_node_type type, char etag[ZD_TAG_BYTES])
{
    const uint32_t n = place->change->dialect->n_documents;
    zd_tag_node(etag, type, zd_tag_documents(place->stat, n));
}

/* Listings have no events: they repeat what the documents say. */
void zd_change_report(struct zd_change *change)
{
    const bool is_made = change->verdict < ZD_VERDICT_FAILED;
    char etag[ZD_TAG_BYTES];
    if (change->ask.kind == ZD_METADATA_CONSOLIDATE) {
        return;
    }
    if (change->verdict == ZD_VERDICT_LOST || (zd_change_is_erasure(change) && is_made)) {
        /* A group without a document existed by what was below it. */
        if (change->before != NULL || change->ask.kind == ZD_METADATA_ERASE) {
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

void zd_change_report_rest(struct zd_change *change)
{
    if (change->n_erased > 0) {
        zd_events_chunks(change->dataset->events, change->path, change->meta->grid.rank,
            change->erased_index, change->n_erased, ZD_CHUNKS_ERASED);
    }
    change->n_erased = 0;
}

/* Without memory for several, each has an event of its own. */
void zd_change_report_erased(struct zd_change *change, const uint64_t *index)
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
        zd_change_report_rest(change);
    }
}
