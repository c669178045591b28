/* The system calls that send answers. */
#include "server/front/sending.h"

#include <errno.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

#define REST_BYTES      4096
#define REST_PIECES_MAX 64 /* of REST_BYTES, that may follow an answer that ends the connection */

/* ---- heads ---- */

/* Finds the field that the library puts last in a head, Content-Length; n: the last field is
 * another one. */
static size_t find_length(const char *head, size_t n)
{
    static const char end[] = "\r\n\r\n";
    static const char name[] = "Content-Length: ";
    const size_t end_len = sizeof end - 1;
    if (n < end_len || memcmp(head + n - end_len, end, end_len) != 0) {
        return n;
    }
    size_t at = n - end_len;
    while (at > 0 && head[at - 1] != '\n') {
        at--;
    }
    return n - at > sizeof name && memcmp(head + at, name, sizeof name - 1) == 0 ? at : n;
}

/* If the socket takes only a part, the rest begins at that field, or after it. */
ssize_t zd_sending_without_length(int fd, const char *head, size_t n, int flags)
{
    const size_t at = find_length(head, n);
    struct iovec parts[] = {{(char *)(uintptr_t)head, at}, {(char *)(uintptr_t)head + n - 2, 2}};
    const struct msghdr message = {.msg_iov = parts, .msg_iovlen = at < n ? 2 : 1};
    const ssize_t sent = sendmsg(fd, &message, flags);
    return sent <= (ssize_t)at ? sent : (ssize_t)(n - 2 + (size_t)sent - at);
}

/* ---- files ---- */

/* A signal ends sendfile(2) early. A file that has become shorter breaks the connection off. */
ssize_t zd_sending_file(int fd, int from_fd, off64_t *offset, size_t count)
{
    size_t n_sent = 0;
    while (n_sent < count) {
        const ssize_t n_more = sendfile64(fd, from_fd, offset, count - n_sent);
        if (n_more > 0) {
            n_sent += (size_t)n_more;
        } else if (n_more == 0) {
            errno = EIO;
            return -1;
        } else if (errno == EAGAIN && n_sent > 0) {
            break;
        } else if (errno != EINTR) {
            return -1;
        }
    }
    return (ssize_t)n_sent;
}

/* ---- bytes on their way to the client ---- */

uint64_t zd_sending_held_bytes(int fd)
{
    int held = 0;
    return ioctl(fd, SIOCOUTQ, &held) == 0 && held > 0 ? (uint64_t)held : 0;
}

/* Resets a connection. A client that reads until the connection ends takes an end for the body's:
 * only a reset says that more was to come (RFC 9112, 8). */
bool zd_sending_reset(int fd)
{
    const struct sockaddr nowhere = {.sa_family = AF_UNSPEC};
    return connect(fd, &nowhere, sizeof nowhere) == 0;
}

void zd_sending_drop_rest(int fd)
{
    uint8_t rest[REST_BYTES];
    ssize_t n = (ssize_t)sizeof rest;
    for (int i = 0; i < REST_PIECES_MAX && n == (ssize_t)sizeof rest; i++) {
        n = recv(fd, rest, sizeof rest, MSG_DONTWAIT);
    }
}
