/* The table of settings (config.def) as data: one setting read, judged and written. */
#include "server/config/setting.h"

#include <string.h>

#include "core/base/num.h"
#include "core/base/own.h"
#include "core/base/scan.h"

const struct zd_setting zd_setting_table[] = {
#define ZD_NUMBER(kind, group_, name_, initial_, least_, most_, meaning_)                          \
    {.group = #group_,                                                                             \
        .name = #name_,                                                                            \
        .full_name = #group_ "." #name_,                                                           \
        .type = (kind),                                                                            \
        .offset = offsetof(struct zd_settings, group_##_##name_),                                  \
        .initial = (initial_),                                                                     \
        .least = (least_),                                                                         \
        .most = (most_),                                                                           \
        .meaning = (meaning_)},
#define ZD_SIZE(group_, name_, initial_, least_, most_, meaning_)                                  \
    ZD_NUMBER(ZD_SETTING_SIZE, group_, name_, initial_, least_, most_, meaning_)
#define ZD_COUNT(group_, name_, initial_, least_, most_, meaning_)                                 \
    ZD_NUMBER(ZD_SETTING_COUNT, group_, name_, initial_, least_, most_, meaning_)
#define ZD_FLAG(group_, name_, initial_, meaning_)                                                 \
    ZD_NUMBER(ZD_SETTING_FLAG, group_, name_, initial_, 0, 1, meaning_)
#define ZD_WORD(group_, name_, initial_, choices_, meaning_)                                       \
    {.group = #group_,                                                                             \
        .name = #name_,                                                                            \
        .full_name = #group_ "." #name_,                                                           \
        .type = ZD_SETTING_WORD,                                                                   \
        .offset = offsetof(struct zd_settings, group_##_##name_),                                  \
        .word = (initial_),                                                                        \
        .choices = (choices_),                                                                     \
        .meaning = (meaning_)},
#include "server/config/config.def"
    {0},
};

const struct zd_setting *zd_setting_find(struct zd_span group, struct zd_span name)
{
    for (const struct zd_setting *row = zd_setting_table; row->name != NULL; row++) {
        if (zd_span_is(group, row->group) && zd_span_is(name, row->name)) {
            return row;
        }
    }
    return NULL;
}

bool zd_setting_is_group(struct zd_span group)
{
    const struct zd_setting *row = zd_setting_table;
    while (row->name != NULL && !zd_span_is(group, row->group)) {
        row++;
    }
    return row->name != NULL;
}

static uint64_t *number_of(const struct zd_setting *setting, struct zd_settings *settings)
{
    return (uint64_t *)(void *)((char *)settings + setting->offset);
}

static bool *flag_of(const struct zd_setting *setting, struct zd_settings *settings)
{
    return (bool *)(void *)((char *)settings + setting->offset);
}

static char **word_of(const struct zd_setting *setting, struct zd_settings *settings)
{
    return (char **)(void *)((char *)settings + setting->offset);
}

uint64_t zd_setting_u64(const struct zd_setting *setting, const struct zd_settings *settings)
{
    return zd_load_u64((const char *)settings + setting->offset);
}

/* The largest unit that says a size exactly. */
static void add_size(struct zd_text *text, uint64_t bytes)
{
    static const struct {
        uint64_t bytes;
        const char *name;
    } units[] = {{ZD_GIB, "GiB"}, {ZD_MIB, "MiB"}, {ZD_KIB, "KiB"}};
    for (size_t i = 0; i < ZD_COUNT_OF(units); i++) {
        if (bytes > 0 && bytes % units[i].bytes == 0) {
            zd_text_add_u64(text, bytes / units[i].bytes);
            zd_text_add(text, units[i].name);
            return;
        }
    }
    zd_text_add_u64(text, bytes);
}

static void add_choices(struct zd_text *text, const char *choices)
{
    for (; *choices != '\0'; choices++) {
        if (*choices == '|') {
            zd_text_add(text, " or ");
        } else {
            zd_text_add_char(text, *choices);
        }
    }
}

void zd_setting_add_bounds(const struct zd_setting *setting, struct zd_text *text)
{
    switch (setting->type) {
    case ZD_SETTING_SIZE:
        add_size(text, setting->least);
        zd_text_add(text, " to ");
        add_size(text, setting->most);
        break;
    case ZD_SETTING_COUNT:
        zd_text_add_u64(text, setting->least);
        zd_text_add(text, " to ");
        zd_text_add_u64(text, setting->most);
        break;
    case ZD_SETTING_FLAG:
        zd_text_add(text, "true or false");
        break;
    case ZD_SETTING_WORD:
        if (setting->choices == NULL) {
            zd_text_add(text, "a string");
        } else {
            add_choices(text, setting->choices);
        }
        break;
    }
}

static enum zd_status refuse(
    const struct zd_setting *setting, const char *found, struct zd_error *err)
{
    ZD_SCOPED_TEXT(bounds, 128);
    zd_setting_add_bounds(setting, &bounds);
    const enum zd_status status = zd_fail(err, ZD_INVALID, "setting %s is '%.100s'; expected %s",
        setting->full_name, found, bounds.at);
    zd_fact_name(err, setting->full_name);
    zd_fact_expected(err, "%s", bounds.at);
    zd_fact_found(err, "%s", found);
    return status;
}

/* "64MiB", "64 MiB" or plain bytes; false: not a size. */
static bool scan_size(struct zd_span text, uint64_t *ret_bytes)
{
    struct zd_scan scan = zd_scan_of(text);
    uint64_t n = 0;
    if (zd_scan_u64(&scan, UINT64_MAX, &n) != ZD_OK) {
        return false;
    }
    zd_scan_skip_spaces(&scan);
    const uint64_t unit = zd_scan_word(&scan, "KiB")   ? ZD_KIB
                          : zd_scan_word(&scan, "MiB") ? ZD_MIB
                          : zd_scan_word(&scan, "GiB") ? ZD_GIB
                                                       : 1;
    return zd_scan_at_end(&scan) && !ckd_mul(ret_bytes, n, unit);
}

static enum zd_status set_number(const struct zd_setting *setting, struct zd_settings *settings,
    const char *text, struct zd_error *err)
{
    uint64_t n = 0;
    const bool ok = setting->type == ZD_SETTING_SIZE
                        ? scan_size(zd_span_of(text), &n)
                        : zd_scan_whole_u64(zd_span_of(text), UINT64_MAX, &n) == ZD_OK;
    if (!ok || n < setting->least || n > setting->most) {
        return refuse(setting, text, err);
    }
    *number_of(setting, settings) = n;
    return ZD_OK;
}

static bool is_choice(const char *choices, const char *word)
{
    const size_t len = strlen(word);
    for (const char *at = choices; at != NULL && len > 0; at = strchr(at, '|')) {
        at += *at == '|' ? 1 : 0;
        if (strncmp(at, word, len) == 0 && (at[len] == '|' || at[len] == '\0')) {
            return true;
        }
    }
    return choices == NULL;
}

static enum zd_status set_word(const struct zd_setting *setting, struct zd_settings *settings,
    const char *text, struct zd_error *err)
{
    if (!is_choice(setting->choices, text) || strpbrk(text, "\r\n") != NULL) {
        return refuse(setting, text, err);
    }
    char *copy = zd_strdup(text);
    if (copy == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for setting %s", setting->full_name);
    }
    zd_free(*word_of(setting, settings));
    *word_of(setting, settings) = copy;
    return ZD_OK;
}

enum zd_status zd_setting_set_text(const struct zd_setting *setting, struct zd_settings *settings,
    const char *text, struct zd_error *err)
{
    switch (setting->type) {
    case ZD_SETTING_SIZE:
    case ZD_SETTING_COUNT:
        return set_number(setting, settings, text, err);
    case ZD_SETTING_WORD:
        return set_word(setting, settings, text, err);
    case ZD_SETTING_FLAG:
        break;
    }
    const bool is_on = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;
    if (!is_on && strcmp(text, "false") != 0 && strcmp(text, "0") != 0) {
        return refuse(setting, text, err);
    }
    *flag_of(setting, settings) = is_on;
    return ZD_OK;
}

enum zd_status zd_setting_set_json(const struct zd_setting *setting, struct zd_settings *settings,
    const struct zd_json *json, struct zd_error *err)
{
    const bool is_number = setting->type == ZD_SETTING_SIZE || setting->type == ZD_SETTING_COUNT;
    const bool takes_text = setting->type == ZD_SETTING_SIZE || setting->type == ZD_SETTING_WORD;
    if (takes_text && zd_json_is(json, ZD_JSON_STRING)) {
        return zd_setting_set_text(setting, settings, zd_json_string(json), err);
    }
    uint64_t n = 0;
    if (is_number && zd_json_u64(json, &n)) {
        ZD_SCOPED_TEXT(text, 20);
        zd_text_add_u64(&text, n);
        return zd_setting_set_text(setting, settings, text.at, err);
    }
    if (setting->type == ZD_SETTING_FLAG && zd_json_is(json, ZD_JSON_BOOL)) {
        *flag_of(setting, settings) = zd_json_is_true(json);
        return ZD_OK;
    }
    int64_t negative = 0;
    if (is_number && zd_json_i64(json, &negative)) {
        ZD_SCOPED_TEXT(text, 24);
        zd_text_addf(&text, "%lld", (long long)negative);
        return refuse(setting, text.at, err);
    }
    return refuse(setting, zd_json_type_name(json), err);
}

enum zd_status zd_setting_reset(const struct zd_setting *setting, struct zd_settings *settings)
{
    switch (setting->type) {
    case ZD_SETTING_SIZE:
    case ZD_SETTING_COUNT:
        *number_of(setting, settings) = setting->initial;
        break;
    case ZD_SETTING_FLAG:
        *flag_of(setting, settings) = setting->initial != 0;
        break;
    case ZD_SETTING_WORD:
        return set_word(setting, settings, setting->word, NULL);
    }
    return ZD_OK;
}

void zd_setting_done(const struct zd_setting *setting, struct zd_settings *settings)
{
    if (setting->type == ZD_SETTING_WORD) {
        zd_free(*word_of(setting, settings));
        *word_of(setting, settings) = NULL;
    }
}

void zd_setting_emit(
    const struct zd_setting *setting, const struct zd_settings *settings, struct zd_emit *emit)
{
    const void *at = (const char *)settings + setting->offset;
    switch (setting->type) {
    case ZD_SETTING_SIZE: {
        ZD_SCOPED_TEXT(size, 32);
        add_size(&size, zd_setting_u64(setting, settings));
        zd_emit_string(emit, size.at);
        break;
    }
    case ZD_SETTING_COUNT:
        zd_emit_u64(emit, zd_setting_u64(setting, settings));
        break;
    case ZD_SETTING_FLAG:
        zd_emit_bool(emit, *(const bool *)at);
        break;
    case ZD_SETTING_WORD:
        zd_emit_string(emit, *(char *const *)at);
        break;
    }
}
