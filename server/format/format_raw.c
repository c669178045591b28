/* raw: the elements and nothing else, little-endian, C order. */
#include "server/format/format.h"

static bool accepts_any(const struct zd_dtype *dtype, uint32_t rank)
{
    (void)dtype;
    (void)rank;
    return true;
}

static bool raw_size(const struct zd_answer *answer, uint64_t *ret_bytes)
{
    return zd_format_fixed_size(answer, 0, ret_bytes);
}

static enum zd_status raw_read_head(const struct zd_dtype *dtype, struct zd_span bytes,
    struct zd_body_head *ret_head, struct zd_error *err)
{
    (void)dtype;
    (void)bytes;
    (void)err;
    *ret_head = (struct zd_body_head){0};
    return ZD_OK;
}

const struct zd_format zd_format_raw = {
    .name = "raw",
    .media_type = "application/octet-stream",
    .accepts = accepts_any,
    .size = raw_size,
    .read_head = raw_read_head,
};
