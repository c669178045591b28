/* The client of /readyz and /livez: one request on one socket, within one deadline. */
#include "server/health_check.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/num.h"
#include "core/base/scan.h"
#include "core/base/text.h"
#include "server/http/address.h"

#define DEADLINE_MS       3000
#define URL_BYTES_MAX     1024
#define REQUEST_BYTES_MAX (URL_BYTES_MAX + 128)
#define STATUS_LINE_BYTES 13 /* "HTTP/1.1 200 ": RFC 9112, 4 */
#define STATUS_AT         9

/* A URL taken apart; borrowed from it. */
struct target {
    const char *url;
    struct zd_span authority;
    const char *path;
    struct zd_address address;
};

static enum zd_status parse_url(const char *url, struct target *ret_target, struct zd_error *err)
{
    static const char scheme[] = "http://";
    if (strncmp(url, scheme, sizeof scheme - 1) != 0 || strlen(url) > URL_BYTES_MAX ||
        strpbrk(url, " \t\r\n") != NULL) {
        return zd_fail(
            err, ZD_INVALID, "URL '%.200s': http://127.0.0.1:8080/readyz is expected", url);
    }
    const char *authority = url + sizeof scheme - 1;
    const char *path = strchrnul(authority, '/');
    struct target target = {
        .url = url,
        .authority = {.ptr = (const uint8_t *)authority, .len = (size_t)(path - authority)},
        .path = path[0] == '\0' ? "/" : path,
    };
    ZD_TRY(zd_address_parse(target.authority, &target.address, err));
    *ret_target = target;
    return ZD_OK;
}

static uint64_t now_ms(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static enum zd_status failed(const struct target *target, int cause, struct zd_error *err)
{
    return zd_fail(err, ZD_STORE, "%s: %s", target->url, strerror(cause));
}

/* Until the socket can go on. */
static enum zd_status wait_for(
    const struct target *target, int fd, short events, uint64_t until_ms, struct zd_error *err)
{
    struct pollfd wanted = {.fd = fd, .events = events};
    int n = -1;
    do {
        const uint64_t now = now_ms();
        n = poll(&wanted, 1, now < until_ms ? (int)(until_ms - now) : 0);
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        return failed(target, errno, err);
    }
    return n == 0 ? zd_fail(err, ZD_TIMEOUT, "%s: no answer in %d ms", target->url, DEADLINE_MS)
                  : ZD_OK;
}

static enum zd_status reach(
    const struct target *target, int fd, uint64_t until_ms, struct zd_error *err)
{
    const struct sockaddr *where = (const struct sockaddr *)&target->address.socket;
    if (connect(fd, where, target->address.len) == 0) {
        return ZD_OK;
    }
    if (errno != EINPROGRESS) {
        return failed(target, errno, err);
    }
    ZD_TRY(wait_for(target, fd, POLLOUT, until_ms, err));
    int cause = 0;
    socklen_t len = sizeof cause;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &cause, &len) != 0 || cause != 0) {
        return failed(target, cause == 0 ? errno : cause, err);
    }
    return ZD_OK;
}

/* A new connection's buffer holds a request as short as this one. */
static enum zd_status ask(const struct target *target, int fd, struct zd_error *err)
{
    ZD_SCOPED_TEXT(request, REQUEST_BYTES_MAX);
    zd_text_addf(&request, "GET %s HTTP/1.1\r\nHost: %.*s\r\nConnection: close\r\n\r\n",
        target->path, (int)target->authority.len, (const char *)target->authority.ptr);
    if (request.status != ZD_OK) {
        return zd_fail(err, request.status, "%s: no request can be made", target->url);
    }
    const ssize_t n = send(fd, request.at, request.len, MSG_NOSIGNAL);
    return n == (ssize_t)request.len ? ZD_OK : failed(target, n < 0 ? errno : EMSGSIZE, err);
}

static enum zd_status judge(
    const struct target *target, int fd, uint64_t until_ms, struct zd_error *err)
{
    char line[STATUS_LINE_BYTES + 1] = "";
    size_t len = 0;
    while (len < STATUS_LINE_BYTES) {
        ZD_TRY(wait_for(target, fd, POLLIN, until_ms, err));
        const ssize_t n = read(fd, line + len, STATUS_LINE_BYTES - len);
        if (n < 0 && errno != EINTR && errno != EAGAIN) {
            return failed(target, errno, err);
        }
        if (n == 0) {
            return zd_fail(
                err, ZD_STORE, "%s: the connection ended without an answer", target->url);
        }
        len += n > 0 ? (size_t)n : 0;
    }
    if (strcmp(line, "HTTP/1.1 200 ") != 0) {
        return zd_fail(err, ZD_STORE, "%s: status 200 is expected, found '%.3s'", target->url,
            line + STATUS_AT);
    }
    return ZD_OK;
}

enum zd_status zd_health_check(const char *url, struct zd_error *err)
{
    struct target target = {0};
    ZD_TRY(parse_url(url, &target, err));
    const uint64_t until_ms = now_ms() + DEADLINE_MS;
    const int fd = socket(
        target.address.socket.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
    if (fd < 0) {
        return failed(&target, errno, err);
    }
    enum zd_status status = reach(&target, fd, until_ms, err);
    if (status == ZD_OK) {
        status = ask(&target, fd, err);
    }
    if (status == ZD_OK) {
        status = judge(&target, fd, until_ms, err);
    }
    close(fd);
    return status;
}
