/* Clients that leave while their connection sleeps. Thread: loop. */
#ifndef ZD_SERVER_LEAVING_H
#define ZD_SERVER_LEAVING_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

struct pollfd;
struct zd_http;

/** Looks at all connections that sleep with one system call, every 50 ms while there are such:
 * libmicrohttpd does not watch them. */
struct zd_leaving {
    struct zd_http *http; /* borrowed */
    uv_timer_t timer;
    struct pollfd *socket; /* room for n_max of them; owned */
    size_t n_max;
};

void zd_leaving_init(struct zd_leaving *leaving, struct zd_http *http);

/** Closes the timer; the loop must turn once more before zd_leaving_done. */
void zd_leaving_close(struct zd_leaving *leaving);
void zd_leaving_done(struct zd_leaving *leaving);

/** A connection sleeps: look until none does. */
void zd_leaving_watch(struct zd_leaving *leaving);

#endif
