/* Accept headers: the first byte picks a media type that we could offer, the rest is the header.
 * The first of several ranges that name a type alike decides. */
#include <string.h>

#include "core/base/num.h"
#include "core/base/text.h"
#include "server/http/accept.h"
#include "tests/fuzz/input.h"

#define HEADER_BYTES_MAX (1U << 16)

static const char *const offered[] = {
    "application/json", "text/csv", "application/octet-stream", "application/x-npy"};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct zd_span input = {.ptr = data, .len = len};
    const char *type = offered[zd_fuzz_byte(&input) % ZD_COUNT_OF(offered)];
    ZD_AUTO_TEXT accept = zd_fuzz_rest(&input);
    zd_fuzz_insist(zd_accept_quality(accept, type) <= ZD_ACCEPT_FULL);
    ZD_SCOPED_TEXT(header, HEADER_BYTES_MAX);
    if (zd_text_addf(&header, "%s;q=0.25, %s", type, accept) == ZD_OK) {
        zd_fuzz_insist(zd_accept_quality(header.at, type) == 250);
    }
    zd_text_clear(&header);
    if (zd_text_addf(&header, "*/*;q=0.001, %s", accept) == ZD_OK) {
        const uint32_t quality = zd_accept_quality(header.at, type);
        /* Only what is more specific than everything decides otherwise. */
        zd_fuzz_insist(quality == 1 || strchr(accept, '/') != NULL);
    }
    return 0;
}
