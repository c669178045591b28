/* Reads of a plan over a delayed store (store_delay), and what comes of them. */
#ifndef ZD_TESTS_SUPPORT_PLAN_READS_H
#define ZD_TESTS_SUPPORT_PLAN_READS_H

#include "tests/support/store_delay.h"

#define ZD_PLAN_READS_MAX 128

extern struct zd_store *zd_plan;
extern struct zd_store_read zd_plan_reads[ZD_PLAN_READS_MAX];
extern size_t zd_plan_n_done; /* calls of zd_plan_done */

/** Begin a test with a plan. @param trusted_ms as in zd_store_config */
void zd_plan_begin(uint64_t trusted_ms);
void zd_plan_end(void);

/** The `done` of all operations: counts. */
void zd_plan_done(struct zd_store_op *op);

/** Start the i-th read. */
void zd_plan_ask(size_t i, const char *key, struct zd_range range);
void zd_plan_ask_whole(size_t i, const char *key);
void zd_plan_ask_range(size_t i, const char *key, uint64_t first, uint64_t len);

/** The i-th read has given these bytes of its object, which go; or it has ended without any. */
void zd_plan_expect_bytes(size_t i, uint64_t first, uint64_t len);
void zd_plan_expect_status(size_t i, enum zd_status status);

#endif
