/* Fill values as drafts of Zarr v3 spell them (reference 7.4 to 7.6). */
#include "core/dialect/v3/draft_fill.h"

#include <string.h>

#include "core/base/text.h"

#define DIGITS_MAX 8192 /* of a fill value in binary: no element has more bits */

/* Eight digits for each byte, as many as the element has. */
static bool is_binary(const char *text)
{
    const size_t n = strncmp(text, "0b", 2) == 0 ? strlen(text + 2) : 0;
    return n > 0 && n <= DIGITS_MAX && n % 8 == 0 && strspn(text + 2, "01") == n;
}

static struct zd_json *hex_of(const char *digits)
{
    ZD_SCOPED_TEXT(hex, DIGITS_MAX);
    (void)zd_text_add(&hex, "0x");
    for (; digits[0] != '\0'; digits += 4) {
        unsigned nibble = 0;
        for (size_t bit = 0; bit < 4; bit++) {
            nibble = nibble << 1 | (digits[bit] == '1');
        }
        (void)zd_text_addf(&hex, "%x", nibble);
    }
    return hex.status == ZD_OK ? zd_json_new_text(hex.at) : NULL;
}

static struct zd_json *respell(const struct zd_json *number)
{
    const char *text = zd_json_string(number);
    if (text != NULL && is_binary(text)) {
        return hex_of(text + 2);
    }
    const bool is_infinity = text != NULL && strcmp(text, "+Infinity") == 0;
    return is_infinity ? zd_json_new_text("Infinity") : zd_json_ref(number);
}

struct zd_json *zd_draft_fill_respell(const struct zd_json *fill)
{
    if (!zd_json_is(fill, ZD_JSON_ARRAY)) {
        return respell(fill);
    }
    ZD_AUTO(zd_json) list = zd_json_new_array();
    for (size_t i = 0; list != NULL && i < zd_json_count(fill); i++) {
        if (zd_json_append(list, respell(zd_json_element(fill, i))) != ZD_OK) {
            return NULL;
        }
    }
    return ZD_TAKE(list);
}
