/* A file of secrets or keys while the server runs: read again by a worker when it has changed, or
 * when somebody asks for it. Thread: loop, but for `read`. */
#ifndef ZD_RUNTIME_FILE_WATCH_H
#define ZD_RUNTIME_FILE_WATCH_H

#include <uv.h>

#include "server/runtime/workers.h"

/** The state of a file, to notice changes; all zero where there is none. */
struct zd_file_stamp {
    uint64_t inode;
    uint64_t len;
    uint64_t mtime_ns;
    uint64_t ctime_ns;
};

/** Embedded in the object that keeps what is in the file. Zeroed: nothing is watched. */
struct zd_file_watch {
    const char *path;                         /* borrowed */
    void (*read)(struct zd_file_watch *file); /* worker thread: reads it for `take`; may block */
    void (*take)(struct zd_file_watch *file); /* after each `read` */
    /* its own */
    struct zd_workers *workers; /* borrowed; NULL: it is not open */
    uv_timer_t timer;
    struct zd_job job;          /* looks at it, and reads it */
    struct zd_file_stamp stamp; /* of what was read last, whether it was good or not */
    bool is_wanted;             /* changed or not, by the next job */
    bool is_forced;             /* by this job: its input */
    bool is_busy;
    bool is_closed;
    bool was_read; /* by the job */
};

/** Begin to watch. The caller reads the file as it is now: `read` runs when it is another one.
 * @param file path, read and take are set */
void zd_file_watch_open(struct zd_file_watch *file, uv_loop_t *loop, struct zd_workers *workers);

/** How many bytes it had when it was looked at last. */
uint64_t zd_file_watch_bytes(const struct zd_file_watch *file);

/** Read it now, changed or not. Accepts one that is not open. */
void zd_file_watch_read(struct zd_file_watch *file);

/** Stop watching: nothing is taken any more. The loop must turn until a `read` under way has ended.
 * Accepts one that is not open. */
void zd_file_watch_close(struct zd_file_watch *file);

#endif
