/* CRC-32C (Castagnoli): by the processor where it can, by tables elsewhere. */
#include "core/codec/crc32c.h"

#include "core/base/num.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

#define POLYNOMIAL 0x82F63B78U /* reflected */
#define START      0xFFFFFFFFU
#define STEP_BYTES 8

#if defined(__x86_64__)

bool zd_crc32c_is_native(void)
{
    return __builtin_cpu_supports("sse4.2");
}

__attribute__((target("sse4.2"))) uint32_t zd_crc32c_native(struct zd_span bytes)
{
    uint64_t crc = START;
    size_t i = 0;
    for (; bytes.len - i >= STEP_BYTES; i += STEP_BYTES) {
        crc = _mm_crc32_u64(crc, zd_load_u64(bytes.ptr + i));
    }
    uint32_t rest = (uint32_t)crc;
    for (; i < bytes.len; i++) {
        rest = _mm_crc32_u8(rest, bytes.ptr[i]);
    }
    return ~rest;
}

#else

bool zd_crc32c_is_native(void)
{
    return false;
}

uint32_t zd_crc32c_native(struct zd_span bytes)
{
    (void)bytes;
    assert(false);
    return 0;
}

#endif

/* row[n][b]: the checksum of the byte b followed by n zero bytes. */
void zd_crc32c_table_init(struct zd_crc32c_table *table)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++) {
            crc = (crc & 1) != 0 ? crc >> 1 ^ POLYNOMIAL : crc >> 1;
        }
        table->row[0][byte] = crc;
    }
    for (uint32_t n = 1; n < ZD_CRC32C_ROWS; n++) {
        for (uint32_t byte = 0; byte < 256; byte++) {
            const uint32_t crc = table->row[n - 1][byte];
            table->row[n][byte] = crc >> 8 ^ table->row[0][crc & 0xFF];
        }
    }
}

uint32_t zd_crc32c_by_table(const struct zd_crc32c_table *table, struct zd_span bytes)
{
    uint32_t crc = START;
    size_t i = 0;
    for (; bytes.len - i >= STEP_BYTES; i += STEP_BYTES) {
        uint64_t step = zd_load_u64(bytes.ptr + i) ^ crc;
        crc = 0;
        for (uint32_t n = ZD_CRC32C_ROWS; n-- > 0;) {
            crc ^= table->row[n][step & 0xFF];
            step >>= 8;
        }
    }
    for (; i < bytes.len; i++) {
        crc = crc >> 8 ^ table->row[0][(crc ^ bytes.ptr[i]) & 0xFF];
    }
    return ~crc;
}

enum zd_status zd_crc32c_init(struct zd_crc32c *crc32c)
{
    struct zd_crc32c_table *table = NULL;
    if (!zd_crc32c_is_native()) {
        table = zd_alloc(sizeof *table);
        if (table == NULL) {
            return ZD_NO_MEMORY;
        }
        zd_crc32c_table_init(table);
    }
    *crc32c = (struct zd_crc32c){.table = table};
    return ZD_OK;
}

void zd_crc32c_done(struct zd_crc32c *crc32c)
{
    zd_free(crc32c->table);
    crc32c->table = NULL;
}

uint32_t zd_crc32c_of(const struct zd_crc32c *crc32c, struct zd_span bytes)
{
    return crc32c->table == NULL ? zd_crc32c_native(bytes)
                                 : zd_crc32c_by_table(crc32c->table, bytes);
}
