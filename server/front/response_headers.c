/* Headers of answers: one table has all of their names. */
#include "server/front/response_headers.h"

#include <assert.h>
#include <microhttpd.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "core/base/hash.h"
#include "core/base/num.h"
#include "server/front/caching.h"
#include "server/front/cors.h"
#include "server/http/accept.h"
#include "server/http/conditions.h"
#include "server/http/html.h"
#include "server/request/dependence.h"
#include "server/request/handler.h"
#include "server/request/permission.h"
#include "server/runtime/server.h"

#define NUMBERS_BYTES 80 /* of a header that holds three of 64 bits */
#define TIMING_BYTES  256

/* ---- the table of all headers ---- */

/* Scripts of other origins may read these. */
static const char *const exposed[] = {"ETag", "Content-Range", "Content-Length", "Content-Encoding",
    "Accept-Ranges", "Last-Modified", "Date", "Retry-After", "RateLimit", "RateLimit-Policy",
    "Server-Timing", "X-Request-Id", "Zarr-Shape", "Zarr-Dtype", "Zarr-Data-Type",
    "Zarr-Dimensions", "Zarr-Selection", "Zarr-Fill-Value", "Zarr-Chunks", "Zarr-Chunk",
    "Zarr-Codecs", "Zarr-Origin", "Zarr-Level", "Zarr-Range", "Zarr-Units", "Zarr-Warning"};

/* Scripts may read some of these anyway (Cache-Control, Content-Type), and need none. */
static const char *const others[] = {"Access-Control-Allow-Headers", "Access-Control-Allow-Methods",
    "Access-Control-Allow-Origin", "Access-Control-Allow-Private-Network",
    "Access-Control-Expose-Headers", "Access-Control-Max-Age", "Allow", "Cache-Control",
    "Connection", "Content-Disposition", "Content-Security-Policy", "Content-Type",
    "Cross-Origin-Opener-Policy", "Location", "Referrer-Policy", "Timing-Allow-Origin", "Vary",
    "X-Accel-Buffering", "X-Content-Type-Options", "WWW-Authenticate"};

static bool names_have(const char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcasecmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

bool zd_response_has_row(const char *name)
{
    return names_have(exposed, ZD_COUNT_OF(exposed), name) ||
           names_have(others, ZD_COUNT_OF(others), name);
}

void zd_response_add_exposed(struct zd_text *text)
{
    for (size_t i = 0; i < ZD_COUNT_OF(exposed); i++) {
        zd_text_add(text, i == 0 ? "" : ", ");
        zd_text_add(text, exposed[i]);
    }
}

void zd_response_add(struct MHD_Response *response, const char *name, const char *value)
{
    assert(zd_response_has_row(name));
    (void)MHD_add_response_header(response, name, value);
}

/* ---- every answer ---- */

void zd_response_make_id(struct zd_front *front, char *to)
{
    const uint64_t n = front->n_ids++;
    const uint64_t id =
        zd_hash_of((struct zd_span){.ptr = (const uint8_t *)&n, .len = sizeof n}, front->id_seed);
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < ZD_FRONT_MADE_ID_LEN; i++) {
        to[i] = digits[id >> (4 * i) & 15];
    }
    to[ZD_FRONT_MADE_ID_LEN] = '\0';
}

void zd_response_give_common(const struct zd_server *server, const char *id, const char *origin,
    void (*give)(void *to, const char *name, const char *value), void *to)
{
    give(to, "X-Request-Id", id);
    if (origin != NULL) {
        give(to, "Access-Control-Allow-Origin", origin);
    }
    give(to, "Access-Control-Expose-Headers", server->front->exposed.at);
    give(to, "X-Content-Type-Options", "nosniff");
}

static void give_response(void *to, const char *name, const char *value)
{
    zd_response_add(to, name, value);
}

void zd_response_add_common(
    const struct zd_request *req, const char *id, struct MHD_Response *response)
{
    zd_response_give_common(req->server, id, zd_cors_origin(req), give_response, response);
    if (req->server->is_draining) {
        zd_response_add(response, "Connection", "close");
    }
}

static bool is_page(const char *media_type)
{
    return media_type != NULL && strcmp(media_type, ZD_HTML_TYPE) == 0;
}

/* Adds the headers of every page: no request from a page tells its URL, which may have a token.
 * @param has_policy the page has its own policy */
static void add_page_headers(bool has_policy, struct MHD_Response *response)
{
    zd_response_add(response, "Referrer-Policy", "no-referrer");
    if (!has_policy) {
        zd_response_add(response, "Content-Security-Policy", ZD_HTML_POLICY);
    }
}

void zd_response_add_problem(
    const struct zd_request *req, const char *id, const char *type, struct MHD_Response *response)
{
    zd_response_add_common(req, id, response);
    zd_response_add(response, "Content-Type", type);
    if (is_page(type)) {
        add_page_headers(false, response);
    }
    zd_dependence_note(req, ZD_DEPENDENCE_ACCEPT); /* people get its page */
    zd_caching_add(req, "no-cache", response);
}

/* ---- representations ---- */

static bool has_own(const struct zd_representation *rep, const char *name)
{
    for (uint32_t i = 0; i < rep->n_headers; i++) {
        if (strcasecmp(rep->header[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static void add_validators(struct MHD_Response *response, const char *etag, int64_t mtime_ms)
{
    if (etag[0] != '\0') {
        zd_response_add(response, "ETag", etag);
    }
    if (mtime_ms != 0) {
        char date[ZD_DATE_BYTES];
        /* RFC 9110, 8.8.2.1: never later than Date, whatever the clock of the store says. Not by
           time(), which is milliseconds behind the times of files. */
        struct timespec now;
        (void)clock_gettime(CLOCK_REALTIME, &now);
        const int64_t now_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
        zd_conditions_format_date(date, mtime_ms < now_ms ? mtime_ms : now_ms);
        zd_response_add(response, "Last-Modified", date);
    }
}

bool zd_response_may_code(const struct zd_request *req, const struct zd_representation *rep)
{
    const bool is_document =
        rep->media_type != NULL && strcmp(rep->media_type, "application/json") == 0 &&
        req->route != NULL && strncmp(req->route->path, "/v1", strlen("/v1")) == 0;
    return (rep->may_code || is_document) && !rep->accepts_ranges && !rep->body_is_range;
}

enum zd_coding zd_response_coding(
    const struct zd_request *req, const struct zd_representation *rep, uint64_t len)
{
    return zd_response_may_code(req, rep)
               ? zd_accept_coding(zd_dependence_accept_encoding(req), len)
               : ZD_PLAIN;
}

static void add_own(const struct zd_representation *rep, struct MHD_Response *response)
{
    for (uint32_t i = 0; i < rep->n_headers; i++) {
        const struct zd_header *header = &rep->header[i];
        if (strcasecmp(header->name, "Cache-Control") != 0) { /* of server/front/caching.c */
            zd_response_add(response, header->name, header->value);
        }
    }
}

/* Adds the times of the answer so far; a stream goes on. A kept answer has none: other clients get
 * it later. Browsers show the times to scripts of the origins that are named. */
static void add_times(const struct zd_request *req, const struct zd_representation *rep,
    struct MHD_Response *response)
{
    if (req->route == NULL || !req->route->shows_times || rep->keep_until_ms != 0 ||
        zd_permission_is_blind(req) || !req->server->config->settings.http_server_timing) {
        return;
    }
    const uint64_t *ns = req->times.ns;
    const uint64_t total_ns = uv_hrtime() - zd_front_exchange(req)->now.began_ns;
    char timing[TIMING_BYTES];
    const char *trace = req->trace == NULL ? NULL : req->traceparent;
    (void)snprintf(timing, sizeof timing,
        "queue;dur=%.3f, store;dur=%.3f, decode;dur=%.3f, total;dur=%.3f%s%s%s",
        (double)ns[ZD_TIME_QUEUE] / 1e6, (double)ns[ZD_TIME_STORE] / 1e6,
        (double)ns[ZD_TIME_DECODE] / 1e6, (double)total_ns / 1e6,
        trace == NULL ? "" : ", traceparent;desc=\"", trace == NULL ? "" : trace,
        trace == NULL ? "" : "\"");
    zd_response_add(response, "Server-Timing", timing);
    const char *origin = zd_cors_origin(req);
    if (origin != NULL) {
        zd_response_add(response, "Timing-Allow-Origin", origin);
    }
}

void zd_response_add_representation(const struct zd_request *req,
    const struct zd_representation *rep, const char *id, struct MHD_Response *response)
{
    zd_response_add_common(req, id, response);
    add_times(req, rep, response);
    add_validators(response, rep->etag, rep->mtime_ms);
    if (is_page(rep->media_type)) {
        add_page_headers(has_own(rep, "Content-Security-Policy"), response);
    }
    add_own(rep, response);
    if (zd_response_may_code(req, rep)) {
        /* The plain form names the header, too (RFC 9110, 12.5.5). */
        zd_dependence_note(req, ZD_DEPENDENCE_ACCEPT_ENCODING);
    }
    zd_caching_add_of(req, rep, response);
}

void zd_response_add_range(
    struct MHD_Response *response, uint64_t first, uint64_t len, uint64_t length)
{
    char range[NUMBERS_BYTES];
    (void)snprintf(range, sizeof range, "bytes %llu-%llu/%llu", (unsigned long long)first,
        (unsigned long long)(first + len - 1), (unsigned long long)length);
    zd_response_add(response, "Content-Range", range);
}

void zd_response_add_body(
    const struct zd_representation *rep, uint64_t len, struct MHD_Response *response)
{
    if (rep->media_type != NULL) {
        zd_response_add(response, "Content-Type", rep->media_type);
    }
    if (rep->accepts_ranges) {
        zd_response_add(response, "Accept-Ranges", "bytes");
    }
    if (rep->body_is_range && len > 0) {
        zd_response_add_range(response, rep->range_first, len, rep->length);
    }
}
