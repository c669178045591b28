/* Names the origin whose web pages may read an answer (Fetch, CORS protocol). Thread: loop. */
#ifndef ZD_FRONT_CORS_H
#define ZD_FRONT_CORS_H

struct zd_request;
struct zd_server;

/**
 * The value of Access-Control-Allow-Origin of an answer. It is the origin of the asking page where
 * that page may do more than others: write, or read a server on loopback addresses.
 *
 * @return borrowed until the request ends; NULL: the answer has no such header
 */
const char *zd_cors_origin(const struct zd_request *req);

/** The same of an answer to no known request. @return borrowed from the settings, or NULL */
const char *zd_cors_origin_of_all(const struct zd_server *server);

#endif
