/* The command line and the text of --help. */
#include "server/config/config_args.h"

#include <string.h>

#include "core/base/num.h"
#include "core/base/own.h"
#include "core/store/contract/store.h"
#include "server/config/dataset_config.h"
#include "server/config/folder.h"
#include "server/config/help_rows.h"

#define NAME_BYTES_MAX 128

/* ---- the table of options ---- */

enum option_id {
    OPTION_CONFIG,
    OPTION_LISTEN,
    OPTION_WRITABLE,
    OPTION_PORT_FILE,
    OPTION_SET,
    OPTION_COMMAND,
};

static const struct option {
    enum option_id id;
    char letter; /* '\0' = none */
    const char *name;
    const char *value; /* what it takes; NULL = nothing */
    const char *meaning;
    enum zd_command command; /* of OPTION_COMMAND; ZD_COMMAND_SERVE = none */
} options[] = {
    {OPTION_CONFIG, 'c', "config", "FILE", "Read a JSON configuration from FILE.",
        ZD_COMMAND_SERVE},
    {OPTION_LISTEN, 'l', "listen", "ADDR:PORT",
        "Listen on ADDR:PORT. 8080 means localhost:8080, :8080 all addresses, and [::]:8080 IPv6. "
        "Port 0 takes any free port. Repeatable. Default " ZD_CONFIG_DEFAULT_ADDRESS ".",
        ZD_COMMAND_SERVE},
    {OPTION_WRITABLE, 'w', "writable", NULL,
        "Accept writes to the datasets named on this command line.", ZD_COMMAND_SERVE},
    {OPTION_PORT_FILE, '\0', "port-file", "FILE",
        "Write the port to FILE once the server accepts requests.", ZD_COMMAND_SERVE},
    {OPTION_SET, '\0', "set", "KEY=VALUE", "Change a setting of the list below. Repeatable.",
        ZD_COMMAND_SERVE},
    {OPTION_COMMAND, '\0', "check-config", NULL,
        "Check the configuration, print the effective one and exit.", ZD_COMMAND_CHECK},
    {OPTION_COMMAND, '\0', "health", "URL",
        "Send a request to the running server at URL (http://127.0.0.1:8080/readyz). Exit with 0 "
        "if "
        "it answers 200.",
        ZD_COMMAND_HEALTH},
    {OPTION_COMMAND, '\0', "new-token", "NAME",
        "Print a new token and its entry for access.tokens_file, and exit.", ZD_COMMAND_NEW_TOKEN},
    {OPTION_COMMAND, '\0', "version", NULL, "Print the version and exit.", ZD_COMMAND_VERSION},
    {OPTION_COMMAND, 'h', "help", NULL, "Print this text and exit.", ZD_COMMAND_HELP},
};

/* ---- --help ---- */

static void add_option(struct zd_text *text, const struct option *option)
{
    ZD_SCOPED_TEXT(head, 64);
    if (option->letter != '\0') {
        zd_text_addf(&head, "-%c, ", option->letter);
    }
    zd_text_addf(&head, "--%s%s%s", option->name, option->value == NULL ? "" : " ",
        option->value == NULL ? "" : option->value);
    zd_help_row_add(text, head.at, option->meaning);
}

/* A word without its quotes. */
static void add_default(struct zd_text *text, const struct zd_setting *row)
{
    ZD_SCOPED_TEXT(initial, 256);
    struct zd_settings settings = {0};
    struct zd_emit emit;
    zd_emit_init(&emit, &initial, false);
    if (zd_setting_reset(row, &settings) == ZD_OK) {
        zd_setting_emit(row, &settings, &emit);
    }
    zd_setting_done(row, &settings);
    const size_t n_quotes = initial.at[0] == '"' ? 1 : 0;
    const int len = (int)(initial.len - 2 * n_quotes);
    zd_text_addf(
        text, "Default %.*s", len == 0 ? 5 : len, len == 0 ? "empty" : initial.at + n_quotes);
}

static void add_setting(struct zd_text *text, const struct zd_setting *row)
{
    ZD_SCOPED_TEXT(meaning, 1024);
    zd_text_addf(&meaning, "%s ", row->meaning);
    add_default(&meaning, row);
    zd_text_add(&meaning, "; ");
    zd_setting_add_bounds(row, &meaning);
    zd_text_add(&meaning, ".");
    zd_help_row_add(text, row->full_name, meaning.at);
}

void zd_config_args_help(struct zd_text *text)
{
    zd_text_add(text, "zarrd [OPTIONS] [NAME=]LOCATION ...\n\n"
                      "Serves Zarr hierarchies over HTTP. Locations:\n\n");
    struct zd_store_scheme scheme;
    for (size_t i = 0; zd_store_scheme(i, &scheme); i++) {
        zd_help_row_add(text, scheme.usage, scheme.meaning);
    }
    zd_text_add(text, "\nOptions:\n\n");
    for (size_t i = 0; i < ZD_COUNT_OF(options); i++) {
        add_option(text, &options[i]);
    }
    zd_text_add(text,
        "\nSettings. Set one with --set KEY=VALUE, with the environment "
        "variable " ZD_CONFIG_VARIABLE_PREFIX "KEY\n(ZARRD_CACHE_DECODED_BYTES=1GiB), or in the "
        "configuration file. In the file, members whose\nnames begin with // are comments. Sizes "
        "are "
        "bytes, or end in KiB, MiB or GiB.\n\n");
    for (const struct zd_setting *row = zd_setting_table; row->name != NULL; row++) {
        add_setting(text, row);
    }
    zd_text_add(text, "\nMembers of one dataset, only in the configuration file (example: "
                      "config/zarrd.json):\n\n");
    zd_dataset_config_help(text);
}

/* ---- words ---- */

/* The words of a command line and how far they are read. */
struct words {
    int argc;
    char *const *argv;
    int at;
    bool only_locations; /* after "--" */
};

/* An argument: an option with its value, or (option NULL) a location. */
struct argument {
    const struct option *option;
    const char *value; /* NULL: there are no more */
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

static enum zd_status read_option(
    struct words *words, const char *word, struct argument *ret_argument, struct zd_error *err)
{
    const char *value = NULL;
    const struct option *option = find_option(word, &value);
    if (option == NULL) {
        return zd_fail(err, ZD_INVALID, "unknown option '%.100s'; --help lists the options", word);
    }
    if (option->value == NULL && value != NULL) {
        return zd_fail(err, ZD_INVALID, "option '--%s' takes no value", option->name);
    }
    if (option->value != NULL && value == NULL) {
        if (words->at == words->argc) {
            return zd_fail(err, ZD_INVALID, "option '--%s' needs %s", option->name, option->value);
        }
        value = words->argv[words->at++];
    }
    *ret_argument = (struct argument){.option = option, .value = value == NULL ? "" : value};
    return ZD_OK;
}

static enum zd_status next_argument(
    struct words *words, struct argument *ret_argument, struct zd_error *err)
{
    if (!words->only_locations && words->at < words->argc &&
        strcmp(words->argv[words->at], "--") == 0) {
        words->only_locations = true;
        words->at++;
    }
    const char *word = words->at < words->argc ? words->argv[words->at++] : NULL;
    if (word != NULL && word[0] == '-' && !words->only_locations) {
        return read_option(words, word, ret_argument, err);
    }
    *ret_argument = (struct argument){.value = word};
    return ZD_OK;
}

/* ---- addresses, locations and settings ---- */

void zd_config_args_clear_addresses(struct zd_config *config)
{
    for (size_t i = 0; i < config->n_listen; i++) {
        zd_free(config->listen[i]);
    }
    config->n_listen = 0;
}

enum zd_status zd_config_args_add_address(
    struct zd_config *config, const char *address, struct zd_error *err)
{
    char **grown =
        (char **)zd_realloc((void *)config->listen, (config->n_listen + 1) * sizeof *grown);
    if (grown == NULL) {
        return zd_setting_no_memory(err);
    }
    config->listen = grown;
    config->listen[config->n_listen] = NULL;
    ZD_TRY(zd_setting_replace(&config->listen[config->n_listen], address, err));
    config->n_listen++;
    return ZD_OK;
}

static enum zd_status set_pair(struct zd_config *config, const char *pair, struct zd_error *err)
{
    const char *equals = strchr(pair, '=');
    if (equals == NULL) {
        return zd_fail(err, ZD_INVALID, "--set '%.100s': expected KEY=VALUE", pair);
    }
    const struct zd_span key = {(const uint8_t *)pair, (size_t)(equals - pair)};
    const struct zd_setting *setting = zd_setting_table;
    while (setting->name != NULL && !zd_span_is(key, setting->full_name)) {
        setting++;
    }
    if (setting->name == NULL) {
        return zd_fail(err, ZD_INVALID, "unknown setting '%.*s'; --help lists all settings",
            (int)zd_min_u64(key.len, 100), pair);
    }
    return zd_setting_set_text(setting, &config->settings, equals + 1, err);
}

static enum zd_status add_folder(
    struct zd_config *config, const char *location, bool writable, struct zd_error *err)
{
    struct zd_dataset_config *grown =
        zd_realloc(config->folder, (config->n_folders + 1) * sizeof *grown);
    if (grown == NULL) {
        return zd_setting_no_memory(err);
    }
    config->folder = grown;
    grown[config->n_folders] = (struct zd_dataset_config){.writable = writable};
    return zd_setting_replace(&grown[config->n_folders++].location, location, err);
}

static enum zd_status add_location(
    struct zd_config *config, const char *word, bool writable, struct zd_error *err)
{
    const char *equals = strchr(word, '=');
    const struct zd_span name = {(const uint8_t *)word, strcspn(word, "=")};
    const bool is_named = equals != NULL && zd_dataset_config_is_name(name);
    const char *location = is_named ? equals + 1 : word;
    if (location[0] == '\0') {
        return zd_fail(err, ZD_INVALID, "'%.100s' names no location; expected NAME=LOCATION", word);
    }
    if (!is_named && zd_folder_is(location)) {
        return add_folder(config, location, writable, err);
    }
    struct zd_dataset_config *dataset = NULL;
    ZD_SCOPED_TEXT(own_name, NAME_BYTES_MAX);
    if (!is_named) {
        zd_folder_name(location, &own_name);
    }
    ZD_TRY(zd_dataset_config_add(config, is_named ? name : zd_text_span(&own_name), &dataset, err));
    dataset->is_named = true;
    dataset->writable = writable;
    return zd_setting_replace(&dataset->location, location, err);
}

/* ---- the two readings ---- */

/* Returns whether the rest of the line matters. */
static bool note_option(const struct argument *argument, struct zd_config_args *args)
{
    const enum option_id id = argument->option->id;
    if (id == OPTION_COMMAND) {
        args->command = argument->option->command;
        args->value = argument->value;
        return args->command == ZD_COMMAND_CHECK;
    }
    if (id == OPTION_CONFIG) {
        args->config_file = argument->value;
    }
    args->has_listen = args->has_listen || id == OPTION_LISTEN;
    args->writable = args->writable || id == OPTION_WRITABLE;
    return true;
}

enum zd_status zd_config_args_read(
    int argc, char *const *argv, struct zd_config_args *ret_args, struct zd_error *err)
{
    struct zd_config_args args = {.command = ZD_COMMAND_SERVE};
    struct words words = {.argc = argc, .argv = argv, .at = 1};
    struct argument argument = {0};
    do {
        ZD_TRY(next_argument(&words, &argument, err));
    } while (argument.value != NULL && (argument.option == NULL || note_option(&argument, &args)));
    *ret_args = args;
    return ZD_OK;
}

static enum zd_status apply(const struct argument *argument, const struct zd_config_args *args,
    struct zd_config *config, struct zd_error *err)
{
    if (argument->option == NULL) {
        return add_location(config, argument->value, args->writable, err);
    }
    const enum option_id id = argument->option->id;
    if (id == OPTION_LISTEN) {
        return zd_config_args_add_address(config, argument->value, err);
    }
    if (id == OPTION_PORT_FILE) {
        return zd_setting_replace(&config->port_file, argument->value, err);
    }
    return id == OPTION_SET ? set_pair(config, argument->value, err) : ZD_OK;
}

enum zd_status zd_config_args_apply(int argc, char *const *argv, const struct zd_config_args *args,
    struct zd_config *config, struct zd_error *err)
{
    struct words words = {.argc = argc, .argv = argv, .at = 1};
    struct argument argument = {0};
    if (args->has_listen) {
        zd_config_args_clear_addresses(config);
    }
    ZD_TRY(next_argument(&words, &argument, err));
    while (argument.value != NULL) {
        ZD_TRY(apply(&argument, args, config, err));
        ZD_TRY(next_argument(&words, &argument, err));
    }
    for (size_t i = 0; i < config->n_folders; i++) {
        ZD_TRY(zd_folder_expand(config, &config->folder[i], err));
    }
    return ZD_OK;
}
