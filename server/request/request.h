/* One request: what was asked, the steps that answer it, and the answer. Thread: loop. */
#ifndef ZD_REQUEST_REQUEST_H
#define ZD_REQUEST_REQUEST_H

#include "server/data/catalog.h"
#include "server/data/multiscale.h"
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

struct MHD_Connection;
struct MHD_Response;
struct zd_handler;
struct zd_kept;
struct zd_parsing;
struct zd_request;
struct zd_route;

/** A step: goes on (ZD_NEXT: req->step runs next), waits (ZD_WAIT) or has answered in full
 * (ZD_DONE). */
typedef enum zd_next zd_step(struct zd_request *req);

#define ZD_REQUEST_ID_MAX 128
#define ZD_LIST_FIELDS    5 /* that are read as lists, whatever their lines */

/** An answer of server/front/reply_cache.h that a request is given. */
struct zd_reply_cache_want {
    struct zd_wait wait;  /* until the coded form is made */
    struct zd_kept *kept; /* a reference, or NULL */
    enum zd_coding coding;
};

struct zd_request {
    struct zd_server *server;
    struct MHD_Connection *connection; /* NULL once the client is gone */
    struct zd_list link; /* in the server's list of waiting requests, or of spare ones */
    const struct zd_handler *handler; /* NULL until the route is known */
    const struct zd_route *route;
    zd_step *step;             /* what runs next */
    struct zd_machine machine; /* runs the steps; the context of waits that wake the request */
    struct zd_gather gather;   /* several waits at once, asked for by one step */
    uint64_t turn_ns;          /* when the machine began to run; 0: it does not run */

    const char *method; /* as sent; borrowed from the connection */
    const char *target; /* raw, as sent: in target_text */
    struct zd_params params;
    struct zd_dataset *dataset; /* when the template has {d}: a reference */
    uint64_t n_changes;         /* of the dataset, when the request began */
    const char *path;    /* decoded {path} or {key}, without slashes at its ends; "" when empty: in
                            path_text */
    struct zd_buf *body; /* POST, PUT, PATCH; or NULL: there is none, or it comes as a stream */
    struct zd_conditions conditions; /* borrowed from the connection, and from list_text */
    const char *accept;              /* all lines as one list, or NULL; borrowed as they are */
    const char *accept_encoding;     /* the same */
    const char *content_encoding;    /* the same */

    /* The handler's own: made by its first step, freed with the request, whatever its end. */
    void *state;
    void (*state_free)(struct zd_request *req);

    /* of zd_request_want_node */
    struct zd_node_want node_want;
    struct zd_node *node; /* a reference, or NULL */
    zd_step *after_node;
    struct zd_parent_groups_want look; /* of zd_request_want_above */
    struct zd_multiscale scales;       /* of zd_request_want_scales */

    /* of server/request/body.h */
    struct zd_json *json;       /* the body, once it is parsed; owned, or NULL */
    struct zd_parsing *parsing; /* owned, or NULL */
    zd_step *after_body;
    uint64_t collect_max; /* bytes */

    struct zd_reply_cache_want kept_want; /* of server/front/reply_cache.h */

    /* the front's own */
    struct zd_text target_text; /* these keep their memory for the next request */
    struct zd_text path_text;
    struct zd_text body_text;
    struct zd_text list_text[ZD_LIST_FIELDS]; /* of fields that came in several lines */
    const char *sent_id;                      /* X-Request-Id as sent, or NULL */
    struct MHD_Response *answer; /* NULL: not answered yet, or given to the connection */
    char *answer_id;             /* where a shared answer has its X-Request-Id, or NULL */
    struct zd_stream stream;     /* the answer's body, when it is sent while it is made */
    struct zd_upload upload;     /* the request's body, when it is taken while it comes */
    uint64_t deadline_ms;        /* loop time; valid while the connection sleeps */
    uint64_t began_ns;

    /* for the log; http_status 0: not answered */
    const char *problem_code; /* or NULL */
    uint64_t body_bytes;
    unsigned http_status;
    uint32_t route_number; /* for metrics: 0 = none */

    struct zd_ticket ticket; /* see zd_admit_want */
    struct zd_list turn;     /* in the list of those whose next step others go before */
    bool is_head;
    bool path_ends_in_slash;        /* as sent */
    bool is_suspended;              /* the connection sleeps until zd_request_go_on */
    bool has_left;                  /* the client is gone: nothing is sent any more */
    bool was_cut;                   /* the body ended too early */
    int fd;                         /* of the connection; valid while it sleeps */
    bool has_begun;                 /* the head was seen */
    bool has_started;               /* the steps run */
    bool answer_is_borrowed;        /* of the kept ones; else it goes with the request */
    char id[ZD_REQUEST_ID_MAX + 1]; /* X-Request-Id */
};

/** Set the machine and the gather up. */
void zd_request_init(struct zd_request *req, struct zd_server *server);

/** Run steps until one waits or has answered. After TURN_NS of them other requests have their turn:
 * the next step runs when the loop has turned. */
static inline void zd_request_go_on(struct zd_request *req)
{
    zd_machine_go_on(&req->machine);
}

/** The step of routes with {d} and {path} that need the node: sets state via `next` when the node
 * is there. Answers 404 node_not_found and store problems itself. The node is released with the
 * request. */
enum zd_next zd_request_want_node(struct zd_request *req, zd_step *next);

struct zd_node *zd_request_node(
    const struct zd_request *req); /* after zd_request_want_node; borrowed */

/** Before `next`: what the groups above the request's node say of it. */
enum zd_next zd_request_want_above(struct zd_request *req, zd_step *next);
struct zd_listing zd_request_listing(const struct zd_request *req); /* after that */

/** Before `next`: the levels of the request's node, which is a group that has some: req->scales. */
enum zd_next zd_request_want_scales(struct zd_request *req, zd_step *next);

/** Put another node in the place of the request's own; takes a reference. */
void zd_request_set_node(struct zd_request *req, struct zd_node *node);

/** Whether it is GET or HEAD. */
bool zd_request_is_reading(const struct zd_request *req);

/**
 * What the conditional headers say (RFC 9110, 13), before any work: ZD_OK go on; ZD_NOT_MODIFIED
 * answer 304; ZD_PRECONDITION answer 412. etag quoted or "", mtime_ms 0 = unknown.
 */
enum zd_status zd_request_condition(
    const struct zd_request *req, const char *etag, int64_t mtime_ms);

/** Whether a request that writes sets a condition. */
bool zd_request_is_conditional(const struct zd_request *req);

/** A Range header of a GET resolved against a length (RFC 9110, 14). */
enum zd_range_answer zd_request_range(const struct zd_request *req, uint64_t length,
    const char *etag, int64_t mtime_ms, uint64_t *ret_first, uint64_t *ret_len);

/** Whether the client wants indented JSON. */
bool zd_request_is_pretty(const struct zd_request *req);

/** Cache-Control for data of the request's dataset. */
const char *zd_request_cache_control(const struct zd_request *req);

#endif
