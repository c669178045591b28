/* Bodies of requests: whole ones, JSON, and bodies that steps take while they come. Thread: loop.
 */
#ifndef ZD_REQUEST_BODY_H
#define ZD_REQUEST_BODY_H

#include "server/request/request.h"

#define ZD_BODY_JSON "application/json"

/**
 * Parse the request's body, here or on a worker when it is long; then `next` runs, with the
 * document in req->json. Answers what is no JSON itself: 415 unsupported_media_type of another
 * Content-Type, 400 bad_body, 413 too_large.
 *
 * @param media_type static: ZD_BODY_JSON, or a type of its own such as that of a merge patch
 */
enum zd_next zd_body_want_json(struct zd_request *req, const char *media_type, zd_step *next);

/**
 * Parse a text in the same way: req->step runs when it is done (ZD_WAIT), or may go on (ZD_NEXT)
 * with zd_body_take_parsed.
 *
 * @param text taken over while it is parsed: NULL until then; owned
 */
enum zd_next zd_body_parse(
    struct zd_request *req, uint8_t **text, size_t len, const struct zd_json_limits *limits);

/** Whether zd_body_parse was called, and is done. */
bool zd_body_is_parsed(const struct zd_request *req);

/** Take the outcome, once. @param ret_text the text; owned. @param ret_json owned */
ZD_RESULT zd_body_take_parsed(
    struct zd_request *req, uint8_t **ret_text, struct zd_json **ret_json, struct zd_error *err);

/** The request has ended. For the front. */
void zd_body_release(struct zd_request *req);

/** Whether there is a body of that media type, as zd_body_want_json judges it: parameters of the
 * type are not looked at, and none at all is right. */
ZD_RESULT zd_body_check(const struct zd_request *req, const char *media_type, const char **ret_code,
    struct zd_error *err);

/** Whether a Content-Type names that media type, whatever its parameters. */
bool zd_body_is_type(const char *content_type, const char *media_type);

/** Refuse a body that is not all of what is to be written, as it is: with a Content-Encoding (415)
 * or a Content-Range (400). */
enum zd_next zd_body_check_plain(struct zd_request *req);

/**
 * Report a fault in a body that is JSON.
 *
 * @param pointer  the place at fault
 * @param expected what should stand there
 * @param found    what stands there, or NULL
 * @return ZD_INVALID
 */
ZD_RESULT zd_body_fault(
    struct zd_error *err, const char *pointer, const char *expected, const struct zd_json *found);

/**
 * Whether a body is an object that has no members but those.
 * @param names    ended by NULL
 * @param expected what zd_body_fault says of another member
 * @retval ZD_INVALID
 */
ZD_RESULT zd_body_check_members(const struct zd_json *body, const char *const *names,
    const char *expected, struct zd_error *err);

/**
 * Take all of a body that comes as a stream (streams_body): then `next` runs, with the bytes in
 * req->body, NULL when there are none. Memory for them is admitted before: it is
 * req->upload.length, or bytes_max when the length is not known. Answers 413 too_large itself.
 */
enum zd_next zd_body_collect(struct zd_request *req, uint64_t bytes_max, zd_step *next);

/** Answers such a failure, `allowed` media types included. */
enum zd_next zd_body_refuse(
    struct zd_request *req, const char *media_type, const char *code, const struct zd_error *err);

/* A body that is taken while it comes. The first step of such a route (streams_body) runs when the
 * head is there: what can be judged by the head is answered before a byte is asked for, and a
 * client that waits for 100 (Continue) does not send its body for nothing. */

/**
 * Ask for the body: from now on it comes, and so does 100 (Continue). Memory for the window is
 * admitted before. Asked again, the window becomes as large.
 *
 * @param window_bytes >= 1: what may be held of it
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_body_stream_ask(struct zd_request *req, size_t window_bytes, struct zd_error *err);

/**
 * Wait until so many bytes are held, or the body has ended.
 * @param n_least >= 1, at most the window
 * @return what the step returns: with ZD_WAIT req->step runs again when they are
 */
enum zd_next zd_body_stream_want(struct zd_request *req, size_t n_least);

/** The next bytes of the body. @return how many; 0: none are held */
size_t zd_body_stream_take(struct zd_request *req, void *to, size_t len_max);

#endif
