/* An operation on a remote store, tried until it ends in a way that trying again does not mend. */
#include "core/store/remote/retry.h"

#include "core/base/num.h"

#define PAUSE_MIN_MS  50   /* before the second attempt; twice as long before each other one */
#define PAUSE_MAX_MS  2000 /* but no longer */
#define DOUBLINGS_MAX 16

static struct zd_retry *trial_of(struct zd_endpoint_seat *seat)
{
    return ZD_CONTAINER(seat, struct zd_retry, seat);
}

static void on_sit(struct zd_endpoint_seat *seat)
{
    struct zd_retry *trial = trial_of(seat);
    trial->began_ms = uv_now(trial->endpoint->loop);
    trial->n_attempts++;
    trial->start(trial);
}

static void on_leave(struct zd_endpoint_seat *seat)
{
    trial_of(seat)->refuse(trial_of(seat));
}

static void on_alarm(struct zd_timer *alarm)
{
    struct zd_retry *trial = ZD_CONTAINER(alarm, struct zd_retry, alarm);
    if (zd_endpoint_want(trial->endpoint, &trial->seat) != ZD_OK) {
        trial->refuse(trial);
    }
}

enum zd_status zd_retry_begin(struct zd_retry *trial)
{
    trial->seat.sit = on_sit;
    trial->seat.leave = on_leave;
    trial->alarm.ring = on_alarm;
    trial->asked_ms = uv_now(trial->endpoint->loop);
    return zd_endpoint_want(trial->endpoint, &trial->seat);
}

static bool is_failure(const struct zd_store_op *op)
{
    return op->status == ZD_STORE || op->status == ZD_TIMEOUT;
}

bool zd_retry_is_final(const struct zd_store_op *op)
{
    const uint8_t kind = op->fault.kind;
    return !is_failure(op) ||
           (kind != ZD_REMOTE_FAULT_RETRYABLE && kind != ZD_REMOTE_FAULT_TIMEOUT &&
               kind != ZD_REMOTE_FAULT_THROTTLED);
}

/* How long to wait before the next attempt. Half of it is random, so that many do not come back at
 * the same time. */
static uint64_t pause_ms(struct zd_retry *trial, const struct zd_store_op *op)
{
    const uint64_t doublings = zd_min_u64(trial->n_attempts - 1, DOUBLINGS_MAX);
    const uint64_t most = zd_min_u64((uint64_t)PAUSE_MIN_MS << doublings, PAUSE_MAX_MS);
    const uint64_t own = most / 2 + zd_endpoint_random(trial->endpoint, most / 2 + 1);
    return op->fault.retry_after_ms == 0 ? own : op->fault.retry_after_ms + own / 2;
}

void zd_retry_report(struct zd_endpoint *endpoint, const struct zd_store_op *op, uint64_t began_ms)
{
    const bool is_silent = is_failure(op) && (op->fault.kind == ZD_REMOTE_FAULT_RETRYABLE ||
                                                 op->fault.kind == ZD_REMOTE_FAULT_TIMEOUT);
    if (is_silent) {
        zd_endpoint_failed(endpoint, began_ms);
    } else if (op->status != ZD_CANCELLED && op->status != ZD_NO_MEMORY) {
        zd_endpoint_answered(endpoint);
    }
}

bool zd_retry_again(struct zd_retry *trial, const struct zd_store_op *op, bool may_repeat)
{
    const struct zd_remote_settings *settings = trial->endpoint->settings;
    const uint64_t waited_ms = uv_now(trial->endpoint->loop) - trial->asked_ms;
    const bool may_try = may_repeat && !op->cancelled && !zd_retry_is_final(op) &&
                         trial->n_attempts <= settings->retries;
    const uint64_t wait_ms = may_try ? pause_ms(trial, op) : 0;
    const bool is_in_time = settings->request_ms == 0 || waited_ms + wait_ms < settings->request_ms;
    zd_retry_report(trial->endpoint, op, trial->began_ms);
    zd_endpoint_give(trial->endpoint);
    if (!may_try || !is_in_time || zd_endpoint_paused_ms(trial->endpoint) > 0) {
        return false;
    }
    zd_timers_set(&trial->endpoint->alarms, &trial->alarm, wait_ms);
    return true;
}

bool zd_retry_stop(struct zd_retry *trial)
{
    const bool waits =
        zd_list_is_linked(&trial->seat.link) || zd_list_is_linked(&trial->alarm.link);
    zd_endpoint_forgo(&trial->seat);
    zd_timers_clear(&trial->endpoint->alarms, &trial->alarm);
    return waits;
}
