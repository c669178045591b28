/* How an engine treats conditions of writes. The probe uses objects of its own and writers that
 * race, since some engines obey a single writer and let several concurrent ones win. Thread: loop.
 */
#ifndef ZD_CORE_STORE_S3_S3_PROBE_H
#define ZD_CORE_STORE_S3_S3_PROBE_H

#include "core/store/s3/s3_store.h"

/** Somebody who needs the abilities of the store. */
struct zd_s3_probe_wait {
    struct zd_list link;
    void (*done)(
        struct zd_s3_probe_wait *wait); /* once, never inside the call that began to wait */
    enum zd_status status;              /* ZD_OK: s3->able is known; else that of a request */
    struct zd_error err;
    struct zd_remote_fault fault;
};

/**
 * Wait for the abilities, which are not known yet (asserted); the first one begins the probe.
 *
 * @param wait the caller's memory until done
 * @retval ZD_NO_MEMORY done will not run
 */
ZD_RESULT zd_s3_probe_want(
    struct zd_s3_store *s3, struct zd_s3_probe_wait *wait, struct zd_error *err);

/** Whether an answer says that the engine knows of no such condition. Thread: any. */
bool zd_s3_probe_is_unknown(uint32_t http, const char *code);

/** Tell all of a list of zd_s3_probe_wait how a probe has ended, and empty the list. */
void zd_s3_probe_tell(struct zd_list *waiting, enum zd_status status, const struct zd_error *err,
    struct zd_remote_fault fault);

/**
 * Whether the engine obeys the condition of a change; the abilities are known if it has one.
 *
 * @retval ZD_UNABLE write->op.err says what it does not obey
 */
ZD_RESULT zd_s3_probe_judge(
    const struct zd_s3_store *s3, struct zd_store_write *write, bool is_erasure);

#endif
