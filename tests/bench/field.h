/* The values of the arrays that are sliced: cheap, exact in float32, smooth but for the last bits.
 * tests/bench/data.py computes the same with numpy. */
#ifndef ZD_TESTS_BENCH_FIELD_H
#define ZD_TESTS_BENCH_FIELD_H

#include <stdint.h>

#define ZD_BENCH_TIMES 64
#define ZD_BENCH_WIDTH 512 /* rows, and columns */

/** Three bits of noise for a cell. */
static inline uint32_t zd_bench_noise(uint32_t time, uint32_t row, uint32_t column)
{
    uint32_t h = time * 73856093U ^ row * 19349663U ^ column * 83492791U;
    h ^= h >> 13;
    h *= 0x5bd1e995U;
    return (h >> 15) & 7U;
}

/** The value of a cell, a multiple of 1/64 below 2^18/64. */
static inline float zd_bench_field(uint32_t time, uint32_t row, uint32_t column)
{
    const uint32_t smooth = 40 * time + (row * row >> 6) + (row * column >> 5) + 3 * column;
    return (float)(8 * smooth + zd_bench_noise(time, row, column)) / 64.0F;
}

#endif
