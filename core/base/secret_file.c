/* Files with secrets. */
#include "core/base/secret_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/aside.h"

#define OTHERS_MODE (S_IROTH | S_IWOTH)
#define ALL_MODE    07777U

/* A file, and what others must not do with it. */
struct reading {
    const char *option;
    const char *path;
    size_t bytes_max;
    mode_t others_mode;
};

static enum zd_status judge(
    const struct reading *reading, const struct stat *file, struct zd_error *err)
{
    if ((file->st_mode & reading->others_mode) == 0) {
        return ZD_OK;
    }
    const bool is_shared = (reading->others_mode & S_IROTH) == 0;
    return zd_fail(err, ZD_INVALID,
        "%s" ZD_ASIDE(" %.200s") ": mode %04o lets other users %s it; run `chmod %s FILE`",
        reading->option, reading->path, (unsigned)file->st_mode & ALL_MODE,
        is_shared ? "change" : "read or change", is_shared ? "o-w" : "o-rw");
}

enum zd_status zd_secret_file_judge(const char *option, const char *path, struct zd_error *err)
{
    const struct reading reading = {.option = option, .path = path, .others_mode = OTHERS_MODE};
    struct stat file;
    return stat(path, &file) != 0 ? ZD_OK : judge(&reading, &file, err);
}

static enum zd_status read_all(int fd, struct zd_buf *bytes)
{
    ssize_t n = 1;
    while (n != 0 && bytes->len < bytes->cap) {
        n = read(fd, bytes->data + bytes->len, bytes->cap - bytes->len);
        if (n < 0 && errno != EINTR) {
            return ZD_STORE;
        }
        bytes->len += n > 0 ? (size_t)n : 0;
    }
    return ZD_OK;
}

static enum zd_status read_open(
    const struct reading *reading, int fd, struct zd_buf **ret_bytes, struct zd_error *err)
{
    struct stat file;
    const char *option = reading->option;
    const char *path = reading->path;
    if (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode)) {
        return zd_fail(
            err, ZD_INVALID, "%s" ZD_ASIDE(" %.200s") ": not a regular file", option, path);
    }
    ZD_TRY(judge(reading, &file, err));
    if ((uint64_t)file.st_size > reading->bytes_max) {
        return zd_fail(err, ZD_INVALID,
            "%s" ZD_ASIDE(" %.200s") ": the file has %lld bytes; the limit is %zu", option, path,
            (long long)file.st_size, reading->bytes_max);
    }
    ZD_AUTO(zd_buf) bytes = zd_buf_new((size_t)file.st_size + 1);
    if (bytes == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "%s: no memory for the file", option);
    }
    if (read_all(fd, bytes) != ZD_OK) {
        return zd_fail(
            err, ZD_INVALID, "%s" ZD_ASIDE(" %.200s") ": %s", option, path, strerror(errno));
    }
    if (bytes->len > (size_t)file.st_size) {
        return zd_fail(err, ZD_INVALID,
            "%s" ZD_ASIDE(" %.200s") ": the file grew while it was read", option, path);
    }
    *ret_bytes = ZD_TAKE(bytes);
    return ZD_OK;
}

static enum zd_status read_file(
    const struct reading *reading, struct zd_buf **ret_bytes, struct zd_error *err)
{
    /* A pipe keeps nobody waiting. */
    const int fd = open(reading->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return zd_fail(err, ZD_INVALID, "%s" ZD_ASIDE(" %.200s") ": %s", reading->option,
            reading->path, strerror(errno));
    }
    const enum zd_status status = read_open(reading, fd, ret_bytes, err);
    close(fd);
    return status;
}

enum zd_status zd_secret_file_read(const char *option, const char *path, size_t bytes_max,
    struct zd_buf **ret_bytes, struct zd_error *err)
{
    const struct reading reading = {
        .option = option, .path = path, .bytes_max = bytes_max, .others_mode = OTHERS_MODE};
    return read_file(&reading, ret_bytes, err);
}

enum zd_status zd_secret_file_read_shared(const char *option, const char *path, size_t bytes_max,
    struct zd_buf **ret_bytes, struct zd_error *err)
{
    const struct reading reading = {
        .option = option, .path = path, .bytes_max = bytes_max, .others_mode = S_IWOTH};
    return read_file(&reading, ret_bytes, err);
}
