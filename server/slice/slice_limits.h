/* Slices that are too large, and pieces of them that are not. Thread: loop. */
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

/** The decoded bytes and the chunks against their limits. @retval ZD_TOO_LARGE facts limit,
 * requested */
ZD_RESULT zd_slice_limits_check(const struct zd_slice_limits_whole *whole, struct zd_error *err);

/** {"suggestions": [...], "n_suggestions": n} of pieces that together are the slice, owned; NULL
 * without memory. */
struct zd_json *zd_slice_limits_suggest(const struct zd_slice_limits_whole *whole);

#endif
