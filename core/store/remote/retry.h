/* An operation on a remote store, tried until it ends in a way that trying again does not mend.
 * Thread: loop. */
#ifndef ZD_CORE_STORE_REMOTE_RETRY_H
#define ZD_CORE_STORE_REMOTE_RETRY_H

#include "core/store/remote/endpoint.h"

/** Its owner's memory. Zeroed but for what is set by the owner. */
struct zd_retry {
    /* in */
    struct zd_endpoint *endpoint; /* borrowed */
    void (*start)(
        struct zd_retry *trial); /* begin the inner operation; zd_retry_again when it ends */
    void (*refuse)(struct zd_retry *trial); /* it ends without another attempt: the endpoint is left
                                               alone */
    struct zd_endpoint_seat seat;           /* line and owner are set by the owner */
    /* its own */
    struct zd_timer alarm; /* between two attempts */
    uint64_t asked_ms;     /* when it was begun */
    uint64_t began_ms;     /* the attempt */
    uint32_t n_attempts;
};

/**
 * Begin: `start` is called when there is a place, perhaps at once.
 * @retval ZD_PAUSED neither `start` nor `refuse` is called
 */
ZD_RESULT zd_retry_begin(struct zd_retry *trial);

/**
 * The inner operation has ended like this: its place is given back, and the endpoint learns of it.
 * @param may_repeat another attempt does no harm
 * @return whether `start` or `refuse` is called for another attempt, in a later turn
 */
bool zd_retry_again(struct zd_retry *trial, const struct zd_store_op *op, bool may_repeat);

/** Whether no other attempt would follow such an end, however many are left. Thread: any. */
bool zd_retry_is_final(const struct zd_store_op *op);

/** Tell the endpoint how one inner operation ended. */
void zd_retry_report(struct zd_endpoint *endpoint, const struct zd_store_op *op, uint64_t began_ms);

/** Between attempts or waiting for a place: over, nothing is called any more. @return false: the
 * inner operation is under way */
bool zd_retry_stop(struct zd_retry *trial);

#endif
