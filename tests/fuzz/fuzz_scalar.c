/* Fill values: a line that names a data type (by its name, or NumPy's), then JSON. What was
 * understood is an element whose normal spelling means the same, and which every answer can spell.
 */
#include <string.h>

#include "core/base/json_nonfinite.h"
#include "core/base/num.h"
#include "core/grid/scalar.h"
#include "tests/fuzz/input.h"

#define TEXT_BYTES_MAX (1U << 18)

static const struct zd_json_limits limits = {
    .bytes_max = TEXT_BYTES_MAX, .nodes_max = 100, .depth_max = 8, .nonfinite = true};

static void check_normal(const struct zd_dtype *dtype, const uint8_t *bytes)
{
    static uint8_t again[ZD_DTYPE_BYTES_MAX];
    bool noted = false;
    ZD_AUTO(zd_json) normal = zd_scalar_json(dtype, bytes);
    zd_fuzz_insist(normal != NULL && !zd_json_nonfinite_is_in(normal));
    zd_fuzz_insist(zd_scalar_parse(dtype, normal, again, &noted, NULL) == ZD_OK);
    zd_fuzz_insist(!noted && memcmp(again, bytes, dtype->bytes) == 0);
}

static void check_spellings(const struct zd_dtype *dtype, const uint8_t *bytes)
{
    static const struct zd_scalar_style styles[] = {
        {0}, {.nan_null = true}, {.ints_string = true}, {.bare_strings = true}};
    for (size_t i = 0; i < ZD_COUNT_OF(styles); i++) {
        ZD_SCOPED_TEXT(text, TEXT_BYTES_MAX);
        zd_scalar_add(dtype, bytes, &styles[i], &text);
        zd_fuzz_insist(text.status == ZD_OK && (text.len > 0 || styles[i].bare_strings));
        zd_fuzz_insist(text.len <= zd_scalar_text_max(dtype));
        ZD_AUTO(zd_json) json = NULL;
        zd_fuzz_insist(styles[i].bare_strings ||
                       zd_json_parse(zd_text_span(&text), &limits, &json, NULL) == ZD_OK);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct zd_span input = {.ptr = data, .len = len};
    ZD_AUTO_TEXT name = zd_fuzz_line(&input);
    ZD_AUTO(zd_json) json = NULL;
    struct zd_dtype dtype;
    struct zd_error err = {0};
    bool noted = false;
    if (zd_fuzz_dtype(name, &dtype) != ZD_OK ||
        zd_json_parse(input, &limits, &json, NULL) != ZD_OK) {
        return 0;
    }
    zd_fuzz_insist(dtype.bytes >= 1 && dtype.bytes <= ZD_DTYPE_BYTES_MAX);
    static uint8_t bytes[ZD_DTYPE_BYTES_MAX];
    if (zd_scalar_read(&dtype, json, bytes, NULL) == ZD_OK) {
        check_spellings(&dtype, bytes);
    }
    if (zd_scalar_parse(&dtype, json, bytes, &noted, &err) != ZD_OK) {
        zd_fuzz_insist(err.status == ZD_INVALID && err.text[0] != '\0');
        return 0;
    }
    check_normal(&dtype, bytes);
    check_spellings(&dtype, bytes);
    return 0;
}
