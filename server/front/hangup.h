/* Clients that leave while their connection sleeps. Thread: loop. */
#ifndef ZD_FRONT_HANGUP_H
#define ZD_FRONT_HANGUP_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

struct pollfd;
struct zd_front;

/** Looks at all connections that sleep with one system call, every 50 ms while there are such:
 * libmicrohttpd does not watch them. */
struct zd_hangup {
    struct zd_front *http; /* borrowed */
    uv_timer_t timer;
    struct pollfd *socket; /* room for n_max of them; owned */
    size_t n_max;
};

void zd_hangup_init(struct zd_hangup *leaving, struct zd_front *http);

/** Closes the timer; the loop must turn once more before zd_hangup_done. */
void zd_hangup_close(struct zd_hangup *leaving);
void zd_hangup_done(struct zd_hangup *leaving);

/** A connection sleeps: look until none does. */
void zd_hangup_watch(struct zd_hangup *leaving);

#endif
