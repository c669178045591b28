/* Names the origin whose web pages may read an answer (Fetch, CORS protocol). */
#include "server/front/cors.h"

#include <string.h>

#include "server/http/origin.h"
#include "server/request/connection.h"
#include "server/request/dependence.h"
#include "server/request/request.h"
#include "server/runtime/server.h"

#define ORIGIN_LEN_MAX 512 /* of one that is echoed: a head has room for it */

/* Without a setting a server that only this machine reaches is read by pages of this machine, and
 * any other server by all pages. */
const char *zd_cors_origin_of_all(const struct zd_server *server)
{
    const char *origin = server->config->settings.http_cors_origin;
    if (origin[0] != '\0') {
        return origin;
    }
    return server->is_local ? NULL : "*";
}

const char *zd_cors_origin(const struct zd_request *req)
{
    const char *named = req->server->config->settings.http_cors_origins;
    const char *of_all = zd_cors_origin_of_all(req->server);
    const bool all_read = of_all != NULL && zd_request_is_reading(req) && strcmp(of_all, "*") == 0;
    if (all_read || (of_all != NULL && named[0] == '\0')) {
        return of_all;
    }
    zd_dependence_note(req, ZD_DEPENDENCE_ORIGIN);
    const char *origin = zd_connection_header(req, "Origin");
    const bool is_echoed =
        origin != NULL && strlen(origin) <= ORIGIN_LEN_MAX &&
        (zd_origin_is_listed(origin, named) || (of_all == NULL && zd_origin_is_loopback(origin)));
    return is_echoed ? origin : of_all;
}
