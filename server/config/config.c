/* The configuration, merged from four sources: defaults, a file, the environment, the command line.
 */
#include "server/config/config.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/base/num.h"
#include "core/base/own.h"
#include "server/config/config_args.h"
#include "server/config/dataset_config.h"

#define FILE_NODES_MAX 1000000
#define FILE_DEPTH_MAX 16
#define FILE_BYTES_MAX (4U << 20)

/* ---- the document ---- */

static enum zd_status read_listen(struct zd_config *config, const struct zd_json *json,
    const struct zd_pointer *at, struct zd_error *err)
{
    if (!zd_json_is(json, ZD_JSON_ARRAY)) {
        return zd_setting_wrong_type(at, "an array of strings", json, err);
    }
    zd_config_args_clear_addresses(config);
    for (size_t i = 0; i < zd_json_count(json); i++) {
        const struct zd_json *address = zd_json_element(json, i);
        const struct zd_pointer place = zd_pointer_element(at, i);
        if (zd_json_string(address) == NULL) {
            return zd_setting_wrong_type(&place, "a string", address, err);
        }
        ZD_TRY(zd_config_args_add_address(config, zd_json_string(address), err));
    }
    return ZD_OK;
}

static enum zd_status read_group(struct zd_config *config, const char *group,
    const struct zd_json *json, const struct zd_pointer *at, struct zd_error *err)
{
    if (zd_setting_find(group, NULL) == NULL) {
        return zd_setting_unknown(at, err);
    }
    if (!zd_json_is(json, ZD_JSON_OBJECT)) {
        return zd_setting_wrong_type(at, "an object", json, err);
    }
    for (void *i = zd_json_next(json, NULL); i != NULL; i = zd_json_next(json, i)) {
        const struct zd_pointer place = zd_pointer_member(at, zd_json_iter_name(i));
        const struct zd_setting *setting = zd_setting_find(group, zd_json_iter_name(i));
        if (zd_setting_is_comment(zd_json_iter_name(i))) {
            continue;
        }
        if (setting == NULL) {
            return zd_setting_unknown(&place, err);
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

/* Reads a member of an object; `at` is its place. */
typedef enum zd_status read_member(struct zd_config *config, const char *name,
    const struct zd_json *json, const struct zd_pointer *at, struct zd_error *err);

static enum zd_status read_members(struct zd_config *config, const struct zd_json *json,
    const struct zd_pointer *at, read_member *read, struct zd_error *err)
{
    if (!zd_json_is(json, ZD_JSON_OBJECT)) {
        return zd_setting_wrong_type(at, "an object", json, err);
    }
    for (void *i = zd_json_next(json, NULL); i != NULL; i = zd_json_next(json, i)) {
        const struct zd_pointer place = zd_pointer_member(at, zd_json_iter_name(i));
        if (!zd_setting_is_comment(zd_json_iter_name(i))) {
            ZD_TRY(read(config, zd_json_iter_name(i), zd_json_iter_value(i), &place, err));
        }
    }
    return ZD_OK;
}

static enum zd_status read_root_member(struct zd_config *config, const char *name,
    const struct zd_json *json, const struct zd_pointer *at, struct zd_error *err)
{
    if (strcmp(name, "listen") == 0) {
        return read_listen(config, json, at, err);
    }
    return strcmp(name, "datasets") == 0
               ? read_members(config, json, at, zd_dataset_config_read, err)
               : read_group(config, name, json, at, err);
}

/* ---- the file ---- */

static enum zd_status read_bytes(const char *path, struct zd_buf **ret_bytes, struct zd_error *err)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return zd_fail(err, ZD_INVALID, "the file cannot be opened");
    }
    ZD_AUTO(zd_buf) bytes = zd_buf_new(FILE_BYTES_MAX + 1);
    ssize_t n = bytes == NULL ? -1 : 1;
    while (n > 0 && bytes->len < bytes->cap) {
        n = read(fd, bytes->data + bytes->len, bytes->cap - bytes->len);
        bytes->len += n > 0 ? (size_t)n : 0;
    }
    close(fd);
    if (bytes == NULL) {
        return zd_setting_no_memory(err);
    }
    if (n < 0) {
        return zd_fail(err, ZD_INVALID, "the file cannot be read");
    }
    if (bytes->len > FILE_BYTES_MAX) {
        return zd_fail(err, ZD_INVALID, "the file exceeds the limit of %u bytes", FILE_BYTES_MAX);
    }
    *ret_bytes = ZD_TAKE(bytes);
    return ZD_OK;
}

static enum zd_status parse_file(struct zd_config *config, const char *path, struct zd_error *err)
{
    const struct zd_json_limits limits = {
        .bytes_max = FILE_BYTES_MAX, .nodes_max = FILE_NODES_MAX, .depth_max = FILE_DEPTH_MAX};
    ZD_AUTO(zd_json) json = NULL;
    ZD_AUTO(zd_buf) bytes = NULL;
    ZD_TRY(read_bytes(path, &bytes, err));
    ZD_TRY(zd_json_parse(zd_buf_span(bytes), &limits, &json, err));
    const struct zd_pointer root = {.text = ""};
    return read_members(config, json, &root, read_root_member, err);
}

static enum zd_status read_file(struct zd_config *config, const char *path, struct zd_error *err)
{
    struct zd_error cause = {0};
    const enum zd_status status = parse_file(config, path, &cause);
    if (status == ZD_OK) {
        return ZD_OK;
    }
    const enum zd_status failed = zd_fail(err, status == ZD_NO_MEMORY ? status : ZD_INVALID,
        "configuration '%.200s': %.300s", path, cause.text);
    if (err != NULL) {
        err->facts = cause.facts;
    }
    return failed;
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

/* Other variables may begin with ZARRD_ too: Kubernetes sets ZARRD_SERVICE_HOST. */
static enum zd_status read_variable(
    struct zd_config *config, const char *variable, struct zd_error *err)
{
    const char *equals = strchr(variable, '=');
    const size_t prefix_len = strlen(ZD_CONFIG_VARIABLE_PREFIX);
    if (equals == NULL || strncmp(variable, ZD_CONFIG_VARIABLE_PREFIX, prefix_len) != 0) {
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
            "variable " ZD_CONFIG_VARIABLE_PREFIX
            "%.*s names no setting; --help lists all settings",
            (int)zd_min_u64(len, 100), name);
    }
    return ZD_OK;
}

/* ---- the whole ---- */

static enum zd_status reset(struct zd_config *config, struct zd_error *err)
{
    for (const struct zd_setting *row = zd_setting_table; row->name != NULL; row++) {
        if (zd_setting_reset(row, &config->settings) != ZD_OK) {
            return zd_setting_no_memory(err);
        }
    }
    return zd_config_args_add_address(config, ZD_CONFIG_DEFAULT_ADDRESS, err);
}

static enum zd_status read_sources(int argc, char *const *argv, char *const *environment,
    struct zd_config_args *args, struct zd_config *config, struct zd_error *err)
{
    ZD_TRY(reset(config, err));
    ZD_TRY(zd_config_args_read(argc, argv, args, err));
    if (args->command == ZD_COMMAND_HELP || args->command == ZD_COMMAND_VERSION) {
        return ZD_OK;
    }
    if (args->command == ZD_COMMAND_HEALTH) {
        return zd_setting_replace(&config->health_url, args->value, err);
    }
    if (args->command == ZD_COMMAND_NEW_TOKEN) {
        return zd_setting_replace(&config->token_name, args->value, err);
    }
    if (args->config_file != NULL) {
        ZD_TRY(read_file(config, args->config_file, err));
    }
    for (; *environment != NULL; environment++) {
        ZD_TRY(read_variable(config, *environment, err));
    }
    ZD_TRY(zd_config_args_apply(argc, argv, args, config, err));
    if (config->n_listen == 0) {
        return zd_fail(err, ZD_INVALID, "no address to listen on; add one to \"listen\"");
    }
    if (args->command == ZD_COMMAND_SERVE && args->config_file == NULL && config->n_datasets == 0) {
        return zd_fail(err, ZD_INVALID, "nothing to serve; give a LOCATION or --config FILE");
    }
    return ZD_OK;
}

enum zd_status zd_config_read(int argc, char *const *argv, char *const *environment,
    enum zd_command *ret_command, struct zd_config *ret_config, struct zd_error *err)
{
    struct zd_config config = {0};
    struct zd_config_args args = {0};
    const enum zd_status status = read_sources(argc, argv, environment, &args, &config, err);
    if (status != ZD_OK) {
        zd_config_done(&config);
        return status;
    }
    config.argc = argc;
    config.argv = argv;
    config.environment = environment;
    *ret_command = args.command;
    *ret_config = config;
    return ZD_OK;
}

void zd_config_done(struct zd_config *config)
{
    for (const struct zd_setting *row = zd_setting_table; row->name != NULL; row++) {
        zd_setting_done(row, &config->settings);
    }
    zd_config_args_clear_addresses(config);
    zd_free((void *)config->listen);
    for (size_t i = 0; i < config->n_datasets; i++) {
        zd_dataset_config_done(&config->dataset[i]);
    }
    for (size_t i = 0; i < config->n_folders; i++) {
        zd_dataset_config_done(&config->folder[i]);
    }
    zd_free(config->folder);
    zd_free(config->dataset);
    zd_free(config->port_file);
    zd_free(config->health_url);
    zd_free(config->token_name);
    *config = (struct zd_config){0};
}

/* ---- as JSON ---- */

static void emit_datasets(const struct zd_config *config, struct zd_emit *emit)
{
    zd_emit_member_object(emit, "datasets");
    for (size_t i = 0; i < config->n_datasets; i++) {
        zd_emit_key(emit, config->dataset[i].name);
        zd_dataset_config_emit(&config->dataset[i], emit);
    }
    zd_emit_object_end(emit);
}

void zd_config_emit(const struct zd_config *config, struct zd_emit *emit)
{
    zd_emit_object(emit);
    zd_emit_member_array(emit, "listen");
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
            zd_emit_member_object(emit, group);
        }
        zd_emit_key(emit, row->name);
        zd_setting_emit(row, &config->settings, emit);
    }
    zd_emit_object_end(emit);
    zd_emit_object_end(emit);
}
