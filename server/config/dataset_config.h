/* One dataset's part of the configuration: its members as a table. Thread: any. */
#ifndef ZD_CONFIG_DATASET_CONFIG_H
#define ZD_CONFIG_DATASET_CONFIG_H

#include "server/config/config.h"

/**
 * Set a member of a dataset (api.md 1).
 * @param at its place in the document
 * @retval ZD_INVALID there is no such member, or its value is not possible; fact pointer
 */
ZD_RESULT zd_dataset_config_set(struct zd_dataset_config *dataset, const char *name,
    const struct zd_json *value, const struct zd_pointer *at, struct zd_error *err);

/** All members as one JSON object. */
void zd_dataset_config_emit(const struct zd_dataset_config *dataset, struct zd_emit *emit);

/** The same with strings of its own. @retval ZD_NO_MEMORY nothing was made */
ZD_RESULT zd_dataset_config_copy(
    const struct zd_dataset_config *from, struct zd_dataset_config *ret_to);
void zd_dataset_config_done(struct zd_dataset_config *dataset);

/** What is wrong with any part of a configuration document. */
ZD_RESULT zd_config_wrong_type(const struct zd_pointer *at, const char *expected,
    const struct zd_json *found, struct zd_error *err);
ZD_RESULT zd_config_unknown(const struct zd_pointer *at, struct zd_error *err);

#endif
