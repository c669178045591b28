/* Range headers: lines Range, If-Range and ETag, then eight bytes of length. What is
 * answered lies inside the length, and is what a header of those very bytes asks for. */
#include <inttypes.h>
#include <string.h>

#include "server/http/conditions.h"
#include "core/base/text.h"
#include "tests/fuzz/input.h"

#define HEADER_BYTES_MAX 64

static void check_part(uint64_t length, uint64_t first, uint64_t len)
{
    uint64_t first_again = 0;
    uint64_t len_again = 0;
    zd_fuzz_insist(len >= 1 && len <= length && first <= length - len);
    ZD_SCOPED_TEXT(header, HEADER_BYTES_MAX);
    zd_text_addf(&header, "bytes=%" PRIu64 "-%" PRIu64, first, first + len - 1);
    const struct zd_conditions conditions = {.range = header.at};
    zd_fuzz_insist(
        zd_conditions_range(&conditions, length, "", &first_again, &len_again) == ZD_RANGE_PART);
    zd_fuzz_insist(first_again == first && len_again == len);
}

/* Only one range that begins at or after the end, or the last zero bytes, is outside. */
static void check_outside(const char *range, uint64_t length)
{
    const bool is_suffix = strncmp(range + 6 + strspn(range + 6, " \t"), "-", 1) == 0;
    zd_fuzz_insist(strchr(range, ',') == NULL);
    zd_fuzz_insist(!is_suffix || length == 0 || strpbrk(range, "123456789") == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct zd_span input = {.ptr = data, .len = len};
    ZD_AUTO_TEXT range = zd_fuzz_line(&input);
    ZD_AUTO_TEXT if_range = zd_fuzz_line(&input);
    ZD_AUTO_TEXT etag = zd_fuzz_line(&input);
    const uint64_t length = zd_fuzz_u64(&input);
    uint64_t first = 0;
    uint64_t n = 0;
    const struct zd_conditions conditions = {
        .range = range, .if_range = if_range[0] == '\0' ? NULL : if_range};
    switch (zd_conditions_range(&conditions, length, etag, &first, &n)) {
    case ZD_RANGE_PART:
        check_part(length, first, n);
        break;
    case ZD_RANGE_OUTSIDE:
        check_outside(range, length);
        break;
    case ZD_RANGE_NONE:
        zd_fuzz_insist(first == 0 && n == 0);
        break;
    }
    return 0;
}
