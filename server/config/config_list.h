/* The lists of the configuration: addresses and datasets. Thread: any. */
#ifndef ZD_CONFIG_CONFIG_LIST_H
#define ZD_CONFIG_CONFIG_LIST_H

#include "core/base/buf.h"
#include "core/base/status.h"
#include "server/config/settings.h"

/** Add an address to listen on. @retval ZD_NO_MEMORY */
ZD_RESULT zd_config_list_add_address(
    struct zd_config *config, const char *address, struct zd_error *err);
void zd_config_list_clear_addresses(struct zd_config *config);

/**
 * Add a dataset with default members and no location yet.
 * @param ret_dataset in the list; borrowed, until another one is added
 * @retval ZD_INVALID not a name, or one that another dataset has
 */
ZD_RESULT zd_config_list_add_dataset(struct zd_config *config, struct zd_span name,
    struct zd_dataset_config **ret_dataset, struct zd_error *err);

/** Whether a dataset may have that name: [A-Za-z0-9][A-Za-z0-9._-]{0,63}. */
bool zd_config_list_is_name(struct zd_span name);

#endif
