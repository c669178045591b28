/* access.tokens_file while the server starts and runs. */
#include "server/token_watch.h"

#include "core/base/own.h"
#include "server/request/access/tokens.h"
#include "server/runtime/server.h"

#define SHORT_BYTES (256U << 10) /* of a file: some thousands of tokens, read in some ms */

static void read_tokens(struct zd_file_watch *file)
{
    struct zd_token_watch *watch = ZD_CONTAINER(file, struct zd_token_watch, file);
    watch->err = (struct zd_error){0};
    watch->status = zd_tokens_read(file->path, &watch->tokens, &watch->err);
}

/* A server that had no tokens yet does not run without those that it was told of. */
static void fail(struct zd_token_watch *watch)
{
    struct zd_server *server = watch->server;
    if (server->tokens_are_coming) {
        server->has_failed = true;
        zd_log(&server->log, ZD_LOG_ERROR, "the server stops: %s", watch->err.text);
        uv_stop(server->loop);
    } else {
        server->has_broken_tokens = true;
        zd_log(&server->log, ZD_LOG_ERROR, "the tokens stay unchanged: %s", watch->err.text);
    }
}

static void take_tokens(struct zd_file_watch *file)
{
    struct zd_token_watch *watch = ZD_CONTAINER(file, struct zd_token_watch, file);
    struct zd_server *server = watch->server;
    if (watch->status != ZD_OK) {
        fail(watch);
        return;
    }
    server->has_broken_tokens = false;
    zd_tokens_replace(&server->tokens, ZD_TAKE(watch->tokens));
    server->n_credential_changes++;
    zd_log(&server->log, ZD_LOG_INFO, "access.tokens_file: %zu tokens",
        zd_tokens_count(server->tokens));
    if (server->tokens_are_coming) {
        server->tokens_are_coming = false;
        zd_wait_tell(&server->tokens_wanted, ZD_OK, NULL);
    }
}

enum zd_status zd_token_watch_open(
    struct zd_token_watch *watch, struct zd_server *server, struct zd_error *err)
{
    const char *path = server->config->settings.access_tokens_file;
    watch->server = server;
    if (path[0] == '\0') {
        return ZD_OK;
    }
    watch->file.path = path;
    watch->file.read = read_tokens;
    watch->file.take = take_tokens;
    zd_file_watch_open(&watch->file, server->loop, &server->workers);
    server->tokens_are_coming = zd_file_watch_bytes(&watch->file) > SHORT_BYTES;
    return server->tokens_are_coming ? ZD_OK : zd_tokens_read(path, &server->tokens, err);
}

void zd_token_watch_begin(struct zd_token_watch *watch)
{
    if (watch->server->tokens_are_coming) {
        zd_file_watch_read(&watch->file);
    }
}

void zd_token_watch_read(struct zd_token_watch *watch)
{
    zd_file_watch_read(&watch->file);
}

void zd_token_watch_close(struct zd_token_watch *watch)
{
    zd_file_watch_close(&watch->file);
}

void zd_token_watch_done(struct zd_token_watch *watch)
{
    zd_tokens_free(ZD_TAKE(watch->tokens));
}
