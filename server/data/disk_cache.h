/* The settings cache.disk_*: the disk tier of the server's remote stores. Thread: loop. */
#ifndef ZD_DATA_DISK_CACHE_H
#define ZD_DATA_DISK_CACHE_H

#include "core/base/status.h"
#include "server/config/settings.h"

struct zd_server;

/**
 * Whether the settings say what can be, without changing anything on the disk.
 * @retval ZD_INVALID the error names the setting, and what to do
 * Thread: any; blocks for some calls.
 */
ZD_RESULT zd_disk_cache_judge(const struct zd_settings *settings, struct zd_error *err);

/**
 * Open the tier, where one is configured, before the datasets. Blocks for some calls. What prevents
 * it is logged, and the server runs without it.
 * @retval ZD_INVALID as zd_disk_cache_judge
 */
ZD_RESULT zd_disk_cache_open(struct zd_server *server, struct zd_error *err);

/** The server stops; the loop still turns. */
void zd_disk_cache_stop(struct zd_server *server);

/** After the last store is closed, and the loop has nothing to do. */
void zd_disk_cache_close(struct zd_server *server);

#endif
