/* A plan of reads over a remote store. */
#include "core/store/remote.h"

struct plan_store {
    struct zd_store store; /* first member */
};

static void plan_close(struct zd_store *store)
{
    zd_free(store->location);
    zd_free(ZD_CONTAINER(store, struct plan_store, store));
}

static enum zd_status plan_open(
    const struct zd_store_config *config, struct zd_store **ret_store, struct zd_error *err)
{
    struct plan_store *plan = zd_alloc_zero(1, sizeof *plan);
    if (plan == NULL || zd_store_init(&plan->store, config) != ZD_OK) {
        zd_free(plan);
        return zd_fail(err, ZD_NO_MEMORY, "no memory for a plan of reads");
    }
    *ret_store = &plan->store;
    return ZD_OK;
}

const struct zd_store_ops zd_store_ops_plan = {
    .scheme = "plan",
    .meaning = "a remote store, asked with a plan",
    .is_remote = true,
    .schema = "{\"type\":\"object\"}", /* the inner store has judged them */
    .open = plan_open,
    .close = plan_close,
};
