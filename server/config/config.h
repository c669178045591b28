/* The configuration, merged from four sources: defaults, a file, the environment, the command line.
 * Thread: any. */
#ifndef ZD_CONFIG_CONFIG_H
#define ZD_CONFIG_CONFIG_H

#include "server/config/settings.h"

/**
 * Read the defaults, then the file of --config, then ZARRD_* of the environment, then the options
 * and --set of the command line. A later source replaces an earlier one.
 *
 * @param argv, environment  as for main; borrowed
 * @param ret_config  the caller's; release with zd_config_done
 * @retval ZD_INVALID the error names the setting, the value and the bounds
 */
ZD_RESULT zd_config_read(int argc, char *const *argv, char *const *environment,
    enum zd_command *ret_command, struct zd_config *ret_config, struct zd_error *err);
void zd_config_done(struct zd_config *config);

/** The effective configuration as JSON, as --config accepts it. */
void zd_config_emit(const struct zd_config *config, struct zd_emit *emit);

#endif
