/* The writers below a root: the hidden directory that shows that there are some. */
#include "core/store/file/presence.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>

#include "core/store/file/calls.h"

#define LOCK_NAME       "lock" /* of ZD_PRESENCE_LOCK */
#define DIRECTORY_FLAGS (O_RDONLY | O_DIRECTORY)
#define OUR_BYTE        (ZD_PRESENCE_BYTES + 1) /* behind those of others, and of who holds many */
#define ATTEMPTS_MAX    64                      /* while others leave */
#define LEAVING_NS      UINT64_C(1000000000)    /* a live process leaves in much less */
#define PAUSE_NS        200000
#define ROOM_BLOCKS     16 /* more than a writer needs before it has erased anything */
#define ROOM_FILES      16

enum zd_status zd_presence_fail(struct zd_error *err, int code, const char *doing)
{
    char words[ZD_FACT_TEXT_BYTES];
    const enum zd_status status = zd_beneath_fail(err, code, ZD_PRESENCE_DIRECTORY, doing);
    return status != ZD_NOT_FOUND
               ? status
               : zd_fail(err, ZD_STORE, "%s: cannot %s: %s", ZD_PRESENCE_DIRECTORY, doing,
                     strerror_r(code, words, sizeof words));
}

/* EAGAIN: others have it. */
static int try_lock(int fd, short type)
{
    struct flock lock = {
        .l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)OUR_BYTE, .l_len = 1};
    int code = EINTR;
    while (code == EINTR) {
        code = zd_calls->lock(fd, &lock) == 0 ? 0 : errno;
    }
    return code == EACCES ? EAGAIN : code;
}

static int lock_within(int fd, uint64_t wait_ns)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    const uint64_t until_ns = uv_hrtime() + wait_ns;
    int code = try_lock(fd, F_RDLCK);
    while (code == EAGAIN && uv_hrtime() < until_ns) {
        (void)nanosleep(&pause, NULL);
        code = try_lock(fd, F_RDLCK);
    }
    return code;
}

static bool has_name(int fd)
{
    struct stat file;
    return fd >= 0 && fstat(fd, &file) == 0 && file.st_nlink > 0;
}

static void close_both(struct zd_presence *presence)
{
    zd_beneath_close_fd(&presence->lock_fd);
    zd_beneath_close_fd(&presence->dir_fd);
    *presence = ZD_PRESENCE_NONE;
}

/* ZD_AGAIN: the directory is not there, or has just been removed. */
static enum zd_status open_both(
    struct zd_presence *coming, const struct zd_beneath *root, struct zd_error *err)
{
    const int dir_fd = zd_beneath_try(root, ZD_PRESENCE_DIRECTORY, DIRECTORY_FLAGS);
    if (dir_fd < 0) {
        return dir_fd == -ENOENT ? ZD_AGAIN
                                 : zd_presence_fail(err, -dir_fd, "open the directory of locks");
    }
    coming->dir_fd = dir_fd;
    coming->lock_fd = zd_calls->open(dir_fd, LOCK_NAME, O_RDWR);
    if (coming->lock_fd < 0) {
        return errno == ENOENT ? ZD_AGAIN : zd_presence_fail(err, errno, "open the lock");
    }
    return ZD_OK;
}

static enum zd_status take_part(
    const struct zd_presence *coming, uint64_t wait_ns, struct zd_error *err)
{
    const int code = lock_within(coming->lock_fd, wait_ns);
    if (code == EAGAIN) {
        return zd_fail(err, ZD_TIMEOUT,
            "%s: another process has been removing it for longer than a second; check for a "
            "stopped writer",
            ZD_PRESENCE_DIRECTORY);
    }
    if (code != 0) {
        return zd_presence_fail(err, code, "take the lock");
    }
    return has_name(coming->lock_fd) ? ZD_OK : ZD_AGAIN;
}

/* ZD_AGAIN: another one was faster to leave. */
static enum zd_status come(struct zd_presence *presence, const struct zd_beneath *root,
    uint64_t wait_ns, struct zd_error *err)
{
    struct zd_presence coming = ZD_PRESENCE_NONE;
    enum zd_status status = open_both(&coming, root, err);
    if (status == ZD_OK) {
        status = take_part(&coming, wait_ns, err);
    }
    if (status == ZD_OK) {
        *presence = coming;
    } else {
        close_both(&coming);
    }
    return status;
}

enum zd_status zd_presence_enter(
    struct zd_presence *presence, const struct zd_beneath *root, struct zd_error *err)
{
    enum zd_status status = ZD_AGAIN;
    for (int i = 0; i < ATTEMPTS_MAX && status == ZD_AGAIN; i++) {
        if (zd_calls->make_directory(root->fd, ZD_PRESENCE_DIRECTORY) != 0 && errno != EEXIST) {
            return zd_presence_fail(err, errno, "make the directory of locks");
        }
        status = come(presence, root, LEAVING_NS, err);
    }
    return status == ZD_AGAIN ? zd_presence_fail(err, ENOENT, "keep the directory of locks")
                              : status;
}

bool zd_presence_join(struct zd_presence *presence, const struct zd_beneath *root)
{
    return come(presence, root, 0, NULL) == ZD_OK;
}

bool zd_presence_has_room(const struct zd_beneath *root)
{
    struct statvfs disk;
    return fstatvfs(root->fd, &disk) == 0 && disk.f_bavail >= ROOM_BLOCKS &&
           (disk.f_files == 0 || disk.f_favail >= ROOM_FILES); /* 0: it does not count them */
}

/* Two who leave at the same time both let go first, so that the second one to ask is alone. */
static bool is_last(int fd)
{
    return try_lock(fd, F_UNLCK) == 0 && try_lock(fd, F_WRLCK) == 0 && has_name(fd);
}

void zd_presence_leave(struct zd_presence *presence, const struct zd_beneath *root)
{
    if (presence->lock_fd >= 0 && zd_presence_has_room(root) && is_last(presence->lock_fd)) {
        (void)zd_calls->unlink(presence->dir_fd, LOCK_NAME, 0);
        (void)zd_calls->unlink(root->fd, ZD_PRESENCE_DIRECTORY, AT_REMOVEDIR);
    }
    close_both(presence);
}
