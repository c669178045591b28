/* A plan over a store whose answers come when the test says, in a time that the test makes. */
#include "tests/support/store_delay.h"

#include <stdio.h>
#include <string.h>

#include "core/store/contract/store_impl.h"
#include "core/store/remote/timers.h"
#include "tests/support/check.h"

#define TIMERS_MAX 16
#define NS_PER_MS  1000000

struct zd_delay zd_delay;

/* ---- the time ---- */

static struct timer {
    uv_timer_t *handle; /* NULL: free */
    uv_timer_cb ring;
    uint64_t at_ms;
} timers[TIMERS_MAX];

uint64_t __wrap_uv_now(const uv_loop_t *loop);
uint64_t __wrap_uv_hrtime(void);
int __wrap_uv_timer_start(uv_timer_t *handle, uv_timer_cb ring, uint64_t ms, uint64_t repeat);
int __wrap_uv_timer_stop(uv_timer_t *handle);

uint64_t __wrap_uv_now(const uv_loop_t *loop)
{
    (void)loop;
    return zd_delay.now_ms;
}

uint64_t __wrap_uv_hrtime(void)
{
    return zd_delay.now_ms * NS_PER_MS;
}

int __wrap_uv_timer_stop(uv_timer_t *handle)
{
    for (size_t i = 0; i < TIMERS_MAX; i++) {
        if (timers[i].handle == handle) {
            timers[i].handle = NULL;
        }
    }
    return 0;
}

int __wrap_uv_timer_start(uv_timer_t *handle, uv_timer_cb ring, uint64_t ms, uint64_t repeat)
{
    ck_assert_uint_eq(repeat, 0);
    (void)__wrap_uv_timer_stop(handle);
    for (size_t i = 0; i < TIMERS_MAX; i++) {
        if (timers[i].handle == NULL) {
            timers[i] = (struct timer){handle, ring, zd_delay.now_ms + ms};
            return 0;
        }
    }
    ck_abort_msg("more timers than the test has room for");
}

static struct timer *next_timer(void)
{
    struct timer *next = NULL;
    for (size_t i = 0; i < TIMERS_MAX; i++) {
        if (timers[i].handle != NULL && (next == NULL || timers[i].at_ms < next->at_ms)) {
            next = &timers[i];
        }
    }
    return next;
}

void zd_delay_run_until(uint64_t ms)
{
    for (;;) {
        (void)uv_run(&zd_delay.loop, UV_RUN_DEFAULT); /* what takes no time */
        struct timer *next = next_timer();
        if (next == NULL || next->at_ms > ms) {
            break;
        }
        uv_timer_t *const handle = next->handle;
        next->handle = NULL;
        zd_delay.now_ms = next->at_ms > zd_delay.now_ms ? next->at_ms : zd_delay.now_ms;
        next->ring(handle);
    }
    if (ms != UINT64_MAX && ms > zd_delay.now_ms) {
        zd_delay.now_ms = ms;
    }
}

void zd_delay_run(void)
{
    zd_delay_run_until(UINT64_MAX);
}

/* ---- the store ---- */

struct delay_store {
    struct zd_store store; /* first member */
    struct zd_timers *alarms;
};

struct delayed {
    struct zd_timer alarm;
    struct zd_store_op *op;
    struct zd_delay_asked asked;
    struct zd_delay_step step;
};

static uint64_t endpoint_of_next;

static void delay_close(struct zd_store *store)
{
    struct delay_store *delay = ZD_CONTAINER(store, struct delay_store, store);
    zd_timers_close(delay->alarms, (uv_close_cb)zd_free); /* the timer is its first member */
    zd_free(store->location);
    zd_free(delay);
}

static enum zd_status delay_open(
    const struct zd_store_config *config, struct zd_store **ret_store, struct zd_error *err)
{
    (void)err;
    struct delay_store *delay = zd_alloc_zero(1, sizeof *delay);
    delay->alarms = zd_alloc_zero(1, sizeof *delay->alarms);
    ck_assert_int_eq(zd_store_init(&delay->store, config), ZD_OK);
    zd_timers_init(delay->alarms, config->loop);
    delay->store.endpoint = endpoint_of_next;
    *ret_store = &delay->store;
    return ZD_OK;
}

static void pass_on(struct zd_store *inner, const struct delayed *delayed)
{
    struct zd_store_op *op = delayed->op;
    switch (delayed->asked.what) {
    case 'r':
        zd_store_read(inner, ZD_CONTAINER(op, struct zd_store_read, op));
        return;
    case 's':
        zd_store_status(inner, ZD_CONTAINER(op, struct zd_store_status, op));
        return;
    case 'l':
        zd_store_list_page(inner, ZD_CONTAINER(op, struct zd_store_list, op));
        return;
    case 'w':
        zd_store_write(inner, ZD_CONTAINER(op, struct zd_store_write, op));
        return;
    default:
        zd_store_erase(inner, ZD_CONTAINER(op, struct zd_store_write, op));
        return;
    }
}

static void nothing_more(struct zd_store_op *op)
{
    ck_assert_int_eq(op->status, ZD_OK);
}

static void do_all_the_same(struct zd_store *inner, const struct zd_store_write *write)
{
    static struct zd_store_write other;
    other = (struct zd_store_write){.op.done = nothing_more, .bytes = write->bytes};
    (void)snprintf(other.key, sizeof other.key, "%s", write->key);
    zd_store_write(inner, &other);
    (void)uv_run(&zd_delay.loop, UV_RUN_DEFAULT);
}

static void ring(struct zd_timer *alarm)
{
    struct delayed *delayed = ZD_CONTAINER(alarm, struct delayed, alarm);
    struct zd_store_op *op = delayed->op;
    struct zd_store *inner = op->store->inner;
    zd_delay.n_running--;
    if (op->cancelled || delayed->step.status != ZD_OK) {
        if (delayed->step.is_done) {
            do_all_the_same(inner, ZD_CONTAINER(op, struct zd_store_write, op));
        }
        op->status = zd_fail(&op->err, op->cancelled ? ZD_CANCELLED : delayed->step.status,
            "the test has this operation fail");
        op->fault = delayed->step.fault;
        zd_free(delayed);
        op->done(op);
        return;
    }
    pass_on(inner, delayed);
    zd_free(delayed);
}

static void take(struct zd_store *store, struct zd_store_op *op, char what, const char *key)
{
    struct delayed *delayed = zd_alloc_zero(1, sizeof *delayed);
    ck_assert_uint_lt(zd_delay.n_asked, ZD_DELAY_ASKED_MAX);
    delayed->alarm.ring = ring;
    delayed->op = op;
    delayed->asked.what = what;
    delayed->asked.at_ms = zd_delay.now_ms;
    (void)snprintf(delayed->asked.key, sizeof delayed->asked.key, "%s", key);
    if (what == 'r') {
        delayed->asked.range = ZD_CONTAINER(op, struct zd_store_read, op)->range;
    }
    zd_delay.asked[zd_delay.n_asked] = delayed->asked;
    delayed->step = (struct zd_delay_step){.ms = 30};
    if (zd_delay.script != NULL) {
        delayed->step = zd_delay.script(&delayed->asked, zd_delay.n_asked);
    }
    zd_delay.n_asked++;
    zd_delay.n_running++;
    if (zd_delay.n_running > zd_delay.n_running_max) {
        zd_delay.n_running_max = zd_delay.n_running;
    }
    op->private_state = delayed;
    zd_timers_set(
        ZD_CONTAINER(store, struct delay_store, store)->alarms, &delayed->alarm, delayed->step.ms);
}

static void delay_read(struct zd_store *store, struct zd_store_read *read)
{
    take(store, &read->op, 'r', read->key);
}

static void delay_status(struct zd_store *store, struct zd_store_status *status)
{
    take(store, &status->op, 's', status->key);
}

static void delay_list(struct zd_store *store, struct zd_store_list *list)
{
    take(store, &list->op, 'l', list->prefix);
}

static void delay_write(struct zd_store *store, struct zd_store_write *write)
{
    take(store, &write->op, 'w', write->key);
}

static void delay_erase(struct zd_store *store, struct zd_store_write *erase)
{
    take(store, &erase->op, 'e', erase->key);
}

static void delay_cancel(struct zd_store *store, struct zd_store_op *op)
{
    struct delayed *delayed = op->private_state;
    zd_timers_set(ZD_CONTAINER(store, struct delay_store, store)->alarms, &delayed->alarm, 0);
}

static const struct zd_store_ops delay_ops = {
    .scheme = "delay",
    .is_remote = true,
    .open = delay_open,
    .close = delay_close,
    .read = delay_read,
    .status = delay_status,
    .list = delay_list,
    .write = delay_write,
    .erase = delay_erase,
    .cancel = delay_cancel,
};

/* ---- tests ---- */

void zd_delay_begin(void)
{
    memset(timers, 0, sizeof timers);
    zd_delay = (struct zd_delay){.now_ms = 1000};
    zd_delay.remote.settings = (struct zd_remote_settings){
        .connections = 64, .retries = 4, .breaker_ms = 1000, .request_ms = 60000};
    ck_assert_int_eq(uv_loop_init(&zd_delay.loop), 0);
}

void zd_delay_end(void)
{
    zd_delay_run();
    ck_assert_int_eq(uv_loop_close(&zd_delay.loop), 0);
}

struct zd_store *zd_delay_open(uint64_t endpoint, uint64_t trusted_ms)
{
    struct zd_store *store = NULL;
    struct zd_store_config config = {.location = "mem:",
        .loop = &zd_delay.loop,
        .writable = true,
        .trusted_ms = trusted_ms,
        .remote = &zd_delay.remote};
    endpoint_of_next = endpoint;
    ck_assert_int_eq(zd_store_open(&config, &store, NULL), ZD_OK);
    config.inner = store;
    ck_assert_int_eq(zd_store_open_as(&delay_ops, &config, &store, NULL), ZD_OK);
    config.inner = store;
    ck_assert_int_eq(zd_store_open_as(&zd_store_ops_plan, &config, &store, NULL), ZD_OK);
    return store;
}

uint8_t zd_delay_byte(uint64_t at)
{
    return (uint8_t)(at * 31 + at / 256);
}

void zd_delay_put(struct zd_store *plan, const char *key, size_t n_bytes)
{
    struct zd_store_write write = {.op.done = nothing_more, .bytes = zd_buf_new(n_bytes)};
    for (size_t i = 0; i < n_bytes; i++) {
        write.bytes->data[i] = zd_delay_byte(i);
    }
    write.bytes->len = n_bytes;
    (void)snprintf(write.key, sizeof write.key, "%s", key);
    zd_store_write(plan->inner->inner, &write);
    (void)uv_run(&zd_delay.loop, UV_RUN_DEFAULT);
    zd_buf_unref(write.bytes);
}

size_t zd_delay_count(char what)
{
    size_t n = 0;
    for (size_t i = 0; i < zd_delay.n_asked; i++) {
        n += zd_delay.asked[i].what == what;
    }
    return n;
}
