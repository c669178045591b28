/* The HTTP front: sockets, connections, requests and prepared answers. Thread: loop. */
#ifndef ZD_FRONT_FRONT_H
#define ZD_FRONT_FRONT_H

#include <uv.h>

#include "server/front/hangup.h"
#include "server/request/connection.h"
#include "server/request/request.h"
#include "server/request/respond.h"
#include "server/runtime/cache.h"

struct MHD_Daemon;
struct zd_wires;

/** One address that is listened on. */
struct zd_listener {
    struct zd_front *http;
    struct MHD_Daemon *daemon; /* NULL: not running */
    uv_poll_t poll;            /* its epoll descriptor */
    uv_timer_t timer;          /* its next timeout */
    uv_idle_t again;           /* it has ready work that was put off */
    bool has_handles;
    bool has_closed; /* a connection has: at a limit, the daemon accepts again when it next runs */
    char *host;      /* as in a URL; owned */
    uint16_t port;
};

/** What server->front is. */
struct zd_front {
    struct zd_server *server;
    struct zd_listener *listener; /* n_listeners of them; owned */
    size_t n_listeners;
    uint64_t n_connections_max;     /* of all listeners together */
    struct zd_wires *wires;         /* what comes in on the connections; owned */
    struct zd_list spare;           /* struct zd_request: to be used again */
    struct zd_list waiting;         /* struct zd_request: suspended, the oldest deadline first */
    uv_timer_t deadline;            /* of the first of them */
    struct zd_hangup leaving;       /* looks which of their clients have left */
    struct zd_list turns;           /* struct zd_request: what goes on when the loop has turned */
    uv_idle_t next_turn;            /* while there are such */
    struct zd_cache kept;           /* struct zd_kept: prepared answers, by target */
    uint64_t body_bytes;            /* of all requests together: what came of their bodies */
    struct zd_text scratch;         /* for documents that are copied at once */
    struct MHD_Response *emergency; /* when there is no memory for an answer */
    uint64_t id_seed;
    uint64_t n_ids;
    bool is_closing;
};

/**
 * Bind the configured addresses and begin to serve.
 *
 * @param ret_http owned
 * @retval ZD_INVALID an address is malformed, or cannot be bound
 */
ZD_RESULT zd_front_new(struct zd_server *server, struct zd_front **ret_http, struct zd_error *err);

/** Refuse new connections; requests under way go on. */
void zd_front_drain(struct zd_front *http);

/** End every connection and request; the loop must turn once more before zd_front_free. */
void zd_front_close(struct zd_front *http);
void zd_front_free(struct zd_front *http); /* accepts NULL */

/** A new X-Request-Id: ZD_MADE_ID_LEN characters and NUL. */
void zd_front_make_id(struct zd_front *http, char *to);

/**
 * The connection sleeps until zd_connection_wake; for as long as http.request_ms at the most.
 * @return false: not now, the server stops
 */
bool zd_connection_sleep(struct zd_request *req);

/** The client of a connection that sleeps is gone: the request ends. */
void zd_connection_hung_up(struct zd_request *req);

#endif
