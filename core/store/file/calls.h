/* The system calls that change a store of files, so that tests can count them and have each fail.
 */
#ifndef ZD_CORE_STORE_FILE_CALLS_H
#define ZD_CORE_STORE_FILE_CALLS_H

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>

/** Each does what the call of its name does, and sets errno when it returns less than 0. */
struct zd_calls {
    int (*open)(int dir_fd, const char *name, int flags); /* openat(2), with O_CREAT */
    ssize_t (*write)(int fd, const void *bytes, size_t len);
    int (*set_mtime)(int fd, const struct timespec *mtime); /* futimens(3) */
    int (*sync_data)(int fd);                               /* fdatasync(2) */
    int (*close)(int fd);                                   /* of a file that was written */
    int (*sync)(int dir_fd);                                /* fsync(2), of a directory */
    int (*make_directory)(int dir_fd, const char *name);    /* mkdirat(2) */
    int (*lock)(int fd, struct flock *lock);                /* F_OFD_SETLK */
    int (*rename)(int from_fd, const char *from, int to_fd, const char *to, unsigned flags);
    int (*link)(int from_fd, const char *from, int to_fd, const char *to);
    int (*stat)(int dir_fd, const char *name, struct stat *ret_file); /* follows no link */
    int (*unlink)(int dir_fd, const char *name, int flags);
};

/** The kernel's. */
extern const struct zd_calls zd_calls_of_kernel;

/** The calls in use: the kernel's. Tests set others while no store is at work. */
extern const struct zd_calls *zd_calls;

#endif
