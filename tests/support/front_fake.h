/* A front without sockets: requests are given to the steps, and tests look at the answers.
 *
 * A test that includes this file is linked with it in place of server/front/. Open a server with
 * zd_test_serve_open (tests/support/serve.h): it listens nowhere. */
#ifndef ZD_TESTS_SUPPORT_FRONT_FAKE_H
#define ZD_TESTS_SUPPORT_FRONT_FAKE_H

#include "server/request/request.h"
#include "server/request/respond.h"
#include "tests/support/serve.h"

#define ZD_FAKE_TEXT_BYTES (1U << 20)

/** A request and its answer. */
struct zd_fake_exchange {
    struct zd_request request;
    struct zd_text path;
    struct zd_list turn;
    /* what the client sends; set before zd_fake_start; borrowed */
    const struct zd_header *header; /* n_headers of them */
    size_t n_headers;
    struct zd_span body;
    size_t piece_bytes;   /* of a body that is taken while it comes: so many at once; 0 = all */
    bool body_is_chunked; /* no Content-Length */
    /* the answer */
    bool is_done;           /* the steps have answered in full */
    bool is_cut;            /* the streamed body ended too early */
    unsigned http_status;   /* 0: none yet */
    char code[64];          /* of a problem, or "" */
    struct zd_text reason;  /* the problem's detail */
    struct zd_text headers; /* "Name: value" and a line break, for each */
    struct zd_text answer;  /* the body */
    size_t n_sent;          /* bytes of the request's body */
    uint64_t room_bytes;    /* of a streamed answer the client reads no more than this; 0 = all */
};

/** A request that was not begun. @param method, target borrowed */
void zd_fake_init(struct zd_fake_exchange *exchange, const struct zd_test_serve *serve,
    const char *method, const char *target);

/** Run the first steps. */
void zd_fake_start(struct zd_fake_exchange *exchange);

/** Send the body, and turn the loop until the request is answered. */
void zd_fake_finish(struct zd_fake_exchange *exchange);

/** Both. */
void zd_fake_run(struct zd_fake_exchange *exchange);

/** Send a piece of the body, run a turn, or turn the loop once. */
void zd_fake_turn(struct zd_fake_exchange *exchange);

/** The client hangs up: nothing is waited for any more. */
void zd_fake_hang_up(struct zd_fake_exchange *exchange);

/** The request ends, and its answer is forgotten. */
void zd_fake_done(struct zd_fake_exchange *exchange);

/** A GET, run to its end. @param header one that the client sends, or NULL; borrowed */
void zd_fake_get(struct zd_fake_exchange *exchange, const struct zd_test_serve *serve,
    const char *target, const struct zd_header *header);

/** A PUT that must succeed. @param media_type of the body */
void zd_fake_put(const struct zd_test_serve *serve, const char *target, const char *media_type,
    struct zd_span body);

/** Copy the answer's entity tag; fails the test when it has none. */
void zd_fake_etag(const struct zd_fake_exchange *exchange, char to[ZD_TAG_BYTES]);

/** Whether the answer has a header with that value. */
bool zd_fake_has(const struct zd_fake_exchange *exchange, const char *name, const char *value);

#endif
