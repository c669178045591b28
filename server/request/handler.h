/* Handlers: one file a resource; the build lists them. */
#ifndef ZD_REQUEST_HANDLER_H
#define ZD_REQUEST_HANDLER_H

#include "core/base/num.h"
#include "server/request/request.h"
#include "server/request/respond.h"

/** The `params` of a route. */
#define ZD_PARAMS(...) ((const char *const[]){__VA_ARGS__, NULL})

/** The permission that a route needs. */
enum zd_scope {
    ZD_SCOPE_UNSAID, /* no route has it */
    ZD_SCOPE_NONE,   /* nothing: everybody may ask */
    ZD_SCOPE_READ,
    ZD_SCOPE_WRITE, /* and the dataset must be writable, else 405 read_only */
    ZD_SCOPE_ADMIN, /* of the service, where access.protect_service says so; else as read */
};

/** A method of a resource. HEAD is served by GET; OPTIONS by the server. */
struct zd_route {
    const char *method; /* "GET", "POST", "PUT", "PATCH", "DELETE" */
    const char *path;   /* template: "/v1/datasets/{d}/nodes/{path}"; {path} may be empty, and its
                           slash too */
    zd_step *first;     /* the first step */
    const char *const *params;  /* allowed query parameters, ended by NULL ("pretty" is always
                                   allowed below /v1); NULL: ignored */
    const char *const *repeats; /* those of them that may be there several times, ended by NULL;
                                   NULL: none */
    enum zd_scope scope;
    bool reaches_below;       /* to all nodes below {path}, too */
    bool needs_node;          /* it runs when req->node is there (zd_request_want_node) */
    bool collapse_slashes;    /* runs of '/' in the last part count as one, instead of 400 */
    bool depends_on_identity; /* another client may get another answer */
    bool shows_times;         /* its answers say what they took (http.server_timing) */
    bool is_never_signed;     /* no URL is signed for it */
    bool streams_body;        /* the first step runs when the head is there, and asks for the body
                                 (server/request/body.h); else it has the whole body in req->body */
};

/** A resource. */
struct zd_handler {
    const struct zd_route *route;
    size_t n_routes;
};

/** All handlers, ended by NULL; generated from the files server/handler/handler_*.c. */
extern const struct zd_handler *const zd_handlers[];

#endif
