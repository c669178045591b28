/* Checked arithmetic, and integers in memory. */
#ifndef ZD_CORE_BASE_NUM_H
#define ZD_CORE_BASE_NUM_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* C23 spells these so; true means that the result does not fit. */
#ifndef ckd_add
#define ckd_add(result, a, b) __builtin_add_overflow(a, b, result)
#define ckd_sub(result, a, b) __builtin_sub_overflow(a, b, result)
#define ckd_mul(result, a, b) __builtin_mul_overflow(a, b, result)
#endif

/* Elements in memory are little-endian, as Zarr's clients get them: one byte order less to test. */
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "zarrd runs on little-endian machines");

/* For products of two 64-bit numbers, and times that are exact over all years. */
__extension__ typedef __int128 zd_i128;
__extension__ typedef unsigned __int128 zd_u128;

#define ZD_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static inline uint64_t zd_min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t zd_max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/** Bytes that will be read soon: the processor may bring them nearer meanwhile. Any address. */
static inline void zd_prefetch(const void *at)
{
    __builtin_prefetch(at);
}

/** ceil(a / b) without overflow; b >= 1. */
static inline uint64_t zd_div_up(uint64_t a, uint64_t b)
{
    return a == 0 ? 0 : 1 + (a - 1) / b;
}

/** product(factor[0 .. n)), unless it does not fit; the product of nothing is 1. */
static inline bool zd_product_overflows(uint64_t *ret_product, const uint64_t *factor, uint32_t n)
{
    uint64_t product = 1;
    bool empty = false;
    for (uint32_t i = 0; i < n; i++) {
        empty = empty || factor[i] == 0;
    }
    for (uint32_t i = 0; i < n && !empty; i++) {
        if (ckd_mul(&product, product, factor[i])) {
            return true;
        }
    }
    *ret_product = empty ? 0 : product;
    return false;
}

static inline uint16_t zd_load_u16(const void *at)
{
    uint16_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static inline uint32_t zd_load_u32(const void *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static inline uint64_t zd_load_u64(const void *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static inline void zd_store_u32(void *at, uint32_t value)
{
    memcpy(at, &value, sizeof value);
}

static inline void zd_store_u64(void *at, uint64_t value)
{
    memcpy(at, &value, sizeof value);
}

#endif
