/* Names of extensions: which class of the specification they fall in. */
#include "core/extension/name.h"

#include <stdbool.h>

static bool is_lower(uint8_t c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_byte(uint8_t c)
{
    return is_lower(c) || is_digit(c) || c == '-' || c == '_' || c == '.';
}

static bool is_scheme_byte(uint8_t c)
{
    return is_lower(c) || is_digit(c) || c == '+' || c == '.' || c == '-';
}

static bool is_plain(struct zd_span name)
{
    for (size_t i = 0; i < name.len; i++) {
        if (!is_name_byte(name.ptr[i])) {
            return false;
        }
    }
    return name.len > 0;
}

/* A scheme, a colon, and something without white space, query and fragment (ZEP 9). */
static bool is_uri(struct zd_span name)
{
    size_t i = 0;
    while (i < name.len && is_scheme_byte(name.ptr[i])) {
        i++;
    }
    if (i == 0 || !is_lower(name.ptr[0]) || i == name.len || name.ptr[i] != ':') {
        return false;
    }
    const size_t rest = i + 1;
    for (i = rest; i < name.len; i++) {
        const uint8_t c = name.ptr[i];
        if (c <= ' ' || c == 0x7f || c == '?' || c == '#') {
            return false;
        }
    }
    return rest < name.len;
}

enum zd_name_class zd_name_classify(struct zd_span name)
{
    if (is_plain(name)) {
        /* Zarr v3.1, extension naming: a letter first, two characters at least. */
        return is_lower(name.ptr[0]) && name.len >= 2 ? ZD_NAME_REGISTERED : ZD_NAME_OLD;
    }
    return is_uri(name) ? ZD_NAME_URI : ZD_NAME_BAD;
}
