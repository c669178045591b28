/* Generations: which version of a stored object it is. */
#ifndef ZD_CORE_STORE_CONTRACT_GENERATION_H
#define ZD_CORE_STORE_CONTRACT_GENERATION_H

#include <stdbool.h>
#include <stdint.h>

/** The version of a stored object: changes whenever the object does, and never comes back. Zero is
 * none. */
struct zd_generation {
    uint64_t word[2];
};

static inline bool zd_generation_equal(struct zd_generation a, struct zd_generation b)
{
    return a.word[0] == b.word[0] && a.word[1] == b.word[1];
}

/** Whether it is a generation at all. */
static inline bool zd_generation_is_set(struct zd_generation generation)
{
    return !zd_generation_equal(generation, (struct zd_generation){0});
}

/** The facts of an object without its bytes. */
struct zd_stat {
    struct zd_generation generation;
    uint64_t size;    /* bytes */
    int64_t mtime_ms; /* since 1970-01-01 UTC; 0 = unknown */
};

#endif
