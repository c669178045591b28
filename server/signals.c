#include "server/signals.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "core/base/num.h"

static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};

static void on_readable(uv_poll_t *poll, int status, int events)
{
    const struct zd_signals *signals = poll->data;
    struct signalfd_siginfo info;
    (void)status;
    (void)events;
    while (read(signals->fd, &info, sizeof info) == (ssize_t)sizeof info) {
        signals->done(signals->arg, (int)info.ssi_signo);
    }
}

enum zd_status zd_signals_init(struct zd_signals *signals, uv_loop_t *loop,
    void (*done)(void *arg, int number), void *arg, struct zd_error *err)
{
    sigset_t set;
    *signals = (struct zd_signals){.fd = -1, .done = done, .arg = arg};
    (void)sigemptyset(&set);
    for (size_t i = 0; i < ZD_COUNT_OF(numbers); i++) {
        (void)sigaddset(&set, numbers[i]);
        (void)signal(numbers[i], SIG_DFL); /* what nohup(1) ignores would not be queued */
    }
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
    signals->fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (signals->fd < 0) {
        return zd_fail(err, ZD_STORE, "cannot open a descriptor of signals: %s", strerror(errno));
    }
    if (uv_poll_init(loop, &signals->poll, signals->fd) != 0) {
        (void)close(signals->fd);
        signals->fd = -1;
        return zd_fail(err, ZD_STORE, "cannot watch the descriptor of signals");
    }
    signals->poll.data = signals;
    uv_poll_start(&signals->poll, UV_READABLE, on_readable);
    return ZD_OK;
}

static void on_closed(uv_handle_t *handle)
{
    struct zd_signals *signals = handle->data;
    (void)close(signals->fd);
    signals->fd = -1;
}

void zd_signals_close(struct zd_signals *signals)
{
    if (signals->fd >= 0) {
        uv_close((uv_handle_t *)&signals->poll, on_closed);
    }
}
