/* Shared by unit tests: one suite a program, and the fault-injecting loop. */
#ifndef ZD_TESTS_SUPPORT_UNIT_H
#define ZD_TESTS_SUPPORT_UNIT_H

#include "core/base/buf.h"
#include "core/base/num.h"
#include "core/base/status.h"
#include "tests/support/check.h"

/** Every test program defines this: it adds its test functions to the case. */
void zd_unit_tests(TCase *tests);

/**
 * Run `work` with its 1st, 2nd, 3rd ... allocation failing until it succeeds; each failure must be
 * ZD_NO_MEMORY. Leaks show under the sanitizers.
 */
void zd_unit_with_failing_memory(enum zd_status (*work)(void *context), void *context);

/** Bytes from hexadecimal text (spaces ignored), owned; fails the test when malformed. */
struct zd_buf *zd_unit_hex(const char *hex);

/** A whole file below the source directory, owned; fails the test when it is missing. */
struct zd_buf *zd_unit_file(const char *path);

struct zd_config;

/** The default settings; release with zd_config_done. */
void zd_unit_config(struct zd_config *ret_config);

/** A pseudo-random number; the seed is printed, and can be set with ZD_SEED. */
uint64_t zd_unit_random(void);

#endif
