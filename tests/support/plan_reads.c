/* Reads of a plan over a delayed store (store_delay), and what comes of them. */
#include "tests/support/plan_reads.h"

#include <stdio.h>

#include "tests/support/check.h"

struct zd_store *zd_plan;
struct zd_store_read zd_plan_reads[ZD_PLAN_READS_MAX];
size_t zd_plan_n_done;

void zd_plan_done(struct zd_store_op *op)
{
    (void)op;
    zd_plan_n_done++;
}

void zd_plan_begin(uint64_t trusted_ms)
{
    zd_delay_begin();
    zd_plan = zd_delay_open(7, trusted_ms);
    zd_plan_n_done = 0;
}

void zd_plan_end(void)
{
    zd_store_close(zd_plan);
    zd_delay_end();
}

void zd_plan_ask(size_t i, const char *key, struct zd_range range)
{
    struct zd_store_read *read = &zd_plan_reads[i];
    *read = (struct zd_store_read){.op.done = zd_plan_done, .range = range, .bytes_max = SIZE_MAX};
    (void)snprintf(read->key, sizeof read->key, "%s", key);
    zd_store_read(zd_plan, read);
}

void zd_plan_ask_whole(size_t i, const char *key)
{
    zd_plan_ask(i, key, (struct zd_range){.kind = ZD_RANGE_WHOLE});
}

void zd_plan_ask_range(size_t i, const char *key, uint64_t first, uint64_t len)
{
    zd_plan_ask(i, key, (struct zd_range){ZD_RANGE_FROM_TO, first, len});
}

void zd_plan_expect_bytes(size_t i, uint64_t first, uint64_t len)
{
    const struct zd_store_read *read = &zd_plan_reads[i];
    ck_assert_msg(read->op.status == ZD_OK, "read %zu: %s: %s", i, zd_status_name(read->op.status),
        read->op.err.text);
    ck_assert_uint_eq(read->bytes->len, len);
    for (uint64_t k = 0; k < len; k++) {
        ck_assert_uint_eq(read->bytes->data[k], zd_delay_byte(first + k));
    }
    zd_buf_unref(read->bytes);
}

void zd_plan_expect_status(size_t i, enum zd_status status)
{
    const struct zd_store_read *read = &zd_plan_reads[i];
    ck_assert_msg(read->op.status == status, "read %zu: %s: %s", i, zd_status_name(read->op.status),
        read->op.err.text);
    ck_assert_ptr_null(read->bytes);
}
