/* One finished request, as the log and the metrics take it. */
#ifndef ZD_RUNTIME_ACCESS_H
#define ZD_RUNTIME_ACCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/** Everything borrowed during the call that takes it. */
struct zd_access {
    const char *method;            /* as sent */
    const char *target;            /* as sent */
    const char *id;                /* X-Request-Id */
    const struct sockaddr *client; /* logged when was_refused; NULL: unknown */
    const char *identity;          /* NULL: anonymous */
    unsigned http_status;
    uint32_t route_number; /* of zd_route_of; 0: none */
    uint64_t body_bytes;   /* of the answer's body */
    uint64_t duration_ns;
    const char *problem_code; /* or NULL */
    const char *reason;       /* of the problem: its detail; or NULL */
    bool was_refused;         /* by the guard */
    bool was_cut;             /* the answer's body ended too early */
};

#endif
