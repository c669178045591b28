/* A file of secrets or keys while the server runs. */
#include "server/runtime/file_watch.h"

#include <sys/stat.h>

#include "core/base/own.h"

#define EVERY_MS 2000
#define READ_NS  5000000 /* of a worker, for some thousands of entries */
#define NS_PER_S UINT64_C(1000000000)

/* Blocks. */
static struct zd_file_stamp stamp_of(const char *path)
{
    struct stat file;
    if (stat(path, &file) != 0) {
        return (struct zd_file_stamp){0};
    }
    return (struct zd_file_stamp){
        .inode = file.st_ino,
        .len = (uint64_t)file.st_size,
        .mtime_ns = (uint64_t)file.st_mtim.tv_sec * NS_PER_S + (uint64_t)file.st_mtim.tv_nsec,
        .ctime_ns = (uint64_t)file.st_ctim.tv_sec * NS_PER_S + (uint64_t)file.st_ctim.tv_nsec,
    };
}

static bool is_same(const struct zd_file_stamp *a, const struct zd_file_stamp *b)
{
    return a->inode == b->inode && a->len == b->len && a->mtime_ns == b->mtime_ns &&
           a->ctime_ns == b->ctime_ns;
}

/* The stamp is that of before: what changes while it is read is read once more. */
static void look(struct zd_job *job)
{
    struct zd_file_watch *file = ZD_CONTAINER(job, struct zd_file_watch, job);
    const struct zd_file_stamp stamp = stamp_of(file->path);
    file->was_read = file->is_forced || !is_same(&stamp, &file->stamp);
    if (file->was_read) {
        file->stamp = stamp;
        file->read(file);
    }
}

static void after_look(struct zd_wait *wait);

static void begin(struct zd_file_watch *file)
{
    if (file->is_busy || file->is_closed) {
        return;
    }
    file->is_busy = true;
    file->was_read = false;
    file->is_forced = file->is_wanted;
    file->is_wanted = false;
    file->job = (struct zd_job){.work = look, .wait.done = after_look};
    zd_workers_submit(file->workers, &file->job, READ_NS);
}

static void after_look(struct zd_wait *wait)
{
    struct zd_file_watch *file = ZD_CONTAINER(wait, struct zd_file_watch, job.wait);
    file->is_busy = false;
    if (wait->status == ZD_OK && file->was_read && !file->is_closed) {
        file->take(file);
    }
    if (file->is_wanted) {
        begin(file);
    }
}

static void on_timer(uv_timer_t *timer)
{
    begin(timer->data);
}

void zd_file_watch_open(struct zd_file_watch *file, uv_loop_t *loop, struct zd_workers *workers)
{
    file->workers = workers;
    file->stamp = stamp_of(file->path);
    uv_timer_init(loop, &file->timer);
    file->timer.data = file;
    uv_timer_start(&file->timer, on_timer, EVERY_MS, EVERY_MS);
}

uint64_t zd_file_watch_bytes(const struct zd_file_watch *file)
{
    return file->stamp.len;
}

void zd_file_watch_read(struct zd_file_watch *file)
{
    if (file->workers != NULL) {
        file->is_wanted = true;
        begin(file);
    }
}

void zd_file_watch_close(struct zd_file_watch *file)
{
    if (file->workers != NULL && !file->is_closed) {
        file->is_closed = true;
        uv_close((uv_handle_t *)&file->timer, NULL);
    }
}
