/* Changing documents: who reads the events is told (api.md 3.9). */
#include <string.h>

#include "server/events.h"
#include "server/metadata_change.h"
#include "server/node_show.h"

#define TOLD_AT_ONCE 256 /* chunks */

/* The tag of GET nodes, where that needs no look at children. */
static void tag_of(const struct zd_change *change, char etag[ZD_TAG_BYTES])
{
    const struct zd_place *place = &change->place[change->n_places - 1];
    struct zd_stat stat[ZD_DOCUMENTS_MAX] = {0};
    etag[0] = '\0';
    if (change->meta == NULL || change->meta->type != ZD_NODE_ARRAY) {
        return;
    }
    for (uint32_t i = 0; i < change->dialect->n_documents; i++) {
        const struct zd_place_document *document = &place->document[i];
        if (document->is_stored) {
            stat[i] = document->write.stat;
        } else if (place->node != NULL) {
            stat[i] = place->node->stat[i];
        }
    }
    zd_node_show_childless_tag(zd_node_tag(stat, change->dialect->n_documents), etag);
}

/* Listings are told to nobody: they say what is known. */
void zd_change_tell(struct zd_change *change)
{
    char etag[ZD_TAG_BYTES];
    if (change->ask.kind == ZD_METADATA_CONSOLIDATE) {
        return;
    }
    if (zd_change_is_erasure(change) || change->is_lost) {
        if (change->before != NULL) {
            zd_events_node(change->dataset, change->path, ZD_NODE_DELETED, NULL);
        }
        return;
    }
    for (size_t i = 0; i + 1 < change->n_places; i++) {
        if (change->place[i].is_new && (change->place[i].is_made || !change->is_failed)) {
            zd_events_node(change->dataset, change->place[i].path, ZD_NODE_CREATED, NULL);
        }
    }
    if (change->is_failed) {
        return; /* with nothing but parents */
    }
    tag_of(change, etag);
    zd_events_node(
        change->dataset, change->path, change->has_made ? ZD_NODE_CREATED : ZD_NODE_CHANGED, etag);
}

void zd_change_tell_rest(struct zd_change *change)
{
    if (change->n_erased > 0) {
        zd_events_chunks(change->dataset, change->path, change->meta->grid.rank,
            change->erased_index, change->n_erased, ZD_CHUNKS_ERASED);
    }
    change->n_erased = 0;
}

/* Without memory for several they are told one by one. */
void zd_change_tell_erased(struct zd_change *change, const uint64_t *index)
{
    const uint32_t rank = change->meta->grid.rank;
    if (change->erased_index == NULL) {
        change->erased_index =
            zd_alloc_zero((size_t)TOLD_AT_ONCE * rank, sizeof *change->erased_index);
    }
    if (change->erased_index == NULL) {
        zd_events_chunks(change->dataset, change->path, rank, index, 1, ZD_CHUNKS_ERASED);
        return;
    }
    memcpy(change->erased_index + change->n_erased * rank, index, rank * sizeof *index);
    change->n_erased++;
    if (change->n_erased == TOLD_AT_ONCE) {
        zd_change_tell_rest(change);
    }
}
