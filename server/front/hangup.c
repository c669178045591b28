/* Clients that hang up while their connection sleeps. */
#include "server/front/hangup.h"

#include <poll.h>

#include "core/base/own.h"

#define EVERY_MS 50

void zd_hangup_init(struct zd_hangup *hangup, uv_loop_t *loop, struct zd_list *waiting,
    void (*hung_up)(struct zd_sleeper *sleeper))
{
    *hangup = (struct zd_hangup){.waiting = waiting, .hung_up = hung_up};
    uv_timer_init(loop, &hangup->timer);
    hangup->timer.data = hangup;
}

void zd_hangup_close(struct zd_hangup *hangup)
{
    uv_close((uv_handle_t *)&hangup->timer, NULL);
}

void zd_hangup_done(struct zd_hangup *hangup)
{
    zd_free(hangup->socket);
    hangup->socket = NULL;
    hangup->n_max = 0;
}

/* The sockets of all that sleep, in the order of the list; without memory, of the first of them. */
static size_t gather(struct zd_hangup *hangup)
{
    const struct zd_list *waiting = hangup->waiting;
    size_t n = 0;
    for (const struct zd_list *link = waiting->next; link != waiting; link = link->next) {
        n++;
    }
    if (n > hangup->n_max) {
        struct pollfd *socket = zd_alloc_zero(2 * n, sizeof *socket);
        if (socket != NULL) {
            zd_free(hangup->socket);
            hangup->socket = socket;
            hangup->n_max = 2 * n;
        }
    }
    size_t i = 0;
    for (struct zd_list *link = waiting->next; link != waiting && i < hangup->n_max;
        link = link->next) {
        const struct zd_sleeper *sleeper = ZD_CONTAINER(link, struct zd_sleeper, link);
        hangup->socket[i++] = (struct pollfd){.fd = sleeper->fd, .events = POLLRDHUP};
    }
    return i;
}

/* A client that will send no more is taken to be gone: whether it still reads cannot be known. */
static void on_timer(uv_timer_t *timer)
{
    struct zd_hangup *hangup = timer->data;
    if (zd_list_is_empty(hangup->waiting)) {
        uv_timer_stop(timer);
        return;
    }
    const size_t n = gather(hangup);
    if (poll(hangup->socket, n, 0) <= 0) {
        return;
    }
    struct zd_list *link = hangup->waiting->next;
    for (size_t i = 0; i < n; i++) {
        struct zd_sleeper *sleeper = ZD_CONTAINER(link, struct zd_sleeper, link);
        link = link->next;
        if ((hangup->socket[i].revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0) {
            hangup->hung_up(sleeper);
        }
    }
}

void zd_hangup_watch(struct zd_hangup *hangup)
{
    if (!uv_is_active((uv_handle_t *)&hangup->timer)) {
        uv_timer_start(&hangup->timer, on_timer, EVERY_MS, EVERY_MS);
    }
}
