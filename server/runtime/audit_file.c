/* The audit file. */
#include "server/runtime/audit_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "server/runtime/log.h"

#define OWED_BYTES_MAX (4U << 20) /* changes under way when the disk was full */

static enum zd_status fail_open(const char *path, struct zd_error *err)
{
    return zd_fail(
        err, ZD_INVALID, "log.audit_file '%.200s' cannot be opened: %s", path, strerror(errno));
}

/* @param more flags */
static enum zd_status open_fd(const char *path, int more, int *ret_fd, struct zd_error *err)
{
    /* A pipe without a reader is refused, and one with a reader below: it may block. */
    const int flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | more;
    const int fd = open(path, flags, S_IRUSR | S_IWUSR);
    struct stat stat = {0};
    if (fd < 0) {
        return fail_open(path, err);
    }
    if (fstat(fd, &stat) != 0 || (!S_ISREG(stat.st_mode) && !S_ISCHR(stat.st_mode))) {
        (void)close(fd);
        return zd_fail(err, ZD_INVALID, "log.audit_file '%.200s' is not a regular file", path);
    }
    *ret_fd = fd;
    return ZD_OK;
}

/* Whether a file can be made there. */
static enum zd_status judge_folder(const char *path, struct zd_error *err)
{
    const char *slash = strrchr(path, '/');
    ZD_SCOPED_TEXT(folder, PATH_MAX);
    if (slash == NULL) {
        zd_text_add(&folder, ".");
    } else {
        zd_text_add_bytes(&folder, (const uint8_t *)path, (size_t)(slash - path) + 1);
    }
    ZD_TRY(folder.status);
    return access(folder.at, W_OK | X_OK) == 0 ? ZD_OK : fail_open(path, err);
}

enum zd_status zd_audit_file_judge(const char *path, struct zd_error *err)
{
    struct stat found;
    int fd = -1;
    if (path[0] == '\0') {
        return ZD_OK;
    }
    if (stat(path, &found) != 0) {
        return errno == ENOENT ? judge_folder(path, err) : fail_open(path, err);
    }
    ZD_TRY(open_fd(path, 0, &fd, err));
    (void)close(fd);
    return ZD_OK;
}

enum zd_status zd_audit_file_open(
    struct zd_audit_file *file, const char *path, struct zd_log *log, struct zd_error *err)
{
    if (path[0] == '\0') {
        return ZD_OK;
    }
    ZD_TRY(open_fd(path, O_CREAT, &file->fd, err));
    file->path = path;
    file->log = log;
    zd_text_init(&file->owed, OWED_BYTES_MAX);
    return ZD_OK;
}

/* ---- one write ---- */

static enum zd_status judge_file(const struct zd_audit_file *file, struct zd_error *err)
{
    struct stat stat = {0};
    if (file->fd < 0) {
        return zd_fail(err, ZD_STORE, "the file could not be opened again");
    }
    if (fstat(file->fd, &stat) != 0 || stat.st_nlink == 0) {
        return zd_fail(err, ZD_STORE, "the file was removed; SIGHUP creates a new file");
    }
    return ZD_OK;
}

/* A piece of a line stays where it is: what comes next is a line of its own. */
static enum zd_status put(struct zd_audit_file *file, struct zd_span line, struct zd_error *err)
{
    static char line_break[] = "\n";
    ZD_TRY(judge_file(file, err));
    const size_t before = file->is_torn ? 1 : 0;
    const struct iovec pieces[] = {
        {.iov_base = line_break, .iov_len = before},
        {.iov_base = (void *)(uintptr_t)line.ptr, .iov_len = line.len},
    };
    ssize_t n = -1;
    do {
        n = writev(file->fd, pieces, 2);
    } while (n < 0 && errno == EINTR);
    if (n >= 0 && (size_t)n == before + line.len) {
        file->is_torn = false;
        return ZD_OK;
    }
    file->is_torn = n > 0 ? (size_t)n > before : file->is_torn;
    return zd_fail(err, ZD_STORE, "%s", n < 0 ? strerror(errno) : "no space is left for a line");
}

static void tell(struct zd_audit_file *file, enum zd_status status, const char *why)
{
    const bool is_failing = status != ZD_OK;
    if (is_failing && !file->is_failing) {
        zd_log(file->log, ZD_LOG_ERROR,
            "audit file '%.200s': %s; changes are refused until the file can be written again",
            file->path, why);
    } else if (!is_failing && file->is_failing) {
        zd_log(file->log, ZD_LOG_INFO, "audit file '%.200s': the file can be written again",
            file->path);
    }
    file->is_failing = is_failing;
}

static enum zd_status pay(struct zd_audit_file *file, struct zd_error *err)
{
    if (file->owed.len > 0) {
        ZD_TRY(put(file, zd_text_span(&file->owed), err));
        zd_text_clear(&file->owed);
    }
    return ZD_OK;
}

/* ---- lines ---- */

enum zd_status zd_audit_file_write(
    struct zd_audit_file *file, struct zd_span line, struct zd_error *err)
{
    struct zd_error why = {0};
    enum zd_status status = pay(file, &why);
    if (status == ZD_OK) {
        status = put(file, line, &why);
    }
    tell(file, status, why.text);
    return status == ZD_OK
               ? ZD_OK
               : zd_fail(err, status,
                     "changes are refused while log.audit_file cannot be written: %s", why.text);
}

void zd_audit_file_owe(struct zd_audit_file *file, struct zd_span line)
{
    struct zd_error err = {0};
    if (zd_audit_file_write(file, line, &err) == ZD_OK) {
        return;
    }
    if (zd_text_add_bytes(&file->owed, line.ptr, line.len) != ZD_OK) {
        file->owed.status = ZD_OK;
        zd_log(file->log, ZD_LOG_ERROR, "audit file '%.200s': lost line: %.*s", file->path,
            (int)(line.len - 1), (const char *)line.ptr);
    }
}

void zd_audit_file_reopen(struct zd_audit_file *file)
{
    struct zd_error err = {0};
    int fd = -1;
    if (file->path == NULL) {
        return;
    }
    enum zd_status status = open_fd(file->path, O_CREAT, &fd, &err);
    if (file->fd >= 0) {
        (void)close(file->fd);
    }
    file->fd = fd;
    file->is_torn = false;
    if (status == ZD_OK) {
        status = pay(file, &err);
    }
    tell(file, status, err.text);
}

void zd_audit_file_close(struct zd_audit_file *file)
{
    struct zd_error err = {0};
    if (file->path == NULL) {
        return;
    }
    if (pay(file, &err) != ZD_OK) {
        zd_log(file->log, ZD_LOG_ERROR, "audit file '%.200s': lost %zu bytes (%s): %.*s",
            file->path, file->owed.len, err.text, (int)file->owed.len, file->owed.at);
    }
    zd_text_done(&file->owed);
    if (file->fd >= 0) {
        (void)close(file->fd);
    }
    *file = (struct zd_audit_file){.path = NULL};
}
