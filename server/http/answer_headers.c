/* The headers of answers, from which Access-Control-Expose-Headers is made. */
#include "server/http/answer_headers.h"

#include <strings.h>

#include "core/base/num.h"

static const char *const exposed[] = {"ETag", "Content-Range", "Content-Length", "Content-Encoding",
    "Accept-Ranges", "Last-Modified", "Date", "Retry-After", "Server-Timing", "X-Request-Id",
    "Zarr-Shape", "Zarr-Dtype", "Zarr-Data-Type", "Zarr-Dimensions", "Zarr-Selection",
    "Zarr-Fill-Value", "Zarr-Chunks", "Zarr-Chunk", "Zarr-Codecs", "Zarr-Origin", "Zarr-Level",
    "Zarr-Warning"};

/* Scripts may read some of these anyway (Cache-Control, Content-Type), and need none. */
static const char *const others[] = {"Access-Control-Allow-Headers", "Access-Control-Allow-Methods",
    "Access-Control-Allow-Origin", "Access-Control-Allow-Private-Network",
    "Access-Control-Expose-Headers", "Access-Control-Max-Age", "Allow", "Cache-Control",
    "Connection", "Content-Type", "Location", "Vary", "X-Accel-Buffering",
    "X-Content-Type-Options"};

static bool has(const char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcasecmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

bool zd_answer_headers_have(const char *name)
{
    return has(exposed, ZD_COUNT_OF(exposed), name) || has(others, ZD_COUNT_OF(others), name);
}

void zd_answer_headers_add_exposed(struct zd_text *text)
{
    for (size_t i = 0; i < ZD_COUNT_OF(exposed); i++) {
        zd_text_add(text, i == 0 ? "" : ", ");
        zd_text_add(text, exposed[i]);
    }
}
