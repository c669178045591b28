/* Signals of the process, as events of the loop.
 *
 * They stay blocked in every thread, up to the process's end, and are read from a descriptor: no
 * system call of another thread returns early, and one that comes while the server ends does not
 * end the process by its default action. */
#ifndef ZD_SERVER_SIGNALS_H
#define ZD_SERVER_SIGNALS_H

#include <uv.h>

#include "core/base/status.h"

struct zd_signals {
    uv_poll_t poll;
    int fd; /* signalfd(2); -1: none */
    void (*done)(void *arg, int number);
    void *arg;
};

/**
 * Block SIGTERM, SIGINT and SIGHUP, and report each of them.
 *
 * Before any thread is made: threads inherit what is blocked.
 * @param done called on the loop
 */
ZD_RESULT zd_signals_init(struct zd_signals *signals, uv_loop_t *loop,
    void (*done)(void *arg, int number), void *arg, struct zd_error *err);

/** None is reported any more; they stay blocked. The loop runs once more after that. */
void zd_signals_close(struct zd_signals *signals);

#endif
