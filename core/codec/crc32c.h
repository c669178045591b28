/* CRC-32C (Castagnoli): by the processor where it can, by tables elsewhere. */
#ifndef ZD_CORE_CODEC_CRC32C_H
#define ZD_CORE_CODEC_CRC32C_H

#include "core/base/buf.h"
#include "core/base/status.h"

#define ZD_CRC32C_ROWS 8

/** The table of the portable implementation: it looks up eight bytes at a time. */
struct zd_crc32c_table {
    uint32_t row[ZD_CRC32C_ROWS][256];
};

/** Whether this processor computes CRC-32C itself. Thread: any. */
bool zd_crc32c_is_native(void);

/** The checksum by the processor; zd_crc32c_is_native() is true. Thread: any. */
uint32_t zd_crc32c_native(struct zd_span bytes);

/** The checksum by a table that was prepared. Thread: any. */
void zd_crc32c_table_init(struct zd_crc32c_table *table);
uint32_t zd_crc32c_by_table(const struct zd_crc32c_table *table, struct zd_span bytes);

/** The implementation that the processor allows. Begin with zd_crc32c_init. */
struct zd_crc32c {
    struct zd_crc32c_table *table; /* NULL: the processor does it; owned */
};
ZD_RESULT zd_crc32c_init(struct zd_crc32c *crc32c);
void zd_crc32c_done(struct zd_crc32c *crc32c);
uint32_t zd_crc32c_of(const struct zd_crc32c *crc32c, struct zd_span bytes);

#endif
