/* How long the reads of an endpoint take, as far as it is known. */
#include "core/store/remote/latency.h"

#include "core/base/num.h"

#define SAMPLES_MIN  20                    /* before anything is said of late reads */
#define SAMPLES_MAX  512                   /* then all counts are halved */
#define FIRST_US     64                    /* the end of the first bucket */
#define LONG_BYTES   (UINT64_C(256) << 10) /* of reads that tell how fast bytes come */
#define RATE_WEIGHT  0.125                 /* of the newest one */
#define BEGIN_US     30000                 /* while nothing is known */
#define BYTES_PER_US 50.0                  /* the same */
#define GAP_MIN      (UINT64_C(4) << 10)
#define GAP_MAX      (UINT64_C(8) << 20)

/* The last kind: nobody knows beforehand how long the object is. */
static unsigned kind_of(const struct zd_range *range)
{
    static const uint64_t most[] = {UINT64_C(64) << 10, UINT64_C(512) << 10, UINT64_C(4) << 20};
    unsigned kind = 0;
    if (range->kind == ZD_RANGE_WHOLE) {
        return ZD_LATENCY_KINDS - 1;
    }
    while (kind < ZD_COUNT_OF(most) && range->len > most[kind]) {
        kind++;
    }
    return kind;
}

/* The end of a bucket: FIRST_US, and then 5/4, 6/4, 7/4 and 2 times the octave's beginning. */
static uint64_t end_us(unsigned bucket)
{
    return bucket == 0 ? FIRST_US
                       : ((uint64_t)FIRST_US << ((bucket - 1) / 4)) * (5 + (bucket - 1) % 4) / 4;
}

static unsigned bucket_of(uint64_t us)
{
    unsigned bucket = 0;
    while (bucket < ZD_LATENCY_BUCKETS - 1 && us > end_us(bucket)) {
        bucket++;
    }
    return bucket;
}

/* The time within which so many of 100 end; the kind has samples. */
static uint64_t percentile_us(const struct zd_latency_kind *kind, uint32_t percent)
{
    uint64_t n = 0;
    unsigned bucket = 0;
    for (; bucket < ZD_LATENCY_BUCKETS - 1; bucket++) {
        n += kind->bucket[bucket];
        if (n * 100 >= (uint64_t)kind->n * percent) {
            break;
        }
    }
    return end_us(bucket);
}

static void halve(struct zd_latency_kind *kind)
{
    kind->n = 0;
    for (unsigned i = 0; i < ZD_LATENCY_BUCKETS; i++) {
        kind->bucket[i] /= 2;
        kind->n += kind->bucket[i];
    }
}

/* The time until bytes come: what the shortest reads take. */
static uint64_t begin_us(const struct zd_latency *latency)
{
    for (unsigned i = 0; i < ZD_LATENCY_KINDS; i++) {
        if (latency->kind[i].n > 0) {
            return percentile_us(&latency->kind[i], 50);
        }
    }
    return BEGIN_US;
}

void zd_latency_note(
    struct zd_latency *latency, const struct zd_range *range, uint64_t bytes, uint64_t us)
{
    struct zd_latency_kind *kind = &latency->kind[kind_of(range)];
    const uint64_t waited_us = zd_min_u64(begin_us(latency), us / 2);
    kind->bucket[bucket_of(us)]++;
    kind->n++;
    if (kind->n >= SAMPLES_MAX) {
        halve(kind);
    }
    if (bytes >= LONG_BYTES) {
        const double rate = (double)bytes / (double)zd_max_u64(us - waited_us, 1);
        latency->bytes_per_us +=
            latency->bytes_per_us == 0.0 ? rate : RATE_WEIGHT * (rate - latency->bytes_per_us);
    }
}

uint64_t zd_latency_late_us(const struct zd_latency *latency, const struct zd_range *range)
{
    const struct zd_latency_kind *kind = &latency->kind[kind_of(range)];
    return kind->n < SAMPLES_MIN ? 0 : percentile_us(kind, 95);
}

uint64_t zd_latency_gap(const struct zd_latency *latency)
{
    const double rate = latency->bytes_per_us == 0.0 ? BYTES_PER_US : latency->bytes_per_us;
    const double bytes = rate * (double)begin_us(latency);
    return bytes >= (double)GAP_MAX ? GAP_MAX : zd_max_u64(GAP_MIN, (uint64_t)bytes);
}
