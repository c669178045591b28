/* How an engine treats conditions of uploads in parts. Writers that race find it out, as in
 * s3_probe for single requests. Thread: loop. */
#ifndef ZD_CORE_STORE_S3_S3_UPLOAD_PROBE_H
#define ZD_CORE_STORE_S3_S3_UPLOAD_PROBE_H

#include "core/store/s3/s3_race.h"

/**
 * Wait for s3->uploads, which is not known yet (asserted); the first one begins the probe.
 * s3->able is known (asserted).
 *
 * @param wait the caller's memory until done
 * @retval ZD_NO_MEMORY done will not run
 */
ZD_RESULT zd_s3_upload_probe_want(
    struct zd_s3_store *s3, struct zd_s3_race_wait *wait, struct zd_error *err);

#endif
