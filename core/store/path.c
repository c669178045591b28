/* Paths below the root of a store. */
#include "core/store/path.h"

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
