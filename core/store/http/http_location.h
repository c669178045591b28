/* Where a store of HTTP is, and what is sent there with each request. Thread: any. */
#ifndef ZD_CORE_STORE_HTTP_HTTP_LOCATION_H
#define ZD_CORE_STORE_HTTP_HTTP_LOCATION_H

#include "core/base/own.h"
#include "core/base/status.h"
#include "core/base/text.h"

#define ZD_HTTP_LOCATION_BYTES_MAX 2048
#define ZD_HTTP_HEADERS_MAX        32 /* lines of a file of headers */

/** The headers of a file. All of them are secret. */
struct zd_http_headers {
    char *line[ZD_HTTP_HEADERS_MAX + 1]; /* n of them: "Name: value"; owned; ended by NULL */
    size_t n;
    char *query; /* "?a=b", added to each URL; owned; NULL = none */
};

/** Whether it begins with http:// or https://. */
bool zd_http_location_is_ours(const char *location);

/**
 * Check a location.
 *
 * @param ret_url the URL below which keys are, without a slash at its end; owned
 * @retval ZD_INVALID it has no host, or has a user, a query or a fragment, which may be secrets:
 * the error does not repeat them
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_http_location_parse(const char *location, char **ret_url, struct zd_error *err);

/** Add a key to the URL of a location or, with a slash at its end, a prefix; "" is the root. The
 * text's status says whether it had room. */
void zd_http_location_add_key(struct zd_text *url, const char *key);

/**
 * Read a file of headers: lines "Name: value", and perhaps one that begins with "?", which is a
 * query for each URL. Empty lines, and those that begin with '#', are passed over.
 *
 * @param ret_headers released with zd_http_location_free_headers
 * @retval ZD_INVALID it cannot be read, or says what it may not; the error repeats no line
 * @retval ZD_NO_MEMORY
 * May block.
 */
ZD_RESULT zd_http_location_read_headers(
    const char *path, struct zd_http_headers *ret_headers, struct zd_error *err);
void zd_http_location_free_headers(struct zd_http_headers *headers); /* accepts a zeroed one */

#endif
