/* Clients that hang up while their connection sleeps. Thread: loop. */
#ifndef ZD_FRONT_HANGUP_H
#define ZD_FRONT_HANGUP_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "core/base/list.h"

struct pollfd;

/** A connection that sleeps. */
struct zd_sleeper {
    struct zd_list link;
    int fd;
};

/** Looks at all connections that sleep with one system call, every 50 ms while any does:
 * libmicrohttpd does not watch them. */
struct zd_hangup {
    struct zd_list *waiting;                     /* struct zd_sleeper; borrowed */
    void (*hung_up)(struct zd_sleeper *sleeper); /* takes it out of the list */
    uv_timer_t timer;
    struct pollfd *socket; /* room for n_max of them; owned */
    size_t n_max;
};

void zd_hangup_init(struct zd_hangup *hangup, uv_loop_t *loop, struct zd_list *waiting,
    void (*hung_up)(struct zd_sleeper *sleeper));

/** Closes the timer; the loop must turn once more before zd_hangup_done. */
void zd_hangup_close(struct zd_hangup *hangup);
void zd_hangup_done(struct zd_hangup *hangup);

/** A connection sleeps: look until none does. */
void zd_hangup_watch(struct zd_hangup *hangup);

#endif
