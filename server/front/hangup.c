/* Clients that leave while their connection sleeps. */
#include "server/front/hangup.h"

#include <poll.h>

#include "core/base/own.h"
#include "server/front/front.h"
#include "server/runtime/server.h"

#define EVERY_MS 50

void zd_hangup_init(struct zd_hangup *leaving, struct zd_front *http)
{
    *leaving = (struct zd_hangup){.http = http};
    uv_timer_init(http->server->loop, &leaving->timer);
    leaving->timer.data = leaving;
}

void zd_hangup_close(struct zd_hangup *leaving)
{
    uv_close((uv_handle_t *)&leaving->timer, NULL);
}

void zd_hangup_done(struct zd_hangup *leaving)
{
    zd_free(leaving->socket);
    leaving->socket = NULL;
    leaving->n_max = 0;
}

/* The sockets of all who sleep, in the order of the list; without memory, of the first of them. */
static size_t gather(struct zd_hangup *leaving)
{
    const struct zd_list *waiting = &leaving->http->waiting;
    size_t n = 0;
    for (const struct zd_list *link = waiting->next; link != waiting; link = link->next) {
        n++;
    }
    if (n > leaving->n_max) {
        struct pollfd *socket = zd_alloc_zero(2 * n, sizeof *socket);
        if (socket != NULL) {
            zd_free(leaving->socket);
            leaving->socket = socket;
            leaving->n_max = 2 * n;
        }
    }
    size_t i = 0;
    for (struct zd_list *link = waiting->next; link != waiting && i < leaving->n_max;
        link = link->next) {
        const struct zd_request *req = ZD_CONTAINER(link, struct zd_request, link);
        leaving->socket[i++] = (struct pollfd){.fd = req->fd, .events = POLLRDHUP};
    }
    return i;
}

/* A client that will send no more is taken to be gone: whether it still reads cannot be known. */
static void on_timer(uv_timer_t *timer)
{
    struct zd_hangup *leaving = timer->data;
    if (zd_list_is_empty(&leaving->http->waiting)) {
        uv_timer_stop(timer);
        return;
    }
    const size_t n = gather(leaving);
    if (poll(leaving->socket, n, 0) <= 0) {
        return;
    }
    struct zd_list *link = leaving->http->waiting.next;
    for (size_t i = 0; i < n; i++) {
        struct zd_request *req = ZD_CONTAINER(link, struct zd_request, link);
        link = link->next;
        if ((leaving->socket[i].revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0) {
            zd_connection_hung_up(req);
        }
    }
}

void zd_hangup_watch(struct zd_hangup *leaving)
{
    if (!uv_is_active((uv_handle_t *)&leaving->timer)) {
        uv_timer_start(&leaving->timer, on_timer, EVERY_MS, EVERY_MS);
    }
}
