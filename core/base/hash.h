/* Hashes: fast ones for tables and tags (XXH3), not for secrets. */
#ifndef ZD_CORE_BASE_HASH_H
#define ZD_CORE_BASE_HASH_H

#include "core/base/buf.h"

/** 64 bits of XXH3 over bytes; the seed keeps strangers from choosing collisions. Thread: any. */
uint64_t zd_hash_of(struct zd_span bytes, uint64_t seed);

/** 32 bits of XXH32 over bytes, the older hash of that family: formats store it. Thread: any. */
uint32_t zd_hash_32(struct zd_span bytes, uint32_t seed);

/** A hash under construction, for entity tags: 64 bits that depend on every addition and its order.
 */
struct zd_hash {
    uint64_t value; /* start with 0 */
};

void zd_hash_add(struct zd_hash *hash, struct zd_span bytes);
void zd_hash_add_u64(struct zd_hash *hash, uint64_t value);

/** A seed that differs in every process. Thread: any. */
uint64_t zd_hash_random_seed(void);

#endif
