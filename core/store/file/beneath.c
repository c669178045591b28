/* Opening what lies below a directory, and nothing else. */
#include "core/store/file/beneath.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/base/hash.h"
#include "core/store/file/other_formats.h"

/* A rename somewhere in the system during the look-up gives EAGAIN: try so often. */
#define ATTEMPTS_MAX 64

#define ALWAYS_FLAGS  (O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
#define RESOLVE_RULES (RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS)

/* Another file system below the root may block where this one does not. */
#define NOW_RULES (RESOLVE_RULES | RESOLVE_CACHED | RESOLVE_NO_XDEV)

void zd_beneath_close_fd(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
    }
}

enum zd_status zd_beneath_fail(struct zd_error *err, int code, const char *key, const char *doing)
{
    char words[ZD_FACT_TEXT_BYTES];
    switch (code) {
    case ENOENT:
    case ENOTDIR:
        return ZD_NOT_FOUND;
    case ENOSPC:
    case EDQUOT:
        return zd_fail(err, ZD_NO_SPACE, "%s: cannot %s: the store is full", key, doing);
    case EFBIG:
        return zd_fail(err, ZD_NO_SPACE,
            "%s: cannot %s: the file exceeds the limit of the process (ulimit -f) or of the file "
            "system",
            key, doing);
    case ENOMEM:
        return zd_fail(err, ZD_NO_MEMORY, "%s: cannot %s: no memory", key, doing);
    case EXDEV:
        return zd_fail(
            err, ZD_STORE, "%s: cannot %s: a symbolic link leaves the store", key, doing);
    default:
        return zd_fail(
            err, ZD_STORE, "%s: cannot %s: %s", key, doing, strerror_r(code, words, sizeof words));
    }
}

/* A file descriptor, or -errno. O_PATH admits few companions. */
static int open_beneath(int root_fd, const char *path, int flags, uint64_t resolve)
{
    const int more = (flags & O_PATH) != 0 ? O_CLOEXEC : ALWAYS_FLAGS;
    struct open_how how = {.flags = (uint64_t)(uint32_t)(flags | more), .resolve = resolve};
    const long fd = syscall(SYS_openat2, root_fd, path[0] == '\0' ? "." : path, &how, sizeof how);
    return fd < 0 ? -errno : (int)fd;
}

/* Whether opening a file whose name is cached waits for no other machine or process. */
static bool is_local(int fd)
{
    struct statfs system;
    if (fstatfs(fd, &system) != 0) {
        return false;
    }
    switch ((unsigned long)system.f_type) {
    case EXT4_SUPER_MAGIC:
    case XFS_SUPER_MAGIC:
    case BTRFS_SUPER_MAGIC:
    case F2FS_SUPER_MAGIC:
    case TMPFS_MAGIC:
    case OVERLAYFS_SUPER_MAGIC:
        return true;
    default:
        return false;
    }
}

static enum zd_status fail_file(const char *path, struct zd_error *err)
{
    const char *found = zd_other_formats_file(path);
    return found == NULL
               ? zd_fail(err, ZD_NOT_FOUND, "%s: not a directory", path)
               : zd_fail(err, ZD_NOT_FOUND,
                     "%s: not a directory but %s, which this version does not read", path, found);
}

static enum zd_status fail_root(int code, const char *path, struct zd_error *err)
{
    switch (code) {
    case ENOENT:
        return zd_fail(err, ZD_NOT_FOUND, "%s: no such directory", path);
    case ENOTDIR:
        return fail_file(path, err);
    default:
        return zd_beneath_fail(err, code, path, "open the directory");
    }
}

enum zd_status zd_beneath_open(const char *path, struct zd_beneath *ret_root, struct zd_error *err)
{
    const int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return fail_root(errno, path, err);
    }
    struct zd_beneath root = {.fd = fd};
    ZD_AUTO_FD probe = -1;
    ZD_AUTO_FD cached = -1;
    probe = open_beneath(fd, "", O_PATH, RESOLVE_RULES);
    cached = open_beneath(fd, "", O_PATH, NOW_RULES);
    root.resolves_beneath = probe >= 0;
    root.resolves_cached = probe >= 0 && (cached >= 0 || cached == -EAGAIN) && is_local(fd);
    *ret_root = root;
    return ZD_OK;
}

/* ---- which directory ---- */

static uint64_t place_of(uint64_t device, uint64_t inode)
{
    struct zd_hash place = {0};
    zd_hash_add_u64(&place, device);
    zd_hash_add_u64(&place, inode);
    return place.value;
}

enum zd_status zd_beneath_place(const char *path, uint64_t *ret_place, struct zd_error *err)
{
    struct stat file;
    if (stat(path, &file) != 0) {
        return fail_root(errno, path, err);
    }
    if (!S_ISDIR(file.st_mode)) {
        return fail_root(ENOTDIR, path, err);
    }
    *ret_place = place_of(file.st_dev, file.st_ino);
    return ZD_OK;
}

/* stat(2) cannot be asked not to block; of a descriptor, statx(2) can. */
enum zd_status zd_beneath_place_now(const char *path, uint64_t *ret_place)
{
    struct statx file;
    ZD_AUTO_FD fd = -1;
    fd = open_beneath(AT_FDCWD, path, O_PATH | O_DIRECTORY, RESOLVE_CACHED);
    if (fd < 0 || statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &file) != 0) {
        return ZD_AGAIN;
    }
    *ret_place = place_of(makedev(file.stx_dev_major, file.stx_dev_minor), file.stx_ino);
    return ZD_OK;
}

uint64_t zd_beneath_place_of(const struct zd_beneath *root)
{
    struct stat file;
    return fstat(root->fd, &file) == 0 ? place_of(file.st_dev, file.st_ino) : 0;
}

void zd_beneath_close(struct zd_beneath *root)
{
    zd_beneath_close_fd(&root->fd);
    root->fd = -1;
}

/* 0, or the errno of a name that is no place to walk through or to end at. */
static int judge_step(int fd, bool is_last)
{
    struct stat file;
    if (fstat(fd, &file) != 0) {
        return errno;
    }
    if (S_ISLNK(file.st_mode)) {
        return ELOOP; /* without openat2 no link is safe to follow */
    }
    return is_last || S_ISDIR(file.st_mode) ? 0 : ENOTDIR;
}

/* Open the result of a step as asked: a descriptor, or -errno. */
static int reopen(int parent_fd, int path_fd, const char *name, int flags)
{
    if ((flags & O_PATH) != 0) {
        const int copy = fcntl(path_fd, F_DUPFD_CLOEXEC, 0);
        return copy < 0 ? -errno : copy;
    }
    const int fd = openat(parent_fd, name, flags | O_NOFOLLOW | ALWAYS_FLAGS);
    return fd < 0 ? -errno : fd;
}

/* Walk one segment: its descriptor, for the last one opened as asked; or -errno. */
static int step_into(int parent_fd, struct zd_span segment, bool is_last, int flags)
{
    char name[NAME_MAX + 1];
    assert(segment.len < sizeof name);
    memcpy(name, segment.ptr, segment.len);
    name[segment.len] = '\0';
    const int fd = openat(parent_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    const int code = judge_step(fd, is_last);
    if (code == 0 && !is_last) {
        return fd;
    }
    const int result = code == 0 ? reopen(parent_fd, fd, name, flags) : -code;
    close(fd);
    return result;
}

/* Without openat2: segment by segment, following no link. A descriptor, or -errno. */
static int walk_beneath(int root_fd, const char *path, int flags)
{
    const char *at = path[0] == '\0' ? "." : path;
    int parent_fd = root_fd;
    for (;;) {
        const size_t len = strcspn(at, "/");
        const struct zd_span segment = {.ptr = (const uint8_t *)at, .len = len};
        const bool is_last = at[len] == '\0' || at[len + 1] == '\0';
        const int fd = step_into(parent_fd, segment, is_last, flags);
        if (parent_fd != root_fd) {
            close(parent_fd);
        }
        if (fd < 0 || is_last) {
            return fd;
        }
        parent_fd = fd;
        at += len + 1;
    }
}

/* A removed root holds no objects, but none of them was erased: that is a fault, not an absence. */
static bool root_is_gone(const struct zd_beneath *root)
{
    struct stat file;
    return fstat(root->fd, &file) != 0 || file.st_nlink == 0;
}

int zd_beneath_try(const struct zd_beneath *root, const char *path, int flags)
{
    int fd = -EAGAIN;
    for (int i = 0; i < ATTEMPTS_MAX && fd == -EAGAIN; i++) {
        fd = root->resolves_beneath ? open_beneath(root->fd, path, flags, RESOLVE_RULES)
                                    : walk_beneath(root->fd, path, flags);
    }
    return fd;
}

enum zd_status zd_beneath_find(
    const struct zd_beneath *root, const char *path, int flags, int *ret_fd, struct zd_error *err)
{
    const int fd = zd_beneath_try(root, path, flags);
    const bool is_root = path[0] == '\0'; /* it opens even when it was removed */
    const bool may_be_gone = fd == -ENOENT || fd == -ENOTDIR || (fd >= 0 && is_root);
    if (may_be_gone && root_is_gone(root)) {
        if (fd >= 0) {
            close(fd);
        }
        return zd_fail(
            err, ZD_GONE, "%s%sthe directory of the store was removed", path, is_root ? "" : ": ");
    }
    if (fd < 0) {
        return zd_beneath_fail(err, -fd, path, "open");
    }
    *ret_fd = fd;
    return ZD_OK;
}

enum zd_status zd_beneath_find_now(
    const struct zd_beneath *root, const char *path, int flags, int *ret_fd)
{
    if (!root->resolves_cached) {
        return ZD_AGAIN;
    }
    const int fd = open_beneath(root->fd, path, flags, NOW_RULES);
    if (fd >= 0) {
        *ret_fd = fd;
        return ZD_OK;
    }
    const bool is_missing = fd == -ENOENT || fd == -ENOTDIR;
    return is_missing && !root_is_gone(root) ? ZD_NOT_FOUND : ZD_AGAIN;
}
