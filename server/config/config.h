/* Settings: one table (config.def), four sources. */
#ifndef ZD_CONFIG_CONFIG_H
#define ZD_CONFIG_CONFIG_H

#include "core/base/emit.h"
#include "core/base/status.h"

#define ZD_KIB (UINT64_C(1) << 10)
#define ZD_MIB (UINT64_C(1) << 20)
#define ZD_GIB (UINT64_C(1) << 30)

/** The settings of the table: settings.cache_decoded_bytes and so on. */
struct zd_settings {
#define ZD_SIZE(group, name, initial, least, most, meaning)  uint64_t group##_##name;
#define ZD_COUNT(group, name, initial, least, most, meaning) uint64_t group##_##name;
#define ZD_FLAG(group, name, initial, meaning)               bool group##_##name;
#define ZD_WORD(group, name, initial, choices, meaning)      char *group##_##name;
#include "server/config/config.def"
#undef ZD_SIZE
#undef ZD_COUNT
#undef ZD_FLAG
#undef ZD_WORD
};

/** One dataset as configured (api.md 1). Strings owned. */
struct zd_dataset_config {
    char *name;
    char *location;
    char *title;         /* or NULL */
    char *cache_control; /* or NULL: by the rules of api.md 2 */
    bool writable;
    bool immutable;
    bool durable; /* default true */
    bool accept_unknown;
    bool write_empty_chunks;
    bool strict;            /* "extensions": "strict" (core 3.1) instead of "zep10" */
    bool allow_keys;        /* the raw key space is served; default true */
    uint64_t revalidate_ms; /* UINT64_MAX: the store's default */
};

struct zd_config {
    struct zd_settings settings;
    char **listen; /* "ADDR:PORT", n_listen of them; owned */
    size_t n_listen;
    struct zd_dataset_config *dataset;
    size_t n_datasets;
    char *port_file;  /* or NULL */
    char *health_url; /* NULL but for ZD_COMMAND_HEALTH */
    /* where it was read, so that it can be read again; borrowed */
    int argc;
    char *const *argv;
    char *const *environment;
};

/** What the command line asks for. */
enum zd_command {
    ZD_COMMAND_SERVE,
    ZD_COMMAND_HELP,
    ZD_COMMAND_VERSION,
    ZD_COMMAND_CHECK,
    ZD_COMMAND_HEALTH,
};

/**
 * Defaults, then the file of --config, then ZARRD_* of the environment, then options and --set
 * (api.md 1).
 *
 * @param argv, environment  as for main; borrowed
 * @param ret_config  the caller's; release with zd_config_done
 * @retval ZD_INVALID the error names the setting, the value and the bounds
 */
ZD_RESULT zd_config_read(int argc, char *const *argv, char *const *environment,
    enum zd_command *ret_command, struct zd_config *ret_config, struct zd_error *err);
void zd_config_done(struct zd_config *config);

/** The default settings, for tests. @retval ZD_NO_MEMORY */
ZD_RESULT zd_config_default(struct zd_config *ret_config);

/** The effective configuration as the JSON that --config accepts; the text of --help; the limits.*
 * for /v1/limits. */
void zd_config_emit(const struct zd_config *config, struct zd_emit *emit);
void zd_config_emit_limits(const struct zd_settings *settings, struct zd_emit *emit);
void zd_config_help(struct zd_text *text);

#endif
