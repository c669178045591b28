/* The disk tier of the server's remote stores. */
#include "server/data/disk_cache.h"

#include "core/base/num.h"
#include "core/store/disk/disk_tier.h"
#include "server/runtime/server.h"

#define INDEX_PART   64 /* one part of the memory is for the names of files, */
#define WAITING_PART 64 /* and one for bytes that wait to be written */
#define ENTRIES_MAX  (UINT64_C(1) << 20)
#define ENTRIES_MIN  1024
#define WAITING_MAX  (64 * ZD_MIB)
#define WAITING_MIN  ZD_MIB

enum zd_status zd_disk_cache_judge(const struct zd_settings *settings, struct zd_error *err)
{
    const bool has_path = settings->cache_disk_path[0] != '\0';
    const unsigned long long bytes = settings->cache_disk_bytes;
    if (!has_path && bytes == 0) {
        return ZD_OK;
    }
    if (!has_path) {
        return zd_fail(err, ZD_INVALID,
            "cache.disk_bytes is %llu, but cache.disk_path names no directory: set both, or "
            "neither",
            bytes);
    }
    if (bytes < ZD_DISK_TIER_BYTES_MIN) {
        return zd_fail(err, ZD_INVALID,
            "cache.disk_path is '%.200s', but cache.disk_bytes is %llu: set it to the bytes of "
            "disk space to use, at least 1MiB",
            settings->cache_disk_path, bytes);
    }
    const enum zd_status status = zd_disk_files_judge(settings->cache_disk_path, err);
    return status == ZD_INVALID ? status : ZD_OK;
}

static void tell(void *context, const char *text)
{
    struct zd_server *server = context;
    zd_log(&server->log, ZD_LOG_WARNING, "cache.disk_path: %s", text);
}

static uint64_t part_of(uint64_t bytes, uint64_t part, uint64_t least, uint64_t most)
{
    return zd_min_u64(zd_max_u64(bytes / part, least), most);
}

enum zd_status zd_disk_cache_open(struct zd_server *server, struct zd_error *err)
{
    const struct zd_settings *settings = &server->config->settings;
    const uint64_t memory_bytes = server->memory.bytes;
    ZD_TRY(zd_disk_cache_judge(settings, err));
    if (settings->cache_disk_path[0] == '\0') {
        return ZD_OK;
    }
    const struct zd_disk_tier_config config = {
        .path = settings->cache_disk_path,
        .bytes_max = settings->cache_disk_bytes,
        .n_max = (size_t)part_of(
            memory_bytes / ZD_DISK_INDEX_COST, INDEX_PART, ENTRIES_MIN, ENTRIES_MAX),
        .waiting_bytes = part_of(memory_bytes, WAITING_PART, WAITING_MIN, WAITING_MAX),
        .loop = server->loop,
        .tell = tell,
        .context = server,
    };
    return zd_disk_tier_open(&config, &server->remote.disk, err);
}

void zd_disk_cache_stop(struct zd_server *server)
{
    zd_disk_tier_stop(server->remote.disk);
}

void zd_disk_cache_close(struct zd_server *server)
{
    zd_disk_tier_close(server->remote.disk);
    server->remote.disk = NULL;
}
