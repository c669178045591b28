/* How long chunks of a dataset took lately, as requests saw it: measured, for expectations. Thread:
 * loop. */
#ifndef ZD_DATA_SPEED_H
#define ZD_DATA_SPEED_H

#include <stdbool.h>
#include <stdint.h>

/** Sums over the chunks that were read lately; the older a chunk, the less it counts. Zeroed:
 * nothing is known. */
struct zd_speed {
    double n_chunks;
    double store_ns;    /* that requests waited for the store */
    double decode_ns;   /* and for decoding */
    double foreseen_ns; /* that decoding them was thought to take (struct zd_level) */
};

/** The expected times of some chunks. */
struct zd_speed_times {
    uint64_t store_ns;
    uint64_t decode_ns;
    bool is_measured; /* else the store is taken to cost nothing, and decoding what was foreseen */
};

/**
 * Chunks were read side by side.
 *
 * @param whole_ns    as their request saw it; read_ns and decode_ns, of each chunk by itself, say
 *                    how it is shared out
 * @param foreseen_ns decode_ns of their level, of all together
 */
void zd_speed_add(struct zd_speed *speed, uint64_t n_chunks, uint64_t whole_ns, uint64_t read_ns,
    uint64_t decode_ns, uint64_t foreseen_ns);

/** So many chunks that are not at hand. @param foreseen_ns as above */
struct zd_speed_times zd_speed_expect(
    const struct zd_speed *speed, uint64_t n_chunks, uint64_t foreseen_ns);

#endif
