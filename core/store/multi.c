/* libcurl's multi interface on a loop of libuv.
 *
 *     libcurl says which sockets and how long to wait   -> uv_poll_t, uv_timer_t
 *     they say what has happened                        -> curl_multi_socket_action
 *     libcurl says which transfers are over             -> over */
#include "core/store/multi.h"

#include "core/base/own.h"

#define IDLE_CONNECTIONS_MAX 256 /* kept for the next transfers, to all endpoints */

struct zd_multi {
    CURLM *curl;
    uv_timer_t timer; /* its data is the multi */
    zd_multi_over *over;
    void *context;
    bool is_closed; /* perhaps by over; the memory stays until the loop turns */
};

/* What is watched of a socket of libcurl. */
struct socket {
    uv_poll_t poll; /* first member; its data is the multi */
    curl_socket_t fd;
};

static size_t n_open; /* of all loops; they open and close in one thread at a time */

static void tell_over(struct zd_multi *multi)
{
    int n_left = 0;
    const CURLMsg *message = NULL;
    while (!multi->is_closed && (message = curl_multi_info_read(multi->curl, &n_left)) != NULL) {
        CURL *easy = message->easy_handle; /* the message goes with it */
        const CURLcode code = message->data.result;
        (void)curl_multi_remove_handle(multi->curl, easy);
        multi->over(multi->context, easy, code);
    }
}

static void act(struct zd_multi *multi, curl_socket_t fd, int events)
{
    int n_running = 0;
    (void)curl_multi_socket_action(multi->curl, fd, events, &n_running);
    tell_over(multi);
}

static void on_timer(uv_timer_t *timer)
{
    act(timer->data, CURL_SOCKET_TIMEOUT, 0);
}

static void on_poll(uv_poll_t *poll, int uv_status, int events)
{
    const struct socket *socket = ZD_CONTAINER(poll, struct socket, poll);
    int happened = uv_status < 0 ? CURL_CSELECT_ERR : 0;
    happened |= (events & UV_READABLE) != 0 ? CURL_CSELECT_IN : 0;
    happened |= (events & UV_WRITABLE) != 0 ? CURL_CSELECT_OUT : 0;
    act(poll->data, socket->fd, happened);
}

static void on_socket_closed(uv_handle_t *handle)
{
    zd_free(ZD_CONTAINER(handle, struct socket, poll));
}

static struct socket *watch_new(struct zd_multi *multi, curl_socket_t fd)
{
    struct socket *socket = zd_alloc_zero(1, sizeof *socket);
    if (socket == NULL || uv_poll_init_socket(multi->timer.loop, &socket->poll, fd) != 0) {
        zd_free(socket);
        return NULL;
    }
    socket->fd = fd;
    socket->poll.data = multi;
    (void)curl_multi_assign(multi->curl, fd, socket);
    return socket;
}

/* A socket that cannot be watched is silent, and its transfer ends for that: a failure told to
 * libcurl would end all transfers, and the ones to come. */
static int on_socket(CURL *easy, curl_socket_t fd, int what, void *context, void *watched)
{
    struct zd_multi *multi = context;
    struct socket *socket = watched;
    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (socket != NULL) {
            (void)curl_multi_assign(multi->curl, fd, NULL);
            (void)uv_poll_stop(&socket->poll);
            uv_close((uv_handle_t *)&socket->poll, on_socket_closed);
        }
        return 0;
    }
    if (socket == NULL) {
        socket = watch_new(multi, fd);
    }
    if (socket != NULL) {
        const int events = ((what & CURL_POLL_IN) != 0 ? UV_READABLE : 0) |
                           ((what & CURL_POLL_OUT) != 0 ? UV_WRITABLE : 0);
        (void)uv_poll_start(&socket->poll, events, on_poll);
    }
    return 0;
}

static int on_wait(CURLM *curl, long timeout_ms, void *context)
{
    struct zd_multi *multi = context;
    (void)curl;
    if (timeout_ms < 0) {
        (void)uv_timer_stop(&multi->timer);
    } else {
        (void)uv_timer_start(&multi->timer, on_timer, (uint64_t)timeout_ms, 0);
    }
    return 0;
}

/* ---- from the first to the last ---- */

static bool begin_curl(void)
{
    if (n_open == 0 && curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        return false;
    }
    n_open++;
    return true;
}

static void end_curl(void)
{
    if (--n_open == 0) {
        curl_global_cleanup();
    }
}

bool zd_multi_is_needed(void)
{
    return n_open > 0;
}

static void set_up(struct zd_multi *multi)
{
    (void)curl_multi_setopt(multi->curl, CURLMOPT_SOCKETFUNCTION, on_socket);
    (void)curl_multi_setopt(multi->curl, CURLMOPT_SOCKETDATA, multi);
    (void)curl_multi_setopt(multi->curl, CURLMOPT_TIMERFUNCTION, on_wait);
    (void)curl_multi_setopt(multi->curl, CURLMOPT_TIMERDATA, multi);
    (void)curl_multi_setopt(multi->curl, CURLMOPT_MAXCONNECTS, (long)IDLE_CONNECTIONS_MAX);
}

enum zd_status zd_multi_open(uv_loop_t *loop, zd_multi_over *over, void *context,
    struct zd_multi **ret_multi, struct zd_error *err)
{
    struct zd_multi *multi = zd_alloc_zero(1, sizeof *multi);
    const bool has_curl = multi != NULL && begin_curl();
    if (has_curl) {
        multi->curl = curl_multi_init();
    }
    if (!has_curl || multi->curl == NULL) {
        if (has_curl) {
            end_curl();
        }
        zd_free(multi);
        return zd_fail(err, ZD_NO_MEMORY, "no memory for connections to remote stores");
    }
    multi->over = over;
    multi->context = context;
    (void)uv_timer_init(loop, &multi->timer);
    multi->timer.data = multi;
    set_up(multi);
    *ret_multi = multi;
    return ZD_OK;
}

static void on_gone(uv_handle_t *handle)
{
    zd_free(handle->data);
}

void zd_multi_close(struct zd_multi *multi)
{
    if (multi == NULL) {
        return;
    }
    multi->is_closed = true;
    (void)curl_multi_cleanup(multi->curl);
    end_curl();
    uv_close((uv_handle_t *)&multi->timer, on_gone);
}

enum zd_status zd_multi_add(struct zd_multi *multi, CURL *easy)
{
    return curl_multi_add_handle(multi->curl, easy) == CURLM_OK ? ZD_OK : ZD_NO_MEMORY;
}

void zd_multi_remove(struct zd_multi *multi, CURL *easy)
{
    (void)curl_multi_remove_handle(multi->curl, easy);
}
