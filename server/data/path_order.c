/* Paths of nodes in pre-order. */
#include "server/data/path_order.h"

#include <string.h>

/* The end comes first, then what is below, then names that go on. */
static int rank_of(char c)
{
    if (c == '\0') {
        return 0;
    }
    return c == '/' ? 1 : 2 + (unsigned char)c;
}

int zd_path_compare(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    return rank_of(*a) - rank_of(*b);
}

bool zd_path_is_below(const char *path, const char *ancestor)
{
    const size_t len = strlen(ancestor);
    if (len == 0) {
        return path[0] != '\0';
    }
    return strncmp(path, ancestor, len) == 0 && path[len] == '/';
}
