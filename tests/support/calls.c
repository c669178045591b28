/* System calls of the store of files: noted, and the n-th one fails. */
#include "tests/support/calls.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <uv.h>

#include "core/store/file/calls.h"
#include "tests/support/check.h"

#define NOTE_BYTES_MAX 4096

static uv_mutex_t mutex;
static struct zd_calls_fault fault;
static char note[NOTE_BYTES_MAX];
static uint64_t n_calls;

/* Whether this call fails. */
static bool is_hit(const char *name)
{
    uv_mutex_lock(&mutex);
    const size_t len = strlen(note);
    snprintf(note + len, sizeof note - len, "%s%s", n_calls == 0 ? "" : " ", name);
    n_calls++;
    const bool hit = fault.n > 0 && n_calls >= fault.n && n_calls <= fault.n + fault.n_more;
    uv_mutex_unlock(&mutex);
    return hit;
}

static int end_in_fault(void)
{
    errno = fault.code;
    return -1;
}

/* The work of a call that is hit: done before it fails, or not at all. */
#define CALL(name, work)                                                                           \
    do {                                                                                           \
        const bool hit = is_hit(name);                                                             \
        const int result = !hit || fault.is_late ? (int)(work) : 0;                                \
        return hit ? end_in_fault() : result;                                                      \
    } while (0)

static int noted_open(int dir_fd, const char *name, int flags)
{
    if (is_hit("open")) {
        return end_in_fault();
    }
    return zd_calls_of_kernel.open(dir_fd, name, flags);
}

static ssize_t noted_write(int fd, const void *bytes, size_t len)
{
    CALL("write", zd_calls_of_kernel.write(fd, bytes, len));
}

static int noted_set_mtime(int fd, const struct timespec *mtime)
{
    CALL("set_mtime", zd_calls_of_kernel.set_mtime(fd, mtime));
}

static int noted_sync_data(int fd)
{
    CALL("sync_data", zd_calls_of_kernel.sync_data(fd));
}

/* Whatever close(2) says, the descriptor is gone. */
static int noted_close(int fd)
{
    const bool hit = is_hit("close");
    const int result = zd_calls_of_kernel.close(fd);
    return hit ? end_in_fault() : result;
}

static int noted_sync(int dir_fd)
{
    CALL("sync", zd_calls_of_kernel.sync(dir_fd));
}

static int noted_make_directory(int dir_fd, const char *name)
{
    CALL("make_directory", zd_calls_of_kernel.make_directory(dir_fd, name));
}

static int noted_lock(int fd, struct flock *lock)
{
    if (is_hit("lock")) {
        return end_in_fault();
    }
    return zd_calls_of_kernel.lock(fd, lock);
}

static int noted_rename(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
    CALL("rename", zd_calls_of_kernel.rename(from_fd, from, to_fd, to, flags));
}

static int noted_link(int from_fd, const char *from, int to_fd, const char *to)
{
    CALL("link", zd_calls_of_kernel.link(from_fd, from, to_fd, to));
}

static int noted_stat(int dir_fd, const char *name, struct stat *ret_file)
{
    CALL("stat", zd_calls_of_kernel.stat(dir_fd, name, ret_file));
}

static int noted_unlink(int dir_fd, const char *name, int flags)
{
    CALL("unlink", zd_calls_of_kernel.unlink(dir_fd, name, flags));
}

static const struct zd_calls noted = {
    .open = noted_open,
    .write = noted_write,
    .set_mtime = noted_set_mtime,
    .sync_data = noted_sync_data,
    .close = noted_close,
    .sync = noted_sync,
    .make_directory = noted_make_directory,
    .lock = noted_lock,
    .rename = noted_rename,
    .link = noted_link,
    .stat = noted_stat,
    .unlink = noted_unlink,
};

void zd_calls_watch(struct zd_calls_fault new_fault)
{
    if (zd_calls != &noted) {
        ck_assert_int_eq(uv_mutex_init(&mutex), 0);
    }
    zd_calls = &noted;
    note[0] = '\0';
    fault = new_fault;
    n_calls = 0;
}

const char *zd_calls_text(void)
{
    return note;
}

uint64_t zd_calls_count(void)
{
    return n_calls;
}
