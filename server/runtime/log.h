/* The log: one line an event on standard error, for people or as JSON. Thread: loop. */
#ifndef ZD_RUNTIME_LOG_H
#define ZD_RUNTIME_LOG_H

#include <uv.h>

#include "core/base/status.h"
#include "core/base/text.h"

enum zd_log_level {
    ZD_LOG_ERROR,
    ZD_LOG_WARNING,
    ZD_LOG_INFO,
    ZD_LOG_DEBUG,
};

struct zd_log {
    enum zd_log_level level;
    bool json;
    bool requests;
    int fd;
    bool may_block;       /* a pipe or a terminal: written in pieces that it takes at once */
    uint64_t n_dropped;   /* lines lost to a full pipe: the log never blocks */
    struct zd_text line;  /* the one being made */
    struct zd_text lines; /* made, not written yet: lines of requests wait for a while */
    uv_timer_t timer;     /* writes them */
    bool has_timer;
};

struct zd_settings;

/** Ready to log; writes to standard error. */
void zd_log_init(struct zd_log *log, const struct zd_settings *settings, uv_loop_t *loop);
/** Writes what waits and closes the timer: the loop must turn once more before zd_log_done. */
void zd_log_close(struct zd_log *log);
void zd_log_done(struct zd_log *log);

void zd_log(struct zd_log *log, enum zd_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define ZD_LOG_TIME_BYTES 48

/** The time as lines have it: "2026-01-31T12:00:00.123Z". Thread: any. */
void zd_log_format_time(char to[ZD_LOG_TIME_BYTES]);

struct zd_access;

/** The line of one finished request: a warning of an answer 5xx, which is written even when
 * requests are not logged. */
void zd_log_access(struct zd_log *log, const struct zd_access *access);

#endif
