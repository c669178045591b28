/* access.tokens_file while the server starts and runs. Thread: loop. */
#ifndef ZD_TOKEN_WATCH_H
#define ZD_TOKEN_WATCH_H

#include "core/base/status.h"
#include "server/runtime/file_watch.h"

struct zd_server;
struct zd_tokens;

struct zd_token_watch {
    struct zd_server *server; /* borrowed */
    struct zd_file_watch file;
    /* of the last read */
    enum zd_status status;
    struct zd_error err;
    struct zd_tokens *tokens; /* owned until they are put in their place */
};

/**
 * Begin to watch the file. A short one is read at once; of a long one the server waits with
 * requests that have a credential (zd_server.tokens_are_coming), and not with its start.
 *
 * @param watch zeroed
 * @retval ZD_INVALID the file is broken, or others can read it
 */
ZD_RESULT zd_token_watch_open(
    struct zd_token_watch *watch, struct zd_server *server, struct zd_error *err);

/** The server has started: read a long file. If it is broken, the server fails. */
void zd_token_watch_begin(struct zd_token_watch *watch);

/** Read it now, changed or not. */
void zd_token_watch_read(struct zd_token_watch *watch);

/** Stop watching; the loop must turn once more. Accepts a zeroed one. */
void zd_token_watch_close(struct zd_token_watch *watch);

/** Free what a job may have left; no job runs any more. */
void zd_token_watch_done(struct zd_token_watch *watch);

#endif
