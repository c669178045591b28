/* The state that all wires of a front share. Thread: loop. */
#ifndef ZD_FRONT_WIRES_H
#define ZD_FRONT_WIRES_H

#include "server/front/linger.h"
#include "server/front/connection_limits.h"
#include "server/http/guard.h"
#include "server/runtime/deadlines.h"

struct zd_server;
struct zd_settings;

/** Which deadline of a wire runs. */
enum zd_wires_term {
    ZD_TERM_NONE,
    ZD_TERM_HEAD,      /* http.head_ms for all of it */
    ZD_TERM_BODY,      /* http.body_ms for http.body_least_bytes of it */
    ZD_TERM_ANSWER,    /* http.reader_ms for http.reader_least_bytes of it */
    ZD_TERM_REFUSAL,   /* at once */
    ZD_TERM_LINGERING, /* 2 s */
    ZD_TERM_RESTING,   /* 50 ms: then the client may have ended without an event */
    ZD_TERMS,
};

struct zd_wires {
    struct zd_server *server;
    struct zd_guard_limits limits;
    struct zd_connection_limits visitors;
    struct zd_deadlines running[ZD_TERMS];
    struct zd_list open;        /* struct zd_wire */
    struct zd_lingers partings; /* since is_draining: connections that were closed */
    bool is_draining;           /* the server stops */
};

/**
 * @param n_max     connections
 * @param over      a term of a wire is over: zd_wire_term_is_over
 * @param ret_wires owned; close it while the loop still turns, then free it
 */
ZD_RESULT zd_wires_new(struct zd_server *server, uint64_t n_max,
    void (*over)(struct zd_deadline *deadline), struct zd_wires **ret_wires, struct zd_error *err);

/** All connections are closed; the loop must turn once before zd_wires_free. Accepts NULL. */
void zd_wires_close(struct zd_wires *wires);
void zd_wires_free(struct zd_wires *wires); /* accepts NULL */

/** Whether to accept one more connection: beyond a limit, only as long as few others are being
 * refused. */
bool zd_wires_may_open(const struct zd_wires *wires, const struct sockaddr *address);

/** How much memory the library may need besides the bytes of a head, so that the guard's limits
 * hold. */
uint64_t zd_wires_memory_bytes(const struct zd_settings *settings);

#endif
