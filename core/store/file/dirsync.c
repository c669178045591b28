/* Syncs of directories, shared. A thread that wants one while none runs begins it; threads that
 * come while it runs wait for the next, which one of them begins for all. */
#include "core/store/file/dirsync.h"

#include <assert.h>
#include <errno.h>
#include <sys/stat.h>

#include "core/store/file/calls.h"

enum zd_status zd_dirsync_init(struct zd_dirsync *dirsync)
{
    *dirsync = (struct zd_dirsync){0};
    zd_list_init(&dirsync->makings);
    if (uv_mutex_init(&dirsync->mutex) != 0) {
        return ZD_NO_MEMORY;
    }
    if (uv_cond_init(&dirsync->changed) != 0) {
        uv_mutex_destroy(&dirsync->mutex);
        return ZD_NO_MEMORY;
    }
    return ZD_OK;
}

void zd_dirsync_done(struct zd_dirsync *dirsync)
{
    uv_cond_destroy(&dirsync->changed);
    uv_mutex_destroy(&dirsync->mutex);
}

/* The group of a directory, or a free place. */
static struct zd_dirsync_group *group_of(struct zd_dirsync *dirsync, const struct stat *directory)
{
    struct zd_dirsync_group *free_place = NULL;
    for (size_t i = 0; i < ZD_SYNCERS_MAX; i++) {
        struct zd_dirsync_group *group = &dirsync->group[i];
        if (group->n_users == 0) {
            free_place = group;
        } else if (group->device == directory->st_dev && group->inode == directory->st_ino) {
            return group;
        }
    }
    assert(free_place != NULL);
    *free_place =
        (struct zd_dirsync_group){.device = directory->st_dev, .inode = directory->st_ino};
    return free_place;
}

/* The mutex is held before and after. */
static void sync_for_all(struct zd_dirsync *dirsync, struct zd_dirsync_group *group, int dir_fd)
{
    const uint64_t number = ++group->n_begun;
    group->is_running = true;
    uv_mutex_unlock(&dirsync->mutex);
    const int code = zd_calls->sync(dir_fd) == 0 ? 0 : errno;
    uv_mutex_lock(&dirsync->mutex);
    group->is_running = false;
    group->n_ended = number;
    if (code != 0 && dirsync->failed_code == 0) {
        dirsync->failed_code = code;
    }
    uv_cond_broadcast(&dirsync->changed);
}

int zd_dirsync_wait(struct zd_dirsync *dirsync, int dir_fd)
{
    struct stat directory;
    if (fstat(dir_fd, &directory) != 0) {
        return errno;
    }
    uv_mutex_lock(&dirsync->mutex);
    struct zd_dirsync_group *group = group_of(dirsync, &directory);
    const uint64_t wanted = group->n_begun + 1;
    group->n_users++;
    while (group->n_ended < wanted && dirsync->failed_code == 0) {
        if (group->is_running) {
            uv_cond_wait(&dirsync->changed, &dirsync->mutex);
        } else {
            sync_for_all(dirsync, group, dir_fd);
        }
    }
    const int code = dirsync->failed_code;
    group->n_users--;
    uv_mutex_unlock(&dirsync->mutex);
    return code;
}

void zd_dirsync_making_begin(struct zd_dirsync *dirsync, struct zd_making *making)
{
    uv_mutex_lock(&dirsync->mutex);
    making->number = dirsync->n_makings++;
    zd_list_push_back(&dirsync->makings, &making->link);
    uv_mutex_unlock(&dirsync->mutex);
}

void zd_dirsync_making_end(struct zd_dirsync *dirsync, struct zd_making *making)
{
    uv_mutex_lock(&dirsync->mutex);
    zd_list_remove(&making->link);
    uv_cond_broadcast(&dirsync->changed);
    uv_mutex_unlock(&dirsync->mutex);
}

/* Whether a thread that began before that number was given out still makes directories. */
static bool has_older(const struct zd_dirsync *dirsync, uint64_t number)
{
    const struct zd_list *first = dirsync->makings.next;
    return first != &dirsync->makings &&
           ZD_CONTAINER(first, struct zd_making, link)->number < number;
}

void zd_dirsync_wait_for_makings(struct zd_dirsync *dirsync)
{
    uv_mutex_lock(&dirsync->mutex);
    const uint64_t number = dirsync->n_makings;
    while (has_older(dirsync, number)) {
        uv_cond_wait(&dirsync->changed, &dirsync->mutex);
    }
    uv_mutex_unlock(&dirsync->mutex);
}
