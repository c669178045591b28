/* The system calls that change a store of files. */
#include "core/store/file/calls.h"

#include <stdio.h>
#include <unistd.h>

#define DIRECTORY_MODE 0777 /* less the process's umask */
#define FILE_MODE      0666

static int kernel_open(int dir_fd, const char *name, int flags)
{
    return openat(dir_fd, name, flags | O_CREAT | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
}

static ssize_t kernel_write(int fd, const void *bytes, size_t len)
{
    return write(fd, bytes, len);
}

static int kernel_set_mtime(int fd, const struct timespec *mtime)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, *mtime};
    return futimens(fd, times);
}

static int kernel_sync_data(int fd)
{
    return fdatasync(fd);
}

static int kernel_close(int fd)
{
    return close(fd);
}

static int kernel_sync(int dir_fd)
{
    return fsync(dir_fd);
}

static int kernel_make_directory(int dir_fd, const char *name)
{
    return mkdirat(dir_fd, name, DIRECTORY_MODE);
}

static int kernel_lock(int fd, struct flock *lock)
{
    return fcntl(fd, F_OFD_SETLK, lock);
}

static int kernel_rename(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
    return renameat2(from_fd, from, to_fd, to, flags);
}

static int kernel_link(int from_fd, const char *from, int to_fd, const char *to)
{
    return linkat(from_fd, from, to_fd, to, 0);
}

static int kernel_stat(int dir_fd, const char *name, struct stat *ret_file)
{
    return fstatat(dir_fd, name, ret_file, AT_SYMLINK_NOFOLLOW);
}

static int kernel_unlink(int dir_fd, const char *name, int flags)
{
    return unlinkat(dir_fd, name, flags);
}

const struct zd_calls zd_calls_of_kernel = {
    .open = kernel_open,
    .write = kernel_write,
    .set_mtime = kernel_set_mtime,
    .sync_data = kernel_sync_data,
    .close = kernel_close,
    .sync = kernel_sync,
    .make_directory = kernel_make_directory,
    .lock = kernel_lock,
    .rename = kernel_rename,
    .link = kernel_link,
    .stat = kernel_stat,
    .unlink = kernel_unlink,
};

const struct zd_calls *zd_calls = &zd_calls_of_kernel;
