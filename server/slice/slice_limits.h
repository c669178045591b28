/* What a slice may have: bytes and chunks. Thread: loop. */
#ifndef ZD_SLICE_SLICE_LIMITS_H
#define ZD_SLICE_SLICE_LIMITS_H

#include "server/data/catalog.h"

/** A slice, and how large it may be; everything borrowed. */
struct zd_slice_limits_whole {
    const struct zd_node *node;
    const struct zd_selection *selection; /* in the stored array */
    bool is_of_stored;                    /* the client counts from the first stored element */
    uint64_t bytes_max;
    const char *setting; /* that bytes_max is */
};

/** Compare its decoded bytes and its chunks with their limits. @retval ZD_TOO_LARGE facts limit,
 * requested */
ZD_RESULT zd_slice_limits_check(const struct zd_slice_limits_whole *whole, struct zd_error *err);

#endif
