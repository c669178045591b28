/* The lists of the configuration: addresses and datasets. */
#include "server/config/config_list.h"

#include <string.h>

#include "core/base/num.h"
#include "core/base/own.h"
#include "server/config/config_value.h"

#define SHOWN_BYTES    UINT64_C(128) /* of a name that is refused */
#define NAME_BYTES_MAX 64

void zd_config_list_clear_addresses(struct zd_config *config)
{
    for (size_t i = 0; i < config->n_listen; i++) {
        zd_free(config->listen[i]);
    }
    config->n_listen = 0;
}

enum zd_status zd_config_list_add_address(
    struct zd_config *config, const char *address, struct zd_error *err)
{
    char **grown =
        (char **)zd_realloc((void *)config->listen, (config->n_listen + 1) * sizeof *grown);
    if (grown == NULL) {
        return zd_config_value_no_memory(err);
    }
    config->listen = grown;
    config->listen[config->n_listen] = zd_strdup(address);
    if (config->listen[config->n_listen] == NULL) {
        return zd_config_value_no_memory(err);
    }
    config->n_listen++;
    return ZD_OK;
}

bool zd_config_list_is_name(struct zd_span name)
{
    static const char others[] = "._-";
    for (size_t i = 0; i < name.len; i++) {
        const char c = (char)name.ptr[i];
        const bool is_alphanumeric =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!is_alphanumeric && (i == 0 || c == '\0' || strchr(others, c) == NULL)) {
            return false;
        }
    }
    return name.len >= 1 && name.len <= NAME_BYTES_MAX;
}

enum zd_status zd_config_list_add_dataset(struct zd_config *config, struct zd_span name,
    struct zd_dataset_config **ret_dataset, struct zd_error *err)
{
    const int shown = (int)zd_min_u64(name.len, SHOWN_BYTES);
    if (!zd_config_list_is_name(name)) {
        return zd_fail(err, ZD_INVALID,
            "'%.*s' is not a name for a dataset: [A-Za-z0-9][A-Za-z0-9._-]{0,63} is expected; "
            "write NAME=LOCATION to choose one",
            shown, (const char *)name.ptr);
    }
    for (size_t i = 0; i < config->n_datasets; i++) {
        if (zd_span_is(name, config->dataset[i].name)) {
            return zd_fail(err, ZD_INVALID,
                "two datasets are named '%.*s'; write NAME=LOCATION to rename one", shown,
                (const char *)name.ptr);
        }
    }
    struct zd_dataset_config *grown =
        zd_realloc(config->dataset, (config->n_datasets + 1) * sizeof *grown);
    if (grown == NULL) {
        return zd_config_value_no_memory(err);
    }
    config->dataset = grown;
    struct zd_dataset_config *dataset = &grown[config->n_datasets];
    *dataset = (struct zd_dataset_config){
        .name = zd_strndup((const char *)name.ptr, name.len),
        .durable = true,
        .allow_keys = true,
        .revalidate_ms = UINT64_MAX,
    };
    if (dataset->name == NULL) {
        return zd_config_value_no_memory(err);
    }
    config->n_datasets++;
    *ret_dataset = dataset;
    return ZD_OK;
}
