/* Connections that were closed while the server stops. */
#include "server/front/linger.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/num.h"
#include "core/base/own.h"
#include "server/front/sending.h"

struct parting {
    struct zd_list link;
    uint64_t began_ms;
    int fd; /* owned: the socket lives on when the library has closed its descriptor */
};

/* The kernel counts the end of the connection as one byte behind the last one: a client that has
 * acknowledged it has the whole answer. OVER: the client has gone. */
enum reach { SENDING, TAKEN, OVER };

static enum reach reach_of(int fd)
{
    struct tcp_info info = {0};
    socklen_t len = sizeof info;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) != 0) {
        return OVER;
    }
    switch (info.tcpi_state) {
    case TCP_ESTABLISHED:
    case TCP_CLOSE_WAIT:
    case TCP_FIN_WAIT1:
    case TCP_CLOSING:
    case TCP_LAST_ACK:
        return SENDING;
    case TCP_FIN_WAIT2:
        return TAKEN;
    default:
        return OVER;
    }
}

void zd_linger_init(struct zd_lingers *partings)
{
    *partings = (struct zd_lingers){0};
    zd_list_init(&partings->held);
}

void zd_linger_hold(struct zd_lingers *partings, int fd, uint64_t now_ms)
{
    (void)shutdown(fd, SHUT_WR);
    if (reach_of(fd) == OVER) {
        return;
    }
    struct parting *parting = zd_alloc_zero(1, sizeof *parting);
    const int own_fd = parting == NULL ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own_fd < 0) {
        zd_free(parting);
        return;
    }
    parting->fd = own_fd;
    parting->began_ms = now_ms;
    zd_list_push_back(&partings->held, &parting->link);
    partings->n_held++;
}

static void let_go(struct zd_lingers *partings, struct parting *parting)
{
    zd_list_remove(&parting->link);
    close(parting->fd);
    zd_free(parting);
    partings->n_held--;
}

size_t zd_linger_look(struct zd_lingers *partings, uint64_t now_ms, uint64_t linger_ms)
{
    struct zd_list *next = NULL;
    for (struct zd_list *link = partings->held.next; link != &partings->held; link = next) {
        struct parting *parting = ZD_CONTAINER(link, struct parting, link);
        next = link->next;
        zd_sending_drop_rest(parting->fd);
        const enum reach reach = reach_of(parting->fd);
        if (reach == OVER || (reach == TAKEN && now_ms - parting->began_ms >= linger_ms)) {
            let_go(partings, parting);
        }
    }
    return partings->n_held;
}

size_t zd_linger_done(struct zd_lingers *partings)
{
    size_t n_sending = 0;
    while (partings->n_held > 0) {
        struct parting *parting = ZD_CONTAINER(partings->held.next, struct parting, link);
        n_sending += reach_of(parting->fd) == SENDING;
        let_go(partings, parting);
    }
    return n_sending;
}
