/* JSON pointers (RFC 6901): a place in a document. */
#include "core/base/pointer.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct zd_pointer zd_pointer_member(const struct zd_pointer *parent, const char *name)
{
    struct zd_pointer place = *parent;
    size_t len = strlen(place.text);
    const size_t len_max = sizeof place.text - 3; /* room for an escape and the NUL */
    if (len < len_max) {
        place.text[len++] = '/';
    }
    for (const char *c = name; *c != '\0' && len < len_max; c++) {
        const bool escaped = *c == '~' || *c == '/'; /* RFC 6901, 3 */
        place.text[len++] = (char)(escaped ? '~' : *c);
        if (escaped) {
            place.text[len++] = *c == '~' ? '0' : '1';
        }
    }
    place.text[len] = '\0';
    return place;
}

struct zd_pointer zd_pointer_element(const struct zd_pointer *parent, size_t index)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%zu", index);
    return zd_pointer_member(parent, digits);
}
