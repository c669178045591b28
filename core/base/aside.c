/* Parts of an error's text for the operator alone. */
#include "core/base/aside.h"

#include <stdbool.h>

void zd_aside_tell(char *text)
{
    char *to = text;
    for (const char *from = text; *from != '\0'; from++) {
        if (*from != ZD_ASIDE_BEGIN && *from != ZD_ASIDE_END) {
            *to++ = *from;
        }
    }
    *to = '\0';
}

void zd_aside_drop(char *text)
{
    char *to = text;
    bool is_aside = false;
    for (const char *from = text; *from != '\0'; from++) {
        const bool is_mark = *from == ZD_ASIDE_BEGIN || *from == ZD_ASIDE_END;
        is_aside = is_mark ? *from == ZD_ASIDE_BEGIN : is_aside;
        if (!is_mark && !is_aside) {
            *to++ = *from;
        }
    }
    *to = '\0';
}
