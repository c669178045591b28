/* The headers of answers: one table, from which Access-Control-Expose-Headers is made. */
#include "server/http/answer_headers.h"

#include <strings.h>

#include "core/base/num.h"

/* Of the others, scripts may read some anyway (Cache-Control, Content-Type), and need none. */
static const struct {
    const char *name;
    bool is_exposed;
} headers[] = {
    {"ETag", true},
    {"Content-Range", true},
    {"Content-Length", true},
    {"Content-Encoding", true},
    {"Accept-Ranges", true},
    {"Last-Modified", true},
    {"Date", true},
    {"Retry-After", true},
    {"Server-Timing", true},
    {"X-Request-Id", true},
    {"Zarr-Shape", true},
    {"Zarr-Dtype", true},
    {"Zarr-Data-Type", true},
    {"Zarr-Dimensions", true},
    {"Zarr-Selection", true},
    {"Zarr-Fill-Value", true},
    {"Zarr-Chunks", true},
    {"Zarr-Chunk", true},
    {"Zarr-Codecs", true},
    {"Zarr-Origin", true},
    {"Zarr-Level", true},
    {"Zarr-Warning", true},
    {"Access-Control-Allow-Headers", false},
    {"Access-Control-Allow-Methods", false},
    {"Access-Control-Allow-Origin", false},
    {"Access-Control-Allow-Private-Network", false},
    {"Access-Control-Expose-Headers", false},
    {"Access-Control-Max-Age", false},
    {"Allow", false},
    {"Cache-Control", false},
    {"Connection", false},
    {"Content-Type", false},
    {"Location", false},
    {"Vary", false},
    {"X-Accel-Buffering", false},
    {"X-Content-Type-Options", false},
};

bool zd_answer_headers_have(const char *name)
{
    for (size_t i = 0; i < ZD_COUNT_OF(headers); i++) {
        if (strcasecmp(headers[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

void zd_answer_headers_add_exposed(struct zd_text *text)
{
    for (size_t i = 0; i < ZD_COUNT_OF(headers); i++) {
        if (headers[i].is_exposed) {
            zd_text_add(text, text->len == 0 ? "" : ", ");
            zd_text_add(text, headers[i].name);
        }
    }
}
