/* Prepared answers, by target: a hot one costs no step and builds nothing. Thread: loop. */
#ifndef ZD_SERVER_KEPT_H
#define ZD_SERVER_KEPT_H

#include "server/http.h"

/** Sets http->kept up. */
void zd_kept_init(struct zd_http *http, size_t bytes_max);
void zd_kept_done(struct zd_http *http);

/**
 * Answer a GET or HEAD from what was kept under its target: sets req->answer and http_status.
 * @return false: nothing fit is kept, the steps must run
 */
bool zd_kept_answer(struct zd_request *req);

/** Whether an answer to this request may be kept until then (loop time). */
bool zd_kept_may(const struct zd_request *req, uint64_t keep_until_ms);

/**
 * Keep an answer under the request's target, in place of an older one; without memory, and when
 * the request brought its own X-Request-Id, nothing is kept.
 *
 * @param rep      what the response shows; its body is shared
 * @param response whole, with every header; taken over, whatever happens
 */
void zd_kept_put(
    struct zd_request *req, const struct zd_representation *rep, struct MHD_Response *response);

/** The same for a problem: its document is kept without the request's id. */
void zd_kept_put_problem(
    struct zd_request *req, const struct zd_problem *problem, const struct zd_text *document);

#endif
