/* A server of HTTP on the loop of the test, which answers each path as a table says. */
#ifndef ZD_TESTS_SUPPORT_REPLY_SERVER_H
#define ZD_TESTS_SUPPORT_REPLY_SERVER_H

#include <uv.h>

#include "core/base/buf.h"
#include "core/base/list.h"

/** The connection's fate after an answer. */
enum zd_reply_end {
    ZD_REPLY_KEEP,  /* the connection stays */
    ZD_REPLY_CLOSE, /* it is closed */
    ZD_REPLY_RESET,
    ZD_REPLY_DRIP, /* "x", again and again */
};

/** An answer: the first row whose target is that of the request counts, or the row without one. */
struct zd_reply {
    const char *target; /* NULL = any */
    const char *bytes;  /* "HTTP/1.1 200 OK\r\n..."; NULL = none at all */
    enum zd_reply_end end;
    const char *method; /* NULL = any */
};

/** Zeroed before it is opened. */
struct zd_reply_server {
    uv_tcp_t listener;
    struct zd_list connections;
    const struct zd_reply *reply;
    size_t n_replies;
    char url[64];           /* "http://127.0.0.1:port" */
    unsigned n_connections; /* since it was opened, as are the next two */
    unsigned n_requests;
    char last_request[8192]; /* head and body, as far as it has room */
};

/** Listen at any port of the loopback address. Its handles keep no loop alive. */
void zd_reply_server_open(struct zd_reply_server *server, uv_loop_t *loop,
    const struct zd_reply *reply, size_t n_replies);

/** Close all connections; the loop must turn once more. */
void zd_reply_server_close(struct zd_reply_server *server);

#endif
