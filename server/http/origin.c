/* Origins of web pages (RFC 6454), as the header Origin says them. */
#include "server/http/origin.h"

#include <string.h>
#include <strings.h>

bool zd_origin_is_listed(const char *origin, const char *list)
{
    const size_t len = strlen(origin);
    for (list += strspn(list, " "); *list != '\0'; list += strspn(list, " ")) {
        const size_t n = strcspn(list, " ");
        if ((n == 1 && *list == '*') || (n == len && strncasecmp(list, origin, n) == 0)) {
            return true;
        }
        list += n;
    }
    return false;
}
