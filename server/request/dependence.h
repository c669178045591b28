/* Headers of a request that its answer depends on. Whatever reads such a header notes it here, and
 * server/front/caching writes Vary from the notes. Thread: loop. */
#ifndef ZD_REQUEST_DEPENDENCE_H
#define ZD_REQUEST_DEPENDENCE_H

#include <stdint.h>

struct zd_request;

/** A bit for each header, in the order in which Vary names them. */
enum zd_dependence {
    ZD_DEPENDENCE_ACCEPT = 1U << 0,
    ZD_DEPENDENCE_ACCEPT_ENCODING = 1U << 1,
    ZD_DEPENDENCE_WANTED_HEADERS = 1U << 2, /* Access-Control-Request-Headers */
    ZD_DEPENDENCE_WANTED_NETWORK = 1U << 3, /* Access-Control-Request-Private-Network */
    ZD_DEPENDENCE_AUTHORIZATION = 1U << 4,
    ZD_DEPENDENCE_FORWARDED = 1U << 5,
    ZD_DEPENDENCE_HOST = 1U << 6,
    ZD_DEPENDENCE_ORIGIN = 1U << 7,
    ZD_DEPENDENCE_X_FORWARDED_HOST = 1U << 8,
    ZD_DEPENDENCE_X_FORWARDED_PREFIX = 1U << 9,
};

#define ZD_DEPENDENCE_N 10

/**
 * Note that the answer depends on headers, sent or not. Another client may send others: where a
 * setting decides whether a header counts, note it whoever asks. The answer's head is not made yet.
 *
 * @param headers of enum zd_dependence
 */
void zd_dependence_note(const struct zd_request *req, uint32_t headers);

/** All that were noted. */
uint32_t zd_dependence_of(const struct zd_request *req);

/** The name of the header of a bit. @param i below ZD_DEPENDENCE_N */
const char *zd_dependence_name(uint32_t i);

/** Read a header that the client chooses an answer by, and note it. @return all lines as one list,
 * or NULL */
const char *zd_dependence_accept(const struct zd_request *req);
const char *zd_dependence_accept_encoding(const struct zd_request *req);

#endif
