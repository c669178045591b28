/* Heads of npy files: a line that names a data type, then the body. Who brings as many bytes as are
 * asked for is told what the whole body says. */
#include <string.h>

#include "server/format/format.h"
#include "tests/fuzz/input.h"

extern const struct zd_format zd_format_npy;

static void check_head(const struct zd_body_head *head, size_t len)
{
    zd_fuzz_insist(head->bytes == len && len <= ZD_BODY_HEAD_MAX);
    zd_fuzz_insist(head->has_shape && head->rank <= ZD_RANK_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct zd_span body = {.ptr = data, .len = len};
    ZD_AUTO_TEXT name = zd_fuzz_line(&body);
    struct zd_dtype dtype;
    struct zd_body_head whole = {0};
    struct zd_body_head head = {0};
    struct zd_error err = {0};
    if (zd_fuzz_dtype(name, &dtype) != ZD_OK) {
        return 0;
    }
    const enum zd_status verdict = zd_format_npy.read_head(&dtype, body, &whole, &err);
    zd_fuzz_insist(verdict != ZD_INVALID || err.text[0] != '\0');
    struct zd_span begin = {.ptr = body.ptr};
    enum zd_status status = zd_format_npy.read_head(&dtype, begin, &head, NULL);
    while (status == ZD_AGAIN && head.bytes <= body.len) {
        zd_fuzz_insist(head.bytes > begin.len && head.bytes <= ZD_BODY_HEAD_MAX);
        begin.len = head.bytes;
        status = zd_format_npy.read_head(&dtype, begin, &head, NULL);
    }
    zd_fuzz_insist(status == verdict || (status == ZD_AGAIN && verdict == ZD_INVALID));
    if (status == ZD_OK) {
        check_head(&head, begin.len);
        zd_fuzz_insist(memcmp(&head, &whole, sizeof head) == 0);
    }
    return 0;
}
