/* zarrd: a Zarr server. */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "core/base/aside.h"
#include "core/base/digest.h"
#include "core/base/num.h"
#include "core/store/transfer/authorities.h"
#include "core/store/contract/turns.h"
#include "server/config/config.h"
#include "server/config/config_args.h"
#include "server/config/folder.h"
#include "server/data/disk_cache.h"
#include "server/http/address.h"
#include "server/http/signing_keys.h"
#include "server/request/access/jwts.h"
#include "server/request/access/token_entry.h"
#include "server/request/access/tokens.h"
#include "server/runtime/audit_file.h"
#include "server/runtime/server.h"
#include "server/runtime/trace.h"
#include "server/runtime/workers.h"
#include "server/start.h"

enum exit_status {
    STOPPED_AS_ASKED = 0,
    FAULT = 1,
    BAD_USAGE = 2,
};

#define PRINTED_BYTES_MAX (16U << 20) /* of --help and --check-config */
#define DEADLINE_MS       3000
#define URL_BYTES_MAX     1024
#define REQUEST_BYTES_MAX (URL_BYTES_MAX + 128)
#define STATUS_LINE_BYTES 13 /* "HTTP/1.1 200 ": RFC 9112, 4 */
#define STATUS_AT         9

/* ---- --health: an image without a shell has no other client ---- */

/* A health check. Its texts are borrowed from the URL. */
struct check {
    const char *url;
    struct zd_span authority;
    const char *path;
    struct zd_address address;
    uint64_t until_ms;
    int fd;
};

static enum zd_status parse_url(const char *url, struct check *ret_check, struct zd_error *err)
{
    static const char scheme[] = "http://";
    if (strncmp(url, scheme, sizeof scheme - 1) != 0 || strlen(url) > URL_BYTES_MAX ||
        strpbrk(url, " \t\r\n") != NULL) {
        return zd_fail(err, ZD_INVALID,
            "URL '%.200s': expected a URL such as http://127.0.0.1:8080/readyz", url);
    }
    const char *authority = url + sizeof scheme - 1;
    const char *path = strchrnul(authority, '/');
    struct check check = {
        .url = url,
        .authority = {.ptr = (const uint8_t *)authority, .len = (size_t)(path - authority)},
        .path = path[0] == '\0' ? "/" : path,
    };
    ZD_TRY(zd_address_parse(check.authority, &check.address, err));
    *ret_check = check;
    return ZD_OK;
}

static uint64_t now_ms(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static enum zd_status failed(const struct check *check, int cause, struct zd_error *err)
{
    return zd_fail(err, ZD_STORE, "%s: %s", check->url, strerror(cause));
}

/* Until the socket can go on. */
static enum zd_status wait_for(const struct check *check, short events, struct zd_error *err)
{
    struct pollfd wanted = {.fd = check->fd, .events = events};
    int n = -1;
    do {
        const uint64_t now = now_ms();
        n = poll(&wanted, 1, now < check->until_ms ? (int)(check->until_ms - now) : 0);
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        return failed(check, errno, err);
    }
    return n == 0 ? zd_fail(err, ZD_TIMEOUT, "%s: no answer in %d ms", check->url, DEADLINE_MS)
                  : ZD_OK;
}

static enum zd_status reach(const struct check *check, struct zd_error *err)
{
    const struct sockaddr *where = (const struct sockaddr *)&check->address.socket;
    if (connect(check->fd, where, check->address.len) == 0) {
        return ZD_OK;
    }
    if (errno != EINPROGRESS) {
        return failed(check, errno, err);
    }
    ZD_TRY(wait_for(check, POLLOUT, err));
    int cause = 0;
    socklen_t len = sizeof cause;
    if (getsockopt(check->fd, SOL_SOCKET, SO_ERROR, &cause, &len) != 0 || cause != 0) {
        return failed(check, cause == 0 ? errno : cause, err);
    }
    return ZD_OK;
}

/* A new connection's buffer holds a request as short as this one. */
static enum zd_status send_request(const struct check *check, struct zd_error *err)
{
    ZD_SCOPED_TEXT(request, REQUEST_BYTES_MAX);
    zd_text_addf(&request, "GET %s HTTP/1.1\r\nHost: %.*s\r\nConnection: close\r\n\r\n",
        check->path, (int)check->authority.len, (const char *)check->authority.ptr);
    if (request.status != ZD_OK) {
        return zd_fail(err, request.status, "%s: the request cannot be sent", check->url);
    }
    const ssize_t n = send(check->fd, request.at, request.len, MSG_NOSIGNAL);
    return n == (ssize_t)request.len ? ZD_OK : failed(check, n < 0 ? errno : EMSGSIZE, err);
}

static enum zd_status read_status(const struct check *check, struct zd_error *err)
{
    char line[STATUS_LINE_BYTES + 1] = "";
    size_t len = 0;
    while (len < STATUS_LINE_BYTES) {
        ZD_TRY(wait_for(check, POLLIN, err));
        const ssize_t n = read(check->fd, line + len, STATUS_LINE_BYTES - len);
        if (n < 0 && errno != EINTR && errno != EAGAIN) {
            return failed(check, errno, err);
        }
        if (n == 0) {
            return zd_fail(err, ZD_STORE, "%s: the connection ended without an answer", check->url);
        }
        len += n > 0 ? (size_t)n : 0;
    }
    if (strcmp(line, "HTTP/1.1 200 ") != 0) {
        return zd_fail(
            err, ZD_STORE, "%s: expected status 200, found '%.3s'", check->url, line + STATUS_AT);
    }
    return ZD_OK;
}

/* Ask a running server once, within one deadline. ZD_INVALID: the URL is malformed; ZD_TIMEOUT;
 * ZD_STORE: the server cannot be reached, or answered something else. */
static enum zd_status check_health(const char *url, struct zd_error *err)
{
    struct check check = {0};
    ZD_TRY(parse_url(url, &check, err));
    check.until_ms = now_ms() + DEADLINE_MS;
    check.fd = socket(
        check.address.socket.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
    if (check.fd < 0) {
        return failed(&check, errno, err);
    }
    enum zd_status status = reach(&check, err);
    if (status == ZD_OK) {
        status = send_request(&check, err);
    }
    if (status == ZD_OK) {
        status = read_status(&check, err);
    }
    close(check.fd);
    return status;
}

/* ---- serving ---- */

/* Raise the limit of descriptors to the system's: each connection and each file takes one. */
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
    ZD_SCOPED_TEXT(n_threads, 20);
    zd_text_add_u64(&n_threads, (uint64_t)zd_workers_threads(settings) + ZD_TURNS_AT_ONCE);
    (void)setenv("UV_THREADPOOL_SIZE", n_threads.at, 1);
}

static int complain(struct zd_error *err, enum exit_status status)
{
    zd_aside_tell(err->text);
    (void)fprintf(stderr, "zarrd: %s\n", err->text);
    return (int)status;
}

static int serve(const struct zd_config *config)
{
    struct zd_error err = {0};
    struct zd_server *server = NULL;
    if (config->n_datasets == 0) {
        err.status = zd_fail(&err, ZD_INVALID,
            "nothing to serve: no dataset is configured; add one to \"datasets\" of the file "
            "(\"era\": {\"location\": \"/data/era.zarr\"}), or name a LOCATION");
        return complain(&err, BAD_USAGE);
    }
    /* Neither a lost log nor a file that may not grow (RLIMIT_FSIZE) is a reason to end: the call
     * fails instead. */
    (void)signal(SIGPIPE, SIG_IGN); /* NOLINT(bugprone-signal-handler) */
    (void)signal(SIGXFSZ, SIG_IGN); /* NOLINT(bugprone-signal-handler) */
    raise_file_limit();
    set_workers(&config->settings);
    if (zd_start_begin(config, &server, &err) != ZD_OK) {
        return complain(&err, err.status == ZD_NO_MEMORY ? FAULT : BAD_USAGE);
    }
    const int status = zd_start_run(server);
    zd_start_end(server);
    return status;
}

/* ---- commands ---- */

/* Judge the addresses without listening on them: a server may be doing that. */
static enum zd_status judge_addresses(const struct zd_config *config, struct zd_error *err)
{
    struct zd_address address;
    for (size_t i = 0; i < config->n_listen; i++) {
        ZD_TRY(zd_address_parse(zd_span_of(config->listen[i]), &address, err));
    }
    return ZD_OK;
}

/* Warn like the start does. */
static void warn_of_others(const struct zd_dataset_config *dataset)
{
    const char *kind = zd_folder_other_kind(dataset->location);
    const char *other = kind == NULL ? zd_folder_content(dataset->location) : kind;
    if (other != NULL) {
        (void)fprintf(stderr, "zarrd: dataset '%s' is %s, which this version does not read\n",
            dataset->name, other);
    }
}

/* Judge the locations like the start: a configured dataset may appear later. */
static enum zd_status judge_locations(const struct zd_config *config, struct zd_error *err)
{
    for (size_t i = 0; i < config->n_datasets; i++) {
        const struct zd_dataset_config *dataset = &config->dataset[i];
        uint64_t place = 0;
        struct zd_error why = {0};
        if (dataset->writable) {
            ZD_TRY(zd_store_judge_writable(dataset->location, err));
        }
        const enum zd_status status = zd_store_find_place(dataset->location, &place, &why);
        if (status == ZD_INVALID || (status != ZD_OK && dataset->is_named)) {
            *err = why;
            return status;
        }
        warn_of_others(dataset);
    }
    return ZD_OK;
}

static enum zd_status judge_secrets(const struct zd_config *config, struct zd_error *err)
{
    struct zd_tokens *tokens = NULL;
    struct zd_signing_keys *keys = NULL;
    ZD_TRY(zd_tokens_read(config->settings.access_tokens_file, &tokens, err));
    zd_tokens_free(tokens);
    ZD_TRY(zd_signing_keys_read(config->settings.access_signing_keys_file, &keys, err));
    zd_signing_keys_free(keys);
    return zd_jwts_check(&config->settings, err);
}

/* Judge the whole configuration like the start. */
static enum zd_status judge(const struct zd_config *config, struct zd_error *err)
{
    ZD_TRY(judge_addresses(config, err));
    ZD_TRY(judge_locations(config, err));
    ZD_TRY(judge_secrets(config, err));
    ZD_TRY(zd_audit_file_judge(config->settings.log_audit_file, err));
    ZD_TRY(zd_trace_judge(&config->settings, err));
    ZD_TRY(zd_authorities_judge(config->settings.remote_ca_file, err));
    return zd_disk_cache_judge(&config->settings, err);
}

static int report_health(const char *url)
{
    struct zd_error err = {0};
    const enum zd_status status = check_health(url, &err);
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

/* The output is all that there is of it: the entry has no more than its hash. A script reads both
 * lines, so that the rest is said beside them. */
static int print_token(const char *name)
{
    uint8_t digest[ZD_DIGEST_BYTES];
    char token[ZD_DIGEST_CHARS + 1];
    char hash[ZD_DIGEST_CHARS + 1];
    struct zd_error err = {0};
    if (!zd_token_entry_is_name(zd_span_of(name))) {
        err.status = zd_fail(&err, ZD_INVALID,
            "'%.200s' is not a valid token name: expected 1 to 128 bytes without spaces", name);
        return complain(&err, BAD_USAGE);
    }
    if (zd_digest_random(digest, sizeof digest) != ZD_OK) {
        err.status = zd_fail(&err, ZD_STORE, "the system provides no random bytes");
        return complain(&err, FAULT);
    }
    zd_digest_format(digest, token);
    if (zd_digest_of(zd_span_of(token), digest) != ZD_OK) {
        err.status = zd_fail(&err, ZD_NO_MEMORY, "no memory for a token");
        return complain(&err, FAULT);
    }
    zd_digest_format(digest, hash);
    ZD_SCOPED_TEXT(text, PRINTED_BYTES_MAX);
    struct zd_emit emit;
    zd_text_addf(&text, "%s\n", token);
    zd_emit_init(&emit, &text, false);
    zd_emit_object(&emit);
    zd_emit_member_string(&emit, "name", name);
    zd_emit_member_string(&emit, "sha256", hash);
    zd_emit_member_array(&emit, "scopes");
    zd_emit_string(&emit, "read");
    zd_emit_array_end(&emit);
    zd_emit_object_end(&emit);
    zd_text_add_char(&text, '\n');
    (void)fputs("zarrd: for a private dataset, the token's entry must contain \"datasets\": "
                "[\"NAME\"]; \"*\" does not cover it\n",
        stderr);
    return print(&text);
}

static int obey(enum zd_command command, const struct zd_config *config)
{
    ZD_SCOPED_TEXT(text, PRINTED_BYTES_MAX);
    struct zd_emit emit;
    struct zd_error err = {0};
    switch (command) {
    case ZD_COMMAND_SERVE:
        return serve(config);
    case ZD_COMMAND_HEALTH:
        return report_health(config->health_url);
    case ZD_COMMAND_NEW_TOKEN:
        return print_token(config->token_name);
    case ZD_COMMAND_CHECK:
        if (judge(config, &err) != ZD_OK) {
            return complain(&err, BAD_USAGE);
        }
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
