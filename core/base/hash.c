/* Hashes: fast ones for tables and tags (XXH3), not for secrets. */
#include "core/base/hash.h"

#include <sys/random.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

uint64_t zd_hash_of(struct zd_span bytes, uint64_t seed)
{
    return XXH3_64bits_withSeed(bytes.len == 0 ? "" : (const void *)bytes.ptr, bytes.len, seed);
}

uint32_t zd_hash_32(struct zd_span bytes, uint32_t seed)
{
    return XXH32(bytes.len == 0 ? "" : (const void *)bytes.ptr, bytes.len, seed);
}

void zd_hash_add(struct zd_hash *hash, struct zd_span bytes)
{
    /* The length goes in too: "ab" + "c" is not "a" + "bc". */
    zd_hash_add_u64(hash, bytes.len);
    hash->value = zd_hash_of(bytes, hash->value);
}

void zd_hash_add_u64(struct zd_hash *hash, uint64_t value)
{
    hash->value = XXH3_64bits_withSeed(&value, sizeof value, hash->value);
}

uint64_t zd_hash_random_seed(void)
{
    uint64_t seed = 0;
    if (getrandom(&seed, sizeof seed, 0) != (ssize_t)sizeof seed) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        seed = (uint64_t)now.tv_nsec ^ ((uint64_t)getpid() << 32);
    }
    return seed;
}
