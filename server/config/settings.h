/* The types of the configuration, and the table of settings (config.def) as data: one setting read,
 * judged and written. Thread: any. */
#ifndef ZD_CONFIG_SETTINGS_H
#define ZD_CONFIG_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/emit.h"
#include "core/base/json.h"
#include "core/base/text.h"

#define ZD_KIB (UINT64_C(1) << 10)
#define ZD_MIB (UINT64_C(1) << 20)
#define ZD_GIB (UINT64_C(1) << 30)

/** The settings of the table: settings.cache_decoded_bytes and so on. */
struct zd_settings {
#define ZD_SIZE(group, name, initial, least, most, meaning)  uint64_t group##_##name;
#define ZD_COUNT(group, name, initial, least, most, meaning) uint64_t group##_##name;
#define ZD_FLAG(group, name, initial, meaning)               bool group##_##name;
#define ZD_WORD(group, name, initial, choices, meaning)      char *group##_##name;
#define ZD_ORIGINS(group, name, initial, meaning)            char *group##_##name;
#define ZD_HOSTS(group, name, initial, meaning)              char *group##_##name;
#define ZD_NETWORKS(group, name, initial, meaning)           char *group##_##name;
#include "server/config/config.def"
#undef ZD_SIZE
#undef ZD_COUNT
#undef ZD_FLAG
#undef ZD_WORD
#undef ZD_ORIGINS
#undef ZD_HOSTS
#undef ZD_NETWORKS
};

/** A dataset as configured. Strings owned. */
/** In which order the axes of N5 come (reference 7A.6). */
enum zd_n5_axes {
    ZD_N5_AXES_UNSAID, /* as `dimensions`; the location says whether it is N5 */
    ZD_N5_AXES_DIMENSIONS,
    ZD_N5_AXES_REVERSED,
};

struct zd_dataset_config {
    char *name;
    char *location;
    char *folder;            /* the directory of stores in which it was found, or NULL */
    char *title;             /* or NULL */
    struct zd_json *options; /* of its store: an object, or NULL */
    char *cache_control;     /* or NULL: by whether it may change */
    bool is_named;           /* on the command line: it must be there at the start */
    bool writable;
    bool is_private; /* only for credentials that name it */
    bool immutable;
    bool durable; /* default true */
    bool accept_unknown;
    bool write_empty_chunks;
    bool strict; /* "extensions": "strict" (core 3.1) instead of "zep10" */
    enum zd_n5_axes n5_axes;
    bool allow_keys;        /* the raw key space is served; default true */
    uint64_t revalidate_ms; /* UINT64_MAX: the store's default */
};

struct zd_config {
    struct zd_settings settings;
    char **listen; /* "ADDR:PORT", n_listen of them; owned */
    size_t n_listen;
    struct zd_dataset_config *dataset;
    size_t n_datasets;
    struct zd_dataset_config *folder; /* n_folders of them, whose stores are the last datasets */
    size_t n_folders;
    char *port_file;  /* or NULL */
    char *health_url; /* NULL except for ZD_COMMAND_HEALTH */
    char *token_name; /* NULL except for ZD_COMMAND_NEW_TOKEN */
    /* what zd_config_read was given, so that a reload can read it again; borrowed */
    int argc;
    char *const *argv;
    char *const *environment;
};

/** The command of a command line. */
enum zd_command {
    ZD_COMMAND_SERVE,
    ZD_COMMAND_HELP,
    ZD_COMMAND_VERSION,
    ZD_COMMAND_CHECK,
    ZD_COMMAND_HEALTH,
    ZD_COMMAND_NEW_TOKEN,
};

#define ZD_CONFIG_DEFAULT_ADDRESS "127.0.0.1:8080"
#define ZD_CONFIG_VARIABLE_PREFIX "ZARRD_"

enum zd_setting_type {
    ZD_SETTING_SIZE,
    ZD_SETTING_COUNT,
    ZD_SETTING_FLAG,
    ZD_SETTING_WORD,
};

/** A row of config.def. */
struct zd_setting {
    const char *group;
    const char *name;
    const char *full_name; /* "cache.decoded_bytes" */
    enum zd_setting_type type;
    size_t offset;    /* in struct zd_settings */
    uint64_t initial; /* not of words */
    uint64_t least;   /* sizes and counts */
    uint64_t most;
    const char *word;    /* the initial word */
    const char *choices; /* separated by '|', or NULL for any word */
    const char *items;   /* what a list separated by spaces consists of; NULL: it is no list */
    bool (*is_item)(const char *text, size_t len); /* of a list */
    const char *meaning;
};

/** All of them, ended by a row without a name. */
extern const struct zd_setting zd_setting_table[];

/** The setting of that group and name, or the first one of the group when name is NULL; or NULL. */
const struct zd_setting *zd_setting_find(const char *group, const char *name);

/**
 * Give a setting the value that a text or a JSON value says.
 * @retval ZD_INVALID the error names the setting, the value and the bounds
 */
ZD_RESULT zd_setting_set_text(const struct zd_setting *setting, struct zd_settings *settings,
    const char *text, struct zd_error *err);
ZD_RESULT zd_setting_set_json(const struct zd_setting *setting, struct zd_settings *settings,
    const struct zd_json *json, struct zd_error *err);

/** Whether a member of the configuration file is a comment: its name begins with two slashes. */
bool zd_setting_is_comment(const char *name);

/** Set the default. @retval ZD_NO_MEMORY */
ZD_RESULT zd_setting_reset(const struct zd_setting *setting, struct zd_settings *settings);

/** Free its value, if it has one to free. */
void zd_setting_done(const struct zd_setting *setting, struct zd_settings *settings);

/** Its value as JSON: sizes as "64MiB" where that is exact. */
void zd_setting_emit(
    const struct zd_setting *setting, const struct zd_settings *settings, struct zd_emit *emit);

/** The settings of the group limits with value, unit and meaning, for /v1/limits. */
void zd_setting_emit_limits(const struct zd_settings *settings, struct zd_emit *emit);

/** Add the accepted values: "4KiB to 256KiB", "text or json", "true or false". */
void zd_setting_add_bounds(const struct zd_setting *setting, struct zd_text *text);

/** Free the old text and copy the new one in its place. @retval ZD_NO_MEMORY nothing changed */
ZD_RESULT zd_setting_replace(char **place, const char *value, struct zd_error *err);

/** The memory ran out. Always fails. @retval ZD_NO_MEMORY */
static inline enum zd_status zd_setting_no_memory(struct zd_error *err)
{
    return zd_fail(err, ZD_NO_MEMORY, "no memory for the configuration");
}

/** A member has a value of another type or another word. Always fails. @retval ZD_INVALID */
ZD_RESULT zd_setting_wrong_type(const struct zd_pointer *at, const char *expected,
    const struct zd_json *found, struct zd_error *err);

/** No member has that name. Always fails. @retval ZD_INVALID */
ZD_RESULT zd_setting_unknown(const struct zd_pointer *at, struct zd_error *err);

#endif
