/* Files that are replaced whole: temporary name, data, sync, rename, sync of the directory. */
#include "core/store/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/hash.h"
#include "core/base/num.h"

#define TEMP_NAME_BYTES (sizeof ZD_TEMP_PREFIX + 16) /* and 16 hexadecimal digits */
#define DIRECTORY_MODE  0777                         /* less the process's umask */
#define FILE_MODE       0666
#define DIRECTORY_FLAGS (O_RDONLY | O_DIRECTORY)

/* A replacement under way. */
struct job {
    const struct zd_beneath *root;
    const char *key;
    const char *name; /* the last segment of key */
    int dir_fd;       /* of the directory that holds it; -1 = not opened yet */
    bool durable;
    char temp[TEMP_NAME_BYTES]; /* "" = there is no temporary file to remove */
    struct zd_error *err;
};

static const char *last_segment(const char *key)
{
    const char *slash = strrchr(key, '/');
    return slash == NULL ? key : slash + 1;
}

/* For steps where a missing name is no answer but a fault. */
static enum zd_status step_failed(const struct job *job, int code, const char *doing)
{
    const enum zd_status status = zd_beneath_fail(job->err, code, job->key, doing);
    return status == ZD_NOT_FOUND ? zd_fail(job->err, ZD_STORE, "%s: cannot %s: %s", job->key,
                                        doing, code == ENOENT ? "it vanished" : "not a directory")
                                  : status;
}

static enum zd_status sync_directory(const struct job *job, int dir_fd)
{
    if (job->durable && fsync(dir_fd) != 0) {
        return step_failed(job, errno, "sync its directory");
    }
    return ZD_OK;
}

/* Move job->dir_fd on to a directory at path, whose parent is job->dir_fd; make it if need be. */
static enum zd_status enter_or_make(struct job *job, const char *path)
{
    int fd = -1;
    enum zd_status status = zd_beneath_find(job->root, path, DIRECTORY_FLAGS, &fd, job->err);
    if (status == ZD_NOT_FOUND) {
        if (mkdirat(job->dir_fd, last_segment(path), DIRECTORY_MODE) != 0 && errno != EEXIST) {
            return step_failed(job, errno, "make its directory");
        }
        ZD_TRY(sync_directory(job, job->dir_fd));
        status = zd_beneath_find(job->root, path, DIRECTORY_FLAGS, &fd, job->err);
    }
    if (status == ZD_NOT_FOUND) {
        return zd_fail(job->err, ZD_STORE, "%s: \"%s\" is not a directory", job->key, path);
    }
    ZD_TRY(status);
    zd_fd_auto_close(&job->dir_fd);
    job->dir_fd = fd;
    return ZD_OK;
}

/* Open the directory of the key, made with those above it where they are missing. */
static enum zd_status make_directories(struct job *job)
{
    char path[ZD_KEY_BYTES_MAX + 1];
    ZD_TRY(zd_beneath_find(job->root, "", DIRECTORY_FLAGS, &job->dir_fd, job->err));
    for (const char *slash = strchr(job->key, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        const size_t len = (size_t)(slash - job->key);
        memcpy(path, job->key, len);
        path[len] = '\0';
        ZD_TRY(enter_or_make(job, path));
    }
    return ZD_OK;
}

/* Open the directory of the key as it is. */
static enum zd_status find_directory(struct job *job)
{
    char path[ZD_KEY_BYTES_MAX + 1];
    const size_t len = (size_t)(job->name - job->key); /* with its slash */
    memcpy(path, job->key, len);
    path[len] = '\0';
    return zd_beneath_find(job->root, path, DIRECTORY_FLAGS, &job->dir_fd, job->err);
}

/* What is stored now: ZD_NOT_FOUND when nothing is. */
static enum zd_status look(const struct job *job, struct zd_stat *ret_stat)
{
    ZD_AUTO_FD fd = -1;
    ZD_TRY(zd_beneath_find(job->root, job->key, O_PATH, &fd, job->err));
    return zd_stat_of_object(fd, job->key, ret_stat, job->err);
}

static enum zd_status judge(const struct job *job, const struct zd_store_write *write)
{
    struct zd_stat found;
    if (write->condition == ZD_CONDITION_NONE) {
        return ZD_OK;
    }
    const enum zd_status status = look(job, &found);
    if (status != ZD_OK && status != ZD_NOT_FOUND) {
        return status;
    }
    return zd_store_judge_write(write, status == ZD_OK ? &found : NULL, job->err);
}

static enum zd_status write_all(const struct job *job, int fd, struct zd_span bytes)
{
    while (bytes.len > 0) {
        const ssize_t n = write(fd, bytes.ptr, bytes.len);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return step_failed(job, errno, "write");
        }
        bytes.ptr += n;
        bytes.len -= (size_t)n;
    }
    return ZD_OK;
}

/* The kernel's own file times tick too slowly to tell versions apart: set one to the nanosecond. */
static enum zd_status finish_file(const struct job *job, int fd)
{
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}};
    clock_gettime(CLOCK_REALTIME, &times[1]);
    if (futimens(fd, times) != 0) {
        return step_failed(job, errno, "set the time");
    }
    if (job->durable && fdatasync(fd) != 0) {
        return step_failed(job, errno, "sync");
    }
    return ZD_OK;
}

static enum zd_status write_temp(struct job *job, struct zd_span bytes)
{
    snprintf(job->temp, sizeof job->temp, ZD_TEMP_PREFIX "%016" PRIx64, zd_hash_random_seed());
    const int fd = openat(
        job->dir_fd, job->temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
    if (fd < 0) {
        job->temp[0] = '\0';
        return step_failed(job, errno, "create");
    }
    enum zd_status status = write_all(job, fd, bytes);
    if (status == ZD_OK) {
        status = finish_file(job, fd);
    }
    /* Some file systems tell of failed writes only here. */
    if (close(fd) != 0 && status == ZD_OK) {
        status = step_failed(job, errno, "close");
    }
    return status;
}

/* Give the temporary file its name, in place of what has it now. */
static int rename_over(const struct job *job)
{
    return renameat(job->dir_fd, job->temp, job->dir_fd, job->name) == 0 ? 0 : errno;
}

/* ... only if nothing has that name: the file system decides between several processes. */
static int rename_new(const struct job *job)
{
    if (renameat2(job->dir_fd, job->temp, job->dir_fd, job->name, RENAME_NOREPLACE) == 0) {
        return 0;
    }
    if (errno != EINVAL && errno != ENOSYS) {
        return errno;
    }
    if (linkat(job->dir_fd, job->temp, job->dir_fd, job->name, 0) != 0) {
        return errno;
    }
    return unlinkat(job->dir_fd, job->temp, 0) == 0 ? 0 : errno;
}

static enum zd_status publish(struct job *job, struct zd_store_write *write)
{
    ZD_TRY(judge(job, write));
    const bool is_new = write->condition == ZD_CONDITION_ABSENT;
    const int code = is_new ? rename_new(job) : rename_over(job);
    if (is_new && code == EEXIST) {
        return zd_fail(job->err, ZD_PRECONDITION, "%s: the object exists already", job->key);
    }
    if (code != 0) {
        return step_failed(job, code, "rename");
    }
    job->temp[0] = '\0';
    ZD_TRY(sync_directory(job, job->dir_fd));
    const enum zd_status status = look(job, &write->stat);
    return status == ZD_NOT_FOUND ? step_failed(job, ENOENT, "look at") : status;
}

static struct job job_of(const struct zd_beneath *root, const struct zd_store_write *write,
    bool durable, struct zd_error *err)
{
    return (struct job){
        .root = root,
        .key = write->key,
        .name = last_segment(write->key),
        .dir_fd = -1,
        .durable = durable,
        .err = err,
    };
}

static void job_done(struct job *job)
{
    if (job->temp[0] != '\0' && job->dir_fd >= 0) {
        unlinkat(job->dir_fd, job->temp, 0);
    }
    zd_fd_auto_close(&job->dir_fd);
}

static enum zd_status replace_whole(struct job *job, struct zd_store_write *write)
{
    /* A condition that fails already costs no directory and no file. */
    ZD_TRY(judge(job, write));
    ZD_TRY(make_directories(job));
    ZD_TRY(write_temp(job, zd_buf_span(write->bytes)));
    return publish(job, write);
}

/* The temporary file stays, and is the caller's. */
static enum zd_status stage(struct job *job, struct zd_store_write *write)
{
    const size_t dir_len = (size_t)(job->name - job->key);
    struct zd_file_staged *held = zd_alloc(sizeof *held + dir_len + sizeof job->temp);
    if (held == NULL) {
        return zd_fail(job->err, ZD_NO_MEMORY, "%s: no memory for the object", job->key);
    }
    enum zd_status status = make_directories(job);
    if (status == ZD_OK) {
        status = write_temp(job, zd_buf_span(write->bytes));
    }
    if (status != ZD_OK) {
        zd_free(held);
        return status;
    }
    held->staged = (struct zd_staged){.store = write->op.store, .size = write->bytes->len};
    memcpy(held->path, job->key, dir_len);
    memcpy(held->path + dir_len, job->temp, sizeof job->temp);
    job->temp[0] = '\0';
    write->staged = &held->staged;
    return ZD_OK;
}

static enum zd_status take_staged(struct job *job, struct zd_store_write *write)
{
    struct zd_file_staged *held = ZD_CONTAINER(write->staged, struct zd_file_staged, staged);
    const enum zd_status status = find_directory(job);
    memcpy(job->temp, last_segment(held->path), sizeof job->temp);
    zd_free(held);
    write->staged = NULL;
    return status == ZD_NOT_FOUND ? step_failed(job, ENOENT, "find what was staged") : status;
}

static enum zd_status commit(struct job *job, struct zd_store_write *write)
{
    ZD_TRY(take_staged(job, write));
    return publish(job, write);
}

static enum zd_status run_phase(struct job *job, struct zd_store_write *write)
{
    switch (write->phase) {
    case ZD_PHASE_WHOLE:
        return replace_whole(job, write);
    case ZD_PHASE_STAGE:
        return stage(job, write);
    case ZD_PHASE_COMMIT:
        return commit(job, write);
    case ZD_PHASE_DISCARD:
        break;
    }
    return ZD_INTERNAL;
}

enum zd_status zd_replace_file(
    const struct zd_beneath *root, struct zd_store_write *write, bool durable, struct zd_error *err)
{
    struct job job = job_of(root, write, durable, err);
    const enum zd_status status = run_phase(&job, write);
    job_done(&job);
    return status;
}

void zd_discard_file(const struct zd_beneath *root, struct zd_store_write *write)
{
    struct job job = job_of(root, write, false, NULL);
    (void)take_staged(&job, write);
    job_done(&job);
}

static enum zd_status remove_name(const struct job *job)
{
    struct zd_stat found;
    ZD_TRY(look(job, &found));
    if (unlinkat(job->dir_fd, job->name, 0) != 0) {
        return zd_beneath_fail(job->err, errno, job->key, "erase");
    }
    return sync_directory(job, job->dir_fd);
}

enum zd_status zd_remove_file(const struct zd_beneath *root, const struct zd_store_write *erase,
    bool durable, struct zd_error *err)
{
    struct job job = job_of(root, erase, durable, err);
    enum zd_status status = judge(&job, erase);
    if (status == ZD_OK) {
        status = find_directory(&job);
    }
    if (status == ZD_OK) {
        status = remove_name(&job);
    }
    job_done(&job);
    return status;
}
