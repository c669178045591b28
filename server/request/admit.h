/* Requests before they take memory and work: admitted, made to wait, or refused. This module
 * answers requests; admission.h decides, and knows no request. Thread: loop. */
#ifndef ZD_REQUEST_ADMIT_H
#define ZD_REQUEST_ADMIT_H

#include <uv.h>

#include "server/request/admission.h"
#include "server/request/request.h"
#include "server/runtime/workers.h"

/** The admission of a server; server->admit points to it. */
struct zd_admit {
    struct zd_admission admission;
    uv_timer_t timer; /* the end of the oldest wait */
    uv_timer_t quiet; /* then free memory goes back to the system */
    uint64_t n_freed; /* bytes that large requests gave back since that was done */
    struct zd_job give_back;
    bool gives_back; /* a worker has the job */
};

/** Begin. @param n_workers threads that work @param bytes_max what requests may hold together */
void zd_admit_init(struct zd_server *server, uint32_t n_workers, uint64_t bytes_max);

/** Closes the timers; the requests are gone. */
void zd_admit_close(struct zd_server *server);

/**
 * Before the first read of what may be large: go on with `next` as soon as so many bytes may be
 * taken. A request asks once; if it asks again it goes on.
 *
 * @param bytes that it will hold at the same time: the body, or its window when it is streamed; the
 *              chunks in flight, encoded and decoded
 * @return what the step returns; ZD_DONE: refused with 503 `overloaded` and Retry-After, or with
 * 413 `too_large` when the server never has so many
 */
enum zd_next zd_admit_want(struct zd_request *req, uint64_t bytes, zd_step *next);

/**
 * The same for a writer that has learnt under a lock how much it takes. No lock is held while
 * a request waits for memory (server/write/lock.h): with ZD_WAIT, and with ZD_DONE, the caller
 * gives its locks back, and once the bytes are there it begins again, by what is there then. When
 * that takes more, the bytes that it has go back first.
 *
 * @param next  when it has as much, or is given it at once
 * @param again when it had to wait: locks, and asks again
 */
enum zd_next zd_admit_want_locked(
    struct zd_request *req, uint64_t bytes, zd_step *next, zd_step *again);

/** The most decoded or stored chunks, in bytes, that a request has in flight at once: `most`, or
 * less where memory is small. One chunk may be larger. */
uint64_t zd_admit_flight_bytes(const struct zd_request *req, uint64_t most);

/** The most that one request may have: what asks for more is refused. */
uint64_t zd_admit_bytes_max(const struct zd_request *req);

/** The bytes of a request with a streamed body. It may hold little, but for long, so it does not
 * count as small. */
uint64_t zd_admit_stream_bytes(const struct zd_request *req, uint64_t bytes);

/** The request is answered, or waits for its client to read: other requests may work. Called by
 * the front and zd_request_want_room. */
void zd_admit_answered(struct zd_request *req);

/** Release what the request holds and end its wait. Called by the front. */
void zd_admit_release(struct zd_request *req);

#endif
