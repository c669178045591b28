/* Answers of requests: handlers call these functions in their last step. server/front/reply.c
 * defines the functions that make responses, and respond.c the rest. Thread: loop. */
#ifndef ZD_REQUEST_RESPOND_H
#define ZD_REQUEST_RESPOND_H

#include "server/data/tag.h"
#include "server/http/embedded.h"
#include "server/http/problem.h"
#include "server/http/suggest.h"
#include "server/runtime/wait.h"

struct zd_request;

/** A header of an answer. */
struct zd_header {
    const char *name;
    const char *value;
};

#define ZD_ANSWER_HEADERS_MAX 16

/** Bytes of an open file as a body. */
struct zd_file_part {
    int fd; /* taken over by the answer: -1 stays behind */
    uint64_t first;
    uint64_t len;
};

/** A representation to answer with. Zeroed members take their defaults. */
struct zd_representation {
    unsigned http_status; /* 0 = 200 */
    const char *media_type;
    struct zd_buf *body; /* borrowed (a reference is taken); NULL: no body, or `length` says its
                            size for HEAD */
    struct zd_file_part *file; /* in place of a body: sent from the page cache; or NULL */
    bool length_is_known;      /* without body: Content-Length of the whole is `length` */
    uint64_t length;
    char etag[ZD_TAG_BYTES]; /* quoted; "" = none */
    int64_t mtime_ms;        /* Last-Modified; 0 = none */
    bool may_code;           /* compressed for clients that accept it, as JSON below /v1 is */
    bool accepts_ranges;     /* Accept-Ranges: bytes, and Range is obeyed */
    bool body_is_range;      /* the body is range_first .. of length: answer 206 with it */
    uint64_t range_first;
    uint64_t range_len;                             /* of a body that is a range and streamed */
    struct zd_header header[ZD_ANSWER_HEADERS_MAX]; /* further ones; values are copied */
    uint32_t n_headers;
    /* Keep the prepared answer under this request's target until then (loop time): the next one
     * costs no step; after it an equal tag saves making it. 0 = do not. Only for answers to GET and
     * HEAD that depend on no request header but the conditions, Range, and an Accept that refuses
     * the media type. */
    uint64_t keep_until_ms;
};

/**
 * Judge the conditions for an answer whose body is not made. Its coding is not known, so either tag
 * counts. With ZD_NOT_MODIFIED its tag becomes the client's.
 */
enum zd_status zd_respond_condition(
    const struct zd_request *req, struct zd_representation *representation);

/** Answers; each is called once, by a step that returns what it returns: ZD_DONE, or ZD_NEXT when
 * the answer takes steps of its own. They evaluate conditions and ranges against
 * the representation. */
enum zd_next zd_respond(struct zd_request *req, const struct zd_representation *representation);
/** A change is made, and its client may not read: the answer has the path of the node, and nothing
 * of what is stored. @param http_status 200 or 201 */
enum zd_next zd_respond_blind(struct zd_request *req, unsigned http_status);
/** A body that is being streamed is cut, and the problem is logged: with all facts, whoever may not
 * have them in the answer. */
enum zd_next zd_respond_problem(struct zd_request *req, const struct zd_problem *problem);
/** A problem of that code with the error's text and facts; code NULL, or a status that blames the
 * server: by the error's status. */
enum zd_next zd_respond_error(struct zd_request *req, const char *code, const struct zd_error *err);
/** The same, and names that may have been meant instead: `suggestions`. */
enum zd_next zd_respond_suggestions(struct zd_request *req, const char *code,
    const struct zd_error *err, const struct zd_suggest *nearest);
/** The node's metadata is invalid or not supported. @param err of a change that failed for it; or
 * NULL */
enum zd_next zd_respond_faults(
    struct zd_request *req, const struct zd_faults *faults, const struct zd_error *err);
/** 503: there is no memory for that. */
enum zd_next zd_respond_no_memory(struct zd_request *req, const char *what);
/**
 * Answer with a body that the steps give piece by piece (server/request/stream.h), whose window
 * they have set up; conditions and ranges were evaluated by the handler. The head goes out at once.
 *
 * @param representation without body; length, or range_len of a range, is known or
 * length_is_known is false
 * @return ZD_NEXT: give the body; ZD_DONE: answered otherwise, for want of memory
 */
enum zd_next zd_respond_stream(
    struct zd_request *req, const struct zd_representation *representation);
/** 304 with the given validators; 416 for a length. */
enum zd_next zd_respond_not_modified(
    struct zd_request *req, const struct zd_representation *representation);
enum zd_next zd_respond_range_outside(struct zd_request *req, uint64_t length);
/** JSON made with zd_emit: takes the text's bytes; a failed text answers too_large or internal. A
 * representation without a tag gets one of its bytes. */
enum zd_next zd_respond_text(
    struct zd_request *req, const struct zd_text *json, struct zd_representation *representation);
/** A file that the program carries, which cannot change while the process lives. @param
 * representation all but body, tag and keep_until_ms */
enum zd_next zd_respond_embedded(struct zd_request *req, const struct zd_embedded *file,
    struct zd_representation *representation);
enum zd_next zd_respond_redirect(
    struct zd_request *req, unsigned http_status, const char *location);

/**
 * 204 to OPTIONS.
 * @param allow   what the resource takes, for Allow
 * @param methods of them, those that the asking page may use: Access-Control-Allow-Methods
 */
enum zd_next zd_respond_options(struct zd_request *req, const char *allow, const char *methods);

/** 412; the problem names the current tag. @param etag quoted, or "" */
enum zd_next zd_respond_precondition(struct zd_request *req, const char *etag);

/**
 * Before a body is made: when an answer with the representation's tag is prepared, it stays
 * prepared until keep_until_ms, and req->step answers with it.
 * @return false: make the body
 */
bool zd_respond_renewed(struct zd_request *req, const struct zd_representation *representation);

#endif
