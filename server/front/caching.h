/* Tells caches whether they may keep an answer, and for which clients: the headers Cache-Control
 * and Vary of every answer. Thread: loop. */
#ifndef ZD_FRONT_CACHING_H
#define ZD_FRONT_CACHING_H

struct MHD_Response;
struct zd_request;
struct zd_representation;

/** Add both headers to an answer that says itself how it is kept. They are the last ones to add:
 * Vary names all that the answer depends on. @param control of Cache-Control, for an answer that
 * everybody may get */
void zd_caching_add(
    const struct zd_request *req, const char *control, struct MHD_Response *response);

/** The same for a representation: by its own Cache-Control, its route, or its dataset. */
void zd_caching_add_of(const struct zd_request *req, const struct zd_representation *rep,
    struct MHD_Response *response);

#endif
