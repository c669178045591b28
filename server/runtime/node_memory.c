/* Memory for parsed nodes. */
#include "server/runtime/node_memory.h"

#include "core/base/own.h"

#define SMALL_BYTES (64 << 10)
#define SMALL_PART  4 /* one part is for small ones alone */

void zd_node_memory_init(struct zd_node_memory *parsed, uint64_t bytes_max)
{
    *parsed = (struct zd_node_memory){.bytes_max = bytes_max};
}

enum zd_status zd_node_memory_take(
    struct zd_node_memory *parsed, uint64_t bytes, const char *what, struct zd_error *err)
{
    const bool is_small = bytes <= SMALL_BYTES;
    const uint64_t own = parsed->bytes_max - (is_small ? 0 : parsed->bytes_max / SMALL_PART);
    const uint64_t held = zd_tally_bytes(&parsed->held);
    if (bytes > own) {
        return zd_fail_limit(err, own, bytes, "%s needs %llu bytes of memory; the limit is %llu",
            what, (unsigned long long)bytes, (unsigned long long)own);
    }
    if (held > own + parsed->bytes_admitted || bytes > own + parsed->bytes_admitted - held) {
        return zd_fail(err, ZD_AGAIN,
            "%s needs %llu bytes of memory; of %llu bytes, %llu are in use; retry later", what,
            (unsigned long long)bytes, (unsigned long long)(own + parsed->bytes_admitted),
            (unsigned long long)held);
    }
    zd_tally_add(&parsed->held, bytes);
    return ZD_OK;
}

void zd_node_memory_take_admitted(struct zd_node_memory *parsed, uint64_t bytes)
{
    zd_tally_add(&parsed->held, bytes);
}

void zd_node_memory_admit(
    struct zd_node_memory *parsed, uint64_t bytes, struct zd_node_memory_share *share)
{
    zd_node_memory_leave(share);
    *share = (struct zd_node_memory_share){.parsed = parsed, .bytes = bytes};
    parsed->bytes_admitted += bytes;
}

void zd_node_memory_leave(struct zd_node_memory_share *share)
{
    struct zd_node_memory *parsed = ZD_TAKE(share->parsed);
    if (parsed != NULL) {
        parsed->bytes_admitted -= share->bytes;
    }
}
