/* The store of files: a directory named by a path or a file: URL; a key is a path below it.
 *
 * Reads run side by side on the pool, and so do writes and erasures but for those of one key: these
 * take turns, so that a condition still holds when the name changes hands. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/base/num.h"
#include "core/store/file/beneath.h"
#include "core/store/file/directory.h"
#include "core/store/file/file_location.h"
#include "core/store/file/replace.h"
#include "core/store/file/stat.h"
#include "core/store/contract/store_impl.h"
#include "core/store/file/sweep.h"
#include "core/store/contract/turns.h"

#define LOCATION_BYTES_MAX 4096
#define NOW_BYTES_MAX      (256U << 10) /* more takes long enough to be worth a worker */
#define AHEAD_BYTES        (2U << 20)   /* of a file to be sent: read before it is given */
#define READ_ATTEMPTS      2            /* of a file that changes while it is read */

struct file_store {
    struct zd_store store; /* first member */
    struct zd_files files;
    struct zd_turns turns; /* of writes and erasures */
    struct zd_list holds;  /* struct zd_store_op: waiting to hold keys */
    bool is_held;          /* one holds some, or is about to */
    struct zd_directories directories;
    struct zd_sweep sweep;
};

static struct file_store *file_of(struct zd_store *store)
{
    return ZD_CONTAINER(store, struct file_store, store);
}

static void queue(struct zd_store_op *op, uv_work_cb work, uv_after_work_cb after)
{
    const int uv_status = uv_queue_work(op->store->loop, &op->work, work, after);
    assert(uv_status == 0);
    (void)uv_status;
}

static struct zd_store_op *op_of(uv_work_t *work)
{
    return ZD_CONTAINER(work, struct zd_store_op, work);
}

static void note_cancelled(struct zd_store_op *op)
{
    op->status = zd_fail(&op->err, ZD_CANCELLED, "cancelled before it started");
}

/* ---- where it is ---- */

static bool file_accepts(const char *location)
{
    return zd_file_location_is_ours(location) && !zd_file_location_is_archive(location);
}

static enum zd_status path_of(const char *location, struct zd_text *path, struct zd_error *err)
{
    const enum zd_status status = zd_file_location_path(location, path, err);
    return path->status == ZD_OK ? status
                                 : zd_fail(err, path->status,
                                       "the location of the store is too long, or memory is short");
}

static enum zd_status file_find_place(
    const char *location, uint64_t *ret_place, struct zd_error *err)
{
    ZD_SCOPED_TEXT(path, LOCATION_BYTES_MAX);
    ZD_TRY(path_of(location, &path, err));
    return zd_beneath_place(path.at, ret_place, err);
}

static enum zd_status file_find_place_now(const char *location, uint64_t *ret_place)
{
    ZD_SCOPED_TEXT(path, LOCATION_BYTES_MAX);
    ZD_TRY(path_of(location, &path, NULL));
    return zd_beneath_place_now(path.at, ret_place);
}

/* A directory that was moved or removed is no longer the store: nothing new goes there. */
static enum zd_status may_write(struct zd_store_op *op, const char *key)
{
    uint64_t place = 0;
    const enum zd_status status = file_find_place(op->store->location, &place, NULL);
    if (status == ZD_OK && place == op->store->place) {
        return ZD_OK;
    }
    if (status == ZD_NO_MEMORY) {
        return zd_fail(&op->err, status, "%s: no memory to find its directory", key);
    }
    return zd_fail(&op->err, ZD_GONE, "%s: not written: the directory of the store was %s", key,
        status == ZD_OK ? "replaced by another directory; try again"
                        : "removed, or cannot be reached");
}

/* ---- writes ---- */

static struct zd_store_write *write_of(struct zd_store_op *op)
{
    return ZD_CONTAINER(op, struct zd_store_write, op);
}

/* It has staged bytes, which go away when it fails. */
static bool has_staged(const struct zd_store_write *write)
{
    return write->phase == ZD_PHASE_COMMIT || write->phase == ZD_PHASE_EXTEND;
}

static void work_write(uv_work_t *work)
{
    struct zd_store_write *write = write_of(op_of(work));
    struct zd_files *files = &file_of(write->op.store)->files;
    const bool is_erasure = write->phase == ZD_PHASE_WHOLE && write->bytes == NULL;
    /* An undo goes where the change went. */
    write->op.status = write->is_undo ? ZD_OK : may_write(&write->op, write->key);
    if (write->op.status != ZD_OK) {
        if (has_staged(write)) {
            zd_replace_discard(files, write);
        }
        return;
    }
    write->op.status = is_erasure ? zd_replace_remove(files, write, &write->op.err)
                                  : zd_replace_file(files, write, &write->op.err);
    if (!write->is_undo && write->op.status == ZD_STORE &&
        may_write(&write->op, write->key) == ZD_GONE) {
        write->op.status = ZD_GONE; /* meanwhile, which is why it failed */
    }
}

static void work_discard(uv_work_t *work)
{
    struct zd_store_write *write = write_of(op_of(work));
    zd_replace_discard(&file_of(write->op.store)->files, write);
}

/* The status is there already. */
static void after_tidying(uv_work_t *work, int uv_status)
{
    (void)uv_status; /* it is never cancelled */
    op_of(work)->done(op_of(work));
}

static void file_discard(struct zd_store *store, struct zd_store_write *write)
{
    (void)store;
    queue(&write->op, work_discard, after_tidying);
}

/* It never began: what it was to commit or to extend goes away. */
static void end_cancelled(struct zd_store_op *op)
{
    struct zd_store_write *write = write_of(op);
    note_cancelled(op);
    if (has_staged(write)) {
        file_discard(op->store, write);
    } else {
        zd_store_finish_later(op);
    }
}

static void after_write(uv_work_t *work, int uv_status)
{
    struct zd_store_op *op = op_of(work);
    struct file_store *file = file_of(op->store);
    const char *const failure = zd_files_failure(&file->files);
    if (failure != NULL) {
        zd_store_stop_writes(&file->store, failure);
    }
    zd_turns_end(&file->turns, op);
    if (uv_status == UV_ECANCELED) {
        end_cancelled(op);
    } else {
        op->done(op);
    }
}

static void run_write(struct zd_store_op *op)
{
    queue(op, work_write, after_write);
}

static void file_write(struct zd_store *store, struct zd_store_write *write)
{
    struct zd_turns *turns = &file_of(store)->turns;
    write->op.began_ns = uv_hrtime();
    if (write->phase == ZD_PHASE_STAGE || write->phase == ZD_PHASE_EXTEND) {
        zd_turns_take_any(turns, &write->op);
    } else {
        zd_turns_take(turns, &write->op, zd_key_hash(write->key));
    }
}

/* ---- holders of many keys ---- */

static struct zd_store_hold *hold_of(struct zd_store_op *op)
{
    return ZD_CONTAINER(op, struct zd_store_hold, op);
}

static void hold_keys(struct zd_store_op *op)
{
    struct zd_store_hold *hold = hold_of(op);
    struct zd_files *files = &file_of(op->store)->files;
    zd_writer_sort(hold->hash, hold->n_keys);
    op->status = may_write(op, "many keys");
    if (op->status == ZD_OK) {
        op->status = zd_writer_open_lock(&files->writer, &files->root, &op->err);
    }
    if (op->status != ZD_OK) {
        return;
    }
    const int code = zd_writer_hold(&files->writer, hold->hash, hold->n_keys, op->began_ns);
    hold->is_held = code == 0;
    op->status = code == 0 ? ZD_OK : zd_files_fail_lock(files, code, "many keys", &op->err);
}

static void work_hold(uv_work_t *work)
{
    struct zd_writer *writer = &file_of(op_of(work)->store)->files.writer;
    zd_writer_begin(writer);
    hold_keys(op_of(work));
    zd_writer_end(writer);
}

static void work_release(uv_work_t *work)
{
    struct zd_store_hold *hold = hold_of(op_of(work));
    zd_writer_drop(&file_of(hold->op.store)->files.writer);
    hold->is_held = false;
}

static void begin_next_hold(struct file_store *file);

static void after_hold(uv_work_t *work, int uv_status)
{
    struct zd_store_op *op = op_of(work);
    struct file_store *file = file_of(op->store);
    (void)uv_status;             /* it is never cancelled */
    if (!hold_of(op)->is_held) { /* released, or it could not be had */
        file->is_held = false;
        begin_next_hold(file);
    }
    op->done(op);
}

/* Begin one hold at a time: at most one thread waits here for other processes, so that their writes
 * and ours go on. */
static void begin_next_hold(struct file_store *file)
{
    struct zd_list *link = file->is_held ? NULL : zd_list_pop_front(&file->holds);
    if (link != NULL) {
        file->is_held = true;
        queue(ZD_CONTAINER(link, struct zd_store_op, link), work_hold, after_hold);
    }
}

static void file_hold(struct zd_store *store, struct zd_store_hold *hold)
{
    struct file_store *file = file_of(store);
    hold->op.began_ns = uv_hrtime();
    zd_list_push_back(&file->holds, &hold->op.link);
    begin_next_hold(file);
}

static void file_release(struct zd_store *store, struct zd_store_hold *hold)
{
    (void)store;
    queue(&hold->op, work_release, after_hold);
}

/* ---- when nothing is written ---- */

static void work_rest(uv_work_t *work)
{
    struct file_store *file = file_of(op_of(work)->store);
    zd_writer_leave(&file->files.writer, &file->files.root);
    zd_sweep_start(&file->sweep, &file->files.root);
}

static void file_rest(struct zd_store *store, struct zd_store_op *op)
{
    op->store = store;
    queue(op, work_rest, after_tidying);
}

/* ---- the store ---- */

static enum zd_status file_open(
    const struct zd_store_config *config, struct zd_store **ret_store, struct zd_error *err)
{
    struct zd_beneath root = {.fd = -1};
    ZD_SCOPED_TEXT(path, LOCATION_BYTES_MAX);
    ZD_TRY(path_of(config->location, &path, err));
    ZD_TRY(zd_beneath_open(path.at, &root, err));
    struct file_store *file = zd_alloc_zero(1, sizeof *file);
    if (file == NULL || zd_store_init(&file->store, config) != ZD_OK ||
        zd_files_init(&file->files, &root, config) != ZD_OK) {
        zd_free(file == NULL ? NULL : file->store.location);
        zd_free(file);
        zd_beneath_close(&root);
        return zd_fail(err, ZD_NO_MEMORY, "%s: no memory for the store", config->location);
    }
    file->store.place = zd_beneath_place_of(&file->files.root);
    zd_turns_init(&file->turns, run_write);
    zd_list_init(&file->holds);
    file->directories.root = &file->files.root;
    if (config->writable) {
        zd_sweep_start(&file->sweep, &file->files.root);
    }
    *ret_store = &file->store;
    return ZD_OK;
}

static void file_close(struct zd_store *store)
{
    struct file_store *file = file_of(store);
    assert(zd_turns_are_idle(&file->turns));
    zd_sweep_stop(&file->sweep);
    zd_files_done(&file->files);
    zd_free(store->location);
    zd_free(file);
}

/* ---- reads ---- */

static void after_work(uv_work_t *work, int uv_status)
{
    struct zd_store_op *op = op_of(work);
    if (uv_status == UV_ECANCELED) {
        note_cancelled(op);
    }
    op->done(op);
}

/* All bytes of a range. @retval ZD_AGAIN the file has become shorter */
static enum zd_status read_range(int fd, struct zd_range range, struct zd_buf *bytes,
    const struct zd_store_read *read, struct zd_error *err)
{
    while (bytes->len < range.len) {
        const ssize_t n = pread(fd, bytes->data + bytes->len, (size_t)range.len - bytes->len,
            (off_t)(range.first + bytes->len));
        if (n == 0) {
            return ZD_AGAIN;
        }
        if (n < 0 && errno != EINTR) {
            return zd_beneath_fail(err, errno, read->key, "read");
        }
        bytes->len += n < 0 ? 0 : (size_t)n;
    }
    return ZD_OK;
}

static enum zd_status no_memory(
    const struct zd_store_read *read, uint64_t len, struct zd_error *err)
{
    return zd_fail(
        err, ZD_NO_MEMORY, "%s: no memory for %llu bytes", read->key, (unsigned long long)len);
}

/* Read the beginning of a range into the page cache, because the loop sends it. The kernel reads
 * ahead for the rest. */
static void read_ahead(int fd, struct zd_range range)
{
    const size_t len = (size_t)zd_min_u64(range.len, AHEAD_BYTES);
    char last = 0;
    (void)posix_fadvise(fd, (off_t)range.first, (off_t)len, POSIX_FADV_WILLNEED);
    if (len > 0) {
        (void)pread(fd, &last, 1, (off_t)(range.first + len - 1)); /* waits for it */
    }
}

/* Whether the beginning of a range is in the page cache: its ends are. */
static bool is_cached(int fd, struct zd_range range)
{
    const uint64_t len = zd_min_u64(range.len, AHEAD_BYTES);
    char byte = 0;
    const struct iovec place = {.iov_base = &byte, .iov_len = 1};
    return len == 0 || (preadv2(fd, &place, 1, (off_t)range.first, RWF_NOWAIT) == 1 &&
                           preadv2(fd, &place, 1, (off_t)(range.first + len - 1), RWF_NOWAIT) == 1);
}

/* Try to read once. @retval ZD_AGAIN the file changed meanwhile: the bytes may be of two versions
 */
static enum zd_status read_once(struct file_store *file, struct zd_store_read *read)
{
    struct zd_error *err = &read->op.err;
    struct zd_range range;
    struct zd_stat after;
    ZD_AUTO_FD fd = -1;
    ZD_TRY(zd_beneath_find(&file->files.root, read->key, O_RDONLY, &fd, err));
    ZD_TRY(zd_stat_of_object(fd, read->key, &read->stat, err));
    ZD_TRY(zd_store_judge_read(read, &read->stat, &range, err));
    if (read->wants_file) {
        read_ahead(fd, range);
        read->fd = fd;
        fd = -1;
        return ZD_OK;
    }
    ZD_AUTO(zd_buf) bytes = zd_buf_new((size_t)range.len); /* fits: no more than bytes_max */
    if (bytes == NULL) {
        return no_memory(read, range.len, err);
    }
    ZD_TRY(read_range(fd, range, bytes, read, err));
    ZD_TRY(zd_stat_of_object(fd, read->key, &after, err));
    if (!zd_stat_has_same_bytes(&read->stat, &after)) {
        return ZD_AGAIN;
    }
    read->bytes = ZD_TAKE(bytes);
    return ZD_OK;
}

static void work_read(uv_work_t *work)
{
    struct zd_store_read *read = ZD_CONTAINER(op_of(work), struct zd_store_read, op);
    enum zd_status status = ZD_AGAIN;
    for (int i = 0; i < READ_ATTEMPTS && status == ZD_AGAIN; i++) {
        status = read_once(file_of(read->op.store), read);
    }
    if (status == ZD_AGAIN) {
        status = zd_fail(&read->op.err, ZD_STORE,
            "%s: gave up: the object changed at each attempt to read it", read->key);
    }
    read->op.status = status;
}

static void after_read(uv_work_t *work, int uv_status)
{
    const struct zd_store_read *read = ZD_CONTAINER(op_of(work), struct zd_store_read, op);
    if (read->bytes != NULL) {
        zd_store_count_bytes(read->op.store, read->bytes->len);
    }
    after_work(work, uv_status);
}

static void file_read(struct zd_store *store, struct zd_store_read *read)
{
    (void)store;
    queue(&read->op, work_read, after_read);
}

/* The bytes, when all of them are in the page cache. */
static enum zd_status read_cached(int fd, struct zd_range range, struct zd_buf *bytes)
{
    const struct iovec place = {.iov_base = bytes->data, .iov_len = (size_t)range.len};
    const ssize_t n = range.len == 0 ? 0 : preadv2(fd, &place, 1, (off_t)range.first, RWF_NOWAIT);
    if (n < 0 || (uint64_t)n < range.len) {
        return ZD_AGAIN;
    }
    bytes->len = (size_t)range.len;
    return ZD_OK;
}

/* Anything but a plain answer is left to the worker, which returns the exact error. */
static enum zd_status plain_or_again(enum zd_status status)
{
    const bool is_plain = status == ZD_OK || status == ZD_NOT_FOUND || status == ZD_NOT_MODIFIED;
    return is_plain ? status : ZD_AGAIN;
}

static enum zd_status read_now(struct file_store *file, struct zd_store_read *read)
{
    struct zd_range range;
    struct zd_stat after;
    ZD_AUTO_FD fd = -1;
    ZD_TRY(zd_beneath_find_now(&file->files.root, read->key, O_RDONLY, &fd));
    ZD_TRY(zd_stat_of_object(fd, read->key, &read->stat, NULL));
    ZD_TRY(zd_store_judge_read(read, &read->stat, &range, NULL));
    if (read->wants_file && is_cached(fd, range)) {
        read->fd = fd;
        fd = -1;
        return ZD_OK;
    }
    if (read->wants_file || range.len > NOW_BYTES_MAX) {
        return ZD_AGAIN;
    }
    ZD_AUTO(zd_buf) bytes = zd_buf_new((size_t)range.len);
    if (bytes == NULL) {
        return no_memory(read, range.len, NULL);
    }
    ZD_TRY(read_cached(fd, range, bytes));
    ZD_TRY(zd_stat_of_object(fd, read->key, &after, NULL));
    if (!zd_stat_has_same_bytes(&read->stat, &after)) {
        return ZD_AGAIN;
    }
    zd_store_count_bytes(read->op.store, bytes->len);
    read->bytes = ZD_TAKE(bytes);
    return ZD_OK;
}

static enum zd_status file_read_now(struct zd_store *store, struct zd_store_read *read)
{
    return plain_or_again(read_now(file_of(store), read));
}

static void work_status(uv_work_t *work)
{
    struct zd_store_status *status = ZD_CONTAINER(op_of(work), struct zd_store_status, op);
    struct file_store *file = file_of(status->op.store);
    ZD_AUTO_FD fd = -1;
    status->op.status =
        zd_beneath_find(&file->files.root, status->key, O_PATH, &fd, &status->op.err);
    if (status->op.status == ZD_OK) {
        status->op.status = zd_stat_of_object(fd, status->key, &status->stat, &status->op.err);
    }
}

static void file_status(struct zd_store *store, struct zd_store_status *status)
{
    (void)store;
    queue(&status->op, work_status, after_work);
}

static enum zd_status status_now(struct file_store *file, struct zd_store_status *status)
{
    ZD_AUTO_FD fd = -1;
    ZD_TRY(zd_beneath_find_now(&file->files.root, status->key, O_PATH, &fd));
    return zd_stat_of_object(fd, status->key, &status->stat, NULL);
}

static enum zd_status file_status_now(struct zd_store *store, struct zd_store_status *status)
{
    return plain_or_again(status_now(file_of(store), status));
}

static void work_list(uv_work_t *work)
{
    struct zd_store_list *list = ZD_CONTAINER(op_of(work), struct zd_store_list, op);
    list->op.status = zd_directory_list(list, &list->op.err);
}

static void after_list(uv_work_t *work, int uv_status)
{
    struct zd_store_list *list = ZD_CONTAINER(op_of(work), struct zd_store_list, op);
    zd_store_count_visited(list);
    if (!list->has_more) { /* as after any failure */
        list->cursor->free(ZD_TAKE(list->cursor));
    }
    after_work(work, uv_status);
}

static void file_list(struct zd_store *store, struct zd_store_list *list)
{
    list->op.status = zd_directory_prepare(&file_of(store)->directories, list, &list->op.err);
    if (list->op.status == ZD_OK) {
        queue(&list->op, work_list, after_list);
    } else {
        zd_store_finish_later(&list->op);
    }
}

/* All that are there: what is sent comes from the page cache. */
static bool file_has_file(struct zd_store *store, const char *key)
{
    (void)store;
    (void)key;
    return true;
}

static void file_give_up(struct zd_store *store)
{
    zd_writer_give_up(&file_of(store)->files.writer);
}

static void file_cancel(struct zd_store *store, struct zd_store_op *op)
{
    if (zd_turns_leave(&file_of(store)->turns, op)) {
        end_cancelled(op);
    } else if (op->work.work_cb != work_discard) { /* what was staged must go */
        /* Work that has begun is finished; its status says how it ended. */
        (void)uv_cancel((uv_req_t *)&op->work);
    }
}

/* The endings include those of archives. */
static const char *const endings[] = {".zarr.zip", ".n5.zip", ".zarr", ".n5", ".zip", NULL};

const struct zd_store_ops zd_store_ops_file = {
    .scheme = "file",
    .accepts = file_accepts,
    .usage = "PATH, file:///PATH",
    .meaning = "a directory",
    .endings = endings,
    .default_revalidate_ms = 1000,
    .open = file_open,
    .close = file_close,
    .find_place = file_find_place,
    .find_place_now = file_find_place_now,
    .read = file_read,
    .status = file_status,
    .list = file_list,
    .write = file_write,
    .erase = file_write,
    .hold = file_hold,
    .release = file_release,
    .rest = file_rest,
    .give_up = file_give_up,
    .discard = file_discard,
    .read_now = file_read_now,
    .has_file = file_has_file,
    .extends = true,
    .status_now = file_status_now,
    .cancel = file_cancel,
};
