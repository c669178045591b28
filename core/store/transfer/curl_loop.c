/* libcurl's multi interface on a loop of libuv.
 *
 *     libcurl says which sockets and how long to wait   -> an epoll of their own, uv_timer_t
 *     the loop says that some of them are ready         -> curl_multi_socket_action for each
 *     libcurl says which transfers are over             -> over
 *
 * libcurl watches a socket only while a transfer uses it. With a uv_poll_t for each socket, every
 * transfer would need six more system calls. */
#include "core/store/transfer/curl_loop.h"

#include <sys/epoll.h>
#include <unistd.h>

#include "core/base/own.h"

#define IDLE_CONNECTIONS_MAX 256 /* kept for the next transfers, to all endpoints */
#define EVENTS_MAX           64  /* in a turn of the loop */

struct zd_curl_loop {
    CURLM *curl;
    int epoll;        /* the sockets of libcurl */
    uv_poll_t poll;   /* of that epoll; its data is the multi, as is the timer's */
    size_t n_sockets; /* while there are any, the loop waits for them */
    uv_timer_t timer;
    zd_curl_loop_over *over;
    void *context;
    unsigned n_handles; /* until they are closed */
    bool is_closed;     /* perhaps by over; the memory stays until the loop turns */
};

static size_t n_open; /* of all loops; they open and close in one thread at a time */

static void tell_over(struct zd_curl_loop *multi)
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

static void act(struct zd_curl_loop *multi, curl_socket_t fd, int events)
{
    int n_running = 0;
    (void)curl_multi_socket_action(multi->curl, fd, events, &n_running);
    tell_over(multi);
}

static void on_timer(uv_timer_t *timer)
{
    act(timer->data, CURL_SOCKET_TIMEOUT, 0);
}

/* A read returns the error itself. */
static int curl_events(uint32_t events)
{
    return ((events & EPOLLIN) != 0 ? CURL_CSELECT_IN : 0) |
           ((events & EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0) |
           ((events & (EPOLLERR | EPOLLHUP)) != 0 ? CURL_CSELECT_IN | CURL_CSELECT_ERR : 0);
}

/* An earlier event may have closed a later socket, or opened another one with its number: libcurl
 * ignores the one, and reads nothing from the other. */
static void on_ready(uv_poll_t *poll, int uv_status, int uv_events)
{
    struct zd_curl_loop *multi = poll->data;
    struct epoll_event event[EVENTS_MAX];
    (void)uv_status;
    (void)uv_events;
    const int n = epoll_wait(multi->epoll, event, EVENTS_MAX, 0);
    for (int i = 0; i < n && !multi->is_closed; i++) {
        act(multi, event[i].data.fd, curl_events(event[i].events));
    }
}

static void add_socket(struct zd_curl_loop *multi)
{
    multi->n_sockets++;
    uv_ref((uv_handle_t *)&multi->poll);
}

static void drop_socket(struct zd_curl_loop *multi)
{
    if (--multi->n_sockets == 0) {
        uv_unref((uv_handle_t *)&multi->poll);
    }
}

/* A socket that cannot be watched is silent, and its transfer ends for that: a failure told to
 * libcurl would end all transfers, and the ones to come. */
static int on_socket(CURL *easy, curl_socket_t fd, int what, void *context, void *watched)
{
    struct zd_curl_loop *multi = context;
    struct epoll_event event = {.data.fd = fd};
    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (watched != NULL) {
            (void)epoll_ctl(multi->epoll, EPOLL_CTL_DEL, fd, NULL);
            drop_socket(multi);
        }
        return 0;
    }
    event.events =
        ((what & CURL_POLL_IN) != 0 ? EPOLLIN : 0U) | ((what & CURL_POLL_OUT) != 0 ? EPOLLOUT : 0U);
    if (watched != NULL) {
        (void)epoll_ctl(multi->epoll, EPOLL_CTL_MOD, fd, &event);
    } else if (epoll_ctl(multi->epoll, EPOLL_CTL_ADD, fd, &event) == 0) {
        (void)curl_multi_assign(multi->curl, fd, multi); /* watched, from now on */
        add_socket(multi);
    }
    return 0;
}

static int on_wait(CURLM *curl, long timeout_ms, void *context)
{
    struct zd_curl_loop *multi = context;
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

bool zd_curl_loop_is_needed(void)
{
    return n_open > 0;
}

static void free_multi(struct zd_curl_loop *multi)
{
    if (multi->epoll >= 0) {
        (void)close(multi->epoll);
    }
    zd_free(multi);
}

static void on_gone(uv_handle_t *handle)
{
    struct zd_curl_loop *multi = handle->data;
    if (--multi->n_handles == 0) {
        free_multi(multi);
    }
}

static void set_up(struct zd_curl_loop *multi)
{
    (void)curl_multi_setopt(multi->curl, CURLMOPT_SOCKETFUNCTION, on_socket);
    (void)curl_multi_setopt(multi->curl, CURLMOPT_SOCKETDATA, multi);
    (void)curl_multi_setopt(multi->curl, CURLMOPT_TIMERFUNCTION, on_wait);
    (void)curl_multi_setopt(multi->curl, CURLMOPT_TIMERDATA, multi);
    (void)curl_multi_setopt(multi->curl, CURLMOPT_MAXCONNECTS, (long)IDLE_CONNECTIONS_MAX);
}

static bool open_curl(struct zd_curl_loop *multi)
{
    if (!begin_curl()) {
        return false;
    }
    multi->curl = curl_multi_init();
    if (multi->curl == NULL) {
        end_curl();
        return false;
    }
    set_up(multi);
    return true;
}

/* The loop's watch of the epoll; nothing waits for it yet. */
static bool open_watch(struct zd_curl_loop *multi, uv_loop_t *loop)
{
    multi->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (multi->epoll < 0 || uv_poll_init(loop, &multi->poll, multi->epoll) != 0) {
        return false;
    }
    (void)uv_timer_init(loop, &multi->timer);
    multi->poll.data = multi;
    multi->timer.data = multi;
    multi->n_handles = 2;
    uv_unref((uv_handle_t *)&multi->poll);
    return uv_poll_start(&multi->poll, UV_READABLE, on_ready) == 0;
}

static void close_watch(struct zd_curl_loop *multi)
{
    if (multi->n_handles == 0) {
        free_multi(multi);
        return;
    }
    uv_close((uv_handle_t *)&multi->poll, on_gone);
    uv_close((uv_handle_t *)&multi->timer, on_gone);
}

enum zd_status zd_curl_loop_open(uv_loop_t *loop, zd_curl_loop_over *over, void *context,
    struct zd_curl_loop **ret_multi, struct zd_error *err)
{
    struct zd_curl_loop *multi = zd_alloc_zero(1, sizeof *multi);
    if (multi == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for connections to remote stores");
    }
    multi->over = over;
    multi->context = context;
    if (!open_watch(multi, loop) || !open_curl(multi)) {
        close_watch(multi);
        return zd_fail(
            err, ZD_NO_MEMORY, "no memory or no file descriptor for connections to remote stores");
    }
    *ret_multi = multi;
    return ZD_OK;
}

void zd_curl_loop_close(struct zd_curl_loop *multi)
{
    if (multi == NULL) {
        return;
    }
    multi->is_closed = true;
    (void)curl_multi_cleanup(multi->curl);
    end_curl();
    close_watch(multi);
}

enum zd_status zd_curl_loop_add(struct zd_curl_loop *multi, CURL *easy)
{
    return curl_multi_add_handle(multi->curl, easy) == CURLM_OK ? ZD_OK : ZD_NO_MEMORY;
}

void zd_curl_loop_remove(struct zd_curl_loop *multi, CURL *easy)
{
    (void)curl_multi_remove_handle(multi->curl, easy);
}
