/* Headers of a request that its answer depends on. */
#include "server/request/dependence.h"

#include <assert.h>

#include "core/base/num.h"
#include "server/request/request.h"

static const char *const names[ZD_DEPENDENCE_N] = {
    "Accept",
    "Accept-Encoding",
    "Access-Control-Request-Headers",
    "Access-Control-Request-Private-Network",
    "Authorization",
    "Forwarded",
    "Host",
    "Origin",
    "X-Forwarded-Host",
    "X-Forwarded-Prefix",
};

void zd_dependence_note(const struct zd_request *req, uint32_t headers)
{
    /* Readers of a request change nothing in it but this note. */
    uint32_t *noted = (uint32_t *)(uintptr_t)&req->own.depends_on;
    assert(!req->is_answered || (*noted & headers) == headers);
    *noted |= headers;
}

uint32_t zd_dependence_of(const struct zd_request *req)
{
    return req->own.depends_on;
}

const char *zd_dependence_name(uint32_t i)
{
    assert(i < ZD_COUNT_OF(names));
    return names[i];
}

const char *zd_dependence_accept(const struct zd_request *req)
{
    zd_dependence_note(req, ZD_DEPENDENCE_ACCEPT);
    return req->sent_accept;
}

const char *zd_dependence_accept_encoding(const struct zd_request *req)
{
    zd_dependence_note(req, ZD_DEPENDENCE_ACCEPT_ENCODING);
    return req->sent_accept_encoding;
}
