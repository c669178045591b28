/* Bytes that are held, counted by all who hold some. */
#ifndef ZD_CORE_BASE_TALLY_H
#define ZD_CORE_BASE_TALLY_H

#include <stdatomic.h>
#include <stdint.h>

/** A sum that threads share; zeroed at the start. */
struct zd_tally {
    _Atomic uint64_t bytes;
};

/** Thread: any. */
static inline uint64_t zd_tally_bytes(const struct zd_tally *tally)
{
    return atomic_load_explicit(&tally->bytes, memory_order_relaxed);
}

/** Thread: any. */
static inline void zd_tally_add(struct zd_tally *tally, uint64_t bytes)
{
    (void)atomic_fetch_add_explicit(&tally->bytes, bytes, memory_order_relaxed);
}

/** Subtract bytes that were added before. Thread: any. */
static inline void zd_tally_sub(struct zd_tally *tally, uint64_t bytes)
{
    (void)atomic_fetch_sub_explicit(&tally->bytes, bytes, memory_order_relaxed);
}

#endif
