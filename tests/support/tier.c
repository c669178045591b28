/* The disk tier over a store in memory. */
#include "tests/support/tier.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/store/contract/store_impl.h"
#include "tests/support/check.h"

#define LOCATION             "https://localhost/store"
#define WAITING_BYTES        (1U << 20)
#define ENTRIES_MAX          10000
#define NAME_LEN             33
#define OPEN_DIRECTORIES_MAX 16

int zd_test_tier_n_reads;
int zd_test_tier_n_statuses;
bool zd_test_tier_is_gone;
int64_t zd_test_tier_now_ms = INT64_C(1700000000000);

/* ---- the origin ---- */

static enum zd_status origin_open(
    const struct zd_store_config *config, struct zd_store **ret_store, struct zd_error *err)
{
    struct zd_store *store = zd_alloc_zero(1, sizeof *store);
    if (store == NULL || zd_store_init(store, config) != ZD_OK) {
        zd_free(store);
        return zd_fail(err, ZD_NO_MEMORY, "no memory for the origin");
    }
    *ret_store = store;
    return ZD_OK;
}

static void origin_close(struct zd_store *store)
{
    zd_free(store->location);
    zd_free(store);
}

static bool is_gone(struct zd_store_op *op)
{
    if (zd_test_tier_is_gone) {
        op->status = zd_fail(&op->err, ZD_STORE, "the origin is gone");
        zd_store_finish_later(op);
    }
    return zd_test_tier_is_gone;
}

static void origin_read(struct zd_store *store, struct zd_store_read *read)
{
    zd_test_tier_n_reads++;
    if (!is_gone(&read->op)) {
        zd_store_read(store->inner, read);
    }
}

static void origin_status(struct zd_store *store, struct zd_store_status *status)
{
    zd_test_tier_n_statuses++;
    if (!is_gone(&status->op)) {
        zd_store_status(store->inner, status);
    }
}

static void origin_cancel(struct zd_store *store, struct zd_store_op *op)
{
    (void)store;
    (void)op;
}

static const struct zd_store_ops origin_ops = {
    .scheme = "origin",
    .open = origin_open,
    .close = origin_close,
    .read = origin_read,
    .status = origin_status,
    .cancel = origin_cancel,
};

/* ---- the tier ---- */

static void tell(void *context, const char *text)
{
    struct zd_test_tier *tier = context;
    snprintf(tier->told, sizeof tier->told, "%s", text);
    tier->n_told++;
}

static int64_t now_ms(void)
{
    return zd_test_tier_now_ms;
}

static void put_over(struct zd_test_tier *tier, const struct zd_store_ops *ops)
{
    const struct zd_store_config config = {
        .location = LOCATION,
        .loop = &tier->test.loop,
        .writable = true,
        .remote = &tier->remote,
        .inner = tier->test.store,
    };
    ck_assert_int_eq(zd_store_open_as(ops, &config, &tier->test.store, NULL), ZD_OK);
}

void zd_test_tier_start(struct zd_test_tier *tier)
{
    struct zd_error err = {0};
    const struct zd_disk_tier_config config = {
        .path = tier->path,
        .bytes_max = tier->bytes_max,
        .n_max = ENTRIES_MAX,
        .waiting_bytes = WAITING_BYTES,
        .loop = &tier->test.loop,
        .tell = tell,
        .context = tier,
        .now_ms = now_ms,
    };
    const enum zd_status status = zd_disk_tier_open(&config, &tier->remote.disk, &err);
    ck_assert_msg(status == ZD_OK, "%s", err.text);
    put_over(tier, &zd_store_ops_disk);
}

void zd_test_tier_stop(struct zd_test_tier *tier)
{
    struct zd_store *over = tier->test.store;
    ck_assert_int_eq(uv_run(&tier->test.loop, UV_RUN_DEFAULT), 0);
    tier->test.store = over->inner;
    tier->test.store->outer = NULL;
    over->inner = NULL;
    zd_store_close(over);
    zd_disk_tier_stop(tier->remote.disk);
    ck_assert_int_eq(uv_run(&tier->test.loop, UV_RUN_DEFAULT), 0);
    zd_disk_tier_close(tier->remote.disk);
    tier->remote.disk = NULL;
}

void zd_test_tier_restart(struct zd_test_tier *tier)
{
    zd_test_tier_stop(tier);
    zd_test_tier_start(tier);
}

void zd_test_tier_open_at(struct zd_test_tier *tier, const char *path, uint64_t bytes_max)
{
    *tier = (struct zd_test_tier){.bytes_max = bytes_max};
    zd_test_store_open(&tier->test, "mem");
    put_over(tier, &origin_ops);
    snprintf(tier->path, sizeof tier->path, "%s", path);
    zd_test_tier_start(tier);
    ck_assert_int_eq(uv_run(&tier->test.loop, UV_RUN_DEFAULT), 0);
}

void zd_test_tier_open(struct zd_test_tier *tier, uint64_t bytes_max)
{
    char path[] = "/tmp/zarrd-tier-XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(path));
    zd_test_tier_open_at(tier, path, bytes_max);
}

static int remove_entry(const char *path, const struct stat *file, int type, struct FTW *place)
{
    (void)file;
    (void)type;
    (void)place;
    return remove(path);
}

void zd_test_tier_close(struct zd_test_tier *tier)
{
    zd_test_tier_stop(tier);
    zd_test_store_close(&tier->test);
    nftw(tier->path, remove_entry, OPEN_DIRECTORIES_MAX, FTW_DEPTH | FTW_PHYS);
}

struct zd_disk_counts zd_test_tier_count(const struct zd_test_tier *tier)
{
    return zd_disk_tier_count(tier->remote.disk);
}

void zd_test_tier_put(struct zd_test_tier *tier, const char *key, const char *text)
{
    struct zd_store *over = tier->test.store;
    tier->test.store = over->inner->inner;
    if (text == NULL) {
        struct zd_store_write erase = {0};
        snprintf(erase.key, sizeof erase.key, "%s", key);
        ck_assert_int_eq(zd_test_erase(&tier->test, &erase), ZD_OK);
    } else {
        zd_test_put(&tier->test, key, text);
    }
    tier->test.store = over;
}

enum zd_status zd_test_tier_read(
    struct zd_test_tier *tier, const char *key, uint64_t age_max_ms, const char *text)
{
    struct zd_store_read read;
    zd_test_read_init(&read, key);
    read.age_max_ms = age_max_ms;
    const enum zd_status status = zd_test_read(&tier->test, &read);
    ck_assert(status != ZD_OK || zd_span_is(zd_buf_span(read.bytes), text));
    ck_assert(status != ZD_OK || read.age_ms == 0 || read.age_ms < age_max_ms);
    zd_buf_unref(read.bytes);
    return status;
}

int zd_test_tier_files(const struct zd_test_tier *tier, uint64_t *ret_bytes)
{
    char path[128];
    int n = 0;
    uint64_t bytes = 0;
    snprintf(path, sizeof path, "%s/" ZD_DISK_FILES_DIRECTORY, tier->path);
    DIR *dir = opendir(path);
    ck_assert_ptr_nonnull(dir);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        struct stat file;
        const bool is_entry = strlen(entry->d_name) == NAME_LEN;
        ck_assert_int_eq(fstatat(dirfd(dir), entry->d_name, &file, AT_SYMLINK_NOFOLLOW), 0);
        n += is_entry;
        bytes += is_entry ? (uint64_t)file.st_blocks * 512 : 0;
    }
    closedir(dir);
    if (ret_bytes != NULL) {
        *ret_bytes = bytes;
    }
    return n;
}

void zd_test_tier_entry(const struct zd_test_tier *tier, char path[static 256])
{
    char outer[128];
    ck_assert_int_eq(zd_test_tier_files(tier, NULL), 1);
    snprintf(outer, sizeof outer, "%s/" ZD_DISK_FILES_DIRECTORY, tier->path);
    DIR *dir = opendir(outer);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (strlen(entry->d_name) == NAME_LEN) {
            snprintf(path, 256, "%s/%.40s", outer, entry->d_name);
        }
    }
    closedir(dir);
}
