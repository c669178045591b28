/* GET /openapi.json: the description embedded in the program. */
#include "core/base/hash.h"
#include "server/request/handler.h"

/* Made from openapi/openapi.json by cmake/embed.cmake. */
extern const unsigned char zd_openapi[];
extern const size_t zd_openapi_len;

static enum zd_next step_get(struct zd_request *req)
{
    const struct zd_span text = {.ptr = zd_openapi, .len = zd_openapi_len};
    struct zd_representation document = {
        .media_type = "application/json",
        .accepts_ranges = true,
        .keep_until_ms = UINT64_MAX, /* it cannot change while the process lives */
    };
    zd_tag_format(document.etag, zd_hash_of(text, 0), "openapi");
    ZD_AUTO(zd_buf) body = zd_buf_copy(text);
    if (body == NULL) {
        return zd_respond_no_memory(req, "the answer; retry later");
    }
    document.body = body;
    return zd_respond(req, &document);
}

static const struct zd_route routes[] = {
    {.method = "GET", .path = "/openapi.json", .first = step_get, .scope = ZD_SCOPE_READ},
};

const struct zd_handler zd_handler_openapi = {.route = routes, .n_routes = ZD_COUNT_OF(routes)};
