/* The memory of all listings of remote stores: names and indexes, until the last page. */
#ifndef ZD_CORE_STORE_CONTRACT_LISTING_ROOM_H
#define ZD_CORE_STORE_CONTRACT_LISTING_ROOM_H

#include "core/store/contract/store.h"

/** The part of one listing; zeroed but for `of`, it holds nothing. */
struct zd_listing_room {
    struct zd_store_memory *of; /* of all; borrowed. bytes_max 0 = no bound */
    uint64_t bytes;
};

/**
 * A listing holds so many bytes from now on, in place of what it held.
 *
 * @retval ZD_TOO_LARGE it alone would hold more than all may; fact limit. It holds what it held
 * @retval ZD_NO_MEMORY the same with what others hold
 * Thread: loop.
 */
ZD_RESULT zd_listing_room_set(struct zd_listing_room *room, uint64_t bytes, struct zd_error *err);

/** It holds nothing any more. Thread: loop. */
void zd_listing_room_done(struct zd_listing_room *room);

#endif
