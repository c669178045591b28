/* Answers that libmicrohttpd never sees, as bytes: to what the guard refuses, and before a body is
 * read. Thread: loop. */
#ifndef ZD_FRONT_REFUSAL_H
#define ZD_FRONT_REFUSAL_H

#include "server/front/front.h"

/** What the guard refuses. Everything borrowed. */
struct zd_refusal {
    const char *code; /* of server/http/problem.h */
    const char *detail;
    uint64_t limit; /* that was exceeded; 0: none */
    bool is_head;   /* the answer has no body */
    /* for the log; "-" where it is not known */
    const char *method;
    const char *target; /* as sent, or the beginning of it */
    const char *client;
    uint64_t duration_ns; /* since its first byte; 0: it came at once */
};

/** Add the whole answer, from its status line on, and count and log it. The connection ends with
 * it. */
void zd_refusal_add(struct zd_server *server, const struct zd_refusal *refusal, struct zd_text *to);

/** Add the whole answer of an exchange, which is a problem. The connection ends with it. */
void zd_refusal_add_last(const struct zd_exchange *exchange, struct zd_text *to);

#endif
