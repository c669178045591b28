/* Write the configuration as JSON. */
#include "server/config/config_emit.h"

#include <string.h>

#include "server/config/dataset_config.h"
#include "server/config/setting.h"

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
