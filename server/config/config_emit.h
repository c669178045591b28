/* Write the configuration as JSON. Thread: any. */
#ifndef ZD_CONFIG_CONFIG_EMIT_H
#define ZD_CONFIG_CONFIG_EMIT_H

#include "core/base/emit.h"
#include "server/config/settings.h"

/** The effective configuration, as --config accepts it. */
void zd_config_emit(const struct zd_config *config, struct zd_emit *emit);

/** The settings of the group limits with value, unit and meaning, for /v1/limits. */
void zd_config_emit_limits(const struct zd_settings *settings, struct zd_emit *emit);

#endif
