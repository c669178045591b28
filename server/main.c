/* zarrd: a Zarr server. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "core/base/num.h"
#include "core/store/turns.h"
#include "server/config/config.h"
#include "server/config/config_args.h"
#include "server/health_check.h"
#include "server/runtime/server.h"
#include "server/runtime/workers.h"
#include "server/start.h"

enum exit_status {
    STOPPED_AS_ASKED = 0,
    FAULT = 1,
    BAD_USAGE = 2,
};

#define PRINTED_BYTES_MAX (256U << 10)

/* As many descriptors as the system lets us have: each connection and each file takes one. */
static void raise_file_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* libuv reads the size of its pool from the environment, before the first piece of work. Threads
 * that wait for a disk come on top: they do not keep the workers from their work. */
static void set_workers(const struct zd_settings *settings)
{
    ZD_SCOPED_TEXT(n_workers, 20);
    zd_text_add_u64(&n_workers, (uint64_t)zd_workers_count(settings) + ZD_TURNS_AT_ONCE);
    (void)setenv("UV_THREADPOOL_SIZE", n_workers.at, 1);
}

static int complain(const struct zd_error *err, enum exit_status status)
{
    (void)fprintf(stderr, "zarrd: %s\n", err->text);
    return (int)status;
}

static int serve(const struct zd_config *config)
{
    struct zd_error err = {0};
    struct zd_server *server = NULL;
    (void)signal(
        SIGPIPE, SIG_IGN); /* NOLINT(bugprone-signal-handler): a lost log is no reason to end */
    raise_file_limit();
    set_workers(&config->settings);
    if (zd_start_begin(config, &server, &err) != ZD_OK) {
        return complain(&err, err.status == ZD_NO_MEMORY ? FAULT : BAD_USAGE);
    }
    const int status = zd_start_run(server);
    zd_start_end(server);
    return status;
}

static int ask(const char *url)
{
    struct zd_error err = {0};
    const enum zd_status status = zd_health_check(url, &err);
    if (status == ZD_OK) {
        return STOPPED_AS_ASKED;
    }
    return complain(&err, status == ZD_INVALID ? BAD_USAGE : FAULT);
}

static int print(const struct zd_text *text)
{
    const bool ok = text->status == ZD_OK && fputs(text->at, stdout) >= 0 && fflush(stdout) == 0;
    return ok ? STOPPED_AS_ASKED : FAULT;
}

static int obey(enum zd_command command, const struct zd_config *config)
{
    ZD_SCOPED_TEXT(text, PRINTED_BYTES_MAX);
    struct zd_emit emit;
    switch (command) {
    case ZD_COMMAND_SERVE:
        return serve(config);
    case ZD_COMMAND_HEALTH:
        return ask(config->health_url);
    case ZD_COMMAND_CHECK:
        zd_emit_init(&emit, &text, true);
        zd_config_emit(config, &emit);
        zd_text_add_char(&text, '\n');
        break;
    case ZD_COMMAND_HELP:
        zd_config_args_help(&text);
        break;
    case ZD_COMMAND_VERSION:
        zd_text_add(&text, "zarrd " ZD_VERSION "\n");
        break;
    }
    return print(&text);
}

int main(int argc, char **argv, char **environment)
{
    zd_memory_tune();
    struct zd_error err = {0};
    struct zd_config config;
    enum zd_command command = ZD_COMMAND_SERVE;
    if (zd_config_read(argc, argv, environment, &command, &config, &err) != ZD_OK) {
        return complain(&err, BAD_USAGE);
    }
    const int status = obey(command, &config);
    zd_config_done(&config);
    return status;
}
