/* raw: the elements and nothing else, little-endian, C order. */
#include "server/format/format.h"

static bool raw_size(const struct zd_answer *answer, uint64_t *ret_bytes)
{
    return zd_format_fixed_size(answer, 0, ret_bytes);
}

const struct zd_format zd_format_raw = {
    .name = "raw",
    .media_type = "application/octet-stream",
    .extension = "bin",
    .size = raw_size,
};
