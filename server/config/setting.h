/* The table of settings (config.def) as data: one setting read, judged and written. Thread: any. */
#ifndef ZD_CONFIG_SETTING_H
#define ZD_CONFIG_SETTING_H

#include "core/base/emit.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "server/config/settings.h"

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
    const char *meaning;
};

/** All of them, ended by a row without a name. */
extern const struct zd_setting zd_setting_table[];

/** The setting of that group and name, or NULL. */
const struct zd_setting *zd_setting_find(struct zd_span group, struct zd_span name);

/** Whether a group of that name exists. */
bool zd_setting_is_group(struct zd_span group);

/**
 * Give a setting the value that a text or a JSON value says.
 * @retval ZD_INVALID the error names the setting, the value and the bounds
 */
ZD_RESULT zd_setting_set_text(const struct zd_setting *setting, struct zd_settings *settings,
    const char *text, struct zd_error *err);
ZD_RESULT zd_setting_set_json(const struct zd_setting *setting, struct zd_settings *settings,
    const struct zd_json *json, struct zd_error *err);

/** Set the default. @retval ZD_NO_MEMORY */
ZD_RESULT zd_setting_reset(const struct zd_setting *setting, struct zd_settings *settings);

/** Free its value, if it has one to free. */
void zd_setting_done(const struct zd_setting *setting, struct zd_settings *settings);

/** Its value as JSON: sizes as "64MiB" where that is exact. */
void zd_setting_emit(
    const struct zd_setting *setting, const struct zd_settings *settings, struct zd_emit *emit);

/** What it accepts: "4KiB to 256KiB", "text or json", "true or false". */
void zd_setting_add_bounds(const struct zd_setting *setting, struct zd_text *text);

uint64_t zd_setting_u64(const struct zd_setting *setting, const struct zd_settings *settings);

#endif
