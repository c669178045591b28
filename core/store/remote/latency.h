/* How long the reads of an endpoint take, as far as it is known. Pure. Thread: any. */
#ifndef ZD_CORE_STORE_REMOTE_LATENCY_H
#define ZD_CORE_STORE_REMOTE_LATENCY_H

#include "core/store/contract/store.h"

#define ZD_LATENCY_KINDS   5
#define ZD_LATENCY_BUCKETS 80 /* four for each factor of 2 */

/** Reads of similar length; counts of the last few hundred, older ones weigh less. */
struct zd_latency_kind {
    uint32_t n;
    uint32_t bucket[ZD_LATENCY_BUCKETS];
};

struct zd_latency { /* zeroed = nothing is known */
    struct zd_latency_kind kind[ZD_LATENCY_KINDS];
    double bytes_per_us; /* of one long read; 0 = unknown */
};

/** Note a read that succeeded. @param range what was asked @param bytes that came */
void zd_latency_note(
    struct zd_latency *latency, const struct zd_range *range, uint64_t bytes, uint64_t us);

/** The time within which 95 of 100 reads like this one end, in microseconds; 0 = too few were seen.
 */
uint64_t zd_latency_late_us(const struct zd_latency *latency, const struct zd_range *range);

/** How many bytes come in the time that one more read takes to begin: reading them for nothing is
 * no slower. Within fixed bounds. */
uint64_t zd_latency_gap(const struct zd_latency *latency);

#endif
