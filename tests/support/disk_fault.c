/* A library to be loaded before the C library (LD_PRELOAD): system calls on files that fail, hang
 * or do nothing when told.
 *
 * ZARRD_FAULTS names a folder; a file in it is a switch, by its name:
 *
 * - CALL: the next such call fails with the errno that the file holds, and the switch is gone; two
 *   numbers may follow: calls that are let through before, and calls that fail after it.
 * - CALL.always: so does every call as long as the switch is there.
 * - CALL.wait: every call waits as long as the switch is there; a file CALL.waiting appears. It may
 *   hold a number of calls that are let through before.
 * - CALL.skip: every call does nothing and says that it has.
 *
 * CALL is write (but to the log), fdatasync, fsync (of a file), fsync-directory, rename, unlink or
 * close (of what was opened for writing). */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PATH_BYTES 4096
#define PAUSE_NS   2000000

/* "" when there is no folder. */
static const char *switch_path(char path[PATH_BYTES], const char *call, const char *ending)
{
    const char *folder = getenv("ZARRD_FAULTS");
    path[0] = '\0';
    if (folder != NULL) {
        snprintf(path, PATH_BYTES, "%s/%s%s", folder, call, ending);
    }
    return path;
}

static bool is_on(const char *call, const char *ending)
{
    char path[PATH_BYTES];
    return syscall(SYS_faccessat, AT_FDCWD, switch_path(path, call, ending), F_OK) == 0;
}

/* The content of a switch. */
struct setting {
    long code; /* an errno; 0 when there is no such switch */
    long n_let_through;
    long n_more; /* that fail after the first */
};

static struct setting read_switch(const char *call, const char *ending)
{
    char path[PATH_BYTES];
    char digits[64] = "";
    struct setting setting = {0};
    const long fd =
        syscall(SYS_openat, AT_FDCWD, switch_path(path, call, ending), O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && syscall(SYS_read, fd, digits, sizeof digits - 1) > 0) {
        char *end = digits;
        setting.code = strtol(end, &end, 10);
        setting.n_let_through = strtol(end, &end, 10);
        setting.n_more = strtol(end, &end, 10);
    }
    if (fd >= 0) {
        syscall(SYS_close, fd);
    }
    return setting;
}

static void write_switch(const char *call, const char *ending, struct setting setting)
{
    char path[PATH_BYTES];
    char digits[64];
    const int len = snprintf(
        digits, sizeof digits, "%ld %ld %ld", setting.code, setting.n_let_through, setting.n_more);
    const long fd = syscall(
        SYS_openat, AT_FDCWD, switch_path(path, call, ending), O_WRONLY | O_TRUNC | O_CLOEXEC);
    syscall(SYS_write, fd, digits, (size_t)len);
    syscall(SYS_close, fd);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* The errno for this one call of many. */
static int take_code(const char *call)
{
    char path[PATH_BYTES];
    pthread_mutex_lock(&mutex);
    struct setting setting = read_switch(call, "");
    const int code = setting.n_let_through > 0 ? 0 : (int)setting.code;
    if (setting.n_let_through > 0 || setting.n_more > 0) {
        setting.n_let_through -= code == 0;
        setting.n_more -= code != 0;
        write_switch(call, "", setting);
    } else if (code != 0) {
        syscall(SYS_unlinkat, AT_FDCWD, switch_path(path, call, ""), 0);
    }
    pthread_mutex_unlock(&mutex);
    return code;
}

static bool is_let_through(const char *call)
{
    pthread_mutex_lock(&mutex);
    struct setting setting = read_switch(call, ".wait");
    const bool is_let = setting.code > 0;
    if (is_let) {
        setting.code--;
        write_switch(call, ".wait", setting);
    }
    pthread_mutex_unlock(&mutex);
    return is_let;
}

static void wait_if_told(const char *call)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    char path[PATH_BYTES];
    if (!is_on(call, ".wait") || is_let_through(call)) {
        return;
    }
    const long fd = syscall(SYS_openat, AT_FDCWD, switch_path(path, call, ".waiting"),
        O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    syscall(SYS_close, fd);
    while (is_on(call, ".wait")) {
        nanosleep(&pause, NULL);
    }
}

/* Whether the call is over before it has begun, and how: *ret_result, errno. */
static bool is_decided(const char *call, int *ret_result)
{
    wait_if_told(call);
    int code = take_code(call);
    if (code == 0) {
        code = (int)read_switch(call, ".always").code;
    }
    if (code == 0 && !is_on(call, ".skip")) {
        return false;
    }
    errno = code;
    *ret_result = code == 0 ? 0 : -1;
    return true;
}

static bool is_kind(int fd, mode_t kind)
{
    struct stat stat;
    const int code = errno;
    const bool is = fstat(fd, &stat) == 0 && (stat.st_mode & S_IFMT) == kind;
    errno = code;
    return is;
}

int fsync(int fd)
{
    int result = 0;
    const char *call = is_kind(fd, S_IFDIR) ? "fsync-directory" : "fsync";
    return is_decided(call, &result) ? result : (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
    int result = 0;
    return is_decided("fdatasync", &result) ? result : (int)syscall(SYS_fdatasync, fd);
}

/* The log is a regular file too, and is written at any time after an answer. */
ssize_t write(int fd, const void *bytes, size_t len)
{
    int result = 0;
    const bool is_judged =
        fd > STDERR_FILENO && is_kind(fd, S_IFREG) && is_decided("write", &result);
    return is_judged ? result : syscall(SYS_write, fd, bytes, len);
}

int renameat(int from_fd, const char *from, int to_fd, const char *to)
{
    int result = 0;
    return is_decided("rename", &result) ? result
                                         : (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, 0);
}

int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned int flags)
{
    int result = 0;
    return is_decided("rename", &result)
               ? result
               : (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, flags);
}

int unlinkat(int fd, const char *name, int flags)
{
    int result = 0;
    return is_decided("unlink", &result) ? result : (int)syscall(SYS_unlinkat, fd, name, flags);
}

/* By the next one of that name: ThreadSanitizer's own must know that the number is free. */
static int close_by_next(int fd)
{
    int (*next)(int) = NULL;
    void *found = dlsym(RTLD_NEXT, "close");
    memcpy(&next, &found, sizeof next);
    return next(fd);
}

/* The file is closed all the same, as Linux has it. */
int close(int fd)
{
    int result = 0;
    const int flags = (int)syscall(SYS_fcntl, fd, F_GETFL);
    const bool is_judged = flags >= 0 && (flags & O_ACCMODE) != O_RDONLY && is_kind(fd, S_IFREG) &&
                           is_decided("close", &result);
    const int code = errno;
    const int closed = close_by_next(fd);
    if (!is_judged) {
        return closed;
    }
    errno = code;
    return result;
}
