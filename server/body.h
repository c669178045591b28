/* Bodies of requests: whole ones, and JSON. Thread: loop. */
#ifndef ZD_SERVER_BODY_H
#define ZD_SERVER_BODY_H

#include "server/request.h"

/**
 * The JSON document in a request's body.
 *
 * @param ret_json owned
 * @param ret_code the problem code of a failure: unsupported_media_type, bad_body, too_large
 * @retval ZD_UNSUPPORTED the Content-Type is another one
 * @retval ZD_INVALID     there is no body, or it is not JSON
 */
ZD_RESULT zd_body_json(const struct zd_request *req, struct zd_json **ret_json,
    const char **ret_code, struct zd_error *err);

/** The same for a type of its own, such as that of a merge patch. */
ZD_RESULT zd_body_json_as(const struct zd_request *req, const char *media_type,
    struct zd_json **ret_json, const char **ret_code, struct zd_error *err);

/** Whether there is a body of that media type, as zd_body_json judges it: parameters of the type
 * are not looked at, and none at all is right. */
ZD_RESULT zd_body_check(const struct zd_request *req, const char *media_type, const char **ret_code,
    struct zd_error *err);

/** Whether a Content-Type names that media type, whatever its parameters. */
bool zd_body_is_type(const char *content_type, const char *media_type);

/**
 * Whether the body is all of what is to be written, as it is: it has no Content-Encoding (415) and
 * no Content-Range (400). False: the request is answered.
 */
bool zd_body_is_plain(struct zd_request *req);

/**
 * What to tell of a body that is JSON but not what it should be.
 *
 * @param pointer  the place at fault
 * @param expected what should stand there
 * @param found    what stands there, or NULL
 * @return ZD_INVALID
 */
ZD_RESULT zd_body_fault(
    struct zd_error *err, const char *pointer, const char *expected, const struct zd_json *found);

/**
 * Take all of a body that comes as a stream (streams_body): then `next` runs, with the bytes in
 * req->body, NULL when there are none. Memory for them is admitted before: it is
 * req->upload.length, or bytes_max when the length is not known. Answers 413 too_large itself.
 */
enum zd_next zd_body_collect(struct zd_request *req, uint64_t bytes_max, zd_step *next);

/** Answers such a failure, `allowed` media types included. */
enum zd_next zd_body_refuse(struct zd_request *req, const char *code, const struct zd_error *err);
enum zd_next zd_body_refuse_as(
    struct zd_request *req, const char *media_type, const char *code, const struct zd_error *err);

#endif
