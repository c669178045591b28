/* Files that are replaced whole.
 *
 *   stage:   temporary name, bytes, time, sync, close: in the deepest directory that is there
 *   publish: directories that are missing; lock, condition, rename, unlock; sync of the directory
 *
 * Before the rename nothing has changed that anybody sees, after it everything has. */
#include "core/store/file/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/store/contract/store_impl.h"
#include "core/store/file/ancestors.h"
#include "core/store/file/calls.h"
#include "core/store/contract/path.h"
#include "core/store/file/replace_name.h"
#include "core/store/file/stat.h"

#define DIRECTORY_FLAGS (O_RDONLY | O_DIRECTORY)
#define ATTEMPTS_MAX    64      /* while others remove empty directories */
#define UNDOS_MAX       8       /* attempts to put an object back on a full disk, */
#define UNDO_PAUSE_NS   5000000 /* in which others may erase something */

/* Until job_done the writer stays present. */
static struct zd_replacement job_of(
    struct zd_files *files, const struct zd_store_write *write, struct zd_error *err)
{
    zd_writer_begin(&files->writer);
    return (struct zd_replacement){
        .files = files,
        .key = write->key,
        .began_ns = write->op.began_ns,
        .name = zd_path_last(write->key),
        .dir_fd = -1,
        .temp_dir_fd = -1,
        .err = err,
    };
}

static enum zd_status step_failed(const struct zd_replacement *job, int code, const char *doing)
{
    return zd_files_fail(job->err, code, job->key, doing);
}

/* A temporary file has no key yet: a full disk loses nothing, and writes go on. */
static enum zd_status temp_sync_failed(
    const struct zd_replacement *job, int code, const char *doing)
{
    return code == ENOSPC || code == EDQUOT
               ? step_failed(job, code, doing)
               : zd_files_fail_sync(job->files, code, job->key, doing, job->err);
}

static enum zd_status enter(const struct zd_replacement *job)
{
    int code;
    const enum zd_status status = zd_writer_enter(
        &job->files->writer, &job->files->root, job->files->durable, &code, job->err);
    if (code != 0) {
        zd_files_stop_writes(job->files, job->err->text);
    }
    return status;
}

static void close_directories(struct zd_replacement *job)
{
    if (job->temp_dir_fd != job->dir_fd) {
        zd_beneath_close_fd(&job->temp_dir_fd);
    }
    zd_beneath_close_fd(&job->dir_fd);
    job->temp_dir_fd = -1;
    job->dir_fd = -1;
}

static void job_done(struct zd_replacement *job)
{
    if (job->temp[0] != '\0') {
        zd_replace_name_drop(job, job->temp);
    }
    close_directories(job);
    zd_free(job->held);
    zd_writer_end(&job->files->writer);
}

/* ---- the temporary file ---- */

static enum zd_status write_all(const struct zd_replacement *job, int fd, struct zd_span bytes)
{
    while (bytes.len > 0) {
        const ssize_t n = zd_calls->write(fd, bytes.ptr, bytes.len);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return step_failed(job, n < 0 ? errno : EIO, "write");
        }
        bytes.ptr += n;
        bytes.len -= (size_t)n;
    }
    return ZD_OK;
}

/* The time of now, but later than all that were given out: the kernel's own file times tick too
 * slowly to tell versions apart, and clocks are set back. */
static struct timespec new_time(void)
{
    static _Atomic int64_t last_ns;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const int64_t now_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    int64_t seen_ns = atomic_load(&last_ns);
    int64_t new_ns;
    do {
        new_ns = now_ns > seen_ns ? now_ns : seen_ns + 1;
    } while (!atomic_compare_exchange_weak(&last_ns, &seen_ns, new_ns));
    return (struct timespec){.tv_sec = new_ns / 1000000000, .tv_nsec = new_ns % 1000000000};
}

static enum zd_status fill_file(const struct zd_replacement *job, int fd, struct zd_span bytes)
{
    const struct timespec mtime = new_time();
    ZD_TRY(write_all(job, fd, bytes));
    if (zd_calls->set_mtime(fd, &mtime) != 0) {
        return step_failed(job, errno, "set the time");
    }
    if (job->files->durable && zd_calls->sync_data(fd) != 0) {
        return temp_sync_failed(job, errno, "sync");
    }
    return ZD_OK;
}

/* Create it in the deepest directory that is there; the job knows both then. */
static enum zd_status create_temp(struct zd_replacement *job, int *ret_fd)
{
    int fd = -1;
    for (int i = 0; i < ATTEMPTS_MAX && fd < 0; i++) {
        ZD_TRY(
            zd_ancestors_find(job->files, job->key, &job->base_len, &job->temp_dir_fd, job->err));
        zd_writer_name_temp(&job->files->writer, job->temp);
        fd = zd_calls->open(job->temp_dir_fd, job->temp, O_WRONLY | O_EXCL);
        const int code = errno;
        if (fd < 0) {
            job->temp[0] = '\0';
            close_directories(job);
        }
        if (fd < 0 && code != ENOENT) {
            return step_failed(job, code, "create");
        }
    }
    *ret_fd = fd;
    return fd >= 0 ? ZD_OK : step_failed(job, ENOENT, "create");
}

/* Some file systems report failed writes only when the file is closed. */
static enum zd_status fill_and_close(const struct zd_replacement *job, int fd, struct zd_span bytes)
{
    const enum zd_status status = fill_file(job, fd, bytes);
    return zd_calls->close(fd) != 0 && status == ZD_OK ? temp_sync_failed(job, errno, "close")
                                                       : status;
}

static enum zd_status write_temp(struct zd_replacement *job, struct zd_span bytes)
{
    int fd = -1;
    ZD_TRY(create_temp(job, &fd));
    const enum zd_status status = fill_and_close(job, fd, bytes);
    if (job->base_len == zd_path_parent_len(job->key)) {
        job->dir_fd = job->temp_dir_fd;
    }
    return status;
}

/* ---- the name ---- */

/* The stored object: ZD_NOT_FOUND when there is none. */
static enum zd_status look(const struct zd_replacement *job, struct zd_stat *ret_stat)
{
    ZD_AUTO_FD fd = -1;
    ZD_TRY(zd_beneath_find(&job->files->root, job->key, O_PATH, &fd, job->err));
    return zd_stat_of_object(fd, job->key, ret_stat, job->err);
}

static enum zd_status judge(const struct zd_replacement *job, const struct zd_store_write *write)
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

static int rename_as_asked(struct zd_replacement *job, const struct zd_store_write *write)
{
    if (write->condition == ZD_CONDITION_ABSENT) {
        return zd_replace_name_new(job);
    }
    return write->keeps_old ? zd_replace_name_keeping(job) : zd_replace_name_over(job);
}

/* Rename with more patience: a name that cannot be put back is lost, while a write can be refused.
 */
static int rename_patiently(struct zd_replacement *job, const struct zd_store_write *write)
{
    const struct timespec pause = {.tv_nsec = UNDO_PAUSE_NS};
    int code = rename_as_asked(job, write);
    for (int i = 1; i < UNDOS_MAX && write->is_undo && (code == ENOSPC || code == EDQUOT); i++) {
        (void)nanosleep(&pause, NULL);
        code = rename_as_asked(job, write);
    }
    return code;
}

/* A kept object can be taken back if the new one cannot be looked at. Otherwise its writer learns
 * its facts before it has a name. */
static enum zd_status look_before(
    const struct zd_replacement *job, const struct zd_store_write *write, struct stat *ret_file)
{
    if (write->keeps_old || write->is_undo ||
        zd_calls->stat(job->temp_dir_fd, job->temp, ret_file) == 0) {
        return ZD_OK;
    }
    return step_failed(job, errno, "look at");
}

/* ZD_AGAIN: the directory was empty and was removed; or a program that takes no locks has made the
 * file. */
static enum zd_status rename_failed(
    const struct zd_replacement *job, const struct zd_store_write *write, int code)
{
    if (write->condition == ZD_CONDITION_ABSENT && code == EEXIST) {
        return zd_fail(job->err, ZD_PRECONDITION, "%s: the object exists already", job->key);
    }
    return code == ENOENT || code == EEXIST ? ZD_AGAIN : step_failed(job, code, "store");
}

/* Without the generation of the new object its writer could not undo: it is taken back. */
static enum zd_status look_failed(struct zd_replacement *job, int code)
{
    zd_replace_name_take_back(job);
    job->is_published = false;
    return step_failed(job, code, "look at");
}

static enum zd_status take_name(struct zd_replacement *job, struct zd_store_write *write)
{
    struct stat before = {0};
    struct stat file;
    ZD_TRY(judge(job, write));
    ZD_TRY(look_before(job, write, &before));
    const int code = rename_patiently(job, write);
    if (code != 0) {
        return rename_failed(job, write, code);
    }
    job->is_published = true;
    const bool is_seen = zd_calls->stat(job->dir_fd, job->name, &file) == 0;
    if (!is_seen && write->keeps_old) {
        return look_failed(job, errno);
    }
    write->stat = zd_stat_of_file(is_seen ? &file : &before);
    return ZD_OK;
}

/* Between the two, no other process judges a condition or changes the key. */
static enum zd_status lock(const struct zd_replacement *job, struct zd_writer_use *use)
{
    const char *const failure = zd_files_failure(job->files);
    if (failure != NULL) {
        return zd_fail(job->err, ZD_READ_ONLY, "%s", failure);
    }
    const int code = zd_writer_lock(&job->files->writer, zd_key_hash(job->key), job->began_ns, use);
    return code == 0 ? ZD_OK : zd_files_fail_lock(job->files, code, job->key, job->err);
}

static enum zd_status take_name_alone(struct zd_replacement *job, struct zd_store_write *write)
{
    struct zd_writer_use use;
    ZD_TRY(lock(job, &use));
    const enum zd_status status = take_name(job, write);
    zd_writer_unlock(&job->files->writer, &use);
    return status;
}

static enum zd_status sync_change(const struct zd_replacement *job, struct zd_store_write *write)
{
    const enum zd_status status =
        zd_files_sync_directory(job->files, job->dir_fd, job->key, job->err);
    write->is_unsynced = status != ZD_OK;
    return status;
}

static enum zd_status publish(struct zd_replacement *job, struct zd_store_write *write)
{
    enum zd_status status = ZD_AGAIN;
    for (int i = 0; i < ATTEMPTS_MAX && status == ZD_AGAIN; i++) {
        if (job->dir_fd < 0) {
            status = zd_ancestors_make(job->files, job->key, &job->dir_fd, job->err);
        }
        if (job->dir_fd >= 0) {
            status = take_name_alone(job, write);
        }
        if (status == ZD_AGAIN && job->dir_fd != job->temp_dir_fd) {
            zd_beneath_close_fd(&job->dir_fd);
            job->dir_fd = -1;
        }
    }
    if (status == ZD_AGAIN) {
        return step_failed(job, ENOENT, "store");
    }
    ZD_TRY(status);
    ZD_TRY(sync_change(job, write));
    if (job->files->durable) {
        zd_dirsync_wait_for_makings(&job->files->dirsync);
    }
    return ZD_OK;
}

/* ---- phases ---- */

static enum zd_status replace_whole(struct zd_replacement *job, struct zd_store_write *write)
{
    /* A condition that fails already costs no file. */
    ZD_TRY(judge(job, write));
    ZD_TRY(enter(job));
    ZD_TRY(write_temp(job, zd_buf_span(write->bytes)));
    return publish(job, write);
}

/* A staged object is one of many: none of them takes its name if one never can. */
static enum zd_status refuse_directory(const struct zd_replacement *job)
{
    ZD_AUTO_FD fd = -1;
    fd = zd_beneath_try(&job->files->root, job->key, O_PATH | O_DIRECTORY);
    return fd < 0 ? ZD_OK : step_failed(job, EISDIR, "store");
}

/* Room for the path of a temporary file: in the directory of the key, or above. */
static enum zd_status make_held(struct zd_replacement *job)
{
    const size_t dir_len = zd_path_parent_len(job->key);
    job->held = zd_alloc(sizeof *job->held + dir_len + 1 + sizeof job->temp);
    return job->held != NULL
               ? ZD_OK
               : zd_fail(job->err, ZD_NO_MEMORY, "%s: no memory for the object", job->key);
}

/* The temporary file stays, and is the caller's. */
static void give_temp(struct zd_replacement *job, struct zd_store_write *write, uint64_t size)
{
    const size_t len = job->base_len;
    struct zd_file_staged *held = ZD_TAKE(job->held);
    held->staged = (struct zd_staged){.store = write->op.store, .size = size};
    held->may_be_last = write->phase != ZD_PHASE_COMMIT;
    memcpy(held->path, job->key, len);
    held->path[len] = '/';
    memcpy(held->path + (len == 0 ? 0 : len + 1), job->temp, sizeof job->temp);
    job->temp[0] = '\0';
    write->staged = &held->staged;
    atomic_fetch_add(&job->files->writer.n_kept, 1);
}

static enum zd_status stage(struct zd_replacement *job, struct zd_store_write *write)
{
    ZD_TRY(make_held(job));
    ZD_TRY(refuse_directory(job));
    ZD_TRY(enter(job));
    ZD_TRY(write_temp(job, zd_buf_span(write->bytes)));
    give_temp(job, write, write->bytes->len);
    return ZD_OK;
}

static enum zd_status take_staged(struct zd_replacement *job, struct zd_store_write *write)
{
    char path[ZD_KEY_BYTES_MAX + 1];
    struct zd_file_staged *held = ZD_CONTAINER(write->staged, struct zd_file_staged, staged);
    job->base_len = zd_path_parent_len(held->path);
    zd_path_cut(held->path, job->base_len, path);
    const int fd = zd_beneath_try(&job->files->root, path, DIRECTORY_FLAGS);
    if (fd >= 0) {
        job->temp_dir_fd = fd;
        memcpy(job->temp, zd_path_last(held->path), sizeof job->temp);
    }
    if (fd >= 0 || fd == -ENOENT) { /* else it stays, and the marker with it */
        atomic_fetch_sub(&job->files->writer.n_kept, 1);
    }
    job->held = held;
    write->staged = NULL;
    return fd >= 0 ? ZD_OK : step_failed(job, -fd, "find the staged file");
}

/* All bytes that were staged before must be there: nobody else changes the file. */
static enum zd_status open_staged(const struct zd_replacement *job, int *ret_fd)
{
    struct stat file;
    const int fd = zd_calls->open(job->temp_dir_fd, job->temp, O_WRONLY | O_APPEND);
    if (fd < 0) {
        return step_failed(job, errno, "open");
    }
    if (fstat(fd, &file) != 0 || (uint64_t)file.st_size != job->held->staged.size) {
        (void)zd_calls->close(fd);
        return zd_fail(job->err, ZD_STORE, "%s: its staged file was changed or removed", job->key);
    }
    *ret_fd = fd;
    return ZD_OK;
}

static enum zd_status extend(struct zd_replacement *job, struct zd_store_write *write)
{
    int fd = -1;
    ZD_TRY(take_staged(job, write));
    ZD_TRY(open_staged(job, &fd));
    ZD_TRY(fill_and_close(job, fd, zd_buf_span(write->bytes)));
    give_temp(job, write, job->held->staged.size + write->bytes->len);
    return ZD_OK;
}

static enum zd_status commit(struct zd_replacement *job, struct zd_store_write *write)
{
    ZD_TRY(take_staged(job, write));
    if (job->base_len == zd_path_parent_len(job->key)) {
        job->dir_fd = job->temp_dir_fd;
    }
    ZD_TRY(publish(job, write));
    if (job->has_old) {
        give_temp(job, write, job->old_size);
    }
    return ZD_OK;
}

static enum zd_status run_phase(struct zd_replacement *job, struct zd_store_write *write)
{
    switch (write->phase) {
    case ZD_PHASE_WHOLE:
        return replace_whole(job, write);
    case ZD_PHASE_STAGE:
        return stage(job, write);
    case ZD_PHASE_EXTEND:
        return extend(job, write);
    case ZD_PHASE_COMMIT:
        return commit(job, write);
    case ZD_PHASE_DISCARD:
        break;
    }
    return ZD_INTERNAL;
}

enum zd_status zd_replace_file(
    struct zd_files *files, struct zd_store_write *write, struct zd_error *err)
{
    struct zd_replacement job = job_of(files, write, err);
    job.base_len = zd_path_parent_len(job.key); /* until more is known, no directory is new */
    const enum zd_status status = run_phase(&job, write);
    if (status != ZD_OK && !job.is_published) {
        zd_ancestors_prune(files, job.key, job.base_len);
    }
    job_done(&job);
    return status;
}

void zd_replace_discard(struct zd_files *files, struct zd_store_write *write)
{
    struct zd_replacement job = job_of(files, write, NULL);
    (void)take_staged(&job, write);
    const bool may_be_last = job.held->may_be_last;
    job_done(&job);
    if (may_be_last) {
        zd_ancestors_prune(files, job.key, 0);
    }
}

/* ---- removal ---- */

static enum zd_status remove_name(struct zd_replacement *job, const struct zd_store_write *erase)
{
    struct zd_stat found = {0};
    int code = 0;
    const enum zd_status status = look(job, &found);
    if (status != ZD_OK && status != ZD_NOT_FOUND) {
        return status;
    }
    ZD_TRY(zd_store_judge_write(erase, status == ZD_OK ? &found : NULL, job->err));
    ZD_TRY(status);
    job->old_size = found.size;
    if (erase->keeps_old) {
        code = zd_replace_name_aside(job);
    } else if (zd_calls->unlink(job->dir_fd, job->name, 0) != 0) {
        code = errno;
    }
    return code == 0 ? ZD_OK : zd_beneath_fail(job->err, code, job->key, "erase");
}

static enum zd_status remove_name_alone(
    struct zd_replacement *job, const struct zd_store_write *erase)
{
    struct zd_writer_use use;
    ZD_TRY(lock(job, &use));
    const enum zd_status status = remove_name(job, erase);
    zd_writer_unlock(&job->files->writer, &use);
    return status;
}

/* To keep what goes takes a temporary name, and those are a writer's. */
static enum zd_status enter_to_remove(
    struct zd_replacement *job, const struct zd_store_write *erase)
{
    if (!erase->keeps_old) {
        return zd_writer_open_lock(&job->files->writer, &job->files->root, job->err);
    }
    job->base_len = zd_path_parent_len(job->key);
    ZD_TRY(make_held(job));
    return enter(job);
}

static enum zd_status remove_key(struct zd_replacement *job, struct zd_store_write *erase)
{
    char path[ZD_KEY_BYTES_MAX + 1];
    zd_path_cut(job->key, zd_path_parent_len(job->key), path);
    const enum zd_status status =
        zd_beneath_find(&job->files->root, path, DIRECTORY_FLAGS, &job->dir_fd, job->err);
    if (status == ZD_NOT_FOUND) {
        ZD_TRY(zd_store_judge_write(erase, NULL, job->err));
    }
    ZD_TRY(status);
    ZD_TRY(enter_to_remove(job, erase));
    ZD_TRY(remove_name_alone(job, erase));
    ZD_TRY(sync_change(job, erase));
    if (job->has_old) {
        give_temp(job, erase, job->old_size);
    }
    return ZD_OK;
}

enum zd_status zd_replace_remove(
    struct zd_files *files, struct zd_store_write *erase, struct zd_error *err)
{
    struct zd_replacement job = job_of(files, erase, err);
    const enum zd_status status = remove_key(&job, erase);
    if (status == ZD_OK && !erase->keeps_old) {
        zd_ancestors_prune(files, job.key, 0);
    }
    job_done(&job);
    return status;
}
