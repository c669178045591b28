/* Which ranges of one object are read together. Pure. Thread: any. */
#ifndef ZD_CORE_STORE_REMOTE_RANGE_MERGE_H
#define ZD_CORE_STORE_REMOTE_RANGE_MERGE_H

#include "core/base/buf.h"
#include "core/base/status.h"

/** Limits of a read of several ranges. */
struct zd_range_merge_limits {
    uint64_t gap_max;   /* bytes between two of them that are read for nothing */
    uint64_t bytes_max; /* of one read of several */
    uint32_t percent;   /* bytes read for nothing, per 100 that are wanted */
};

/**
 * Decide for each range whether the next one is read with it: those that touch or overlap, then
 * those with the smallest gaps first, until the bytes read for nothing are as many as they may be.
 *
 * @param range    n of them, by `first`; no sum of first and len overflows
 * @param ret_next n of them: range[i + 1] is in the read of range[i]; false for the last
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_range_merge(const struct zd_byte_range *range, size_t n,
    const struct zd_range_merge_limits *limits, bool *ret_next);

#endif
