/* The log: one line an event on standard error, for people or as JSON.
 *
 * Lines of requests are gathered and written together, so that a busy server does not pay one
 * system call a request for them; events are written at once, behind what waits. */
#include "server/runtime/log.h"

#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/aside.h"
#include "core/base/emit.h"
#include "core/base/num.h"
#include "server/config/settings.h"
#include "server/runtime/log_text.h"
#include "server/runtime/metrics.h"

#define LINE_BYTES_MAX  (80U << 10) /* holds the longest target, escaped */
#define LINES_BYTES_MAX (512U << 10)
#define LINES_BYTES     (32U << 10) /* that may wait */
#define WAIT_MS         50
#define FAILURES        500 /* and above: statuses that blame the server */
#define NAME_BYTES      16  /* of a time in milliseconds */

static const char *const level_names[] = {"error", "warning", "info", "debug"};

void zd_log_init(struct zd_log *log, const struct zd_settings *settings, uv_loop_t *loop)
{
    *log = (struct zd_log){
        .level = ZD_LOG_INFO,
        .json = strcmp(settings->log_format, "json") == 0,
        .requests = settings->log_requests,
        .fd = STDERR_FILENO,
        .has_timer = true,
    };
    for (size_t i = 0; i < ZD_COUNT_OF(level_names); i++) {
        if (strcmp(settings->log_level, level_names[i]) == 0) {
            log->level = (enum zd_log_level)i;
        }
    }
    struct stat stat = {0};
    log->may_block = fstat(log->fd, &stat) != 0 || !S_ISREG(stat.st_mode);
    zd_text_init(&log->line, LINE_BYTES_MAX);
    zd_text_init(&log->lines, LINES_BYTES_MAX);
    uv_timer_init(loop, &log->timer);
    uv_unref((uv_handle_t *)&log->timer);
    log->timer.data = log;
}

static bool can_write(int fd)
{
    struct pollfd pollfd = {.fd = fd, .events = POLLOUT};
    return poll(&pollfd, 1, 0) == 1 && (pollfd.revents & POLLOUT) != 0;
}

/* How many bytes, in whole lines where that is possible, a pipe takes without blocking. */
static size_t piece_len(const char *at, size_t len)
{
    if (len <= PIPE_BUF) {
        return len;
    }
    const char *end = memrchr(at, '\n', PIPE_BUF);
    return end == NULL ? PIPE_BUF : (size_t)(end - at) + 1;
}

static uint64_t count_lines(const char *at, size_t len)
{
    uint64_t n = 0;
    for (size_t i = 0; i < len; i++) {
        n += at[i] == '\n' ? 1 : 0;
    }
    return n;
}

static void flush(struct zd_log *log)
{
    const char *at = log->lines.at;
    size_t left = log->lines.len;
    while (left > 0) {
        const size_t len = log->may_block ? piece_len(at, left) : left;
        const bool can = !log->may_block || can_write(log->fd);
        const ssize_t written = can ? write(log->fd, at, len) : -1;
        if (written <= 0) {
            log->n_dropped += count_lines(at, left);
            break;
        }
        at += written;
        left -= (size_t)written;
    }
    zd_text_clear(&log->lines);
}

static void on_timer(uv_timer_t *timer)
{
    flush(timer->data);
}

void zd_log_close(struct zd_log *log)
{
    if (log->has_timer) {
        flush(log);
        log->has_timer = false;
        uv_close((uv_handle_t *)&log->timer, NULL);
    }
}

void zd_log_done(struct zd_log *log)
{
    flush(log);
    zd_text_done(&log->line);
    zd_text_done(&log->lines);
}

void zd_log_format_time(char to[ZD_LOG_TIME_BYTES])
{
    struct timespec now = {0};
    struct tm tm = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)gmtime_r(&now.tv_sec, &tm);
    const size_t len = strftime(to, ZD_LOG_TIME_BYTES, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(to + len, ZD_LOG_TIME_BYTES - len, ".%03dZ", (int)(now.tv_nsec / 1000000));
}

/* Begin a line: its time and level. */
static void begin_line(struct zd_log *log, enum zd_log_level level, struct zd_emit *emit)
{
    char now[ZD_LOG_TIME_BYTES];
    zd_log_format_time(now);
    zd_text_clear(&log->line);
    if (!log->json) {
        zd_text_addf(&log->line, "%s %s ", now, level_names[level]);
        return;
    }
    zd_emit_init(emit, &log->line, false);
    zd_emit_object(emit);
    zd_emit_member_string(emit, "ts", now);
    zd_emit_member_string(emit, "level", level_names[level]);
}

static void end_line(struct zd_log *log)
{
    if (log->line.status != ZD_OK) {
        log->n_dropped++;
        return;
    }
    zd_text_add_char(&log->line, '\n');
    if (log->lines.len + log->line.len > LINES_BYTES) {
        flush(log);
    }
    if (zd_text_add_bytes(&log->lines, log->line.at, log->line.len) != ZD_OK) {
        log->n_dropped++;
        log->lines.status = ZD_OK;
    }
}

void zd_log(struct zd_log *log, enum zd_log_level level, const char *format, ...)
{
    if (level > log->level) {
        return;
    }
    char message[2 * ZD_ERROR_TEXT_BYTES]; /* longer ones are cut */
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    zd_aside_tell(message);
    struct zd_emit emit;
    begin_line(log, level, &emit);
    if (log->json) {
        zd_log_text_emit(&emit, "msg", message);
        zd_emit_object_end(&emit);
    } else {
        zd_log_text_add(&log->line, message);
    }
    end_line(log);
    flush(log);
}

/* @return `to`, or "unknown" */
static const char *name_client(const struct zd_access *access, char to[INET6_ADDRSTRLEN])
{
    const bool has_name =
        access->client != NULL && uv_ip_name(access->client, to, INET6_ADDRSTRLEN) == 0;
    return has_name ? to : "unknown";
}

static void emit_optional(struct zd_emit *emit, const char *name, const char *text)
{
    if (text != NULL) {
        zd_log_text_emit(emit, name, text);
    }
}

/* Write the times that are not zero: "store_ms". */
static void emit_times(struct zd_emit *emit, const struct zd_times *times)
{
    for (size_t i = 0; i < ZD_TIMES && times != NULL; i++) {
        const uint64_t us = times->ns[i] / 1000;
        if (us > 0) {
            char name[NAME_BYTES];
            (void)snprintf(name, sizeof name, "%s_ms", zd_times_name(i));
            zd_emit_key(emit, name);
            zd_emit_f64(emit, (double)us / 1000);
        }
    }
}

static void emit_access(struct zd_emit *emit, const struct zd_access *access, double ms)
{
    zd_emit_member_string(emit, "msg", "request");
    zd_emit_member_string(emit, "request_id", access->id);
    zd_log_text_emit(emit, "method", access->method);
    zd_log_text_emit(emit, "target", access->target);
    emit_optional(emit, "route", access->route);
    emit_optional(emit, "dataset", access->dataset);
    emit_optional(emit, "node", access->node);
    zd_emit_member_u64(emit, "status", access->http_status);
    zd_emit_member_u64(emit, "bytes", access->body_bytes);
    zd_emit_key(emit, "duration_ms");
    zd_emit_f64(emit, ms);
    emit_times(emit, access->times);
    emit_optional(emit, "code", access->problem_code);
    emit_optional(emit, "reason", access->reason);
    char client[INET6_ADDRSTRLEN];
    zd_log_text_emit(emit, "client", name_client(access, client));
    emit_optional(emit, "identity", access->identity);
    emit_optional(emit, "trace_id", access->trace_id);
    if (access->was_cut) {
        zd_emit_member_bool(emit, "cut", true);
    }
    zd_emit_object_end(emit);
}

static void add_word(struct zd_text *line, const char *before, const char *word)
{
    if (word != NULL) {
        zd_text_add(line, before);
        zd_log_text_add(line, word);
    }
}

static void add_access(struct zd_text *line, const struct zd_access *access, uint64_t us)
{
    char client[INET6_ADDRSTRLEN];
    zd_log_text_add(line, access->method);
    add_word(line, " ", access->target);
    zd_text_addf(line, " %u %llu %llu.%03llums %s", access->http_status,
        (unsigned long long)access->body_bytes, (unsigned long long)(us / 1000),
        (unsigned long long)(us % 1000), access->id);
    add_word(line, " ", access->problem_code);
    add_word(line, " from ", name_client(access, client));
    add_word(line, " by ", access->identity);
    add_word(line, " trace ", access->trace_id);
    add_word(line, "", access->was_cut ? " cut" : NULL);
    add_word(line, ": ", access->reason);
}

void zd_log_access(struct zd_log *log, const struct zd_access *access)
{
    const bool has_failed = access->http_status >= FAILURES;
    const enum zd_log_level level = has_failed ? ZD_LOG_WARNING : ZD_LOG_INFO;
    if (level > log->level || (!log->requests && !has_failed)) {
        return;
    }
    const uint64_t us = access->duration_ns / 1000;
    struct zd_emit emit;
    begin_line(log, level, &emit);
    if (log->json) {
        emit_access(&emit, access, (double)us / 1000);
    } else {
        add_access(&log->line, access, us);
    }
    end_line(log);
    if (log->has_timer && !uv_is_active((uv_handle_t *)&log->timer)) {
        uv_timer_start(&log->timer, on_timer, WAIT_MS, 0);
    }
}
