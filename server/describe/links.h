/* Documents that lead to others. Thread: loop. */
#ifndef ZD_DESCRIBE_LINKS_H
#define ZD_DESCRIBE_LINKS_H

#include "server/request/request.h"
#include "server/request/respond.h"

struct zd_link {
    const char *name;
    const char *target;
};

/** Answer with {"name", "version", "links": {name: target, ...}}. @param representation without
 * body */
enum zd_next zd_links_respond(struct zd_request *req, const struct zd_link *link, size_t n_links,
    struct zd_representation *representation);

#endif
