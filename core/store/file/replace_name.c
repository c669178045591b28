/* Files that are replaced whole: how a name changes hands. What it named is kept by an exchange of
 * both names, which costs no more than a rename; where the file system has none, by a second name
 * for it, and where it has none of those either, by a copy. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/sendfile.h>

#include "core/store/file/calls.h"
#include "core/store/file/replace_name.h"

void zd_replace_name_drop(const struct zd_replacement *job, const char *temp)
{
    if (zd_calls->unlink(job->temp_dir_fd, temp, 0) != 0 && errno != ENOENT) {
        atomic_fetch_add(&job->files->writer.n_kept, 1);
    }
}

#define COPY_BYTES_MAX (1U << 30) /* of one call */

static int rename_temp(const struct zd_replacement *job, unsigned flags)
{
    const int result = zd_calls->rename(job->temp_dir_fd, job->temp, job->dir_fd, job->name, flags);
    return result == 0 ? 0 : errno;
}

int zd_replace_name_over(struct zd_replacement *job)
{
    const int code = rename_temp(job, 0);
    if (code == 0) {
        job->temp[0] = '\0';
    }
    return code;
}

int zd_replace_name_new(struct zd_replacement *job)
{
    struct stat file;
    int code = rename_temp(job, RENAME_NOREPLACE);
    if (code == EINVAL || code == ENOSYS) { /* not of this file system */
        code = zd_calls->link(job->temp_dir_fd, job->temp, job->dir_fd, job->name) == 0 ? 0 : errno;
        if (code == 0) {
            zd_replace_name_drop(job, job->temp);
        }
    }
    if (code == 0) {
        job->temp[0] = '\0';
    }
    const bool is_directory = code == EEXIST &&
                              zd_calls->stat(job->dir_fd, job->name, &file) == 0 &&
                              S_ISDIR(file.st_mode);
    return is_directory ? EISDIR : code;
}

/* ---- what was there is kept ---- */

static int copy_bytes(int from, int to)
{
    ssize_t n = 1;
    while (n > 0) {
        n = sendfile(to, from, NULL, COPY_BYTES_MAX);
        n = n < 0 && errno == EINTR ? 1 : n;
    }
    return n < 0 ? errno : 0;
}

/* The copy is as durable as its original, which it may have to replace. */
static int copy_old(const struct zd_replacement *job, const char *spare, const struct stat *old)
{
    struct zd_files *files = job->files;
    ZD_AUTO_FD from = openat(job->dir_fd, job->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    const int to = from < 0 ? -1 : zd_calls->open(job->temp_dir_fd, spare, O_WRONLY | O_EXCL);
    if (to < 0) {
        return errno;
    }
    int code = copy_bytes(from, to);
    if (code == 0 && zd_calls->set_mtime(to, &old->st_mtim) != 0) {
        code = errno;
    }
    if (code == 0 && files->durable && zd_calls->sync_data(to) != 0) {
        code = errno;
        const enum zd_status told =
            zd_files_fail_sync(files, code, job->key, "sync a copy", job->err);
        (void)told; /* by the code as well */
    }
    return zd_calls->close(to) == 0 || code != 0 ? code : errno;
}

/* Beside the name that it keeps so far. */
static int keep_beside(
    const struct zd_replacement *job, char spare[ZD_TEMP_NAME_BYTES], const struct stat *old)
{
    zd_writer_name_temp(&job->files->writer, spare);
    if (zd_calls->link(job->dir_fd, job->name, job->temp_dir_fd, spare) == 0) {
        return 0;
    }
    switch (errno) { /* not of this file system, or not for this file */
    case EPERM:
    case EOPNOTSUPP:
    case ENOSYS:
    case EINVAL:
    case EMLINK:
    case EXDEV:
        return copy_old(job, spare, old);
    default:
        return errno;
    }
}

static int keep_and_rename(struct zd_replacement *job, const struct stat *old)
{
    char spare[ZD_TEMP_NAME_BYTES];
    int code = keep_beside(job, spare, old);
    if (code == 0) {
        code = rename_temp(job, 0);
    }
    if (code != 0) {
        zd_replace_name_drop(job, spare);
        return code;
    }
    snprintf(job->temp, sizeof job->temp, "%s", spare);
    return 0;
}

/* A call may fail when it has done its work: then what was there has the temporary name. */
static void undo_exchange(struct zd_replacement *job, const struct stat *old)
{
    struct stat file;
    if (zd_calls->stat(job->temp_dir_fd, job->temp, &file) == 0 && file.st_ino == old->st_ino) {
        zd_replace_name_take_back(job);
    }
}

int zd_replace_name_keeping(struct zd_replacement *job)
{
    struct stat old;
    if (zd_calls->stat(job->dir_fd, job->name, &old) != 0) {
        return errno == ENOENT ? zd_replace_name_new(job) : errno;
    }
    if (S_ISDIR(old.st_mode)) {
        return EISDIR; /* which an exchange would take as well */
    }
    int code = rename_temp(job, RENAME_EXCHANGE);
    if (code == EINVAL || code == ENOSYS) {
        code = keep_and_rename(job, &old);
    } else if (code != 0) {
        undo_exchange(job, &old);
    }
    job->has_old = code == 0;
    job->old_size = (uint64_t)old.st_size;
    return code;
}

void zd_replace_name_take_back(struct zd_replacement *job)
{
    if (job->temp[0] != '\0') {
        (void)zd_replace_name_over(job);
    } else {
        (void)zd_calls->unlink(job->dir_fd, job->name, 0);
    }
    job->has_old = false;
}

int zd_replace_name_aside(struct zd_replacement *job)
{
    int code = 0;
    job->temp_dir_fd = job->dir_fd;
    zd_writer_name_temp(&job->files->writer, job->temp);
    if (zd_calls->rename(job->dir_fd, job->name, job->dir_fd, job->temp, 0) != 0) {
        code = errno;
        (void)rename_temp(job, RENAME_NOREPLACE); /* the call may have failed after the rename */
        job->temp[0] = '\0';
    }
    job->has_old = code == 0;
    return code;
}
