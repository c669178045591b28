/* Paths below the root of a store. */
#include "core/store/contract/path.h"

#include <assert.h>
#include <string.h>

const char *zd_path_last(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

size_t zd_path_parent_len(const char *path)
{
    const char *const last = zd_path_last(path);
    return last == path ? 0 : (size_t)(last - path) - 1;
}

const char *zd_path_cut(const char *path, size_t len, char cut[ZD_KEY_BYTES_MAX + 1])
{
    assert(len <= ZD_KEY_BYTES_MAX);
    memmove(cut, path, len);
    cut[len] = '\0';
    return cut;
}

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
