/* How an engine treats conditions of writes. The probe uses objects of its own and writers that
 * race, since some engines obey a single writer and let several concurrent ones win. Thread: loop.
 */
#ifndef ZD_CORE_STORE_S3_S3_PROBE_H
#define ZD_CORE_STORE_S3_S3_PROBE_H

#include "core/store/s3/s3_race.h"

/**
 * Wait for the abilities, which are not known yet (asserted); the first one begins the probe.
 *
 * @param wait the caller's memory until done
 * @retval ZD_NO_MEMORY done will not run
 */
ZD_RESULT zd_s3_probe_want(
    struct zd_s3_store *s3, struct zd_s3_race_wait *wait, struct zd_error *err);

/**
 * Whether the engine obeys the condition of a change; the abilities are known if it has one.
 *
 * @retval ZD_UNABLE write->op.err says what it does not obey
 */
ZD_RESULT zd_s3_probe_judge(
    const struct zd_s3_store *s3, struct zd_store_write *write, bool is_erasure);

#endif
