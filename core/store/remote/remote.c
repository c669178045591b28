/* Opens locations, remote ones with the stores that stand over them. */
#include "core/store/remote/remote.h"

#include "core/store/contract/store_impl.h"

static enum zd_status put_over(const struct zd_store_ops *ops, const struct zd_store_config *config,
    struct zd_store **store, struct zd_error *err)
{
    struct zd_store_config over = *config;
    over.inner = *store;
    return zd_store_open_as(ops, &over, store, err);
}

enum zd_status zd_remote_open(
    const struct zd_store_config *config, struct zd_store **ret_store, struct zd_error *err)
{
    struct zd_store *store = NULL;
    ZD_TRY(zd_store_open(config, &store, err));
    enum zd_status status = ZD_OK;
    if (store->ops->is_remote && config->remote != NULL) {
        status = put_over(&zd_store_ops_plan, config, &store, err);
        if (status == ZD_OK && config->remote->disk != NULL) {
            status = put_over(&zd_store_ops_disk, config, &store, err);
        }
    }
    if (status != ZD_OK) {
        zd_store_close(store);
        return status;
    }
    *ret_store = store;
    return ZD_OK;
}
