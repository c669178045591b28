/* Prepared answers, by target: a hot one costs no step and builds nothing. Thread: loop. */
#ifndef ZD_FRONT_REPLY_CACHE_H
#define ZD_FRONT_REPLY_CACHE_H

#include "server/front/front.h"
#include "server/request/respond.h"

/** Set front->prepared up; zd_cache_done is its end. */
void zd_reply_cache_init(struct zd_front *front, size_t bytes_max);

/**
 * Answer a GET or HEAD with the answer that is prepared for its target, and for its identity where
 * the route depends on it. Then the request is answered.
 *
 * @return false: the steps must run, from req->step on when it was set (the answer is there, but
 * not in the coding that the client wants), else from the handler's first step
 */
bool zd_reply_cache_answer(struct zd_request *req);

/**
 * Take over an answer of status 200 or 206 that is to be prepared, or compressed for this client,
 * or both: it goes under the request's target when it may be prepared, and req->step answers with
 * it.
 * @param rep with a body, which is shared
 * @return false: it is neither, or there is no memory: answer it as it is
 */
bool zd_reply_cache_take(struct zd_request *req, const struct zd_representation *rep);

/**
 * Take over a 304 that was not made: its head goes under the target, for further 304s, and
 * req->step answers with it.
 *
 * @return false: answer it as it is
 */
bool zd_reply_cache_take_head(struct zd_request *req, const struct zd_representation *rep);

/** Give up the prepared answer that the request wanted; at its end. */
void zd_reply_cache_release(struct zd_request *req);

/** Keep a problem until problem->keep_until_ms. @param document has the request's id in it */
void zd_reply_cache_put_problem(
    struct zd_request *req, const struct zd_problem *problem, const struct zd_text *document);

#endif
