/* Settings from four sources: defaults, a file, the environment, the command line. */
#include "server/config/config.h"

#include <assert.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/num.h"
#include "core/base/scan.h"
#include "server/config/dataset_config.h"
#include "server/config/setting.h"

#define FILE_NODES_MAX  1000000
#define FILE_DEPTH_MAX  16
#define FILE_BYTES_MAX  (4U << 20)
#define SHOWN_BYTES     UINT64_C(128) /* of a name that is refused */
#define NAME_BYTES_MAX  64
#define DEFAULT_ADDRESS "127.0.0.1:8080"
#define VARIABLE_PREFIX "ZARRD_"

/* ---- the table of options ---- */

enum option_id {
    OPTION_CONFIG,
    OPTION_LISTEN,
    OPTION_WRITABLE,
    OPTION_PORT_FILE,
    OPTION_SET,
    OPTION_CHECK,
    OPTION_HEALTH,
    OPTION_VERSION,
    OPTION_HELP,
};

static const struct option {
    enum option_id id;
    char letter; /* '\0' = none */
    const char *name;
    const char *value; /* what it takes; NULL = nothing */
    const char *meaning;
} options[] = {
    {OPTION_CONFIG, 'c', "config", "FILE", "JSON configuration"},
    {OPTION_LISTEN, 'l', "listen", "ADDR:PORT",
        "default " DEFAULT_ADDRESS "; port 0 takes any free port; [::]:8080 for IPv6; repeatable"},
    {OPTION_WRITABLE, 'w', "writable", NULL,
        "the datasets named on this command line accept writes"},
    {OPTION_PORT_FILE, '\0', "port-file", "FILE",
        "write the port actually bound, once requests are accepted"},
    {OPTION_SET, '\0', "set", "KEY=VALUE", "any setting below; repeatable"},
    {OPTION_CHECK, '\0', "check-config", NULL, "validate, print the effective configuration, exit"},
    {OPTION_HEALTH, '\0', "health", "URL",
        "ask a running server, http://127.0.0.1:8080/readyz; exit 0 when it answers 200"},
    {OPTION_VERSION, '\0', "version", NULL, "print the version, exit"},
    {OPTION_HELP, 'h', "help", NULL, "print this text, exit"},
};

void zd_config_help(struct zd_text *text)
{
    zd_text_add(text,
        "zarrd [OPTIONS] [NAME=]LOCATION ...\n\n"
        "Serves Zarr hierarchies over HTTP. A LOCATION is a path, a file: URL or mem:.\n\n");
    for (size_t i = 0; i < ZD_COUNT_OF(options); i++) {
        const struct option *option = &options[i];
        ZD_SCOPED_TEXT(head, 64);
        if (option->letter != '\0') {
            zd_text_addf(&head, "-%c, ", option->letter);
        }
        zd_text_addf(&head, "--%s%s%s", option->name, option->value == NULL ? "" : " ",
            option->value == NULL ? "" : option->value);
        zd_text_addf(text, "  %-28s%s\n", head.at, option->meaning);
    }
    zd_text_add(text,
        "\nSettings, as --set KEY=VALUE, in the environment as " VARIABLE_PREFIX "KEY, or in the "
        "file:\n\n");
    for (const struct zd_setting *row = zd_setting_table; row->name != NULL; row++) {
        ZD_SCOPED_TEXT(initial, 256);
        ZD_SCOPED_TEXT(bounds, 128);
        struct zd_settings settings = {0};
        struct zd_emit emit;
        zd_emit_init(&emit, &initial, false);
        if (zd_setting_reset(row, &settings) == ZD_OK) {
            zd_setting_emit(row, &settings, &emit);
        }
        if (row->type == ZD_SETTING_WORD) {
            zd_free(*(char **)(void *)((char *)&settings + row->offset));
        }
        zd_setting_add_bounds(row, &bounds);
        zd_text_addf(text, "  %-28s%s (default %s; %s)\n", row->full_name, row->meaning, initial.at,
            bounds.at);
    }
}

/* ---- growing the configuration ---- */

static enum zd_status no_memory(struct zd_error *err)
{
    const enum zd_status status = zd_fail(err, ZD_NO_MEMORY, "no memory for the configuration");
    assert(status == ZD_NO_MEMORY);
    (void)status;
    return ZD_NO_MEMORY; /* the constant is what a static analyser can follow */
}

static enum zd_status replace_text(char **place, const char *value, struct zd_error *err)
{
    char *copy = zd_strdup(value);
    if (copy == NULL) {
        return no_memory(err);
    }
    zd_free(*place);
    *place = copy;
    return ZD_OK;
}

static void clear_listen(struct zd_config *config)
{
    for (size_t i = 0; i < config->n_listen; i++) {
        zd_free(config->listen[i]);
    }
    config->n_listen = 0;
}

static enum zd_status add_listen(
    struct zd_config *config, const char *address, struct zd_error *err)
{
    char **grown =
        (char **)zd_realloc((void *)config->listen, (config->n_listen + 1) * sizeof *grown);
    if (grown == NULL) {
        return no_memory(err);
    }
    config->listen = grown;
    config->listen[config->n_listen] = zd_strdup(address);
    if (config->listen[config->n_listen] == NULL) {
        return no_memory(err);
    }
    config->n_listen++;
    return ZD_OK;
}

static bool is_dataset_name(struct zd_span name)
{
    static const char others[] = "._-";
    for (size_t i = 0; i < name.len; i++) {
        const char c = (char)name.ptr[i];
        const bool is_alphanumeric =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!is_alphanumeric && (i == 0 || c == '\0' || strchr(others, c) == NULL)) {
            return false;
        }
    }
    return name.len >= 1 && name.len <= NAME_BYTES_MAX;
}

/* The dataset that was added last. */
static struct zd_dataset_config *newest(const struct zd_config *config)
{
    return &config->dataset[config->n_datasets - 1];
}

/* A new dataset of that name, with its defaults. */
static enum zd_status add_dataset(
    struct zd_config *config, struct zd_span name, struct zd_error *err)
{
    const int shown = (int)zd_min_u64(name.len, SHOWN_BYTES);
    if (!is_dataset_name(name)) {
        return zd_fail(err, ZD_INVALID,
            "'%.*s' cannot name a dataset: [A-Za-z0-9][A-Za-z0-9._-]{0,63} is expected; "
            "NAME=LOCATION gives one",
            shown, (const char *)name.ptr);
    }
    for (size_t i = 0; i < config->n_datasets; i++) {
        if (zd_span_is(name, config->dataset[i].name)) {
            return zd_fail(err, ZD_INVALID,
                "two datasets are named '%.*s'; NAME=LOCATION renames one", shown,
                (const char *)name.ptr);
        }
    }
    struct zd_dataset_config *grown =
        zd_realloc(config->dataset, (config->n_datasets + 1) * sizeof *grown);
    if (grown == NULL) {
        return no_memory(err);
    }
    config->dataset = grown;
    struct zd_dataset_config *dataset = &grown[config->n_datasets];
    *dataset = (struct zd_dataset_config){
        .name = zd_strndup((const char *)name.ptr, name.len),
        .durable = true,
        .allow_keys = true,
        .revalidate_ms = UINT64_MAX,
    };
    if (dataset->name == NULL) {
        return no_memory(err);
    }
    config->n_datasets++;
    return ZD_OK;
}

static enum zd_status read_dataset(struct zd_config *config, const char *name,
    const struct zd_json *json, const struct zd_pointer *at, struct zd_error *err)
{
    if (!zd_json_is(json, ZD_JSON_OBJECT)) {
        return zd_config_wrong_type(at, "an object", json, err);
    }
    ZD_TRY(add_dataset(config, zd_span_of(name), err));
    struct zd_dataset_config *dataset = newest(config);
    for (void *i = zd_json_next(json, NULL); i != NULL; i = zd_json_next(json, i)) {
        const struct zd_pointer place = zd_pointer_member(at, zd_json_iter_name(i));
        ZD_TRY(zd_dataset_config_set(
            dataset, zd_json_iter_name(i), zd_json_iter_value(i), &place, err));
    }
    if (dataset->location == NULL) {
        return zd_fail(err, ZD_INVALID, "%s has no location", at->text);
    }
    return ZD_OK;
}

static enum zd_status read_listen(struct zd_config *config, const struct zd_json *json,
    const struct zd_pointer *at, struct zd_error *err)
{
    if (!zd_json_is(json, ZD_JSON_ARRAY)) {
        return zd_config_wrong_type(at, "an array of strings", json, err);
    }
    clear_listen(config);
    for (size_t i = 0; i < zd_json_count(json); i++) {
        const struct zd_json *address = zd_json_element(json, i);
        const struct zd_pointer place = zd_pointer_element(at, i);
        if (zd_json_string(address) == NULL) {
            return zd_config_wrong_type(&place, "a string", address, err);
        }
        ZD_TRY(add_listen(config, zd_json_string(address), err));
    }
    return ZD_OK;
}

static enum zd_status read_group(struct zd_config *config, const char *group,
    const struct zd_json *json, const struct zd_pointer *at, struct zd_error *err)
{
    if (!zd_setting_is_group(zd_span_of(group))) {
        return zd_config_unknown(at, err);
    }
    if (!zd_json_is(json, ZD_JSON_OBJECT)) {
        return zd_config_wrong_type(at, "an object", json, err);
    }
    for (void *i = zd_json_next(json, NULL); i != NULL; i = zd_json_next(json, i)) {
        const struct zd_pointer place = zd_pointer_member(at, zd_json_iter_name(i));
        const struct zd_setting *setting =
            zd_setting_find(zd_span_of(group), zd_span_of(zd_json_iter_name(i)));
        if (setting == NULL) {
            return zd_config_unknown(&place, err);
        }
        const enum zd_status status =
            zd_setting_set_json(setting, &config->settings, zd_json_iter_value(i), err);
        if (status != ZD_OK) {
            zd_fact_pointer(err, place.text);
            return status;
        }
    }
    return ZD_OK;
}

static enum zd_status read_datasets(struct zd_config *config, const struct zd_json *json,
    const struct zd_pointer *at, struct zd_error *err)
{
    if (!zd_json_is(json, ZD_JSON_OBJECT)) {
        return zd_config_wrong_type(at, "an object", json, err);
    }
    for (void *i = zd_json_next(json, NULL); i != NULL; i = zd_json_next(json, i)) {
        const struct zd_pointer place = zd_pointer_member(at, zd_json_iter_name(i));
        ZD_TRY(read_dataset(config, zd_json_iter_name(i), zd_json_iter_value(i), &place, err));
    }
    return ZD_OK;
}

static enum zd_status read_document(
    struct zd_config *config, const struct zd_json *json, struct zd_error *err)
{
    const struct zd_pointer root = {.text = ""};
    if (!zd_json_is(json, ZD_JSON_OBJECT)) {
        return zd_config_wrong_type(&root, "an object", json, err);
    }
    for (void *i = zd_json_next(json, NULL); i != NULL; i = zd_json_next(json, i)) {
        const char *name = zd_json_iter_name(i);
        const struct zd_json *value = zd_json_iter_value(i);
        const struct zd_pointer at = zd_pointer_member(&root, name);
        if (strcmp(name, "listen") == 0) {
            ZD_TRY(read_listen(config, value, &at, err));
        } else if (strcmp(name, "datasets") == 0) {
            ZD_TRY(read_datasets(config, value, &at, err));
        } else {
            ZD_TRY(read_group(config, name, value, &at, err));
        }
    }
    return ZD_OK;
}

/* ---- the file ---- */

/* All of a file; NULL when that is not possible, and then err says why. */
static struct zd_buf *read_bytes(const char *path, struct zd_error *err)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        err->status = zd_fail(err, ZD_INVALID, "it cannot be opened");
        return NULL;
    }
    ZD_AUTO(zd_buf) bytes = zd_buf_new(FILE_BYTES_MAX + 1);
    ssize_t n = bytes == NULL ? -1 : 1;
    while (n > 0 && bytes->len < bytes->cap) {
        n = read(fd, bytes->data + bytes->len, bytes->cap - bytes->len);
        bytes->len += n > 0 ? (size_t)n : 0;
    }
    close(fd);
    if (bytes == NULL) {
        err->status = no_memory(err);
    } else if (n < 0) {
        err->status = zd_fail(err, ZD_INVALID, "it cannot be read");
    } else if (bytes->len > FILE_BYTES_MAX) {
        err->status = zd_fail(err, ZD_INVALID, "it is longer than %u bytes", FILE_BYTES_MAX);
    } else {
        return ZD_TAKE(bytes);
    }
    return NULL;
}

static enum zd_status read_file(struct zd_config *config, const char *path, struct zd_error *err)
{
    const struct zd_json_limits limits = {
        .bytes_max = FILE_BYTES_MAX, .nodes_max = FILE_NODES_MAX, .depth_max = FILE_DEPTH_MAX};
    struct zd_error cause = {0};
    ZD_AUTO(zd_json) json = NULL;
    ZD_AUTO(zd_buf) bytes = read_bytes(path, &cause);
    enum zd_status status = cause.status;
    if (bytes != NULL) {
        status = zd_json_parse(zd_buf_span(bytes), &limits, &json, &cause);
    }
    if (status == ZD_OK) {
        status = read_document(config, json, &cause);
    }
    if (status == ZD_OK) {
        return ZD_OK;
    }
    const enum zd_status told = zd_fail(err, status == ZD_NO_MEMORY ? status : ZD_INVALID,
        "configuration '%.200s': %.300s", path, cause.text);
    if (err != NULL) {
        err->facts = cause.facts;
    }
    return told;
}

/* ---- the environment ---- */

/* 'A' of 'a', '_' of '.' and '_'. */
static char variable_char(char c)
{
    return (char)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : '_');
}

/* Whether the first bytes of a variable's name are that name of a setting or group. */
static bool spells(const char *variable, size_t len, const char *name)
{
    if (strlen(name) != len) {
        return false;
    }
    size_t i = 0;
    while (i < len && variable[i] == variable_char(name[i])) {
        i++;
    }
    return i == len;
}

static bool begins_as_group(const char *variable, size_t len)
{
    const char *underscore = memchr(variable, '_', len);
    for (const struct zd_setting *row = zd_setting_table; row->name != NULL; row++) {
        if (underscore != NULL && spells(variable, (size_t)(underscore - variable), row->group)) {
            return true;
        }
    }
    return false;
}

/* Others that begin with ZARRD_ are not ours: Kubernetes sets ZARRD_SERVICE_HOST and such. */
static enum zd_status read_variable(
    struct zd_config *config, const char *variable, struct zd_error *err)
{
    const char *equals = strchr(variable, '=');
    const size_t prefix_len = strlen(VARIABLE_PREFIX);
    if (equals == NULL || strncmp(variable, VARIABLE_PREFIX, prefix_len) != 0) {
        return ZD_OK;
    }
    const char *name = variable + prefix_len;
    const size_t len = (size_t)(equals - name);
    for (const struct zd_setting *row = zd_setting_table; row->name != NULL; row++) {
        if (spells(name, len, row->full_name)) { /* ZARRD_CACHE_DECODED_BYTES */
            return zd_setting_set_text(row, &config->settings, equals + 1, err);
        }
    }
    if (begins_as_group(name, len)) {
        return zd_fail(err, ZD_INVALID,
            "there is no setting for the variable " VARIABLE_PREFIX "%.*s",
            (int)zd_min_u64(len, 100), name);
    }
    return ZD_OK;
}

/* ---- the command line ---- */

/* One argument: an option with its value, or (option NULL) a location. */
struct argument {
    const struct option *option;
    const char *value;
};

static const struct option *find_option(const char *word, const char **ret_value)
{
    *ret_value = NULL;
    if (word[0] != '-' || word[1] == '\0') {
        return NULL;
    }
    for (size_t i = 0; i < ZD_COUNT_OF(options); i++) {
        const struct option *option = &options[i];
        const size_t len = strlen(option->name);
        if (word[1] == '-' && strncmp(word + 2, option->name, len) == 0 &&
            (word[2 + len] == '\0' || word[2 + len] == '=')) {
            *ret_value = word[2 + len] == '=' ? word + 3 + len : NULL;
            return option;
        }
        if (word[1] != '-' && word[1] == option->letter) {
            *ret_value = word[2] != '\0' ? word + 2 : NULL;
            return option;
        }
    }
    return NULL;
}

/* Takes argv[*at] and what belongs to it. `--` makes the rest locations. */
static enum zd_status next_argument(int argc, char *const *argv, int *at, bool *only_locations,
    struct argument *ret_argument, struct zd_error *err)
{
    const char *word = argv[(*at)++];
    struct argument argument = {.value = word};
    if (!*only_locations && word[0] == '-') {
        const char *value = NULL;
        argument.option = find_option(word, &value);
        if (argument.option == NULL) {
            return zd_fail(err, ZD_INVALID, "unknown option '%.100s'; --help lists them", word);
        }
        if ((argument.option->value == NULL) != (value == NULL) && value != NULL) {
            return zd_fail(err, ZD_INVALID, "option '--%s' takes no value", argument.option->name);
        }
        if (argument.option->value != NULL && value == NULL) {
            if (*at == argc) {
                return zd_fail(err, ZD_INVALID, "option '--%s' needs %s", argument.option->name,
                    argument.option->value);
            }
            value = argv[(*at)++];
        }
        argument.value = value == NULL ? "" : value;
    }
    *ret_argument = argument;
    return ZD_OK;
}

static enum zd_status set_pair(struct zd_config *config, const char *pair, struct zd_error *err)
{
    const char *equals = strchr(pair, '=');
    const char *dot = strchr(pair, '.');
    const struct zd_setting *setting = NULL;
    if (equals == NULL) {
        return zd_fail(err, ZD_INVALID, "--set '%.100s': KEY=VALUE is expected", pair);
    }
    if (dot != NULL && dot < equals) {
        setting = zd_setting_find((struct zd_span){(const uint8_t *)pair, (size_t)(dot - pair)},
            (struct zd_span){(const uint8_t *)dot + 1, (size_t)(equals - dot - 1)});
    }
    if (setting == NULL) {
        return zd_fail(err, ZD_INVALID, "there is no setting '%.*s'; --help lists them",
            (int)zd_min_u64((uint64_t)(equals - pair), 100), pair);
    }
    return zd_setting_set_text(setting, &config->settings, equals + 1, err);
}

static bool ends_with(struct zd_span text, const char *ending)
{
    const size_t len = strlen(ending);
    return text.len > len && memcmp(text.ptr + text.len - len, ending, len) == 0;
}

/* The last segment of a location, without the ending that says what it is. */
static struct zd_span name_of(const char *location)
{
    static const char *const endings[] = {".zarr", ".n5", ".zip"};
    struct zd_span text = zd_span_of(location);
    while (text.len > 0 && (text.ptr[text.len - 1] == '/' || text.ptr[text.len - 1] == ':')) {
        text.len--;
    }
    const uint8_t *slash = memrchr(text.ptr, '/', text.len);
    if (slash != NULL) {
        text.len -= (size_t)(slash + 1 - text.ptr);
        text.ptr = slash + 1;
    }
    for (size_t i = 0; i < ZD_COUNT_OF(endings); i++) {
        if (ends_with(text, endings[i])) {
            text.len -= strlen(endings[i]);
            break;
        }
    }
    return text;
}

static enum zd_status add_location(
    struct zd_config *config, const char *word, bool writable, struct zd_error *err)
{
    const char *equals = strchr(word, '=');
    struct zd_span name = {0};
    if (equals != NULL) {
        name = (struct zd_span){(const uint8_t *)word, (size_t)(equals - word)};
    }
    const bool is_named = equals != NULL && is_dataset_name(name);
    const char *location = is_named ? equals + 1 : word;
    if (location[0] == '\0') {
        return zd_fail(err, ZD_INVALID, "'%.100s' names no location", word);
    }
    ZD_TRY(add_dataset(config, is_named ? name : name_of(location), err));
    newest(config)->writable = writable;
    return replace_text(&newest(config)->location, location, err);
}

/* What the first look at the command line finds. */
struct outline {
    const char *config_file;
    const char *health_url;
    enum zd_command command;
    bool writable;
    bool has_listen;
};

static enum zd_status read_outline(
    int argc, char *const *argv, struct outline *outline, struct zd_error *err)
{
    bool only_locations = false;
    for (int at = 1; at < argc;) {
        struct argument argument = {.value = ""};
        if (strcmp(argv[at], "--") == 0 && !only_locations) {
            only_locations = true;
            at++;
            continue;
        }
        ZD_TRY(next_argument(argc, argv, &at, &only_locations, &argument, err));
        if (argument.option == NULL) {
            continue;
        }
        switch (argument.option->id) {
        case OPTION_CONFIG:
            outline->config_file = argument.value;
            break;
        case OPTION_LISTEN:
            outline->has_listen = true;
            break;
        case OPTION_WRITABLE:
            outline->writable = true;
            break;
        case OPTION_CHECK:
            outline->command = ZD_COMMAND_CHECK;
            break;
        case OPTION_HEALTH:
            outline->command = ZD_COMMAND_HEALTH;
            outline->health_url = argument.value;
            return ZD_OK;
        case OPTION_VERSION:
            outline->command = ZD_COMMAND_VERSION;
            return ZD_OK;
        case OPTION_HELP:
            outline->command = ZD_COMMAND_HELP;
            return ZD_OK;
        case OPTION_PORT_FILE:
        case OPTION_SET:
            break;
        }
    }
    return ZD_OK;
}

static enum zd_status read_arguments(int argc, char *const *argv, const struct outline *outline,
    struct zd_config *config, struct zd_error *err)
{
    bool only_locations = false;
    if (outline->has_listen) {
        clear_listen(config);
    }
    for (int at = 1; at < argc;) {
        struct argument argument = {.value = ""};
        if (strcmp(argv[at], "--") == 0 && !only_locations) {
            only_locations = true;
            at++;
            continue;
        }
        ZD_TRY(next_argument(argc, argv, &at, &only_locations, &argument, err));
        if (argument.option == NULL) {
            ZD_TRY(add_location(config, argument.value, outline->writable, err));
        } else if (argument.option->id == OPTION_LISTEN) {
            ZD_TRY(add_listen(config, argument.value, err));
        } else if (argument.option->id == OPTION_PORT_FILE) {
            ZD_TRY(replace_text(&config->port_file, argument.value, err));
        } else if (argument.option->id == OPTION_SET) {
            ZD_TRY(set_pair(config, argument.value, err));
        }
    }
    return ZD_OK;
}

/* ---- the whole ---- */

static enum zd_status reset(struct zd_config *config, struct zd_error *err)
{
    for (const struct zd_setting *row = zd_setting_table; row->name != NULL; row++) {
        if (zd_setting_reset(row, &config->settings) != ZD_OK) {
            return no_memory(err);
        }
    }
    return add_listen(config, DEFAULT_ADDRESS, err);
}

static enum zd_status read_sources(int argc, char *const *argv, char *const *environment,
    struct outline *outline, struct zd_config *config, struct zd_error *err)
{
    ZD_TRY(reset(config, err));
    ZD_TRY(read_outline(argc, argv, outline, err));
    if (outline->command == ZD_COMMAND_HELP || outline->command == ZD_COMMAND_VERSION) {
        return ZD_OK;
    }
    if (outline->command == ZD_COMMAND_HEALTH) {
        return replace_text(&config->health_url, outline->health_url, err);
    }
    if (outline->config_file != NULL) {
        ZD_TRY(read_file(config, outline->config_file, err));
    }
    for (; *environment != NULL; environment++) {
        ZD_TRY(read_variable(config, *environment, err));
    }
    ZD_TRY(read_arguments(argc, argv, outline, config, err));
    if (config->n_listen == 0) {
        return zd_fail(err, ZD_INVALID, "no address to listen on");
    }
    if (outline->command == ZD_COMMAND_SERVE && outline->config_file == NULL &&
        config->n_datasets == 0) {
        return zd_fail(err, ZD_INVALID, "nothing to serve: name a LOCATION or a --config FILE");
    }
    return ZD_OK;
}

enum zd_status zd_config_read(int argc, char *const *argv, char *const *environment,
    enum zd_command *ret_command, struct zd_config *ret_config, struct zd_error *err)
{
    struct zd_config config = {0};
    struct outline outline = {.command = ZD_COMMAND_SERVE};
    const enum zd_status status = read_sources(argc, argv, environment, &outline, &config, err);
    if (status != ZD_OK) {
        zd_config_done(&config);
        return status;
    }
    config.argc = argc;
    config.argv = argv;
    config.environment = environment;
    *ret_command = outline.command;
    *ret_config = config;
    return ZD_OK;
}

enum zd_status zd_config_default(struct zd_config *ret_config)
{
    struct zd_config config = {0};
    const enum zd_status status = reset(&config, NULL);
    if (status != ZD_OK) {
        zd_config_done(&config);
        return status;
    }
    *ret_config = config;
    return ZD_OK;
}

void zd_config_done(struct zd_config *config)
{
    for (const struct zd_setting *row = zd_setting_table; row->name != NULL; row++) {
        if (row->type == ZD_SETTING_WORD) {
            zd_free(*(char **)(void *)((char *)&config->settings + row->offset));
        }
    }
    clear_listen(config);
    zd_free((void *)config->listen);
    for (size_t i = 0; i < config->n_datasets; i++) {
        zd_dataset_config_done(&config->dataset[i]);
    }
    zd_free(config->dataset);
    zd_free(config->port_file);
    zd_free(config->health_url);
    *config = (struct zd_config){0};
}

/* ---- writing it ---- */

static void emit_datasets(const struct zd_config *config, struct zd_emit *emit)
{
    zd_emit_key(emit, "datasets");
    zd_emit_object(emit);
    for (size_t i = 0; i < config->n_datasets; i++) {
        zd_emit_key(emit, config->dataset[i].name);
        zd_dataset_config_emit(&config->dataset[i], emit);
    }
    zd_emit_object_end(emit);
}

void zd_config_emit(const struct zd_config *config, struct zd_emit *emit)
{
    zd_emit_object(emit);
    zd_emit_key(emit, "listen");
    zd_emit_array(emit);
    for (size_t i = 0; i < config->n_listen; i++) {
        zd_emit_string(emit, config->listen[i]);
    }
    zd_emit_array_end(emit);
    emit_datasets(config, emit);
    const char *group = "";
    for (const struct zd_setting *row = zd_setting_table; row->name != NULL; row++) {
        if (strcmp(group, row->group) != 0) {
            if (group[0] != '\0') {
                zd_emit_object_end(emit);
            }
            group = row->group;
            zd_emit_key(emit, group);
            zd_emit_object(emit);
        }
        zd_emit_key(emit, row->name);
        zd_setting_emit(row, &config->settings, emit);
    }
    zd_emit_object_end(emit);
    zd_emit_object_end(emit);
}

void zd_config_emit_limits(const struct zd_settings *settings, struct zd_emit *emit)
{
    zd_emit_object(emit);
    for (const struct zd_setting *row = zd_setting_table; row->name != NULL; row++) {
        const bool is_number = row->type == ZD_SETTING_SIZE || row->type == ZD_SETTING_COUNT;
        if (strcmp(row->group, "limits") != 0 || !is_number) {
            continue;
        }
        const char *unit = strrchr(row->name, '_'); /* the unit ends every name */
        zd_emit_key(emit, row->name);
        zd_emit_object(emit);
        zd_emit_member_u64(emit, "value", zd_setting_u64(row, settings));
        zd_emit_member_string(emit, "unit", unit == NULL ? row->name : unit + 1);
        zd_emit_member_string(emit, "meaning", row->meaning);
        zd_emit_object_end(emit);
    }
    zd_emit_object_end(emit);
}
