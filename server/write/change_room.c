/* Changing documents: memory for texts that may be long, since they hold consolidated metadata. A
 * change of a node holds those of all nodes above it, until they are stored again. */
#include "core/base/num.h"
#include "server/runtime/server.h"
#include "server/write/change.h"

#define FREE_BYTES (UINT64_C(256) << 10) /* of all texts of a change, that are not counted */

static uint64_t stored_bytes(const struct zd_change_place *place)
{
    uint64_t n = 0;
    for (size_t i = 0; place->wants_bytes && i < ZD_DOCUMENTS_MAX; i++) {
        const struct zd_stat *stat = &place->node->stat[i];
        n += zd_generation_is_set(stat->generation) ? stat->size : 0;
    }
    return n;
}

/* Beside what is stored of the node: its new text, and what the listings in both are found by. */
static uint64_t new_bytes(const struct zd_change *change)
{
    const struct zd_change_place *target = &change->place[change->n_places - 1];
    const struct zd_stored_listing *listing = change->input.listing;
    if (listing != NULL) {
        return zd_stored_listing_text(listing).len;
    }
    return target->wants_bytes ? stored_bytes(target) + 2 * target->node->meta->listing_index_bytes
                               : 0;
}

/* The stored texts of parents go one by one, as soon as the new text of each is made. */
static uint64_t bytes_of_texts(const struct zd_change *change)
{
    uint64_t all = 0;
    uint64_t largest = 0;
    for (size_t i = 0; i < change->n_places; i++) {
        const struct zd_change_place *place = &change->place[i];
        const uint64_t n = stored_bytes(place);
        all += n;
        largest = i + 1 == change->n_places
                      ? largest
                      : zd_max_u64(largest,
                            zd_max_u64(n,
                                place->wants_bytes ? place->node->meta->listing_index_bytes : 0));
    }
    return all + largest + new_bytes(change);
}

/* A change that must wait unlocks the metadata and looks again later: a change that has room may
 * need the lock. Once the document is stored, the change goes on with its present room. */
enum zd_change_outcome zd_change_room(struct zd_change *change)
{
    struct zd_allowance_want *room = &change->room;
    const uint64_t bytes = bytes_of_texts(change);
    if (change->phase != ZD_CHANGE_DOCUMENTS || bytes <= FREE_BYTES ||
        (room->allowance != NULL && room->bytes >= bytes)) {
        return ZD_CHANGE_NEXT;
    }
    zd_allowance_release(room);
    room->wait = zd_gather_wait(&change->gather);
    const enum zd_next next = zd_allowance_want(&change->dataset->server->changes, bytes,
        "changing a document and the consolidated metadata in and above it", room);
    if (next == ZD_WAIT) {
        zd_lock_release(&change->metadata_lock);
    }
    zd_gather_add(&change->gather, next);
    return ZD_CHANGE_NEXT;
}

enum zd_change_outcome zd_change_room_end(struct zd_change *change)
{
    const enum zd_change_outcome outcome = zd_change_outcome_of_wait(change, &change->room.wait);
    if (outcome != ZD_CHANGE_NEXT || change->metadata_lock.claim.is_held) {
        return outcome;
    }
    zd_change_forget(change);
    return ZD_CHANGE_MORE;
}
