/* Addresses to listen on. */
#include "server/listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/scan.h"
#include "core/base/text.h"

#define LISTEN_BACKLOG 1024

/* "127.0.0.1:8080", "[::1]:0", "localhost:80" taken apart. */
static enum zd_status split_address(
    const char *address, char **ret_host, uint16_t *ret_port, struct zd_error *err)
{
    const char *colon = strrchr(address, ':');
    const bool has_brackets =
        address[0] == '[' && colon != NULL && colon > address + 2 && colon[-1] == ']';
    uint64_t port = 0;
    if (colon == NULL || colon == address ||
        zd_scan_whole_u64(zd_span_of(colon + 1), UINT16_MAX, &port) != ZD_OK ||
        (!has_brackets && memchr(address, ':', (size_t)(colon - address)) != NULL)) {
        return zd_fail(err, ZD_INVALID,
            "listen address '%s' is malformed: 127.0.0.1:8080 or [::]:8080 is expected", address);
    }
    const size_t skipped = has_brackets ? 1 : 0;
    *ret_host = zd_strndup(address + skipped, (size_t)(colon - address) - 2 * skipped);
    *ret_port = (uint16_t)port;
    return *ret_host == NULL ? zd_fail(err, ZD_NO_MEMORY, "no memory for an address") : ZD_OK;
}

static int open_socket(const struct addrinfo *where)
{
    const int on = 1;
    const int fd =
        socket(where->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, where->ai_protocol);
    if (fd < 0) {
        return -1;
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (where->ai_family == AF_INET6) {
        /* So that [::]:8080 and 0.0.0.0:8080 can both be listened on. */
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    }
    if (bind(fd, where->ai_addr, where->ai_addrlen) != 0 || listen(fd, LISTEN_BACKLOG) != 0) {
        const int cause = errno;
        close(fd);
        errno = cause;
        return -1;
    }
    return fd;
}

static uint16_t port_of(int fd)
{
    struct sockaddr_storage address = {0};
    socklen_t len = sizeof address;
    char service[NI_MAXSERV] = "";
    uint64_t port = 0;
    if (getsockname(fd, (struct sockaddr *)&address, &len) != 0 ||
        getnameinfo((struct sockaddr *)&address, len, NULL, 0, service, sizeof service,
            NI_NUMERICSERV) != 0 ||
        zd_scan_whole_u64(zd_span_of(service), UINT16_MAX, &port) != ZD_OK) {
        return 0;
    }
    return (uint16_t)port;
}

enum zd_status zd_listen_bind(
    const char *address, char **ret_host, uint16_t *ret_port, int *ret_fd, struct zd_error *err)
{
    char *host = NULL;
    uint16_t port = 0;
    ZD_TRY(split_address(address, &host, &port, err));
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *found = NULL;
    ZD_SCOPED_TEXT(service, 8);
    zd_text_add_u64(&service, port);
    const int failure = getaddrinfo(host, service.at, &hints, &found);
    int fd = -1;
    if (failure == 0) {
        fd = open_socket(found);
        freeaddrinfo(found);
    }
    if (fd < 0) {
        const char *cause = failure != 0 ? gai_strerror(failure) : strerror(errno);
        zd_free(host);
        return zd_fail(err, ZD_INVALID, "cannot listen on '%s': %s", address, cause);
    }
    *ret_host = host;
    *ret_port = port_of(fd);
    *ret_fd = fd;
    return ZD_OK;
}
