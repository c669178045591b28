/* Problem documents (RFC 9457): the one place that turns a status into HTTP. */
#ifndef ZD_HTTP_PROBLEM_H
#define ZD_HTTP_PROBLEM_H

#include "core/base/emit.h"
#include "core/base/fault.h"
#include "core/base/text.h"

/** A problem code with its HTTP status and title. */
struct zd_problem_kind {
    const char *code;
    unsigned http_status;
    const char *title;
};

/** Every kind, ended by code NULL. */
extern const struct zd_problem_kind zd_problem_kinds[];

/** Why a request is answered 503. */
enum zd_unavailable {
    ZD_UNAVAILABLE_BY_CODE,       /* what the code and the error's status say */
    ZD_UNAVAILABLE_QUEUE_FULL,    /* the admission queue is full */
    ZD_UNAVAILABLE_WAIT_EXPECTED, /* longer than a request may wait */
    ZD_UNAVAILABLE_WAIT_OVER,     /* it has waited for too long */
    ZD_UNAVAILABLE_BODIES,        /* the memory for request bodies is exhausted */
    ZD_UNAVAILABLE_CONNECTIONS,   /* there are as many as may be */
    ZD_UNAVAILABLE_READERS,       /* too many clients read events */
    ZD_UNAVAILABLE_DRAINING,      /* the server shuts down */
    ZD_UNAVAILABLE_NO_MEMORY,     /* an allocation has failed */
    ZD_UNAVAILABLE_STORE,         /* a store no longer takes writes */
    ZD_UNAVAILABLE_CONTENTION,    /* other clients changed the same thing again and again */
    ZD_UNAVAILABLE_PAUSED,        /* a store has failed and is left alone for a while */
    ZD_UNAVAILABLES,
};

/** A problem to answer with. Everything is borrowed. */
struct zd_problem {
    const char *code;               /* of the table */
    unsigned http_status;           /* 0 = the status of the code. corrupt_chunk: 422 for bytes
                                       that a client sent; store_error: 503 of /readyz, and of
                                       ZD_GONE without being said */
    const struct zd_error *err;     /* detail and facts, or NULL */
    const char *detail;             /* instead of err's text, or NULL */
    const struct zd_faults *faults; /* become `errors` and `names`, or NULL */
    const char *const *allowed;     /* ended by NULL, or NULL */
    const char *allow;              /* header Allow of a 405, or NULL */
    const struct zd_json *extra;    /* an object of further members ("suggestions" ...), or NULL */
    const char *rate_limit;         /* headers RateLimit and RateLimit-Policy of a 429, or NULL */
    const char *rate_limit_policy;
    uint32_t retry_after_s;          /* header Retry-After; 0 = none */
    enum zd_unavailable unavailable; /* of a 503 */
    uint64_t keep_until_ms; /* as in struct zd_representation, for problems that many clients meet
                               (an absent key); only without allow and retry_after_s */
};

const struct zd_problem_kind *zd_problem_kind(
    const char *code); /* the code is in the table (asserted) */

/** The kind of a problem, whose code may have another status. */
const struct zd_problem_kind *zd_problem_kind_of(const struct zd_problem *problem);

/** Why the answer is 503: never ZD_UNAVAILABLE_BY_CODE. */
enum zd_unavailable zd_problem_unavailable(const struct zd_problem *problem);

/** Its name in metrics: "queue_full". */
const char *zd_problem_unavailable_name(enum zd_unavailable why);

/** The same problem for a client that may not learn what is stored: the same code and status, and
 * no facts. */
struct zd_problem zd_problem_without_facts(const struct zd_problem *problem);

/** The text for the log: asides included (core/base/aside.h). */
const char *zd_problem_detail(const struct zd_problem *problem);

#define ZD_PROBLEM_DETAIL_BYTES 1024 /* of one with asides; a longer one is cut */

/** The document's member `detail`: the same without asides. @return `room`, or the detail itself */
const char *zd_problem_public_detail(
    const struct zd_problem *problem, char room[ZD_PROBLEM_DETAIL_BYTES]);

/** The default code for an error of the core: "bad_request" for ZD_INVALID, "store_error" for
 * ZD_STORE ... */
const char *zd_problem_code_of(enum zd_status status);

/** The code for a node with faults: "invalid_metadata", "unsupported_codec" ... */
const char *zd_problem_code_of_faults(const struct zd_faults *faults);

/** The member `names`: every unsupported name, once. */
void zd_problem_emit_names(const struct zd_faults *faults, struct zd_emit *emit);

/** The type of the document. */
#define ZD_PROBLEM_TYPE "application/problem+json"

/** Add the document. @param instance the request's id */
void zd_problem_add(const struct zd_problem *problem, const char *instance, struct zd_text *text);

/** The same, a member a line. */
void zd_problem_add_pretty(
    const struct zd_problem *problem, const char *instance, struct zd_text *text);

#endif
