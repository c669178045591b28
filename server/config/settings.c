/* The table of settings (config.def) as data: one setting read, judged and written. */
#include "server/config/settings.h"

#include <string.h>

#include "core/base/num.h"
#include "core/base/own.h"
#include "core/base/scan.h"
#include "server/config/networks.h"

#define SHOWN_BYTES 64 /* of a value in an error */

#define ORIGINS                                                                                    \
    "* or origins separated by spaces, such as https://app.example or http://localhost:3000"
#define HOSTS "* or host names without ports, separated by spaces, such as data.example"
#define NETWORKS                                                                                   \
    "addresses or prefixes separated by spaces, such as 192.0.2.7, 10.0.0.0/8 or 2001:db8::/32"

static bool is_origin(const char *text, size_t len);
static bool is_host(const char *text, size_t len);

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
#define ZD_TEXT(group_, name_, initial_, choices_, items_, is_item_, meaning_)                     \
    {.group = #group_,                                                                             \
        .name = #name_,                                                                            \
        .full_name = #group_ "." #name_,                                                           \
        .type = ZD_SETTING_WORD,                                                                   \
        .offset = offsetof(struct zd_settings, group_##_##name_),                                  \
        .word = (initial_),                                                                        \
        .choices = (choices_),                                                                     \
        .items = (items_),                                                                         \
        .is_item = (is_item_),                                                                     \
        .meaning = (meaning_)},
#define ZD_WORD(group_, name_, initial_, choices_, meaning_)                                       \
    ZD_TEXT(group_, name_, initial_, choices_, NULL, NULL, meaning_)
#define ZD_ORIGINS(group_, name_, initial_, meaning_)                                              \
    ZD_TEXT(group_, name_, initial_, NULL, ORIGINS, is_origin, meaning_)
#define ZD_HOSTS(group_, name_, initial_, meaning_)                                                \
    ZD_TEXT(group_, name_, initial_, NULL, HOSTS, is_host, meaning_)
#define ZD_NETWORKS(group_, name_, initial_, meaning_)                                             \
    ZD_TEXT(group_, name_, initial_, NULL, NETWORKS, zd_networks_is_item, meaning_)
#include "server/config/config.def"
    {0},
};

const struct zd_setting *zd_setting_find(const char *group, const char *name)
{
    for (const struct zd_setting *row = zd_setting_table; row->name != NULL; row++) {
        if (strcmp(group, row->group) == 0 && (name == NULL || strcmp(name, row->name) == 0)) {
            return row;
        }
    }
    return NULL;
}

static void *place_of(const struct zd_setting *setting, struct zd_settings *settings)
{
    return (char *)settings + setting->offset;
}

static uint64_t number_of(const struct zd_setting *setting, const struct zd_settings *settings)
{
    return zd_load_u64((const char *)settings + setting->offset);
}

static bool is_number(const struct zd_setting *setting)
{
    return setting->type == ZD_SETTING_SIZE || setting->type == ZD_SETTING_COUNT;
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

static void add_number(struct zd_text *text, const struct zd_setting *setting, uint64_t n)
{
    if (setting->type == ZD_SETTING_SIZE) {
        add_size(text, n);
    } else {
        zd_text_add_u64(text, n);
    }
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
    if (is_number(setting)) {
        add_number(text, setting, setting->least);
        zd_text_add(text, " to ");
        add_number(text, setting, setting->most);
    } else if (setting->items != NULL) {
        zd_text_add(text, setting->items);
    } else if (setting->type == ZD_SETTING_FLAG) {
        zd_text_add(text, "true or false");
    } else {
        add_choices(text, setting->choices == NULL ? "a string" : setting->choices);
    }
}

static enum zd_status refuse(
    const struct zd_setting *setting, const char *found, struct zd_error *err)
{
    ZD_SCOPED_TEXT(bounds, 160);
    zd_setting_add_bounds(setting, &bounds);
    zd_text_add(&bounds, setting->type == ZD_SETTING_SIZE ? " (bytes, or with KiB, MiB, GiB)" : "");
    const enum zd_status status = zd_fail_name(err, setting->full_name,
        "setting %s is '%.100s'; expected %s", setting->full_name, found, bounds.at);
    zd_fact_expected(err, "%s", bounds.at);
    zd_fact_found(err, "%s", found);
    return status;
}

enum zd_status zd_setting_replace(char **place, const char *value, struct zd_error *err)
{
    char *copy = zd_strdup(value);
    if (copy == NULL) {
        return zd_setting_no_memory(err);
    }
    zd_free(*place);
    *place = copy;
    return ZD_OK;
}

/* A value that fits a line as it is written; else its type. */
static void show_value(const struct zd_json *value, struct zd_text *text)
{
    struct zd_emit emit;
    zd_emit_init(&emit, text, false);
    if (!zd_json_is(value, ZD_JSON_ARRAY) && !zd_json_is(value, ZD_JSON_OBJECT)) {
        zd_emit_json(&emit, value);
    }
    if (text->status != ZD_OK || text->len == 0) {
        zd_text_clear(text);
        zd_text_add(text, zd_json_type_name(value));
    }
}

enum zd_status zd_setting_wrong_type(const struct zd_pointer *at, const char *expected,
    const struct zd_json *found, struct zd_error *err)
{
    ZD_SCOPED_TEXT(shown, SHOWN_BYTES);
    show_value(found, &shown);
    const char *where = at->text[0] == '\0' ? "the document" : at->text;
    const enum zd_status status = zd_fail_expected(
        err, ZD_INVALID, expected, shown.at, "%s is %s; expected %s", where, shown.at, expected);
    zd_fact_pointer(err, at->text);
    return status;
}

bool zd_setting_is_comment(const char *name)
{
    return name[0] == '/' && name[1] == '/';
}

enum zd_status zd_setting_unknown(const struct zd_pointer *at, struct zd_error *err)
{
    const enum zd_status status =
        zd_fail(err, ZD_INVALID, "unknown setting %s; --help lists all settings", at->text);
    zd_fact_pointer(err, at->text);
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
    *(uint64_t *)place_of(setting, settings) = n;
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

/* scheme://host or scheme://host:port, as browsers send it (RFC 6454, 6.2). */
static bool is_origin(const char *text, size_t len)
{
    static const char name[] = "abcdefghijklmnopqrstuvwxyz0123456789.-_+";
    const size_t scheme = strspn(text, name);
    if (len == 1 && text[0] == '*') {
        return true;
    }
    if (scheme == 0 || strncmp(text + scheme, "://", 3) != 0) {
        return false;
    }
    const char *host = text + scheme + 3;
    const size_t bracket = host[0] == '[' ? strspn(host + 1, "0123456789abcdef:.") + 1 : 0;
    const char *at = host + (bracket > 0 ? bracket : strspn(host, name));
    at += bracket > 0 && *at == ']' ? 1 : 0;
    const size_t digits = *at == ':' ? strspn(at + 1, "0123456789") : 0;
    at += digits > 0 ? digits + 1 : 0;
    return at > host && at == text + len;
}

/* A name as it stands in the header Host, without a port. */
static bool is_host(const char *text, size_t len)
{
    static const char name[] = "abcdefghijklmnopqrstuvwxyz0123456789.-_";
    return (len == 1 && text[0] == '*') || strspn(text, name) == len;
}

static bool are_items(const struct zd_setting *setting, const char *text)
{
    for (text += strspn(text, " "); *text != '\0'; text += strspn(text, " ")) {
        const size_t len = strcspn(text, " ");
        if (!setting->is_item(text, len)) {
            return false;
        }
        text += len;
    }
    return true;
}

static enum zd_status set_word(const struct zd_setting *setting, struct zd_settings *settings,
    const char *text, struct zd_error *err)
{
    if (!is_choice(setting->choices, text) || strpbrk(text, "\r\n") != NULL ||
        (setting->items != NULL && !are_items(setting, text))) {
        return refuse(setting, text, err);
    }
    return zd_setting_replace(place_of(setting, settings), text, err);
}

enum zd_status zd_setting_set_text(const struct zd_setting *setting, struct zd_settings *settings,
    const char *text, struct zd_error *err)
{
    if (is_number(setting)) {
        return set_number(setting, settings, text, err);
    }
    if (setting->type == ZD_SETTING_WORD) {
        return set_word(setting, settings, text, err);
    }
    const bool is_on = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;
    if (!is_on && strcmp(text, "false") != 0 && strcmp(text, "0") != 0) {
        return refuse(setting, text, err);
    }
    *(bool *)place_of(setting, settings) = is_on;
    return ZD_OK;
}

enum zd_status zd_setting_set_json(const struct zd_setting *setting, struct zd_settings *settings,
    const struct zd_json *json, struct zd_error *err)
{
    const bool takes_text = setting->type == ZD_SETTING_SIZE || setting->type == ZD_SETTING_WORD;
    if (takes_text && zd_json_is(json, ZD_JSON_STRING)) {
        return zd_setting_set_text(setting, settings, zd_json_string(json), err);
    }
    if (setting->type == ZD_SETTING_FLAG && zd_json_is(json, ZD_JSON_BOOL)) {
        *(bool *)place_of(setting, settings) = zd_json_is_true(json);
        return ZD_OK;
    }
    ZD_SCOPED_TEXT(digits, 24);
    uint64_t n = 0;
    int64_t negative = 0;
    if (is_number(setting) && zd_json_u64(json, &n)) {
        zd_text_add_u64(&digits, n);
    } else if (is_number(setting) && zd_json_i64(json, &negative)) {
        zd_text_addf(&digits, "%lld", (long long)negative);
    } else {
        return refuse(setting, zd_json_type_name(json), err);
    }
    return zd_setting_set_text(setting, settings, digits.at, err);
}

enum zd_status zd_setting_reset(const struct zd_setting *setting, struct zd_settings *settings)
{
    if (setting->type == ZD_SETTING_WORD) {
        return set_word(setting, settings, setting->word, NULL);
    }
    if (setting->type == ZD_SETTING_FLAG) {
        *(bool *)place_of(setting, settings) = setting->initial != 0;
    } else {
        *(uint64_t *)place_of(setting, settings) = setting->initial;
    }
    return ZD_OK;
}

void zd_setting_done(const struct zd_setting *setting, struct zd_settings *settings)
{
    if (setting->type == ZD_SETTING_WORD) {
        char **word = place_of(setting, settings);
        zd_free(*word);
        *word = NULL;
    }
}

void zd_setting_emit(
    const struct zd_setting *setting, const struct zd_settings *settings, struct zd_emit *emit)
{
    const void *at = (const char *)settings + setting->offset;
    switch (setting->type) {
    case ZD_SETTING_SIZE: {
        ZD_SCOPED_TEXT(size, 32);
        add_size(&size, number_of(setting, settings));
        zd_emit_string(emit, size.at);
        break;
    }
    case ZD_SETTING_COUNT:
        zd_emit_u64(emit, number_of(setting, settings));
        break;
    case ZD_SETTING_FLAG:
        zd_emit_bool(emit, *(const bool *)at);
        break;
    case ZD_SETTING_WORD:
        zd_emit_string(emit, *(char *const *)at);
        break;
    }
}

void zd_setting_emit_limits(const struct zd_settings *settings, struct zd_emit *emit)
{
    zd_emit_object(emit);
    for (const struct zd_setting *row = zd_setting_table; row->name != NULL; row++) {
        if (strcmp(row->group, "limits") != 0 || !is_number(row)) {
            continue;
        }
        const char *unit = strrchr(row->name, '_'); /* the unit ends every name */
        zd_emit_member_object(emit, row->name);
        zd_emit_member_u64(emit, "value", number_of(row, settings));
        zd_emit_member_string(emit, "unit", unit == NULL ? row->name : unit + 1);
        zd_emit_member_string(emit, "meaning", row->meaning);
        zd_emit_object_end(emit);
    }
    zd_emit_object_end(emit);
}
