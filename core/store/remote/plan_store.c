/* A store over a remote one: joins and merges reads, tries again, keeps a bound on what is asked at
 * once, and leaves an endpoint alone that does not answer. */
#include <stdlib.h>

#include "core/base/hash.h"
#include "core/base/num.h"
#include "core/store/contract/store_impl.h"
#include "core/store/remote/remote_plan.h"

#define BUSY_PART 2 /* of its connections: with one part taken an endpoint is busy */

static uint64_t absent_ms_of(const struct zd_store_config *config)
{
    uint64_t absent_ms = config->trusted_ms;
    (void)zd_json_u64(zd_json_member(config->options, "absent_ms"), &absent_ms);
    return absent_ms;
}

static void plan_close(struct zd_store *store)
{
    struct zd_remote_plan *plan = zd_remote_plan_of(store);
    zd_timers_clear(&plan->endpoint->alarms, &plan->turn_ends);
    zd_absent_keys_done(&plan->absent);
    zd_endpoint_unref(plan->endpoint);
    zd_free(store->location);
    zd_free(plan);
}

static enum zd_status plan_open(
    const struct zd_store_config *config, struct zd_store **ret_store, struct zd_error *err)
{
    struct zd_remote_plan *plan = zd_alloc_zero(1, sizeof *plan);
    struct zd_endpoint *endpoint =
        plan == NULL ? NULL
                     : zd_endpoint_join(config->remote, config->inner->endpoint, config->loop);
    if (endpoint == NULL || zd_store_init(&plan->store, config) != ZD_OK) {
        zd_endpoint_unref(endpoint);
        zd_free(plan);
        return zd_fail(err, ZD_NO_MEMORY, "no memory for a plan of reads");
    }
    plan->remote = config->remote;
    plan->endpoint = endpoint;
    plan->trusted_ms = config->trusted_ms;
    plan->absent_ms = absent_ms_of(config);
    zd_endpoint_line_init(&plan->line);
    zd_absent_keys_init(&plan->absent);
    zd_remote_plan_init_reads(plan);
    *ret_store = &plan->store;
    return ZD_OK;
}

bool zd_remote_plan_knows_absent(
    struct zd_remote_plan *plan, const char *key, struct zd_store_op *op)
{
    if (!zd_absent_keys_has(&plan->absent, key, uv_now(plan->store.loop))) {
        return false;
    }
    op->status = ZD_NOT_FOUND;
    return true;
}

static size_t part_of(const char *key)
{
    return zd_hash_of(zd_span_of(key), 0) % ZD_REMOTE_PLAN_PARTS;
}

uint64_t zd_remote_plan_changes(const struct zd_remote_plan *plan, const char *key)
{
    return plan->n_changes[part_of(key)];
}

void zd_remote_plan_overtake(struct zd_remote_plan *plan, const char *key)
{
    plan->n_changes[part_of(key)]++;
    zd_absent_keys_forget(&plan->absent, key);
    zd_remote_plan_leave_reads(plan, key);
}

void zd_remote_plan_learn_absent(
    struct zd_remote_plan *plan, const char *key, uint64_t asked_ms, uint64_t n_changes)
{
    uint64_t until_ms;
    if (n_changes != zd_remote_plan_changes(plan, key)) {
        return;
    }
    if (ckd_add(&until_ms, asked_ms, plan->absent_ms)) {
        until_ms = UINT64_MAX;
    }
    if (until_ms > uv_now(plan->store.loop)) {
        zd_absent_keys_add(&plan->absent, key, until_ms);
    }
}

static void plan_overtake(struct zd_store *store, const char *key)
{
    zd_remote_plan_overtake(zd_remote_plan_of(store), key);
}

static enum zd_status plan_read_now(struct zd_store *store, struct zd_store_read *read)
{
    struct zd_remote_plan *plan = zd_remote_plan_of(store);
    return zd_remote_plan_knows_absent(plan, read->key, &read->op) ? ZD_NOT_FOUND : ZD_AGAIN;
}

static enum zd_status plan_status_now(struct zd_store *store, struct zd_store_status *status)
{
    struct zd_remote_plan *plan = zd_remote_plan_of(store);
    return zd_remote_plan_knows_absent(plan, status->key, &status->op) ? ZD_NOT_FOUND : ZD_AGAIN;
}

static void plan_cancel(struct zd_store *store, struct zd_store_op *op)
{
    struct zd_remote_plan_work *work = op->private_state;
    (void)store;
    if (work != NULL) {
        work->cancel(work, op);
    } else if (zd_list_is_linked(&op->link)) { /* a read that is pending */
        zd_list_remove(&op->link);
        op->status = zd_fail(&op->err, ZD_CANCELLED, "the read is no longer wanted");
        zd_store_finish_later(op);
    }
}

const struct zd_store_ops zd_store_ops_plan = {
    .scheme = "plan",
    .meaning = "a remote store, read with a plan",
    .is_remote = true,
    .schema = "{\"type\":\"object\"}", /* the inner store has judged them */
    .default_revalidate_ms = ZD_REMOTE_REVALIDATE_MS,
    .open = plan_open,
    .close = plan_close,
    .read = zd_remote_plan_read,
    .status = zd_remote_plan_status,
    .list = zd_remote_plan_list,
    .write = zd_remote_plan_write,
    .erase = zd_remote_plan_erase,
    .read_now = plan_read_now,
    .status_now = plan_status_now,
    .overtake = plan_overtake,
    .cancel = plan_cancel,
};

/* NULL: the store is not remote. */
static const struct zd_endpoint *endpoint_of(const struct zd_store *store)
{
    while (store != NULL && store->ops != &zd_store_ops_plan) {
        store = store->inner;
    }
    return store == NULL ? NULL : ZD_CONTAINER(store, const struct zd_remote_plan, store)->endpoint;
}

uint64_t zd_remote_plan_paused_ms(const struct zd_store *store)
{
    const struct zd_endpoint *endpoint = endpoint_of(store);
    return endpoint == NULL ? 0 : zd_endpoint_paused_ms(endpoint);
}

bool zd_remote_plan_is_busy(const struct zd_store *store)
{
    const struct zd_endpoint *endpoint = endpoint_of(store);
    return endpoint == NULL || endpoint->breaker.is_open || !zd_list_is_empty(&endpoint->lines) ||
           endpoint->n_seated >= zd_div_up(endpoint->settings->connections, BUSY_PART);
}
