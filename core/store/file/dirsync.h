/* Shared syncs of directories: one sync serves every thread that renamed before it began. */
#ifndef ZD_CORE_STORE_FILE_DIRSYNC_H
#define ZD_CORE_STORE_FILE_DIRSYNC_H

#include <uv.h>

#include "core/base/list.h"
#include "core/store/contract/store.h"

#define ZD_SYNCERS_MAX 64 /* threads that are in zd_dirsync_wait at the same time, at the most */

/** A directory that threads sync, or wait to have synced. */
struct zd_dirsync_group {
    dev_t device;
    ino_t inode;
    uint32_t n_users; /* 0 = the place is free */
    bool is_running;  /* one of the users syncs */
    uint64_t n_begun;
    uint64_t n_ended;
};

/** A thread that makes directories: their names are not safe until its syncs have ended. */
struct zd_making {
    struct zd_list link;
    uint64_t number;
};

struct zd_dirsync {
    uv_mutex_t mutex;
    uv_cond_t changed;
    struct zd_dirsync_group group[ZD_SYNCERS_MAX];
    struct zd_list makings; /* under way, the oldest in front */
    uint64_t n_makings;
    int failed_code; /* errno of the first failed sync, after which none is tried; 0 = none */
};

ZD_RESULT zd_dirsync_init(struct zd_dirsync *dirsync);
void zd_dirsync_done(struct zd_dirsync *dirsync);

/**
 * Wait for a sync of a directory that begins after this call, made by this thread or another one.
 *
 * @return 0, or the errno of the first sync of any directory that failed
 * Thread: any; blocks.
 */
int zd_dirsync_wait(struct zd_dirsync *dirsync, int dir_fd);

/** Call before making the first directory, and after syncing the name of the last. Thread: any. */
void zd_dirsync_making_begin(struct zd_dirsync *dirsync, struct zd_making *making);
void zd_dirsync_making_end(struct zd_dirsync *dirsync, struct zd_making *making);

/** Wait until every directory that exists when this call begins has a safe name: the threads that
 * were making directories have ended. Thread: any; blocks. */
void zd_dirsync_wait_for_makings(struct zd_dirsync *dirsync);

#endif
