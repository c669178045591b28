/* The types of the configuration: the settings of config.def, one dataset, the whole. */
#ifndef ZD_CONFIG_SETTINGS_H
#define ZD_CONFIG_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

struct zd_json;

/** One dataset as configured. Strings owned. */
struct zd_dataset_config {
    char *name;
    char *location;
    char *title;             /* or NULL */
    struct zd_json *options; /* of its store: an object, or NULL */
    char *cache_control;     /* or NULL: by whether it may change */
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
    char *health_url; /* NULL except for ZD_COMMAND_HEALTH */
    /* what zd_config_read was given, so that a reload can read it again; borrowed */
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

#define ZD_CONFIG_DEFAULT_ADDRESS "127.0.0.1:8080"
#define ZD_CONFIG_VARIABLE_PREFIX "ZARRD_"

#endif
