/* The directory of the disk tier. */
#include "core/store/disk/disk_files.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/base/hash.h"
#include "core/base/num.h"
#include "core/store/file/beneath.h"
#include "core/store/file/calls.h"

#define LOCK_NAME       "lock"
#define NEW_NAME        "new"
#define MARK_MAGIC      UINT64_C(0x656863616372617a)
#define MARK_VERSION    1
#define MARK_BYTES      32
#define OWN_MODE        0700
#define OTHERS_MODE     0077
#define FIRST_CAP       256
#define PLACE_BYTES     64 /* of a name in its directory */
#define HEX_DIGITS      16
#define NS_PER_S        INT64_C(1000000000)
#define LOOK_ATTEMPTS   2 /* a head may be looked at while it is touched */
#define DIRECTORY_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC)

struct name {
    char text[ZD_DISK_FILES_NAME_LEN + 1];
};

static struct name name_of(struct zd_disk_file file)
{
    struct name name;
    snprintf(name.text, sizeof name.text, "%016" PRIx64 "-%016" PRIx64, file.key, file.range);
    return name;
}

/* ---- opening ---- */

static enum zd_status fail_path(const char *path, int code, struct zd_error *err)
{
    char words[ZD_FACT_TEXT_BYTES];
    switch (code) {
    case ENOENT:
        return zd_fail(err, ZD_INVALID,
            "cache.disk_path: %s: there is no such directory; make it, or name another one", path);
    case ENOTDIR:
        return zd_fail(err, ZD_INVALID, "cache.disk_path: %s: not a directory", path);
    case EACCES:
    case EPERM:
        return zd_fail(err, ZD_INVALID,
            "cache.disk_path: %s: no permission; let the user of this process write there", path);
    default:
        return zd_fail(err, code == ENOSPC || code == EDQUOT ? ZD_NO_SPACE : ZD_STORE, "%s: %s",
            path, strerror_r(code, words, sizeof words));
    }
}

static enum zd_status not_ours(const char *path, const char *why, struct zd_error *err)
{
    return zd_fail(err, ZD_INVALID,
        "cache.disk_path: %s/" ZD_DISK_FILES_DIRECTORY
        " cannot be used: %s; remove it, or name another directory",
        path, why);
}

static enum zd_status judge_own(const char *path, int dir_fd, struct zd_error *err)
{
    struct stat file;
    if (fstat(dir_fd, &file) != 0) {
        return fail_path(path, errno, err);
    }
    if (file.st_uid != geteuid()) {
        return not_ours(path, "it belongs to another user", err);
    }
    return (file.st_mode & OTHERS_MODE) == 0
               ? ZD_OK
               : not_ours(path, "other users can open it (expected mode 0700)", err);
}

/* @retval ZD_NOT_FOUND it is not there */
static enum zd_status open_own(const char *path, int outer_fd, int *ret_fd, struct zd_error *err)
{
    const int fd = openat(outer_fd, ZD_DISK_FILES_DIRECTORY, DIRECTORY_FLAGS | O_NOFOLLOW);
    if (fd < 0 && errno == ENOENT) {
        return ZD_NOT_FOUND;
    }
    if (fd < 0) {
        return errno == ENOTDIR || errno == ELOOP ? not_ours(path, "it is not a directory", err)
                                                  : not_ours(path, "it cannot be opened", err);
    }
    const enum zd_status status = judge_own(path, fd, err);
    if (status != ZD_OK) {
        close(fd);
        return status;
    }
    *ret_fd = fd;
    return ZD_OK;
}

enum zd_status zd_disk_files_judge(const char *path, struct zd_error *err)
{
    ZD_AUTO_FD outer_fd = -1;
    ZD_AUTO_FD fd = -1;
    outer_fd = open(path, DIRECTORY_FLAGS);
    const enum zd_status status =
        outer_fd < 0 ? fail_path(path, errno, err) : open_own(path, outer_fd, &fd, err);
    return status == ZD_NOT_FOUND ? ZD_OK : status;
}

static enum zd_status open_or_make_own(
    const char *path, int outer_fd, int *ret_fd, struct zd_error *err)
{
    const enum zd_status status = open_own(path, outer_fd, ret_fd, err);
    if (status != ZD_NOT_FOUND) {
        return status;
    }
    if (mkdirat(outer_fd, ZD_DISK_FILES_DIRECTORY, OWN_MODE) != 0 && errno != EEXIST) {
        return fail_path(path, errno, err);
    }
    return open_own(path, outer_fd, ret_fd, err) == ZD_OK
               ? ZD_OK
               : not_ours(path, "another process is removing it", err);
}

static enum zd_status lock(const char *path, struct zd_disk_files *files, struct zd_error *err)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    struct stat file;
    files->lock_fd = zd_calls->open(files->dir_fd, LOCK_NAME, O_RDWR | O_NONBLOCK);
    if (files->lock_fd < 0) {
        return errno == ELOOP ? not_ours(path, "its lock is a symbolic link", err)
                              : fail_path(path, errno, err);
    }
    if (fstat(files->lock_fd, &file) != 0 || !S_ISREG(file.st_mode)) {
        return not_ours(path, "its lock is not a regular file", err);
    }
    if (zd_calls->lock(files->lock_fd, &whole) != 0) {
        return errno == EAGAIN || errno == EACCES
                   ? zd_fail(err, ZD_AGAIN, "%s: another process uses it", path)
                   : fail_path(path, errno, err);
    }
    return ZD_OK;
}

static uint64_t hash_of_mark(const uint8_t *mark)
{
    return zd_disk_entry_hash((struct zd_span){.ptr = mark, .len = MARK_BYTES - sizeof(uint64_t)});
}

/* The file `lock` says which seed the names have. */
static enum zd_status read_mark(const char *path, struct zd_disk_files *files, struct zd_error *err)
{
    uint8_t mark[MARK_BYTES] = {0};
    const bool is_whole = pread(files->lock_fd, mark, sizeof mark, 0) == (ssize_t)sizeof mark;
    if (is_whole && zd_load_u64(mark) == MARK_MAGIC && zd_load_u64(mark + 8) == MARK_VERSION &&
        zd_load_u64(mark + 24) == hash_of_mark(mark)) {
        files->seed = zd_load_u64(mark + 16);
        return ZD_OK;
    }
    files->is_new = true;
    files->seed = zd_hash_random_seed();
    zd_store_u64(mark, MARK_MAGIC);
    zd_store_u64(mark + 8, MARK_VERSION);
    zd_store_u64(mark + 16, files->seed);
    zd_store_u64(mark + 24, hash_of_mark(mark));
    const ssize_t n = zd_calls->write(files->lock_fd, mark, sizeof mark);
    return n == (ssize_t)sizeof mark ? ZD_OK : fail_path(path, n < 0 ? errno : ENOSPC, err);
}

static enum zd_status open_files(
    const char *path, struct zd_disk_files *files, struct zd_error *err)
{
    struct statvfs system;
    ZD_AUTO_FD outer_fd = -1;
    outer_fd = open(path, DIRECTORY_FLAGS);
    if (outer_fd < 0) {
        return fail_path(path, errno, err);
    }
    ZD_TRY(open_or_make_own(path, outer_fd, &files->dir_fd, err));
    if (fstatvfs(files->dir_fd, &system) != 0) {
        return fail_path(path, errno, err);
    }
    files->block_bytes = system.f_frsize == 0 ? system.f_bsize : system.f_frsize;
    files->block_bytes = zd_max_u64(files->block_bytes, 1);
    ZD_TRY(lock(path, files, err));
    return read_mark(path, files, err);
}

enum zd_status zd_disk_files_open(
    const char *path, struct zd_disk_files *ret_files, struct zd_error *err)
{
    struct zd_disk_files files = ZD_DISK_FILES_NONE;
    const enum zd_status status = open_files(path, &files, err);
    if (status != ZD_OK) {
        zd_disk_files_close(&files);
        return status;
    }
    *ret_files = files;
    return ZD_OK;
}

void zd_disk_files_close(struct zd_disk_files *files)
{
    zd_beneath_close_fd(&files->lock_fd);
    zd_beneath_close_fd(&files->dir_fd);
    *files = ZD_DISK_FILES_NONE;
}

void zd_disk_files_void(const struct zd_disk_files *files)
{
    if (files->lock_fd >= 0) {
        (void)ftruncate(files->lock_fd, 0);
    }
}

/* ---- names ---- */

struct zd_disk_file zd_disk_files_name(
    const struct zd_disk_files *files, const struct zd_disk_name *name)
{
    const bool is_whole = name->range.kind == ZD_RANGE_WHOLE;
    struct zd_hash key = {.value = files->seed};
    struct zd_hash range = {.value = ~files->seed};
    zd_hash_add_u64(&key, name->owner.word[0]);
    zd_hash_add_u64(&key, name->owner.word[1]);
    zd_hash_add(&key, name->key);
    zd_hash_add_u64(&range, (uint64_t)name->range.kind);
    zd_hash_add_u64(&range, is_whole ? 0 : name->range.first);
    zd_hash_add_u64(&range, is_whole ? 0 : name->range.len);
    return (struct zd_disk_file){.key = key.value, .range = range.value};
}

uint64_t zd_disk_files_cost(const struct zd_disk_files *files, uint64_t bytes)
{
    const uint64_t n_blocks = zd_div_up(zd_max_u64(bytes, 1), files->block_bytes);
    uint64_t cost = 0;
    return ckd_mul(&cost, n_blocks, files->block_bytes) || ckd_add(&cost, cost, PLACE_BYTES)
               ? UINT64_MAX
               : cost;
}

static bool parse_hex(const char *digits, uint64_t *ret_value)
{
    uint64_t value = 0;
    for (size_t i = 0; i < HEX_DIGITS; i++) {
        const char *all = "0123456789abcdef";
        const char *digit = digits[i] == '\0' ? NULL : strchr(all, digits[i]);
        if (digit == NULL) {
            return false;
        }
        value = (value << 4) | (uint64_t)(digit - all);
    }
    *ret_value = value;
    return true;
}

static bool parse_name(const char *name, struct zd_disk_file *ret_file)
{
    return strlen(name) == ZD_DISK_FILES_NAME_LEN && name[HEX_DIGITS] == '-' &&
           parse_hex(name, &ret_file->key) && parse_hex(name + HEX_DIGITS + 1, &ret_file->range);
}

/* ---- what is there ---- */

struct scan {
    const struct zd_disk_files *files;
    struct zd_disk_found *found;
    size_t n;
    size_t cap;
    size_t n_max;
};

static enum zd_status note(struct scan *scan, struct zd_disk_file file, const struct stat *stat)
{
    if (scan->n == scan->cap) {
        const size_t cap = scan->cap == 0 ? FIRST_CAP : scan->cap * 2;
        struct zd_disk_found *grown = zd_realloc(scan->found, cap * sizeof *grown);
        if (grown == NULL) {
            return ZD_NO_MEMORY;
        }
        scan->found = grown;
        scan->cap = cap;
    }
    scan->found[scan->n++] = (struct zd_disk_found){
        .file = file,
        .bytes = (uint64_t)stat->st_size,
        .mtime_ns = (int64_t)stat->st_mtim.tv_sec * NS_PER_S + stat->st_mtim.tv_nsec,
    };
    return ZD_OK;
}

/* A name that is none of ours is left alone. */
static enum zd_status visit(struct scan *scan, const char *name)
{
    struct zd_disk_file file;
    struct stat stat;
    const int dir_fd = scan->files->dir_fd;
    const bool is_unfinished = strcmp(name, NEW_NAME) == 0;
    if (!is_unfinished && !parse_name(name, &file)) {
        return ZD_OK;
    }
    const bool is_kept = !is_unfinished && !scan->files->is_new && scan->n < scan->n_max &&
                         fstatat(dir_fd, name, &stat, AT_SYMLINK_NOFOLLOW) == 0 &&
                         S_ISREG(stat.st_mode);
    if (is_kept) {
        return note(scan, file, &stat);
    }
    (void)zd_calls->unlink(dir_fd, name, 0);
    return ZD_OK;
}

static enum zd_status visit_all(
    struct scan *scan, DIR *dir, const _Atomic bool *must_stop, struct zd_error *err)
{
    const struct dirent *entry;
    while ((entry = readdir(dir)) != NULL) {
        if (atomic_load(must_stop)) {
            return zd_fail(err, ZD_CANCELLED, "the search for entries was stopped");
        }
        if (visit(scan, entry->d_name) != ZD_OK) {
            return zd_fail(err, ZD_NO_MEMORY, "no memory for %zu entries", scan->n);
        }
    }
    return ZD_OK;
}

static int by_age(const void *a, const void *b)
{
    const struct zd_disk_found *left = a;
    const struct zd_disk_found *right = b;
    return (left->mtime_ns > right->mtime_ns) - (left->mtime_ns < right->mtime_ns);
}

enum zd_status zd_disk_files_scan(const struct zd_disk_files *files, size_t n_max,
    const _Atomic bool *must_stop, struct zd_disk_found **ret_found, size_t *ret_n,
    struct zd_error *err)
{
    struct scan scan = {.files = files, .n_max = n_max};
    const int fd = openat(files->dir_fd, ".", DIRECTORY_FLAGS);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (dir == NULL) {
        const int code = errno;
        zd_beneath_close_fd(&(int){fd});
        return zd_beneath_fail(err, code, ZD_DISK_FILES_DIRECTORY, "list");
    }
    const enum zd_status status = visit_all(&scan, dir, must_stop, err);
    closedir(dir);
    if (status != ZD_OK) {
        zd_free(scan.found);
        return status;
    }
    if (scan.n > 0) {
        qsort(scan.found, scan.n, sizeof *scan.found, by_age);
    }
    *ret_found = scan.found;
    *ret_n = scan.n;
    return ZD_OK;
}

/* ---- changing ---- */

static int write_all(int fd, struct zd_span bytes)
{
    while (bytes.len > 0) {
        const ssize_t n = zd_calls->write(fd, bytes.ptr, bytes.len);
        if (n <= 0 && errno != EINTR) {
            return n < 0 ? errno : ENOSPC;
        }
        bytes.ptr += n < 0 ? 0 : n;
        bytes.len -= n < 0 ? 0 : (size_t)n;
    }
    return 0;
}

/* 0, or an errno: under a name that nobody looks for. */
static int write_new(const struct zd_disk_files *files, struct zd_span head, struct zd_span body)
{
    if (zd_calls->unlink(files->dir_fd, NEW_NAME, 0) != 0 && errno != ENOENT) {
        return errno;
    }
    const int fd = zd_calls->open(files->dir_fd, NEW_NAME, O_WRONLY | O_EXCL);
    if (fd < 0) {
        return errno;
    }
    int code = write_all(fd, head);
    code = code == 0 ? write_all(fd, body) : code;
    const bool is_closed = zd_calls->close(fd) == 0; /* some file systems are full only now */
    return code == 0 && !is_closed ? errno : code;
}

static enum zd_status fail_change(int code, const char *doing, struct zd_error *err)
{
    if (code == EMFILE || code == ENFILE) {
        return zd_fail(err, ZD_NO_MEMORY, "no file descriptor to %s", doing);
    }
    const enum zd_status status = zd_beneath_fail(err, code, ZD_DISK_FILES_DIRECTORY, doing);
    return status == ZD_NOT_FOUND
               ? zd_fail(err, ZD_STORE, ZD_DISK_FILES_DIRECTORY ": it was removed")
               : status;
}

enum zd_status zd_disk_files_put(const struct zd_disk_files *files, struct zd_disk_file file,
    struct zd_disk_entry *entry, struct zd_span body, struct zd_error *err)
{
    uint8_t head[ZD_DISK_ENTRY_HEAD_BYTES];
    assert(body.len == entry->body_bytes);
    entry->body_hash = zd_disk_entry_hash(body);
    const size_t len = zd_disk_entry_write(entry, head);
    int code = write_new(files, (struct zd_span){.ptr = head, .len = len}, body);
    if (code == 0 &&
        zd_calls->rename(files->dir_fd, NEW_NAME, files->dir_fd, name_of(file).text, 0) != 0) {
        code = errno;
    }
    if (code != 0) {
        (void)zd_calls->unlink(files->dir_fd, NEW_NAME, 0);
        return fail_change(code, "write an entry", err);
    }
    return ZD_OK;
}

enum zd_status zd_disk_files_remove(
    const struct zd_disk_files *files, struct zd_disk_file file, struct zd_error *err)
{
    if (zd_calls->unlink(files->dir_fd, name_of(file).text, 0) == 0 || errno == ENOENT) {
        return ZD_OK;
    }
    return fail_change(errno, "remove an entry", err);
}

/* ---- reading ---- */

/* 0, or an errno; EIO where the file ends before. */
static int read_all(int fd, uint8_t *bytes, size_t len, uint64_t first)
{
    for (size_t done = 0; done < len;) {
        const ssize_t n = pread(fd, bytes + done, len - done, (off_t)(first + done));
        if (n == 0 || (n < 0 && errno != EINTR)) {
            return n == 0 ? EIO : errno;
        }
        done += n < 0 ? 0 : (size_t)n;
    }
    return 0;
}

static enum zd_status read_head(
    struct zd_disk_look *look, const struct zd_disk_name *name, struct zd_error *err)
{
    struct stat file;
    if (fstat(look->fd, &file) != 0 || !S_ISREG(file.st_mode)) {
        return zd_fail(err, ZD_CORRUPT, "disk cache: an entry is not a regular file");
    }
    const struct zd_span head = {
        .ptr = look->head,
        .len = (size_t)zd_min_u64((uint64_t)file.st_size, sizeof look->head),
    };
    if (read_all(look->fd, look->head, head.len, 0) != 0) {
        return zd_fail(err, ZD_CORRUPT, "disk cache: a file cannot be read");
    }
    ZD_TRY(zd_disk_entry_read(head, (uint64_t)file.st_size, &look->entry, err));
    return name == NULL || zd_disk_entry_is_of(&look->entry, name)
               ? ZD_OK
               : zd_fail(err, ZD_CORRUPT, "disk cache: the file belongs to another entry");
}

enum zd_status zd_disk_files_look(const struct zd_disk_files *files, struct zd_disk_file file,
    const struct zd_disk_name *name, struct zd_disk_look *ret_look, struct zd_error *err)
{
    enum zd_status status = ZD_CORRUPT;
    ret_look->fd = openat(files->dir_fd, name_of(file).text,
        O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (ret_look->fd < 0) {
        return errno == ENOENT ? ZD_NOT_FOUND : fail_change(errno, "open an entry", err);
    }
    for (int i = 0; i < LOOK_ATTEMPTS && status == ZD_CORRUPT; i++) {
        status = read_head(ret_look, name, err);
    }
    return status;
}

void zd_disk_files_look_done(struct zd_disk_look *look)
{
    zd_beneath_close_fd(&look->fd);
    look->fd = -1;
}

enum zd_status zd_disk_files_body(
    const struct zd_disk_look *look, struct zd_buf **ret_body, struct zd_error *err)
{
    const struct zd_disk_entry *entry = &look->entry;
    ZD_AUTO(zd_buf) body = zd_buf_new((size_t)entry->body_bytes);
    if (body == NULL) {
        return zd_fail(
            err, ZD_NO_MEMORY, "no memory for %llu bytes", (unsigned long long)entry->body_bytes);
    }
    body->len = (size_t)entry->body_bytes;
    if (read_all(look->fd, body->data, body->len, entry->n_head_bytes) != 0) {
        return zd_fail(err, ZD_CORRUPT, "disk cache: a file cannot be read");
    }
    if (zd_disk_entry_hash(zd_buf_span(body)) != entry->body_hash) {
        return zd_fail(err, ZD_CORRUPT, "disk cache: a file has a wrong checksum");
    }
    *ret_body = ZD_TAKE(body);
    return ZD_OK;
}

void zd_disk_files_touch(const struct zd_disk_files *files, struct zd_disk_file file,
    const struct zd_disk_look *look, int64_t checked_ms)
{
    struct stat looked_at;
    struct stat opened;
    uint8_t head[ZD_DISK_ENTRY_HEAD_BYTES];
    struct zd_disk_entry entry = look->entry;
    ZD_AUTO_FD fd = -1;
    fd = openat(files->dir_fd, name_of(file).text,
        O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    entry.checked_ms = checked_ms;
    const bool is_same = fd >= 0 && fstat(fd, &opened) == 0 && fstat(look->fd, &looked_at) == 0 &&
                         opened.st_ino == looked_at.st_ino;
    if (is_same) {
        (void)zd_disk_entry_write(&entry, head);
        (void)pwrite(fd, head, ZD_DISK_ENTRY_FIXED_BYTES, 0);
    }
}
