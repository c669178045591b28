/* The memory of all listings of remote stores. */
#include "core/store/contract/listing_room.h"

enum zd_status zd_listing_room_set(
    struct zd_listing_room *room, uint64_t bytes, struct zd_error *err)
{
    struct zd_store_memory *of = room->of;
    const uint64_t others = of->bytes - room->bytes;
    if (of->bytes_max != 0 && bytes > of->bytes_max) {
        return zd_fail_limit(err, of->bytes_max, bytes,
            "a listing needs %llu bytes; all listings of remote stores may use %llu: list fewer "
            "nodes at a time, or give the server more memory",
            (unsigned long long)bytes, (unsigned long long)of->bytes_max);
    }
    if (of->bytes_max != 0 && bytes > of->bytes_max - others) {
        return zd_fail(err, ZD_NO_MEMORY,
            "the running listings of remote stores use %llu of %llu bytes; retry later",
            (unsigned long long)others, (unsigned long long)of->bytes_max);
    }
    of->bytes = others + bytes;
    room->bytes = bytes;
    return ZD_OK;
}

void zd_listing_room_done(struct zd_listing_room *room)
{
    if (room->of != NULL) {
        room->of->bytes -= room->bytes;
        room->bytes = 0;
    }
}
