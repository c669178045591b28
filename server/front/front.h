/* The parts of the front: sockets, exchanges and prepared answers. Thread: loop. */
#ifndef ZD_FRONT_FRONT_H
#define ZD_FRONT_FRONT_H

#include <sys/socket.h>
#include <uv.h>

#include "server/request/request.h"
#include "server/runtime/cache.h"
#include "server/runtime/deadlines.h"
#include "server/runtime/metrics.h"

struct MHD_Connection;
struct MHD_Daemon;
struct MHD_Response;
struct pollfd;
struct zd_prepared;
struct zd_wires;

#define ZD_FRONT_REASON_BYTES 1024 /* details are longer than errors */
#define ZD_FRONT_ID_MAX       128  /* characters of an X-Request-Id */
#define ZD_FRONT_MADE_ID_LEN  16   /* of one that we make */
#define ZD_FRONT_LISTS        6 /* fields of a head that are read as lists, whatever their lines */

/** An answer of server/front/reply_cache.h that a request is given. */
struct zd_reply_cache_want {
    struct zd_wait wait;          /* until the coded form is made */
    struct zd_prepared *prepared; /* a reference, or NULL */
    enum zd_coding coding;
};

/** Texts of an exchange; they keep their memory for the next request. */
struct zd_exchange_memory {
    struct zd_text target;
    struct zd_text signature; /* that was taken out of the target */
    struct zd_text path;      /* decoded */
    struct zd_text token;     /* likewise */
    struct zd_text body;
    struct zd_text reason;               /* of the problem that was answered */
    struct zd_text secrets;              /* that the log must not have */
    struct zd_text shown;                /* the target without them; empty: it has none */
    struct zd_text node;                 /* likewise: the path of a node */
    struct zd_text list[ZD_FRONT_LISTS]; /* of fields that came in several lines */
    struct sockaddr_storage client;      /* of a proxy's client; set for the log */
};

/** The state of an exchange's present request; zeroed before the next request. */
struct zd_exchange_now {
    struct MHD_Connection *connection;
    const char *sent_id;           /* X-Request-Id as sent, or NULL */
    const char *sent_trace;        /* traceparent as sent, or NULL */
    struct MHD_Response *response; /* the answer; NULL: none yet, or given to the connection */
    char *response_id;             /* where a shared response has its X-Request-Id, or NULL */
    struct zd_buf *document;       /* of a problem, while the request's body still comes; owned */
    struct zd_access access; /* status, bytes and problem, for the log; http_status 0: no answer */
    uint64_t began_ns;
    uint64_t answered_ns; /* when the steps had answered in full; 0: they have not, or none ran */
    uint64_t outcome_ms;  /* when a change that is being stored is answered at the latest; 0: the
                             deadline has not passed yet */
    int fd;               /* of the connection; valid while it sleeps */
    bool response_is_shared; /* else it goes with the exchange */
    bool length_is_unknown;  /* of an answer to HEAD */
    bool is_suspended;       /* the connection sleeps until zd_connection_wake */
    bool has_begun;          /* the head was seen */
    bool is_judged;          /* the client's credential was looked up */
    bool has_started;        /* the steps run */
    bool has_left;           /* the client is gone: send nothing more */
    bool is_given;           /* the connection has the answer */
    bool is_answered;        /* past libmicrohttpd: zd_connection_send_last */
    char id[ZD_FRONT_ID_MAX + 1];
    struct zd_traceparent trace; /* that stores and the log learn of; of none: empty */
    char traceparent[ZD_TRACEPARENT_BYTES];
};

/** A request with its answer, and the connection that carries both. */
struct zd_exchange {
    struct zd_request request;
    struct zd_front *front;      /* borrowed */
    struct zd_list link;         /* in front->spare */
    struct zd_list turn;         /* in front->turns */
    struct zd_list watched;      /* in front->watched */
    struct zd_deadline deadline; /* in front->waiting */
    struct zd_exchange_memory memory;
    struct zd_exchange_now now;
    struct zd_reply_cache_want prepared_want; /* large: idle after zd_reply_cache_release */
};

static inline struct zd_exchange *zd_front_exchange(const struct zd_request *req)
{
    return ZD_CONTAINER(req, struct zd_exchange, request);
}

/** An address to listen on. */
struct zd_listener {
    struct zd_front *front;
    struct MHD_Daemon *daemon; /* NULL: not running */
    uv_poll_t poll;            /* its epoll descriptor */
    uv_timer_t timer;          /* its next timeout */
    uv_idle_t again;           /* it has ready work that was put off */
    bool is_loopback;
    bool has_handles;
    bool has_closed; /* a connection has: at a limit, the daemon accepts again when it next runs */
    char *host;      /* as in a URL; owned */
    uint16_t port;
};

/** The front of a server: server->front. */
struct zd_front {
    struct zd_server *server;
    struct zd_listener *listener; /* n_listeners of them; owned */
    size_t n_listeners;
    uint64_t n_connections_max;  /* of all listeners together */
    struct zd_wires *wires;      /* of all connections; owned */
    struct zd_list spare;        /* struct zd_exchange: to be used again */
    struct zd_deadlines waiting; /* of struct zd_exchange: sleeping exchanges */
    uv_timer_t hangup;           /* while there are any: finds the clients that have left */
    struct pollfd *socket;       /* room for n_sockets_max of theirs; owned */
    size_t n_sockets_max;
    struct zd_list watched;         /* struct zd_exchange: exchanges with an identity */
    uv_timer_t look;                /* at their identities, while there are any */
    struct zd_list turns;           /* struct zd_exchange: they go on when the loop has turned */
    uv_idle_t next_turn;            /* while there are any */
    struct zd_cache prepared;       /* struct zd_prepared: prepared answers, by target */
    bool keeps_by_identity;         /* some of them are for one identity alone */
    uint64_t body_bytes;            /* of request bodies, held by all exchanges together */
    struct zd_text scratch;         /* for documents that are copied at once */
    struct zd_text exposed;         /* Access-Control-Expose-Headers */
    struct MHD_Response *emergency; /* when there is no memory for an answer */
    uint64_t id_seed;
    uint64_t n_ids;
    bool is_closing;
};

/**
 * Bind the configured addresses and begin to serve.
 *
 * @param ret_front owned
 * @retval ZD_INVALID an address is malformed, or cannot be bound
 */
ZD_RESULT zd_front_new(struct zd_server *server, struct zd_front **ret_front, struct zd_error *err);

/** Run a daemon when the loop has turned: resuming a connection does not wake it. */
void zd_front_run_soon(struct zd_front *front, const struct MHD_Daemon *daemon);

/** Accept the connections that wait for it, and no new ones; requests under way go on. */
void zd_front_drain(struct zd_front *front);

/** Whether every request that has come is answered. */
bool zd_front_is_idle(const struct zd_front *front);

/** Count the closed connections that are held since zd_front_drain: their clients may not have the
 * whole answer. A client that has it and does not hang up is let go after linger_ms. */
size_t zd_front_look_parting(struct zd_front *front, uint64_t linger_ms);

/** Let all of them go. @return how many of their clients do not have the whole answer */
size_t zd_front_end_parting(struct zd_front *front);

/** End every connection and request; the loop must turn once more before zd_front_free. */
void zd_front_close(struct zd_front *front);
void zd_front_free(struct zd_front *front); /* accepts NULL */

#endif
