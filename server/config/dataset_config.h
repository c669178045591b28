/* The datasets of the configuration: the members of one as a table. Thread: any. */
#ifndef ZD_CONFIG_DATASET_CONFIG_H
#define ZD_CONFIG_DATASET_CONFIG_H

#include "core/base/buf.h"
#include "server/config/settings.h"

/** Whether a dataset may have that name: [A-Za-z0-9][A-Za-z0-9._-]{0,63}. */
bool zd_dataset_config_is_name(struct zd_span name);

/**
 * Add a dataset with default members and no location yet.
 * @param ret_dataset in the list; borrowed, until another one is added
 * @retval ZD_INVALID not a name, or one that another dataset has
 */
ZD_RESULT zd_dataset_config_add(struct zd_config *config, struct zd_span name,
    struct zd_dataset_config **ret_dataset, struct zd_error *err);

/**
 * Add a dataset with the members of a JSON object.
 * @param at its place in the document
 * @retval ZD_INVALID no location; no such member, not supported, or not a possible value: fact
 *                    pointer
 */
ZD_RESULT zd_dataset_config_read(struct zd_config *config, const char *name,
    const struct zd_json *json, const struct zd_pointer *at, struct zd_error *err);

/** Append a line for each member, for --help. */
void zd_dataset_config_help(struct zd_text *text);

/** All members as one JSON object. */
void zd_dataset_config_emit(const struct zd_dataset_config *dataset, struct zd_emit *emit);

/** A copy with strings of its own. @retval ZD_NO_MEMORY nothing was made */
ZD_RESULT zd_dataset_config_copy(
    const struct zd_dataset_config *from, struct zd_dataset_config *ret_to);
void zd_dataset_config_done(struct zd_dataset_config *dataset);

#endif
