/* Sockets that listen. */
#include "server/front/listen.h"

#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/http/address.h"

#define LISTEN_BACKLOG 1024
#define LAST_RUNS_MAX  256 /* each accepts some 10 of the connections that wait */

static int open_socket(const struct zd_address *where)
{
    const int on = 1;
    const int fd =
        socket(where->socket.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
    if (fd < 0) {
        return -1;
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (where->socket.ss_family == AF_INET6) {
        /* So that [::]:8080 and 0.0.0.0:8080 can both be listened on. */
        const int is_alone = where->is_all ? 0 : 1;
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &is_alone, sizeof is_alone);
    }
    if (bind(fd, (const struct sockaddr *)&where->socket, where->len) != 0 ||
        listen(fd, LISTEN_BACKLOG) != 0) {
        const int cause = errno;
        close(fd);
        errno = cause;
        return -1;
    }
    return fd;
}

static uint16_t port_of(int fd)
{
    struct zd_address address = {.len = sizeof address.socket};
    if (getsockname(fd, (struct sockaddr *)&address.socket, &address.len) != 0) {
        return 0;
    }
    return zd_address_port(&address);
}

enum zd_status zd_listen_bind(
    struct zd_listener *listener, const char *address, int *ret_fd, struct zd_error *err)
{
    struct zd_address where;
    ZD_TRY(zd_address_parse(zd_span_of(address), &where, err));
    int fd = open_socket(&where);
    if (fd < 0 && where.is_all && (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL)) {
        where = zd_address_all_v4(zd_address_port(&where));
        fd = open_socket(&where);
    }
    if (fd < 0) {
        return zd_fail(err, ZD_INVALID, "cannot listen on '%s': %s", address, strerror(errno));
    }
    listener->host = zd_strndup((const char *)where.host.ptr, where.host.len);
    if (listener->host == NULL) {
        close(fd);
        return zd_fail(err, ZD_NO_MEMORY, "no memory for an address");
    }
    listener->port = port_of(fd);
    listener->is_loopback = zd_address_is_loopback(&where);
    *ret_fd = fd;
    return ZD_OK;
}

/* Accepts the connections that wait: their clients may have sent requests, and would be reset. */
static void accept_waiting(struct MHD_Daemon *daemon)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_LISTEN_FD);
    struct pollfd waiting = {.fd = info == NULL ? -1 : info->listen_fd, .events = POLLIN};
    for (int i = 0; i < LAST_RUNS_MAX && poll(&waiting, 1, 0) > 0; i++) {
        (void)MHD_run(daemon);
    }
}

void zd_listen_end(struct zd_listener *listener)
{
    if (listener->daemon == NULL) {
        return;
    }
    accept_waiting(listener->daemon);
    const int fd = MHD_quiesce_daemon(listener->daemon);
    if (fd >= 0) {
        close(fd);
    }
}
