/* The command line and the text of --help. Thread: any. */
#ifndef ZD_CONFIG_CONFIG_ARGS_H
#define ZD_CONFIG_CONFIG_ARGS_H

#include "server/config/settings.h"

/** The parts of a command line that are needed before the other sources are read. Borrows from
 * argv. */
struct zd_config_args {
    enum zd_command command;
    const char *config_file; /* or NULL */
    const char *value;       /* of a command that takes one */
    bool writable;           /* of the datasets that the command line names */
    bool has_listen;
};

/** First reading. @retval ZD_INVALID an option that does not exist, or that lacks its value */
ZD_RESULT zd_config_args_read(
    int argc, char *const *argv, struct zd_config_args *ret_args, struct zd_error *err);

/** Second reading: change the configuration as options, settings and locations say. */
ZD_RESULT zd_config_args_apply(int argc, char *const *argv, const struct zd_config_args *args,
    struct zd_config *config, struct zd_error *err);

/** Add an address to listen on. @retval ZD_NO_MEMORY */
ZD_RESULT zd_config_args_add_address(
    struct zd_config *config, const char *address, struct zd_error *err);
void zd_config_args_clear_addresses(struct zd_config *config);

/** Append the text of --help. */
void zd_config_args_help(struct zd_text *text);

#endif
