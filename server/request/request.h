/* A request: its head, the steps that answer it, and the answer. Thread: loop. */
#ifndef ZD_REQUEST_REQUEST_H
#define ZD_REQUEST_REQUEST_H

#include "server/config/networks.h"
#include "server/data/catalog.h"
#include "server/data/parent_groups.h"
#include "server/data/tag.h"
#include "server/http/compress.h"
#include "server/http/conditions.h"
#include "server/http/params.h"
#include "server/http/problem.h"
#include "server/request/admission.h"
#include "server/request/stream.h"
#include "server/request/upload.h"
#include "server/runtime/gather.h"
#include "server/runtime/machine.h"
#include "server/runtime/times.h"
#include "server/runtime/trace.h"

struct zd_identity;
struct zd_suggest_nodes;
struct zd_node_lock;
struct zd_parsing;
struct zd_request;
struct zd_route;

/** A step: goes on (ZD_NEXT: req->step runs next), waits (ZD_WAIT) or has answered in full
 * (ZD_DONE). */
typedef enum zd_next zd_step(struct zd_request *req);

/** Members for server/request/ alone. */
struct zd_request_own {
    uint64_t turn_ns; /* when the machine began to run; 0: it does not run */
    zd_step *next;    /* once the node or the body is there */
    size_t n_looked;  /* datasets, of zd_request_want_datasets */
    uint64_t collect_bytes_max;
    bool is_rated;    /* of server/request/rates.c: it pays for what it takes */
    bool is_audited;  /* of server/request/access/audit.c: a change that has begun */
    bool was_audited; /* all is recorded */
    char
        tag_before[ZD_TAG_BYTES]; /* of what is about to change; "": unknown, or nothing is there */
    char tag_after[ZD_TAG_BYTES]; /* of what was stored, where the answer does not say it; or "" */
    uint32_t depends_on;          /* of server/request/dependence.c */
    struct zd_parsing *parsing;   /* owned, or NULL */
    struct zd_suggest_nodes *near; /* owned, or NULL */
};

/** The client of a request (server/request/client.h). Zeroed: unknown. */
struct zd_client {
    struct zd_networks_ip ip; /* none: unknown, which is no address, and nobody's */
    const char *via; /* the first field that only proxies send, as sent; NULL: there is none.
                        Borrowed; set by the front before all else */
    char *host;      /* with or without a port, as a trusted proxy says in Forwarded that it was
                        asked; owned, or NULL: not said */
    char *x_host;    /* the same, in X-Forwarded-Host */
    char *prefix;    /* what stands before the paths that the client asks for: "/data"; owned, or
                        NULL: nothing */
    bool is_https;   /* the client asked its proxy so */
    bool is_local;   /* a program on this machine has connected itself, no proxy of one */
};

/** The view of a request for handlers. */
struct zd_request {
    struct zd_server *server;
    zd_step *step;             /* what runs next */
    struct zd_machine machine; /* runs the steps, and lets others have their turn between them */
    struct zd_gather gather;   /* several waits at once, asked for by one step */

    /* the head; borrowed from the front until the request has ended */
    const char *method;           /* as sent */
    const char *target;           /* as sent */
    const char *shown;            /* the same, as logs may have it: without secrets */
    const char *id;               /* X-Request-Id */
    struct zd_identity *identity; /* of zd_access_judge: a reference; NULL: anonymous */
    bool is_limited;              /* zd_permission_is_limited */
    const char *authorization;    /* the first header of that name and the scheme Bearer, or NULL */
    uint32_t n_authorizations; /* such headers; zd_access_judge ignores them where none is good */
    uint32_t n_url_tokens;     /* credentials that the target had; it has none any more */
    struct zd_span url_token;  /* the first of them */
    struct zd_client client;
    bool is_head;
    bool has_credential;      /* one was sent, valid or not: no shared cache keeps the answer */
    struct zd_span signature; /* of a signed URL: what was taken out of the target, or empty */
    struct zd_conditions conditions;
    /* All lines as one list, or NULL. Read the first two by server/request/dependence.h. */
    const char *sent_accept;
    const char *sent_accept_encoding;
    const char *content_encoding;

    /* of server/request/route.h */
    const struct zd_route *route; /* NULL until it is known */
    struct zd_span dataset_name;
    struct zd_text *path_text;  /* the decoded path; borrowed: it outlives the request */
    const char *path;           /* {path} or {key} in path_text, without slashes at its ends */
    uint32_t route_number;      /* for metrics; 0 = none */
    bool path_ends_in_slash;    /* as sent */
    struct zd_dataset *dataset; /* when the template has {d}: a reference */
    uint64_t n_changes;         /* of the dataset, when the request began */

    struct zd_buf *body; /* POST, PUT, PATCH; or NULL: there is none, or it comes as a stream */

    /* The handler's own, of zd_request_new_state: freed with the request, whatever its end. */
    void *state;
    void (*state_free)(struct zd_request *req);
    /* For a handler that writes: whether its change has begun to be stored, or is made. Such a
     * change is no longer withdrawn, and its answer waits for its end. NULL: it never is. */
    bool (*is_storing)(const struct zd_request *req);

    bool has_seen_store;  /* of a change: problems from now on may tell what is stored */
    struct zd_node *node; /* of zd_request_want_node: a reference, or NULL */
    struct zd_json *json; /* the body, once it is parsed; owned, or NULL */

    struct zd_stream stream; /* the answer's body, when it is sent while it is made */
    struct zd_upload upload; /* the request's body, when it is taken while it comes */
    struct zd_ticket ticket; /* see zd_admit_want */
    struct zd_times times;
    struct zd_trace *trace;  /* owned by the front; NULL: it is not traced */
    const char *traceparent; /* what stores are sent; borrowed; NULL: of no trace */
    bool is_answered;
    struct zd_request_own own;

    /* Large: zeroed once, and idle after each zd_request_end. */
    struct zd_params params;
    struct zd_parent_groups_want parent_groups; /* of zd_request_want_parent_groups */
    struct zd_node_want node_want;
    struct zd_wait wait; /* for a place, room in the stream or bytes of the body */
};

/** A request in memory that was zeroed, or in which one has ended. @param path_text cleared for
 * each path */
void zd_request_init(struct zd_request *req, struct zd_server *server, struct zd_text *path_text);

/**
 * Make the handler's state.
 *
 * @param leave when the request ends: releases what the state waits for, and frees it
 * @return zeroed; NULL: the request is answered, for want of memory
 */
void *zd_request_new_state(
    struct zd_request *req, size_t bytes, void (*leave)(struct zd_request *req));

/** Free the handler's state, before another handler takes the request over. */
void zd_request_drop_state(struct zd_request *req);

/** End the request's waits and free its state; it may still be answered. */
void zd_request_end_waits(struct zd_request *req);

/** Release all that the request holds; zd_request_init then begins the next one. */
void zd_request_end(struct zd_request *req);

/** A number for the client's address, as far as it counts for fairness: never 0. */
uint64_t zd_request_client(const struct zd_request *req);

/** Whether the client may write: pages of the origins that http.cors_origins names may, and clients
 * that are no pages. */
bool zd_request_may_write(const struct zd_request *req);

/** The step of routes with {d} and {path} that need the node: sets state via `next` when the node
 * is there. Answers 404 node_not_found and store problems itself. The node is released with the
 * request. */
enum zd_next zd_request_want_node(struct zd_request *req, zd_step *next);

/** Before `next`: what the groups above the request's node say of it. */
enum zd_next zd_request_want_parent_groups(struct zd_request *req, zd_step *next);
struct zd_listing zd_request_listing(const struct zd_request *req); /* after that */

/** Before `next`: the table has what is at the datasets' locations now (zd_dataset_look). */
enum zd_next zd_request_want_datasets(struct zd_request *req, zd_step *next);

/** Put another node in the place of the request's own; takes a reference. */
void zd_request_set_node(struct zd_request *req, struct zd_node *node);

/* Answer requests whose node cannot be worked on. Each returns ZD_DONE when it has answered. */

/** Its node is not an array (400 not_an_array) or must not be interpreted (422 with its faults). */
enum zd_next zd_request_check_array(struct zd_request *req);

/** A node is not a group (not_a_group with that detail) or must not be interpreted. */
enum zd_next zd_request_check_group(
    struct zd_request *req, const struct zd_meta *meta, const char *detail);

/** The same as for an array, for a request that writes chunks: also when the node's dialect is
 * read-only (405). */
enum zd_next zd_request_check_writable(struct zd_request *req);

/** Its node was not found (404 node_not_found), or could not be looked for. @param wait that of the
 * look-up */
enum zd_next zd_request_check_found(struct zd_request *req, const struct zd_wait *wait);

/** Its node was not found: 404 node_not_found with the nearest nodes.
 * @return what the step returns */
enum zd_next zd_request_refuse_missing(struct zd_request *req);

/** For writers of chunks that hold the lock of an array: all of the above. Then the node under the
 * lock is the request's own. */
enum zd_next zd_request_check_locked(struct zd_request *req, const struct zd_node_lock *lock);

/* The answer's body for steps that make it piece by piece. */

/**
 * Wait until a buffer of that size may be given.
 * @return what the step returns: with ZD_WAIT req->step runs again when there is room
 */
enum zd_next zd_request_want_room(struct zd_request *req, uint64_t bytes);

/** Before `next`: others have their turn, and what was given leaves. */
enum zd_next zd_request_want_turn(struct zd_request *req, zd_step *next);

/** Add len bytes to the end of the body; there is room. @param buf as in zd_stream_push */
void zd_request_give(struct zd_request *req, struct zd_buf *buf, size_t from, size_t len);

/** The body is whole. @return ZD_DONE, for the step to return */
enum zd_next zd_request_end_stream(struct zd_request *req);

/** The identity of a request whose answer is being streamed is over: so is the answer, cut unless
 * it may end anywhere. @return ZD_DONE */
enum zd_next zd_request_end_over(struct zd_request *req);

/** Whether it is GET or HEAD. */
bool zd_request_is_reading(const struct zd_request *req);

/**
 * Judge the conditional headers (RFC 9110, 13) before any work: ZD_OK go on; ZD_NOT_MODIFIED
 * answer 304; ZD_PRECONDITION answer 412. etag quoted or "", mtime_ms 0 = unknown.
 */
enum zd_status zd_request_condition(
    const struct zd_request *req, const char *etag, int64_t mtime_ms);

/** A Range header of a GET resolved against a length (RFC 9110, 14). */
enum zd_range_answer zd_request_range(const struct zd_request *req, uint64_t length,
    const char *etag, uint64_t *ret_first, uint64_t *ret_len);

/** Whether the client wants indented JSON. */
bool zd_request_is_pretty(const struct zd_request *req);

#endif
