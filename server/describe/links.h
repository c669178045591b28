/* Documents of links: where a program begins. Thread: loop. */
#ifndef ZD_DESCRIBE_LINKS_H
#define ZD_DESCRIBE_LINKS_H

#include "server/request/request.h"
#include "server/request/respond.h"

/** Answer with the links of the start page. The same path may answer with a page. */
enum zd_next zd_links_respond_start(struct zd_request *req);

/** Answer with the links of /v1. */
enum zd_next zd_links_respond_api(struct zd_request *req);

#endif
